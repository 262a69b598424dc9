package outside_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pondage/pondage/internal/connect"
	"github.com/pondage/pondage/internal/devstack"
	"github.com/pondage/pondage/internal/kafka"
	"github.com/pondage/pondage/services/coordinator/internal/control"
	"github.com/pondage/pondage/services/coordinator/internal/outside"
)

func broker(t *testing.T) []string {
	t.Helper()
	b, err := devstack.StartBroker(t.Context(), "", devstack.BrokerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Stop() })
	return b.Addrs()
}

// TestAMissingTopicIsSaidWithWaysToMakeIt: ready to be copied, with the names that the user gave.
func TestAMissingTopicIsSaidWithWaysToMakeIt(t *testing.T) {
	t.Parallel()
	hub := connect.New(connect.Config{Kafka: kafka.Config{Brokers: broker(t)}})
	t.Cleanup(hub.Close)
	source := json.RawMessage(`{"name":"src","format":"json","table":"k","event_time":"ts","kafka":{"topic":"gone"}}`)
	_, err := outside.Offsets{Hub: hub}.Resolve(t.Context(), control.TopicRef{Topic: "gone", Source: source}, control.Position{Kind: control.PositionEarliest}, nil)
	var named *control.Error
	if !errors.As(err, &named) || named.Code != control.CodeTopicUnknown || !strings.Contains(named.Message, "gone") ||
		!strings.Contains(named.Hint, "pondage topic create gone") || !strings.Contains(named.Hint, "pondage ingest src ") {
		t.Errorf("%+v", named)
	}
}

// TestAnOutputThatIsAwayHoldsUpNoStage: its sink makes the topic when it reaches the brokers.
func TestAnOutputThatIsAwayHoldsUpNoStage(t *testing.T) {
	t.Parallel()
	hub := connect.New(connect.Config{Kafka: kafka.Config{Brokers: broker(t), DialTimeout: time.Second, RequestTimeout: time.Second}})
	t.Cleanup(hub.Close)
	for _, delivery := range []string{"at_least_once", "transactional"} {
		set := control.TopicSet{
			Edges: []string{"c.s.agg"}, Output: "out", Commits: "c.commits",
			Stream: json.RawMessage(fmt.Sprintf(`{"name":"s","source":"src","select":[{"expr":"v"}],"outputs":{"kafka":{"topic":"out","delivery":%q,"brokers":["127.0.0.1:1"]}}}`, delivery)),
		}
		if err := (outside.Topics{Hub: hub, VGroups: 1}).Ensure(t.Context(), set); err != nil {
			t.Errorf("%s: %v", delivery, err)
		}
	}
}

// TestOutputTopicIsMadeWhereTheOutputIs: an output may name brokers of its own; everything else is the cluster's.
func TestOutputTopicIsMadeWhereTheOutputIs(t *testing.T) {
	t.Parallel()
	const vgroups = 3
	cluster, elsewhere := broker(t), broker(t)
	hub := connect.New(connect.Config{Kafka: kafka.Config{Brokers: cluster}})
	t.Cleanup(hub.Close)
	set := control.TopicSet{
		Edges: []string{"c.s.agg"}, Late: "c.s.late", Dead: "c.src.dead", Output: "out",
		Stream: json.RawMessage(fmt.Sprintf(`{"name":"s","source":"src","select":[{"expr":"v"}],"outputs":{"kafka":{"topic":"out","brokers":[%q]}}}`, elsewhere[0])),
	}
	topics := outside.Topics{Hub: hub, VGroups: vgroups}
	for range 2 { // it may be repeated
		if err := topics.Ensure(t.Context(), set); err != nil {
			t.Fatal(err)
		}
	}
	there := func(brokers []string, topic string) int {
		t.Helper()
		client, err := kafka.Open(kafka.Config{Brokers: brokers})
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		found, err := client.Topic(t.Context(), topic)
		if err != nil && kafka.CodeOf(err) != kafka.CodeTopicUnknown {
			t.Fatal(err)
		}
		return len(found.Partitions)
	}
	if n := there(elsewhere, "out"); n != vgroups {
		t.Errorf("the output topic has %d partitions on the output's brokers, want %d", n, vgroups)
	}
	for topic, want := range map[string]int{"out": 0, "c.s.agg": vgroups, "c.s.late": 1, "c.src.dead": 1} {
		if n := there(cluster, topic); n != want {
			t.Errorf("%s has %d partitions on the cluster's brokers, want %d", topic, n, want)
		}
	}
}
