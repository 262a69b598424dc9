package doctor_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	coordinator "github.com/pondage/pondage/internal/api/coordinator"
	"github.com/pondage/pondage/internal/cli/doctor"
	"github.com/pondage/pondage/internal/config"
)

// service is one of a running cluster: it answers documents by path.
func service(t *testing.T, documents map[string]any) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		doc, ok := documents[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if text, ok := doc.(string); ok {
			fmt.Fprint(w, text)
			return
		}
		_ = json.NewEncoder(w).Encode(doc)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// running is a cluster with the brokers and workers.
func running(t *testing.T, brokers []string, workers ...string) string {
	t.Helper()
	var nodes []coordinator.Node
	for i, at := range workers {
		nodes = append(nodes, coordinator.Node{Node: "n" + strconv.Itoa(i+1), State: "alive", Address: at})
	}
	return service(t, map[string]any{
		"/readyz":     `{"status":"ok","checks":[{"name":"kafka","status":"ok"}]}`,
		"/v1/cluster": coordinator.Cluster{Cluster: "c", Vgroups: 8, Brokers: brokers},
		"/v1/nodes":   coordinator.NodePage{Items: nodes},
		"/v1/streams": coordinator.StreamPage{},
	})
}

// setTo is a broker that has a setting.
func setTo(t *testing.T, name, value string) []string {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	cluster.ControlKey(int16(kmsg.DescribeConfigs), func(r kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		asked := r.(*kmsg.DescribeConfigsRequest)
		answer := asked.ResponseKind().(*kmsg.DescribeConfigsResponse)
		for _, resource := range asked.Resources {
			set := kmsg.NewDescribeConfigsResponseResourceConfig()
			set.Name, set.Value = name, &value
			about := kmsg.NewDescribeConfigsResponseResource()
			about.ResourceType, about.ResourceName = resource.ResourceType, resource.ResourceName
			about.Configs = append(about.Configs, set)
			answer.Resources = append(answer.Resources, about)
		}
		return answer, nil, true
	})
	return cluster.ListenAddrs()
}

// TestARunningClusterIsAskedWhereItsPartsAre: nothing but the API need be named.
func TestARunningClusterIsAskedWhereItsPartsAre(t *testing.T) {
	t.Parallel()
	well := service(t, map[string]any{"/healthz": `{"status":"ok","checks":[]}`, "/readyz": `{"status":"ok","checks":[]}`})
	ill := service(t, map[string]any{"/healthz": `{"status":"ok","checks":[]}`, "/readyz": `{"status":"failing","checks":[{"name":"sinks","status":"failing","detail":"no answer of db"}]}`})
	gone := "http://" + closed(t)
	brokers := setTo(t, "auto.create.topics.enable", "true")
	cfg := config.DefaultDoctor()
	cfg.API = running(t, brokers, well, ill, gone)
	checks := examine(t, cfg)
	expect(t, checks, "kafka brokers", doctor.OK, "1 at "+brokers[0]+" (as the coordinator says)")
	expect(t, checks, "kafka automatic topics", doctor.Warning, "broker 0")
	expect(t, checks, "api nodes", doctor.OK, "3 of 3 nodes")
	expect(t, checks, "api node n2: sinks", doctor.Failing, "no answer of db")
	expect(t, checks, "ports coordinator", doctor.OK, strings.TrimPrefix(cfg.API, "http://"))
	expect(t, checks, "ports worker n1", doctor.OK, well)
	expect(t, checks, "ports worker n3", doctor.Warning, gone)
	expect(t, checks, "ports broker", doctor.OK, brokers[0])
	expect(t, checks, "disk data_dir", doctor.Skipped, "elsewhere")
	if free, ok := checks["ports snapshotter"]; ok {
		t.Errorf("the port of a default is looked at, though the cluster has its own: %+v", free)
	}
}

func TestAutomaticTopics(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		setting, value string
		status         doctor.Status
	}{
		{"auto.create.topics.enable", "false", doctor.OK}, {"log.retention.ms", "1", doctor.Skipped},
	} {
		cfg := config.DefaultDoctor()
		cfg.API, cfg.DataDir, cfg.Kafka.Brokers = "http://"+closed(t), t.TempDir(), setTo(t, c.setting, c.value)
		expect(t, examine(t, cfg), "kafka automatic topics", c.status, "")
	}
}

// TestBrokersThatOnlyTheClusterReaches: they may be in a network of its own.
func TestBrokersThatOnlyTheClusterReaches(t *testing.T) {
	t.Parallel()
	cfg := config.DefaultDoctor()
	cfg.API = running(t, []string{closed(t)})
	expect(t, examine(t, cfg), "kafka brokers", doctor.Warning, "the coordinator reaches them")
}
