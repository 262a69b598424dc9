package sim

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pondage/pondage/internal/failpoint"
	"github.com/pondage/pondage/internal/ident"
)

// TestEveryInvariantCanFail: each of the eight is named in the text of some run in which a misbehaviour, or a hand in the
// works, has broken it.
func TestEveryInvariantCanFail(t *testing.T) {
	t.Parallel()
	for invariant, p := range map[string]failpoint.Point{
		"I1": failpoint.ReuseStage, "I2": failpoint.CommitEarly, "I5": failpoint.DropOneBlock, "I6": failpoint.LateComplete,
		"I7": failpoint.RestartSameStage, "I8": failpoint.SkipFence,
	} {
		t.Run(invariant, func(t *testing.T) {
			t.Parallel()
			const most = 200
			for seed := uint64(1); seed <= most; seed++ {
				if o, err := Run(seed, always(t, p)); err == nil && names(o, invariant) {
					return
				}
			}
			t.Errorf("%s: not named in %d seeds", p, most)
		})
	}
	t.Run("I3", func(t *testing.T) {
		t.Parallel()
		w := runTo(t, 1, (*world).finished)
		w.stage.sources[0].counters.Filtered++
		if o := w.outcome(); !names(o, "I3") {
			t.Error(o)
		}
	})
	t.Run("I4", func(t *testing.T) {
		t.Parallel()
		w := runTo(t, 1, func(w *world) bool { return w.meta.running != nil })
		w.meta.set(*w.meta.running)
		if o := w.outcome(); !names(o, "I4") {
			t.Error(o)
		}
	})
}

func names(o Outcome, invariant string) bool {
	return slices.ContainsFunc(o.Broken, func(s string) bool { return strings.HasPrefix(s, invariant+": ") })
}

// runTo runs a seed until something is so.
func runTo(t *testing.T, seed uint64, so func(*world) bool) *world {
	t.Helper()
	w, err := newWorld(rand.New(rand.NewPCG(seed, 1)), nil)
	if err != nil {
		t.Fatal(err)
	}
	w.until(t, so)
	return w
}

func (w *world) until(t *testing.T, so func(*world) bool) {
	t.Helper()
	for range maxTurns {
		if so(w) {
			return
		}
		if err := w.turn(); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("it never came to it")
}

// TestT21_ASleeperWakesUp: a process stops while the stream is reset and goes on elsewhere, then runs on with all that it
// had under way. Blocks, reports, manifests, offsets and writes of it have no effect.
func TestT21_ASleeperWakesUp(t *testing.T) {
	t.Parallel()
	reached := map[Reach]int{}
	const seeds = 200
	for seed := uint64(1); seed <= seeds; seed++ {
		w := runTo(t, seed, func(w *world) bool { return w.meta.complete > 0 && w.meta.running != nil && !w.stage.lost })
		asleep := w.stage
		words := slices.Clone(w.words)
		w.words = slices.DeleteFunc(w.words, func(x word) bool { return x.to == asleep })
		words = slices.DeleteFunc(words, func(x word) bool { return x.to != asleep })
		asleep.lost = true
		next := w.meta.complete + 1
		w.until(t, func(w *world) bool {
			w.sleepers = slices.DeleteFunc(w.sleepers, func(s *stage) bool { return s == asleep })
			return w.finished() || w.stage != asleep && w.meta.complete > next
		})
		asleep.over = false
		w.sleepers, w.words = append(w.sleepers, asleep), append(w.words, words...)
		w.until(t, (*world).finished)
		o := w.outcome()
		if !o.Holds() {
			t.Errorf("seed %d: %s", seed, o)
		}
		for r, n := range o.Reached {
			reached[r] += n
		}
	}
	for _, r := range []Reach{OldStageMessage, OldStageReport, WriteFenced, ManifestFenced, OffsetFenced, ProducerFenced} {
		if reached[r] == 0 {
			t.Errorf("in no seed %s", r)
		}
	}
}

// TestT22_RestartsWithoutNewData: they count nothing, and leave the sinks as they are.
func TestT22_RestartsWithoutNewData(t *testing.T) {
	t.Parallel()
	w := runTo(t, 1, (*world).finished)
	for range 10 {
		w.stage.lost, w.stage.over = true, true
		w.until(t, (*world).finished)
	}
	for _, src := range w.stage.sources {
		if end := ident.NextOffset(len(w.records[src.partition])); src.next != end || w.published.offsets[src.partition] > end {
			t.Errorf("partition %d: at %d of %d, published %d", src.partition, src.next, end, w.published.offsets[src.partition])
		}
	}
	if o := w.outcome(); !o.Holds() || o.Stages < 10 {
		t.Error(o)
	}
}

// TestT09_FinalMeansOneRow: results that are shown when their windows close are one record each in the transactional
// output, over three deaths.
func TestT09_FinalMeansOneRow(t *testing.T) {
	t.Parallel()
	const runs = 20
	done := 0
	for seed := uint64(1); done < runs; seed++ {
		w := runTo(t, seed, func(*world) bool { return true })
		if w.shape.atOnce || w.crashes < 3 {
			continue
		}
		done++
		w.until(t, func(w *world) bool { return w.finished() && w.crashes == 0 })
		want := w.expected()
		if w.output.records != len(want) || w.output.doubled > 0 {
			t.Errorf("seed %d: %d records of %d windows, %d of them again", seed, w.output.records, len(want), w.output.doubled)
		}
	}
}
