package task

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/kafka"
)

// replay appends a row as the replay of an origin.
func (s *stage) replay(p ident.Partition, origin string, headers ...kafka.Header) {
	s.kafka.append(sourceTopic, p, kafka.Message{
		Value:   []byte(`{"device":"a","ts":1000,"v":1}`),
		Headers: append(headers, kafka.Header{Key: HeaderReplay, Value: []byte(origin)}),
	})
}

func TestAReplayIsTakenOncePerOrigin(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, scene{stream: rowsByDevice, vgroups: 2, partitions: 2})
		only := func(stream string) kafka.Header {
			return kafka.Header{Key: HeaderReplayStream, Value: []byte(stream)}
		}
		s.start()
		s.replay(0, "readings/0/7")
		s.replay(0, "readings/0/7")            // sent twice
		s.replay(0, "readings/0/7", only("s")) // the same origin, for this stream
		s.replay(0, "readings/0/8", only("other"))
		s.replay(0, "readings/0/8", only("s")) // what another stream takes is not taken here
		s.replay(0, "readings/0/8")
		s.replay(1, "readings/1/7")  // an origin of its own
		s.replay(1, "readings/0/9")  // misplaced
		s.replay(0, "elsewhere/0/1") // misplaced
		s.replay(1, "by-hand")       // the header of another program
		s.replay(1, "by-hand")
		s.replay(1, "a/b/c")
		s.replay(1, "readings/1/-1")
		s.record(1, "a", 1, 1)             // a record
		s.replay(0, "readings/0/10000000") // not there yet, or no longer: nobody asks
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if c := s.counters(); c != (Counters{Counted: 9, DeadLettered: 2}) {
			t.Errorf("counters %+v", c)
		}
		wantLines(t, "set aside", s.aside.sorted(), []string{"dead readings/0@6 misplaced_replay", "dead readings/1@1 misplaced_replay"})
	})
}

// TestReplaysAreRemembered: the stage behind a checkpoint drops what the one before has taken, and takes what it has not.
func TestReplaysAreRemembered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, s := newHeadquarters(t, scene{stream: rowsByDevice, vgroups: 1, partitions: 1}, nil)
		s.start()
		s.replay(0, "readings/0/7")
		time.Sleep(time.Second)
		h.request(1)
		manifests := h.wantDone(1)
		h.settle(1, 1)
		log := s.kafka.read(sourceTopic, 0)
		s.end()

		_, s = newHeadquarters(t, s.scene, manifests)
		s.kafka.logs[sourceTopic] = [][]kafka.Message{log}
		s.replay(0, "readings/0/7")
		s.replay(0, "readings/0/8")
		s.start()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if c := s.counters(); c.Counted != 2 { // one of each stage
			t.Errorf("counters %+v", c)
		}
	})
}

func TestTheOriginTakenFirstIsForgottenFirst(t *testing.T) {
	t.Parallel()
	var r replays
	for o := range ident.LastOffset(maxReplays + 2) {
		r.take(o)
	}
	var again replays
	again.load(r.state())
	for _, r := range []*replays{&r, &again} {
		_, first := r.taken[1]
		_, second := r.taken[2]
		if first || !second || len(r.taken) != maxReplays || len(r.order) != maxReplays {
			t.Errorf("1 is known: %t, 2: %t, of %d", first, second, len(r.taken))
		}
	}
	if !slices.Equal(r.state(), again.state()) {
		t.Error("a restore changes the order")
	}
}

func FuzzParseOrigin(f *testing.F) {
	for _, seed := range []string{"t/0/0", "t/2147483647/9223372036854775807", "", "/0/0", "t/2147483648/1", "t/1/-1", "t/+1/1", "t/1/2/3"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		o, ok := parseOrigin([]byte(text))
		if !ok {
			return
		}
		if o.Partition < 0 || o.Offset < 0 {
			t.Errorf("%q is %+v", text, o)
		}
		if again, ok := parseOrigin([]byte(o.String())); !ok || again != o {
			t.Errorf("%q is %+v, its text %s is %+v", text, o, o, again)
		}
	})
}
