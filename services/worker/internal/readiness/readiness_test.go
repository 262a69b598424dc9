package readiness

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/pondage/pondage/internal/api/common"
	"github.com/pondage/pondage/internal/connect"
	"github.com/pondage/pondage/internal/devstack/testkafka"
	"github.com/pondage/pondage/internal/kafka"
)

// reports is what tasks report.
type reports []common.TaskReport

func (r reports) Reports() ([]common.StreamReport, []common.TaskReport, []common.NodeUpdate) {
	return nil, r, nil
}

// failing returns what is wrong, by the checks' names.
func failing(t *testing.T, coordinator error, hub Hub, r reports) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, c := range Checks(func(context.Context) error { return coordinator }, hub, r)(t.Context()) {
		if c.Err != nil {
			out[c.Name] = c.Err.Error()
		}
	}
	return out
}

func TestAWorkerThatCanDoItsWorkIsReady(t *testing.T) {
	t.Parallel()
	hub := connect.New(connect.Config{Kafka: kafka.Config{Brokers: testkafka.Shared(t)}})
	defer hub.Close()
	if got := failing(t, nil, hub, reports{{Task: "agg-1", Note: "edge topic: waits"}, {Task: "agg-2", Note: "sink_unreachable: webhook: the webhook answers 503"}}); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

func TestWhatIsWrongIsNamed(t *testing.T) {
	t.Parallel()
	hub := connect.New(connect.Config{Kafka: kafka.Config{Brokers: []string{"127.0.0.1:1"}, DialTimeout: time.Second, RequestTimeout: time.Second}})
	defer hub.Close()
	many := reports{}
	for range 7 {
		many = append(many, common.TaskReport{StreamID: 7, Task: "agg-1", Note: "sink_unreachable: postgres: connection refused"})
	}
	got := failing(t, errors.New("no coordinator has answered"), hub, many)
	if got["coordinator"] != "no coordinator has answered" || !strings.Contains(got["kafka"], "kafka.brokers") || !strings.Contains(got["sinks"], "stream 7, task agg-1: sink_unreachable: postgres") || !strings.Contains(got["sinks"], "and 2 more") {
		t.Errorf("%v", got)
	}
}

func TestT19_AReaderWithoutProgressShowsByName(t *testing.T) {
	t.Parallel()
	// A cluster whose brokers are found and then no longer reached: the connections are there, nothing is delivered.
	brokers := testkafka.Start(t, 1)
	cut := make(chan struct{})
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		select {
		case <-cut:
			return nil, errors.New("no route")
		default:
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}
	}
	hub := connect.New(connect.Config{Kafka: kafka.Config{Brokers: brokers, Dial: dial}, Fetch: kafka.FetcherConfig{StallAfter: time.Nanosecond}})
	defer hub.Close()
	k, err := hub.Cluster()
	if err != nil {
		t.Fatal(err)
	}
	topic := testkafka.Topic(t)
	if _, err := k.Client.CreateTopic(t.Context(), kafka.TopicSpec{Name: topic, Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	close(cut)
	sub, err := k.Fetcher.Subscribe(kafka.SubscribeSpec{Topic: topic, Inbox: kafka.InboxFunc(func(c *kafka.Chunk) bool { c.Release(); return true })})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	if got := failing(t, nil, hub, nil)[checkSources]; !strings.Contains(got, topic+"/0 at offset 0") {
		t.Errorf("%s", got)
	}
}
