package e2e

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/pondage/pondage/internal/api/coordinator"
	"github.com/pondage/pondage/internal/kafka"
)

// failsWith waits until a stream has failed, and looks at the code of its error.
func (c *cluster) failsWith(t *testing.T, name, code string) {
	t.Helper()
	s := c.untilState(t, name, "failed")
	if s.Error == nil || s.Error.Code != code {
		t.Errorf("the stream has failed, but not with %s: %s", code, describe(s))
	}
}

// TestT24_SourceTopicMadeAnewStopsTheStream: it is another log; nothing of it is read with the old state.
func TestT24_SourceTopicMadeAnewStopsTheStream(t *testing.T) {
	t.Parallel()
	c := shared(t)
	name, src := c.atOnce(t)
	c.put(t, src, 0, record("a", 1000, 1))
	c.settles(t, name, counted(1, 1))
	if err := c.kafka.DeleteTopic(t.Context(), src); err != nil {
		t.Fatal(err)
	}
	c.topic(t, src, 1)
	c.put(t, src, 0, record("a", 2000, 2), record("a", 3000, 3))
	c.failsWith(t, name, "source_topic_recreated")
	c.settles(t, name, counted(1, 1))
}

// TestT24_SourceThatLostRecordsStopsTheStream: what retention took before it was read is never skipped in silence.
func TestT24_SourceThatLostRecordsStopsTheStream(t *testing.T) {
	t.Parallel()
	c := shared(t)
	name, src := c.atOnce(t)
	c.put(t, src, 0, record("a", 1000, 1))
	c.settles(t, name, counted(1, 1))
	c.act(t, name, "pause")
	c.untilState(t, name, "paused")
	c.put(t, src, 0, record("a", 2000, 2), record("a", 3000, 3))
	if err := c.kafka.DeleteRecords(t.Context(), src, kafka.Offsets{0: 2}); err != nil {
		t.Fatal(err)
	}
	c.act(t, name, "resume")
	// What was fetched before the pause may be read; what is gone is not passed over.
	s := c.until(t, name, "failed, or everything read", func(s coordinator.Stream) string {
		if s.State == "failed" || s.Counters.Accepted == 3 {
			return ""
		}
		return describe(s)
	})
	if s.State == "failed" && s.Error.Code != "source_offsets_lost" {
		t.Error(describe(s))
	}
}

// TestEdgeTopicThatIsLostIsAReset: the results end up equal.
func TestEdgeTopicThatIsLostIsAReset(t *testing.T) {
	t.Parallel()
	c := shared(t)
	name, src := c.atOnce(t)
	c.put(t, src, 0, record("a", 1000, 1))
	c.settles(t, name, counted(1, 1))
	before := c.stream(t, name)
	var graph coordinator.Graph
	decode(t, c.must(t, http.MethodGet, "/v1/streams/"+name+"/graph", nil), &graph)
	if err := c.kafka.DeleteTopic(t.Context(), graph.Edges[0].Topic); err != nil {
		t.Fatal(err)
	}
	c.put(t, src, 0, record("a", 2000, 2))
	c.until(t, name, "running in a new stage", func(s coordinator.Stream) string {
		if s.Stage == before.Stage || s.State != "running" {
			return describe(s)
		}
		return ""
	})
	c.settles(t, name, counted(2, 3))
	var events struct {
		Items []struct{ Code, Stream string }
	}
	decode(t, c.must(t, http.MethodGet, "/v1/events?stream="+name, nil), &events)
	if len(events.Items) == 0 {
		t.Error("no event tells of the reset")
	}
}

// TestT26_MorePartitionsOvernight: partitions that a topic gets while it is read are read from their beginning.
func TestT26_MorePartitionsOvernight(t *testing.T) {
	t.Parallel()
	c := shared(t)
	src := c.source(t, 2, nil)
	name := c.create(t, count(c.name("st"), src, object{"trigger": "at_once"}))
	c.put(t, src, 0, record("a", 1000, 1))
	c.settles(t, name, counted(1, 1))
	c.grow(t, src, 4)
	const each = 100
	for partition := 2; partition < 4; partition++ {
		var lines []string
		for range each {
			lines = append(lines, record("a", 2000, 1))
		}
		c.put(t, src, partition, lines...)
	}
	c.settles(t, name, counted(2*each+1, 2*each+1))
	c.accepted(t, name, 2*each+1)
	s := c.stream(t, name)
	if len(s.Partitions) != 4 {
		t.Errorf("%d partitions are known, want 4", len(s.Partitions))
	}
	for _, p := range s.Partitions {
		if p.Partition >= 2 && p.Counters.Accepted != each {
			t.Errorf("partition %d: %d accepted, want %d", p.Partition, p.Counters.Accepted, each)
		}
	}
	c.conserves(t, name)
}

// TestTopicThatAppearsLater: a source over a topic that is not there yet can be declared; a stream over it is refused with
// what to do, and taken once the topic is there, made by hand or by the first records that are sent through ingest.
func TestTopicThatAppearsLater(t *testing.T) {
	t.Parallel()
	c := shared(t)
	for _, how := range []string{"by hand", "by ingest"} {
		src := c.name("later")
		spec := object{"name": src, "format": "json", "kafka": object{"topic": src}, "table": "k", "event_time": "ts", "columns": []any{object{"name": "v", "type": "int64"}}}
		c.must(t, http.MethodPost, "/v1/sources", spec)
		name := c.name("st")
		stream := count(name, src, object{"trigger": "at_once"})
		a := c.do(t, http.MethodPost, "/v1/streams", stream)
		if a.code() != "topic_unknown" || a.status >= http.StatusInternalServerError {
			t.Errorf("a stream over a topic that is not there: %s", a)
		}
		if a := c.do(t, http.MethodGet, "/v1/streams/"+name, nil); a.status != http.StatusNotFound {
			t.Errorf("the refused stream: %s", a)
		}
		if how == "by hand" {
			c.topic(t, src, 1)
		}
		c.send(t, src, record("a", 1000, 1))
		c.create(t, stream)
		c.settles(t, name, counted(1, 1))
	}
}

// TestT63_OneKeyOneEffect: a request with the Idempotency-Key of another one gets the same answer, with another body it is
// refused; on ingest its records count once.
func TestT63_OneKeyOneEffect(t *testing.T) {
	t.Parallel()
	c := shared(t)
	src := c.source(t, 1, nil)
	name := c.name("st")
	key := c.name("key")
	spec := count(name, src, object{"trigger": "at_once"})
	first := c.do(t, http.MethodPost, "/v1/streams", spec, "Idempotency-Key", key)
	second := c.do(t, http.MethodPost, "/v1/streams", spec, "Idempotency-Key", key)
	var a, b coordinator.Stream
	decode(t, first, &a)
	decode(t, second, &b)
	if first.status != http.StatusCreated || second.status != first.status || a.ID != b.ID {
		t.Errorf("the same request twice: %s, then %s", first, second)
	}
	spec["watermark"] = "1s"
	if other := c.do(t, http.MethodPost, "/v1/streams", spec, "Idempotency-Key", key); other.code() != "idempotency_key_reused" {
		t.Errorf("another request with the key: %s", other)
	}
	lines := []byte(record("a", 1000, 1) + "\n" + record("a", 2000, 2) + "\n")
	for range 2 {
		if got := c.do(t, http.MethodPost, "/v1/ingest/"+src, lines, "Content-Type", "application/x-ndjson", "Idempotency-Key", key); got.status != http.StatusOK {
			t.Errorf("ingest: %s", got)
		}
	}
	c.send(t, src, record("a", 3000, 4))
	c.settles(t, name, counted(3, 7))
	c.drop(t, name)
}

// grow gives a topic more partitions, as an operator does.
func (c *cluster) grow(t *testing.T, topic string, partitions int) {
	t.Helper()
	if err := growTopic(t.Context(), c.brokers, topic, partitions); err != nil {
		t.Fatal(err)
	}
	eventually(t, patience, "partitions of "+topic, func() string {
		got, err := c.kafka.Topic(t.Context(), topic)
		if err != nil {
			return err.Error()
		}
		if len(got.Partitions) != partitions {
			text, _ := json.Marshal(got)
			return string(text)
		}
		return ""
	})
}
