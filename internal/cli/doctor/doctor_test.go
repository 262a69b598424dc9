package doctor_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	coordinator "github.com/pondage/pondage/internal/api/coordinator"
	"github.com/pondage/pondage/internal/cli/client"
	"github.com/pondage/pondage/internal/cli/doctor"
	"github.com/pondage/pondage/internal/config"
	"github.com/pondage/pondage/internal/devstack/testkafka"
	"github.com/pondage/pondage/internal/devstack/testpg"
	"github.com/pondage/pondage/internal/kafka"
)

func examine(t *testing.T, cfg config.Doctor) map[string]doctor.Check {
	t.Helper()
	c, err := client.New(cfg.Client)
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]doctor.Check{}
	for _, check := range doctor.Examine(t.Context(), cfg, c) {
		byName[check.Area+" "+check.Name] = check
		if (check.Status == doctor.Failing || check.Status == doctor.Warning) && check.Hint == "" {
			t.Errorf("%s says what is wrong, but not what to do: %s", check.Name, check.Detail)
		}
	}
	return byName
}

func expect(t *testing.T, checks map[string]doctor.Check, name string, status doctor.Status, detail string) {
	t.Helper()
	got, ok := checks[name]
	if !ok {
		t.Errorf("there is no check %q", name)
		return
	}
	if got.Status != status || !strings.Contains(got.Detail, detail) {
		t.Errorf("%s: %s, %s; want %s, %s", name, got.Status, got.Detail, status, detail)
	}
}

// closed is an address where nothing listens.
func closed(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestNothingRuns(t *testing.T) {
	t.Parallel()
	cfg := config.DefaultDoctor()
	cfg.API, cfg.Kafka.Brokers, cfg.DataDir = "http://"+closed(t), []string{closed(t)}, filepath.Join(t.TempDir(), "to", "be", "made")
	checks := examine(t, cfg)
	expect(t, checks, "api coordinator", doctor.Failing, "does not answer")
	expect(t, checks, "kafka brokers", doctor.Failing, cfg.Kafka.Brokers[0])
	expect(t, checks, "postgres database", doctor.Skipped, "none is named")
	expect(t, checks, "disk data_dir", doctor.OK, "can be written")
	expect(t, checks, "disk space", doctor.OK, "GiB")
	expect(t, checks, "clock skew", doctor.Skipped, "")
	if _, err := os.Stat(cfg.DataDir); err == nil {
		t.Error("looking has made the directory")
	}
}

// api is a coordinator with a stream over the edge topic.
func api(t *testing.T, source, edge string, ready bool, ahead time.Duration) string {
	t.Helper()
	mux := http.NewServeMux()
	reply := func(path string, doc any) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(doc) })
	}
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", time.Now().Add(ahead).UTC().Format(http.TimeFormat))
		if ready {
			fmt.Fprint(w, `{"status":"ok","checks":[{"name":"metastore","status":"ok"}]}`)
			return
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, `{"status":"failing","checks":[{"name":"metastore","status":"failing","detail":"no route"}]}`)
	})
	reply("/v1/cluster", coordinator.Cluster{Cluster: "c", Vgroups: 8})
	reply("/v1/nodes", coordinator.NodePage{Items: []coordinator.Node{{Node: "n1", State: "alive"}, {Node: "n2", State: "suspect"}}})
	reply("/v1/streams", coordinator.StreamPage{Items: []coordinator.Stream{{Name: "q", State: "failed", Partitions: []coordinator.SourcePartition{{Topic: source}}}}})
	reply("/v1/streams/q/graph", coordinator.Graph{Edges: []coordinator.GraphEdge{{Topic: edge}}})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

func TestTopicsAreComparedWithWhatTheyMustBe(t *testing.T) {
	t.Parallel()
	brokers := testkafka.Shared(t)
	c, err := kafka.Open(kafka.Config{Brokers: brokers})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	good, wrong := testkafka.Topic(t), testkafka.Topic(t)+"-wrong"
	changed := kafka.EdgeSpec(wrong, 4)
	changed.Settings[kafka.SettingRetentionMs] = "1000"
	for _, spec := range []kafka.TopicSpec{kafka.EdgeSpec(good, 8), changed} {
		if _, err := c.CreateTopic(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
	}
	cfg := config.DefaultDoctor()
	cfg.Kafka.Brokers, cfg.DataDir = brokers, t.TempDir()
	cfg.API = api(t, good, good, true, 0)
	checks := examine(t, cfg)
	expect(t, checks, "kafka topic "+good, doctor.OK, "8 partitions")
	expect(t, checks, "api coordinator", doctor.OK, cfg.API)
	expect(t, checks, "api ready: metastore", doctor.OK, "")
	expect(t, checks, "api nodes", doctor.Warning, "1 of 2 nodes alive")
	expect(t, checks, "api streams", doctor.Failing, "q")
	expect(t, checks, "clock skew to the coordinator", doctor.OK, "")

	cfg.API = api(t, "no-such-topic", wrong, false, time.Hour)
	checks = examine(t, cfg)
	expect(t, checks, "kafka topic "+wrong, doctor.Failing, "partitions is 4, must be 8; retention.ms is 1000, must be 86400000")
	expect(t, checks, "kafka topic no-such-topic", doctor.Failing, "does not exist")
	expect(t, checks, "api ready: metastore", doctor.Failing, "no route")
	expect(t, checks, "clock skew to the coordinator", doctor.Warning, " apart")
}

func TestPostgres(t *testing.T) {
	t.Parallel()
	cfg := config.DefaultDoctor()
	cfg.API, cfg.Kafka.Brokers, cfg.DataDir = "http://"+closed(t), []string{closed(t)}, t.TempDir()
	cfg.Postgres.URL = testpg.DSN(t)
	checks := examine(t, cfg)
	for _, name := range []string{"database", "version", "rights", "encoding"} {
		expect(t, checks, "postgres "+name, doctor.OK, "")
	}
	expect(t, checks, "clock skew to Postgres", doctor.OK, "")
	cfg.Postgres.URL = "postgres://nobody@" + closed(t) + "/none"
	expect(t, examine(t, cfg), "postgres database", doctor.Failing, "refused")
}
