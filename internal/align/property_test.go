package align_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/pondage/pondage/internal/ident"
)

// TestEveryFrozenStateLiesBeforeTheBarriers is I5: whatever is lost, doubled, late or out of date, the state that a task
// freezes is exactly what lies before the barrier of each of its inputs, and a checkpoint is complete only when every
// task has frozen it. When the faults end, all rows arrive once, in order, and checkpoints complete again: no input stays
// closed.
func TestEveryFrozenStateLiesBeforeTheBarriers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		for range rapid.IntRange(20, 250).Draw(t, "steps") {
			w.act()
		}
		w.heal()
	})
}

// act does one thing.
func (w *world) act() {
	source := func() *source { return w.sources[w.draw("source", len(w.sources))] }
	agg := func() *agg { return w.aggs[w.draw("agg", len(w.aggs))] }
	switch rapid.SampledFrom([]string{
		"take", "take", "flush", "begin", "begin", "happen", "happen", "happen", "happen", "happen", "happen",
		"read", "read", "read", "credit", "tell", "fail", "tick", "stray",
	}).Draw(w.t, "action") {
	case "take":
		source().take()
	case "flush":
		source().flush()
	case "begin":
		w.lead.begin()
	case "happen":
		w.happen()
	case "read":
		agg().read(1 + w.draw("messages", 12))
	case "credit":
		agg().credit()
	case "tell":
		all := w.members()
		w.lead.tell(all[w.draw("member", len(all))])
	case "fail":
		if w.lead.running && w.draw("really", 3) == 0 {
			w.lead.settle(false)
		}
	case "tick":
		w.tick(ident.MonoMs(rapid.SampledFrom([]int{100, 1_000, 4_000, 11_000, 70_000}).Draw(w.t, "ms")))
	case "stray":
		source().stray()
	}
}

// heal ends all faults. One checkpoint after the last fault must complete.
func (w *world) heal() {
	w.faulty = false
	from := w.lead.last
	for range 2_000 {
		for n := len(w.late); n > 0; n-- {
			w.happen()
		}
		for _, s := range w.sources {
			s.flush()
		}
		for _, a := range w.aggs {
			a.read(50)
			a.credit()
		}
		for _, m := range w.members() {
			w.lead.tell(m)
		}
		if w.lead.now().complete > from && w.arrived() && w.committed() {
			return
		}
		w.lead.begin()
		w.tick(300)
	}
	w.t.Fatalf("no checkpoint above %d completes, or rows are missing, after the faults: %+v", from, w.lead.now())
}

// arrived tells whether every row is where it belongs, once and in order.
func (w *world) arrived() bool {
	for _, a := range w.aggs {
		for _, s := range w.sources {
			var want []int
			for _, it := range s.channels[a.self].items {
				want = append(want, it.rows...)
			}
			if !slices.Equal(a.state[s.self], want) {
				return false
			}
		}
	}
	return true
}

func (w *world) committed() bool {
	for _, m := range w.members() {
		if m.core.Committed() != w.lead.now().complete {
			return false
		}
	}
	return true
}
