package task

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/dispatch"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/kafka"
	"github.com/pondage/pondage/internal/pgtable"
	"github.com/pondage/pondage/internal/task"
)

func agg(vg int) ident.Task { return ident.Task{Level: ident.LevelAgg, VGroup: ident.VGroup(vg)} }

// ids returns the message ids in the log of an edge's partition, by upstream.
func (s *stage) ids(vg int) map[ident.Task][]ident.MsgID {
	out := map[ident.Task][]ident.MsgID{}
	for _, m := range s.kafka.read(s.graph.Edges[0].Topic, ident.Partition(vg)) {
		headers := make([]block.RecordHeader, len(m.Headers))
		for i, h := range m.Headers {
			headers[i] = block.RecordHeader{Key: h.Key, Value: h.Value}
		}
		h, err := block.ParseHeader(headers)
		if err != nil {
			s.t.Fatal(err)
		}
		out[h.Upstream] = append(out[h.Upstream], h.Msg)
	}
	return out
}

func TestT25_ARetryIsNeverOvertaken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, scene{stream: count10s, vgroups: 1, partitions: 1})
		var attempts atomic.Int64
		s.kafka.set(func(c *cluster) {
			c.broken = func(_ string, _ ident.Partition, m kafka.Message) error {
				if n := attempts.Add(1); m.Tag >= 3 && n < 6 { // the leader has moved
					return &kafka.Error{Code: kafka.CodeBrokerBusy}
				}
				return nil
			}
		})
		s.start()
		for i := range 20 {
			s.record(0, "a", float64(i*10), 0)
			time.Sleep(50 * time.Millisecond)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		for up, ids := range s.ids(0) {
			for i, id := range ids {
				if id != ident.MsgID(i+1) {
					t.Errorf("%s: message %d is the %dth in the log", up, id, i+1)
				}
			}
		}
		if n := len(s.results()); n != 19 {
			t.Errorf("%d windows, want 19", n)
		}
		s.wantWell()
	})
}

func TestWhatEndsASourceHasAName(t *testing.T) {
	t.Parallel()
	fetched := func(code kafka.Code) func(*stage) {
		return func(s *stage) { s.kafka.stop(sourceTopic, 0, &kafka.Error{Code: code}) }
	}
	produced := func(code kafka.Code) func(*stage) {
		return func(s *stage) {
			s.kafka.set(func(c *cluster) {
				c.broken = func(string, ident.Partition, kafka.Message) error { return &kafka.Error{Code: code} }
			})
			s.record(0, "a", 1, 0)
		}
	}
	for name, c := range map[string]struct {
		happens func(*stage)
		failed  string
		reset   dispatch.Reason
	}{
		"topic made anew":          {fetched(kafka.CodeTopicRecreated), "source_topic_recreated", ""},
		"records lost":             {fetched(kafka.CodeOffsetsLost), "source_offsets_lost", ""},
		"topic gone":               {fetched(kafka.CodeTopicUnknown), "topic_unknown", ""},
		"bytes that are no batch":  {fetched(kafka.CodeCorrupt), "source_corrupt", ""},
		"no right to write":        {produced(kafka.CodeNotAuthorized), "not_authorized", ""},
		"a broker that is too old": {produced(kafka.CodeUnsupportedVersion), "unsupported_version", ""},
		"edge gone":                {produced(kafka.CodeTopicUnknown), "", dispatch.ReasonNoSuchTask},
		"edge made anew":           {produced(kafka.CodeTopicRecreated), "", dispatch.ReasonNoSuchTask},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t, scene{stream: count10s, vgroups: 1, partitions: 2})
				s.start()
				time.Sleep(time.Second)
				c.happens(s)
				time.Sleep(time.Second)
				synctest.Wait()
				src := s.sources[s.graph.Tasks[0].Task]
				r := src.Report()
				switch {
				case c.failed != "" && (r.State != task.Failed || r.Cause == nil || r.Cause.Code != c.failed):
					t.Errorf("got %s, want failed: %s", s.describe(), c.failed)
				case c.reset != "" && (r.Reset == nil || r.Reset.Reason != c.reset || r.Reset.Stage != 1):
					t.Errorf("got %s, want a reset: %s", s.describe(), c.reset)
				}
				if s.kafka.open(sourceTopic) {
					t.Error("its partitions are still read")
				}
				// What still comes for the task is nobody's any more, and is not gathered.
				src.Credited(dispatch.Credited{})
				if n := len(src.credits.take()); n != 0 {
					t.Errorf("%d credits wait for a task that has ended", n)
				}
			})
		})
	}
}

// forge appends a message to the edge of vgroup 0, as the source task would send it, but for what change does.
func (s *stage) forge(change func(*block.Header, []byte) []byte) {
	s.t.Helper()
	up := s.graph.Tasks[0].Task
	h := block.Header{
		Version: block.WireVersion, Stream: s.id, Stage: 1, Msg: 1, Upstream: up, UpNode: node1.Node, Downstream: agg(0), Down: node1,
		Type: block.MsgWatermark, Watermark: 5,
	}
	value := change(&h, nil)
	if h.CRC == 0 {
		h.CRC = block.ValueCRC(value)
	}
	var enc block.HeaderEncoder
	m := kafka.Message{Value: value}
	for _, r := range enc.Encode(&h) {
		m.Headers = append(m.Headers, kafka.Header{Key: r.Key, Value: r.Value})
	}
	s.kafka.append(s.graph.Edges[0].Topic, 0, m)
}

func TestWhatAReceiverMeetsOnItsEdge(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*block.Header, []byte) []byte
		reset  dispatch.Reason
		ended  bool
	}{
		"another place":       {func(h *block.Header, v []byte) []byte { h.Down.Instance.Counter = 9; h.CRC = 1; return v }, "", false},
		"a lower stage":       {func(h *block.Header, v []byte) []byte { h.Stage = 0; return v }, "", false},
		"another stream":      {func(h *block.Header, v []byte) []byte { h.Stream = 99_999; return v }, "", false},
		"a gap":               {func(h *block.Header, v []byte) []byte { h.Msg = 3; return v }, dispatch.ReasonGap, true},
		"a wrong CRC":         {func(h *block.Header, _ []byte) []byte { h.CRC = 7; return []byte("x") }, dispatch.ReasonCorrupt, true},
		"no block":            {func(h *block.Header, _ []byte) []byte { h.Type = block.MsgData; return []byte("x") }, dispatch.ReasonCorrupt, true},
		"a newer version":     {func(h *block.Header, v []byte) []byte { h.Version = block.WireVersion + 1; return v }, dispatch.ReasonVersion, true},
		"a foreign upstream":  {func(h *block.Header, v []byte) []byte { h.Upstream.VGroup = 77; return v }, dispatch.ReasonCorrupt, true},
		"a higher stage":      {func(h *block.Header, v []byte) []byte { h.Stage = 2; return v }, "", true},
		"its upstream's word": {func(_ *block.Header, v []byte) []byte { return v }, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t, scene{stream: count10s, vgroups: 1, partitions: 1})
				s.start()
				s.forge(c.change)
				time.Sleep(300 * time.Millisecond) // less than a source waits before it says that it is idle
				synctest.Wait()
				r := s.receivers[agg(0)]
				got := r.Report().Reset
				switch {
				case c.reset == "" && got != nil, c.reset != "" && (got == nil || got.Reason != c.reset):
					t.Errorf("got %s, want %q", s.describe(), c.reset)
				}
				if open := s.kafka.open(s.graph.Edges[0].Topic); open == c.ended {
					t.Errorf("the edge is still read: %t", open)
				}
			})
		})
	}
}

func TestALostEdgeIsAReset(t *testing.T) {
	t.Parallel()
	for _, code := range []kafka.Code{kafka.CodeTopicUnknown, kafka.CodeTopicRecreated, kafka.CodeOffsetsLost, kafka.CodeCorrupt} {
		t.Run(string(code), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t, scene{stream: count10s, vgroups: 1, partitions: 1})
				s.start()
				time.Sleep(time.Second)
				s.kafka.stop(s.graph.Edges[0].Topic, 0, &kafka.Error{Code: code})
				time.Sleep(time.Second)
				synctest.Wait()
				if r := s.receivers[agg(0)].Report(); r.Reset == nil || r.State == task.Failed {
					t.Errorf("got %s", s.describe())
				}
			})
		})
	}
}

// The rows that could not be written were the last ones: no Write comes any more that would tell.
func TestAnOutputThatStopsBehindTheLastRowFailsItsTask(t *testing.T) {
	t.Parallel()
	for name, stream := range map[string]string{"receiver": count10s, "source": `"select":[{"expr":"tbname"}]`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t, scene{stream: stream, vgroups: 1, partitions: 1})
				s.record(0, "a", 1, 0)
				s.start()
				time.Sleep(time.Second)
				s.wantWell()
				for _, out := range s.outlets { // there is one
					out.mu.Lock()
					out.stopped = fmt.Errorf("write: %w", pgtable.ErrMismatch)
					out.mu.Unlock()
				}
				time.Sleep(time.Second)
				synctest.Wait()
				r := s.reports()["source-0"]
				if name == "receiver" {
					r = s.reports()["agg-0"]
				}
				if r.State != task.Failed || r.Cause == nil || r.Cause.Code != "target_mismatch" {
					t.Errorf("got %s", s.describe())
				}
			})
		})
	}
}

func TestAFencedSinkAsksForAReset(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, scene{stream: count10s, vgroups: 1, partitions: 1, bounded: true})
		s.record(0, "a", 1, 0)
		s.outlets[agg(0)].fails = fmt.Errorf("write: %w", pgtable.ErrFenced)
		s.start()
		time.Sleep(time.Second)
		synctest.Wait()
		if r := s.receivers[agg(0)].Report(); r.Reset == nil || r.State == task.Failed {
			t.Errorf("got %s", s.describe())
		}
	})
}

func TestRowsThatAreTooLargeForARequest(t *testing.T) {
	t.Parallel()
	const copies = `"select":[{"expr":"tbname","as":"device"},{"expr":"v"}],"partition_by":["tbname"],"dispatch":{"max_batch":"2KiB"}`
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, scene{stream: copies, vgroups: 2, partitions: 1, bounded: true})
		long := fmt.Sprintf("%0190d", 0)
		for i := range 200 {
			s.record(0, long[:190-3]+fmt.Sprint(100+i), 1, i)
		}
		s.start()
		s.wantFinished()
		s.wantWell()
		if n := len(s.results()); n != 200 {
			t.Errorf("%d of 200 rows came out, set aside: %q", n, s.aside.sorted())
		}
	})
}
