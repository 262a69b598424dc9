package watermark

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pondage/pondage/internal/ident"
)

// dumbMerge says what the watermark of a downstream task is from the whole history, without state of its own.
type dumbMerge struct {
	heard map[ident.Task][]Heard
	tasks []ident.Task
	close int64
}

func (d *dumbMerge) now(at ident.MonoMs) (w ident.EventMs, ok bool) {
	var finite, awake []ident.EventMs
	idle, silentSince := 0, ident.MonoMs(-1)
	finished := 0
	for _, t := range d.tasks {
		hs := d.heard[t]
		last := ident.WatermarkNone
		for _, h := range hs {
			if h.Watermark != ident.WatermarkEnd {
				last = max(last, h.Watermark)
			}
			if h.Rows > 0 || !h.Idle {
				silentSince = max(silentSince, h.Now)
			}
		}
		finite = append(finite, last)
		switch {
		case len(hs) == 0:
			awake = append(awake, ident.WatermarkNone)
		case slices.ContainsFunc(hs, func(h Heard) bool { return h.Watermark == ident.WatermarkEnd }):
			finished++
		case hs[len(hs)-1].Idle:
			idle++
		default:
			awake = append(awake, last)
		}
	}
	switch {
	case len(awake) > 0:
		return slices.Min(awake), true
	case finished == len(d.tasks):
		return ident.WatermarkEnd, true
	case d.close == 0:
		return 0, false
	}
	high := slices.Max(finite)
	if high == ident.WatermarkNone {
		return high, true
	}
	if silentSince < 0 {
		silentSince = 0
	}
	return high + ident.EventMs(max(0, int64(at-silentSince)-d.close)), true
}

// TestT10_AllPairsOfTransitions: over 1, 2 and n upstreams, every order of rows, idle, active and finished gives what a
// look at the whole history gives, and never moves back.
func TestT10_AllPairsOfTransitions(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var tasks []ident.Task
		for i := range rapid.IntRange(1, 4).Draw(t, "upstreams") {
			tasks = append(tasks, ident.Task{Level: ident.LevelSource, VGroup: ident.VGroup(i)})
		}
		closeAfter := rapid.SampledFrom([]time.Duration{0, 50 * time.Millisecond}).Draw(t, "close")
		m := NewMerge(MergeConfig{Upstreams: tasks, CloseIdleAfter: closeAfter})
		d := &dumbMerge{heard: map[ident.Task][]Heard{}, tasks: tasks, close: closeAfter.Milliseconds()}
		sent := map[ident.Task]ident.EventMs{}
		done := map[ident.Task]bool{}
		now, want := ident.MonoMs(0), ident.WatermarkNone
		if _, err := m.Step(Tick{Now: 0}); err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			now += ident.MonoMs(rapid.IntRange(0, 60).Draw(t, "dt"))
			from := rapid.SampledFrom(tasks).Draw(t, "from")
			if rapid.Bool().Draw(t, "tick") || done[from] {
				step(t, m, Tick{Now: now})
			} else {
				if _, ok := sent[from]; !ok {
					sent[from] = ident.WatermarkNone
				}
				h := Heard{From: from, Now: now}
				switch rapid.SampledFrom([]string{"rows", "idle", "end"}).Draw(t, "word") {
				case "rows":
					sent[from] = max(sent[from], ident.EventMs(rapid.IntRange(0, 300).Draw(t, "w")))
					h.Rows = 1
				case "idle":
					h.Idle = true
				case "end":
					done[from] = true
					h.Watermark = ident.WatermarkEnd
				}
				if !done[from] {
					h.Watermark = sent[from]
				}
				// An idle upstream was in the minimum up to its word: the history just before counts too.
				if h.Idle {
					before := h
					before.Idle, before.Now = false, 0
					d.heard[from] = append(d.heard[from], before)
					if hs := d.heard[from]; len(hs) < 2 || !hs[len(hs)-2].Idle {
						if w, ok := d.now(now); ok {
							want = max(want, w)
						}
					}
					d.heard[from] = d.heard[from][:len(d.heard[from])-1]
				}
				d.heard[from] = append(d.heard[from], h)
				step(t, m, h)
			}
			if w, ok := d.now(now); ok {
				want = max(want, w)
			}
			if got := m.Watermark(); got != want {
				t.Fatalf("at %d: watermark %d, want %d", now, got, want)
			}
		}
	})
}

func step(t *rapid.T, m *Merge, e Event) {
	before := m.Watermark()
	effects, err := m.Step(e)
	if err != nil {
		t.Fatal(err)
	}
	told := before
	for _, e := range effects {
		if a, ok := e.(Advance); ok {
			told = a.Watermark
		}
	}
	if m.Watermark() < before || told != m.Watermark() {
		t.Fatalf("watermark %d → %d, the last Advance says %d", before, m.Watermark(), told)
	}
}
