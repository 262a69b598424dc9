package checkpoint

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/pondage/pondage/internal/ident"
)

// cluster runs streams on virtual time: a healthy one reports within 200 ms, one that hangs never does.
type cluster struct {
	limits    Limits
	streams   []Stream
	hangs     map[ident.StreamID]bool
	completed map[ident.StreamID]int
	given     ident.CheckpointID
}

func newCluster(streams, hanging int, l Limits) *cluster {
	c := &cluster{limits: l, hangs: map[ident.StreamID]bool{}, completed: map[ident.StreamID]int{}}
	for i := range streams {
		id := ident.StreamID(i + 1)
		c.hangs[id] = i < hanging
		c.streams = append(c.streams, Stream{ID: id, Moved: true, Settings: Settings{IntervalMs: 10_000, TimeoutMs: 60_000, Retain: 3, MaxFailed: 3}})
	}
	return c
}

const (
	tick      = 100 // ms: how often the loop looks
	healthyMs = 200 // until the report of a healthy task
)

// run lets so much time go by, in ms.
func (c *cluster) run(until ident.MonoMs) {
	for now := ident.MonoMs(0); now < until; now += tick {
		for i := range c.streams {
			c.step(&c.streams[i], now)
		}
		starts, _ := Begin(c.streams, c.limits, now)
		for _, b := range starts {
			c.given++
			s := &c.streams[b.Stream-1]
			s.Since = now
			s.Running = &Running{ID: c.given, Tx: 1, Kind: b.Kind, Began: now, Progress: now, Parts: []Part{{Asked: true}}}
		}
	}
}

func (c *cluster) step(s *Stream, now ident.MonoMs) {
	r := s.Running
	if r == nil {
		return
	}
	if !c.hangs[s.ID] && now-r.Began >= healthyMs {
		r.Parts[0].Done, r.Progress = true, now
	}
	switch d := Step(*s, now); d.Do {
	case Request:
		r.Parts[0].Taken = true
	case Complete:
		c.completed[s.ID]++
		s.Running, s.FailedInRow = nil, 0
	case Fail:
		s.FailedInRow++
		s.Running = nil
	case Wait:
	}
}

// TestT33_OneHangingSinkIsOneStreamsProblem: in ten minutes with an interval of ten seconds the others complete nearly all
// of their sixty checkpoints beside one that hangs, and at least nine beside four that fill all four slots.
func TestT33_OneHangingSinkIsOneStreamsProblem(t *testing.T) {
	t.Parallel()
	const tenMinutes = 600_000
	for _, test := range []struct{ hanging, least int }{{1, 55}, {4, 9}} {
		t.Run(fmt.Sprint(test.hanging), func(t *testing.T) {
			t.Parallel()
			limits := DefaultLimits
			limits.MaxConcurrent = 4
			c := newCluster(6, test.hanging, limits)
			c.run(tenMinutes)
			for id, hangs := range c.hangs {
				switch n := c.completed[id]; {
				case hangs && n > 0:
					t.Errorf("stream %d hangs and has %d checkpoints", id, n)
				case !hangs && n < test.least:
					t.Errorf("stream %d has %d checkpoints", id, n)
				}
			}
		})
	}
}

// TestT37_BarriersInAJam: however slow, a stream has one checkpoint at a time, and each ends within its timeout.
func TestT37_BarriersInAJam(t *testing.T) {
	t.Parallel()
	c := newCluster(1, 1, DefaultLimits)
	c.run(599_000)
	// One begins at 10 s and each fails 60 s later; the next follows at once, since its interval has passed.
	if c.given < 9 || c.given > 10 {
		t.Errorf("%d checkpoints were begun in ten minutes", c.given)
	}
	if got := c.streams[0].FailedInRow; got != int(c.given)-1 {
		t.Errorf("%d of %d have failed", got, c.given)
	}
}

func TestWhateverTheFacts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		now := ident.MonoMs(rapid.Int64Range(0, 200_000).Draw(t, "now"))
		limits := Limits{MaxConcurrent: rapid.IntRange(0, 4).Draw(t, "slots"), StallAfter: 10_000}
		var streams []Stream
		holding := 0
		for i := range rapid.IntRange(0, 6).Draw(t, "streams") {
			s := Stream{ID: ident.StreamID(i + 1), Settings: Settings{IntervalMs: 10_000, TimeoutMs: 60_000, MaxFailed: 3}}
			s.Unable = rapid.SampledFrom([]string{"", "starting"}).Draw(t, "unable")
			s.Moved = rapid.Bool().Draw(t, "moved")
			s.Asked = rapid.SampledFrom([]Kind{"", Manual, Last}).Draw(t, "asked")
			s.Since = ident.MonoMs(rapid.Int64Range(0, int64(now)).Draw(t, "since"))
			if rapid.Bool().Draw(t, "running") {
				s.Running = &Running{ID: 1, Began: s.Since, Progress: s.Since, Parts: rapid.SliceOfN(part(), 1, 4).Draw(t, "parts")}
				if now-s.Since < limits.StallAfter {
					holding++
				}
				checkStep(t, s, now)
			}
			streams = append(streams, s)
		}
		starts, at := Begin(streams, limits, now)
		if at != 0 && at <= now {
			t.Fatalf("look again at %d, it is %d", at, now)
		}
		if len(starts) > max(0, limits.MaxConcurrent-holding) {
			t.Fatalf("%d begin, %d hold the %d slots", len(starts), holding, limits.MaxConcurrent)
		}
		for _, b := range starts {
			if s := streams[b.Stream-1]; s.Running != nil || s.Unable != "" || b.Kind == Interval && !s.Moved || s.Asked != "" && b.Kind != s.Asked {
				t.Fatalf("%+v begins %s", s, b.Kind)
			}
		}
		again, _ := Begin(streams, limits, now)
		if diff := cmp.Diff(starts, again); diff != "" {
			t.Fatalf("asked again: %s", diff)
		}
	})
}

func part() *rapid.Generator[Part] {
	return rapid.Custom(func(t *rapid.T) Part {
		return Part{
			Asked: rapid.Bool().Draw(t, "asked"), Taken: rapid.Bool().Draw(t, "taken"), Gone: rapid.Bool().Draw(t, "gone"), Done: rapid.Bool().Draw(t, "done"),
			Failed: rapid.SampledFrom([]string{"", "", "", "disk full"}).Draw(t, "failed"),
		}
	})
}

// checkStep compares Step with what the rules say in so many words.
func checkStep(t *rapid.T, s Stream, now ident.MonoMs) {
	done, broken := true, false
	for _, p := range s.Running.Parts {
		done = done && p.Done
		broken = broken || p.Failed != "" || p.Gone && !p.Done
	}
	over := now >= s.Running.Began+s.Settings.TimeoutMs
	d := Step(s, now)
	switch {
	case broken, over && !done:
		if d.Do != Fail || d.Reason == "" {
			t.Fatalf("%+v: %s", s.Running.Parts, d.Do)
		}
	case done:
		if d.Do != Complete {
			t.Fatalf("%+v: %s", s.Running.Parts, d.Do)
		}
	default:
		if d.Do != Wait && d.Do != Request || d.At <= now {
			t.Fatalf("%+v at %d: %s until %d", s.Running.Parts, now, d.Do, d.At)
		}
	}
}
