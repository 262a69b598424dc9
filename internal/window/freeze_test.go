package window

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/pondage/pondage/internal/agg"
	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/ident"
)

// file is what a checkpoint has written.
type file []*block.Batch

// clone copies a batch, whose columns are used again.
func clone(b *block.Batch) *block.Batch {
	out := block.NewBatch(b.Schema, b.Rows())
	for c, col := range b.Cols {
		for i := range b.Rows() {
			out.Cols[c].AppendFrom(col, i)
		}
	}
	return out
}

func write(t rapid.TB, f *Frozen) (out file) {
	err := f.Partials(3, func(b *block.Batch) error {
		if err := b.Check(); err != nil {
			return err
		}
		out = append(out, clone(b))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// restored returns a state as of a watermark and a chain of files, the oldest first.
func restored(t rapid.TB, c StateConfig, w ident.EventMs, chain []file) *State {
	c.Seed++ // another process: another order of its hash tables
	s := NewState(c)
	readBack(t, s, w, chain)
	return s
}

// readBack restores a new state.
func readBack(t rapid.TB, s *State, w ident.EventMs, chain []file) {
	r := s.Restore(w)
	for _, f := range slices.Backward(chain) {
		r.NextFile()
		for _, b := range f {
			if err := r.Take(b); err != nil {
				t.Fatalf("restore: %v", err)
			}
		}
	}
	r.End()
	s.Track()
}

// TestARestoredStateGoesOn: frozen in files at any moment, some of them lost, and restored from them at any moment, with all
// the memory or with hardly any, a state emits the same as one that never stopped, bit by bit, and nothing twice that is
// emitted once. Nothing stays spilled.
func TestARestoredStateGoesOn(t *testing.T) {
	t.Parallel()
	for name, spec := range testSpecs {
		for _, trigger := range []Trigger{EmitOnClose, EmitOnChange} {
			t.Run(fmt.Sprintf("%s, trigger %d", name, trigger), func(t *testing.T) {
				t.Parallel()
				rapid.Check(t, func(t *rapid.T) {
					l := &livesOn{memory: rapid.SampledFrom([]int{0, 1, 1000, 5000}).Draw(t, "memory")}
					simulate(t, spec, trigger, l.between)
					if l.spill != nil && l.keep != KeepForever && len(l.spill.kept) > 0 {
						t.Fatalf("%d buckets are left in the spill", len(l.spill.kept))
					}
				})
			})
		}
	}
}

// livesOn is the life of a state with checkpoints, failed ones, and restarts.
type livesOn struct {
	memory int // the bound, bytes; 0: none
	spill  *memSpill
	keep   ident.EventMs
	chain  []file
	failed *Frozen // of a checkpoint that will fail
}

func (l *livesOn) between(t *rapid.T, s *State, emit func(*Emission)) *State {
	if l.spill == nil {
		s.Track()
		l.spill, l.keep = bound(s, l.memory), s.cfg.Keep
	}
	s.Changed(emit)
	if err := s.Relieve(); err != nil {
		t.Fatal(err)
	}
	if f := l.failed; f != nil { // meanwhile the state went on
		if rapid.Bool().Draw(t, "written") {
			write(t, f)
		}
		s.GiveBack(f)
		l.failed = nil
	}
	switch rapid.IntRange(0, 4).Draw(t, "checkpoint") {
	case 0:
		l.chain = []file{write(t, s.FreezeAll())}
	case 1:
		l.delta(t, s)
	case 2:
		l.failed = s.FreezeTouched()
	case 3: // a last checkpoint, then another process
		l.delta(t, s)
		if n := l.spill.open.Load(); n != 0 {
			t.Fatalf("%d snapshots are left", n)
		}
		c := s.cfg
		c.Seed++ // another order of its hash tables
		next := NewState(c)
		l.spill = bound(next, l.memory)
		readBack(t, next, s.watermark, l.chain)
		return next
	}
	return s
}

func (l *livesOn) delta(t *rapid.T, s *State) {
	if len(l.chain) == 0 {
		l.chain = []file{write(t, s.FreezeAll())}
		return
	}
	l.chain = append(l.chain, write(t, s.FreezeTouched()))
}

// TestAFreezeSharesNothing: what is written is as of the freeze, whatever the state does meanwhile.
func TestAFreezeSharesNothing(t *testing.T) {
	t.Parallel()
	spec := testSpecs["tumbling"]
	s := newTestState(t, spec, EmitOnClose, 0)
	s.Track()
	source := NewPreAgg(PreAggConfig{Windows: mustWindows(t, spec), Keys: testKeys, Aggs: testAggs(t), Args: []block.Type{block.Float64},
		Route: func([]*block.Column, int) ident.VGroup { return 0 }})
	feed := func(keys int, ts int64, x float64) {
		var rows []row
		for i := range keys {
			rows = append(rows, row{key: fmt.Sprint("device-", i), ts: ts, x: x, openFrom: ident.WatermarkNone})
		}
		source.Add(columnsOf(rows))
		source.Flush(func(_ ident.VGroup, b *block.Batch) {
			if err := s.Merge(b); err != nil {
				t.Fatal(err)
			}
		})
	}
	const many = 5000
	for _, x := range []float64{1e300, 1, 1e-300, -1e300} { // more than the words of a cell hold
		feed(many, 5, x)
	}
	f := s.FreezeAll()
	feed(2*many, 6, 7)
	s.Advance(10, func(*Emission) {}) // all cells and groups go
	feed(many, 15, 3)
	got := restored(t, s.cfg, ident.WatermarkNone, []file{write(t, f)})
	n := 0
	got.Advance(ident.WatermarkEnd, func(e *Emission) {
		for i := range e.Batch.Rows() {
			n++
			if rows, sum := e.Batch.Cols[3].Int[i], sumOf(t, e.Batch, s.cfg).Float[i]; rows != 4 || sum != 1 {
				t.Fatalf("%d rows with sum %g", rows, sum)
			}
		}
	})
	if n != many {
		t.Errorf("%d windows, want %d", n, many)
	}
}

// TestWhatIsGivenBackIsOfPanes: a checkpoint fails after windows have moved on. The numbers of its cells may be those of the
// slider by then, which hold what panes hold already: the next delta must not have them as cells of a pane.
func TestWhatIsGivenBackIsOfPanes(t *testing.T) {
	t.Parallel()
	const size, step, panes = 60, 10, 12
	spec := Spec{Size: Length{size, UnitMillisecond}, Slide: Length{step, UnitMillisecond}}
	for early := range int64(panes) { // so many panes have rows before the checkpoint that fails, the others after it
		for moved := range int64(panes) {
			s := newTestState(t, spec, EmitOnClose, 0)
			s.Track()
			source := NewPreAgg(PreAggConfig{Windows: mustWindows(t, spec), Keys: testKeys, Aggs: testAggs(t), Args: []block.Type{block.Float64},
				Route: func([]*block.Column, int) ident.VGroup { return 0 }})
			feed := func(pane int64) {
				source.Add(columnsOf([]row{{key: "a", ts: pane*step + 1, x: 1, openFrom: ident.WatermarkNone}, {key: "b", ts: pane*step + 2, x: 2, openFrom: ident.WatermarkNone}}))
				source.Flush(func(_ ident.VGroup, b *block.Batch) {
					if err := s.Merge(b); err != nil {
						t.Fatal(err)
					}
				})
			}
			chain := []file{write(t, s.FreezeAll())}
			for p := range early {
				feed(p)
			}
			failed := s.FreezeTouched()
			w := ident.EventMs(moved * step)
			for at := ident.EventMs(step); at <= w; at += step { // the slider moves window by window
				s.Advance(at, func(*Emission) {})
			}
			for p := max(early, moved); p < panes; p++ {
				feed(p)
			}
			write(t, failed)
			s.GiveBack(failed)
			chain = append(chain, write(t, s.FreezeTouched()))
			want, got := results{}, results{}
			restored(t, s.cfg, w, chain).Advance(ident.WatermarkEnd, func(e *Emission) { got.take(t, e) })
			s.Advance(ident.WatermarkEnd, func(e *Emission) { want.take(t, e) })
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%d panes before the checkpoint, closed up to %d (-live +restored):\n%s", early, w, diff)
			}
		}
	}
}

// TestWhatIsGivenBackIsFrozenAgain: whatever becomes of a state between the freeze of a checkpoint and its failure, the next
// one has it all, and once: what is restored from the files that count is the live state, partial by partial.
func TestWhatIsGivenBackIsFrozenAgain(t *testing.T) {
	t.Parallel()
	for name, spec := range testSpecs {
		for _, trigger := range []Trigger{EmitOnClose, EmitOnChange} {
			t.Run(fmt.Sprintf("%s, trigger %d", name, trigger), func(t *testing.T) {
				t.Parallel()
				rapid.Check(t, func(t *rapid.T) {
					unit := scaleOf(spec)
					keep := ident.EventMs(rapid.SampledFrom([]int64{0, 5 * unit, math.MaxInt64}).Draw(t, "keep"))
					s, source := newTestState(t, spec, trigger, keep), preAgg(t, spec)
					s.Track()
					offset := int64(0)
					goOn := func() {
						for range rapid.IntRange(0, 6).Draw(t, "changes") {
							rows := rowsAhead(t, s, unit)
							for i := range rows {
								rows[i].offset = offset
								offset++
							}
							source.Add(columnsOf(rows))
							flushInto(t, source, s)
							s.Advance(max(s.watermark, 0)+ident.EventMs(rapid.Int64Range(0, 3).Draw(t, "ahead")*unit), func(*Emission) {})
						}
					}
					chain := []file{write(t, s.FreezeAll())}
					for range rapid.IntRange(1, 3).Draw(t, "checkpoints") {
						goOn()
						failed := s.FreezeTouched()
						goOn()
						if rapid.Bool().Draw(t, "written") {
							write(t, failed)
						}
						s.GiveBack(failed)
						if rapid.Bool().Draw(t, "complete") {
							goOn()
						}
						chain = append(chain, write(t, s.FreezeTouched()))
					}
					got := restored(t, s.cfg, s.watermark, chain)
					if diff := cmp.Diff(wholeOf(t, s), wholeOf(t, got)); diff != "" {
						t.Fatalf("state (-live +restored):\n%s", diff)
					}
					live, again := results{}, results{}
					s.Advance(ident.WatermarkEnd, func(e *Emission) { live.take(t, e) })
					got.Advance(ident.WatermarkEnd, func(e *Emission) { again.take(t, e) })
					again.equal(t, live)
				})
			})
		}
	}
}

// rowsAhead draws rows of few groups that the state's watermark allows, most of them soon to be closed. Their values are whole
// numbers: the parts of an exact sum have one form only.
func rowsAhead(t *rapid.T, s *State, unit int64) (rows []row) {
	for range rapid.IntRange(0, 4).Draw(t, "rows") {
		r := row{key: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "key"), x: float64(rapid.IntRange(-9, 9).Draw(t, "x")), openFrom: ident.WatermarkNone}
		r.ts = int64(max(s.watermark, 0)) + rapid.Int64Range(-10, 20).Draw(t, "ts")*unit
		if s.cfg.Keep != KeepForever && s.watermark != ident.WatermarkNone {
			r.openFrom = s.watermark - s.cfg.Keep + 1
		}
		if s.windows.Holds(ident.EventMs(r.ts)) && s.windows.LastEnd(ident.EventMs(r.ts)) >= r.openFrom {
			rows = append(rows, r)
		}
	}
	return rows
}

// wholeOf is what a freeze of the whole state writes, a text for each partial.
func wholeOf(t rapid.TB, s *State) (partials []string) {
	for _, b := range write(t, s.FreezeAll()) {
		for i := range b.Rows() {
			text := ""
			for c, col := range b.Cols { // a column that is null throughout is left out, so nulls say nothing
				switch {
				case col.IsNull(i):
				case col.Type.Kind == block.KindFloat64:
					text += fmt.Sprintf(" %s=%x", b.Schema[c].Name, col.Float[i])
				case col.Off != nil:
					text += fmt.Sprintf(" %s=%q", b.Schema[c].Name, col.Bytes(i))
				default:
					text += fmt.Sprintf(" %s=%d", b.Schema[c].Name, col.Int[i])
				}
			}
			partials = append(partials, text)
		}
	}
	slices.Sort(partials)
	return partials
}

// sumOf is the emitted column of sum.
func sumOf(t testing.TB, b *block.Batch, c StateConfig) *block.Column {
	t.Helper()
	const windowColumns = 3
	i := slices.IndexFunc(c.Aggs, func(a agg.Spec) bool { return a.Kind == agg.KindSum })
	if i < 0 {
		t.Fatal("no sum")
	}
	return b.Cols[len(c.Keys)+windowColumns+i]
}

// TestNoPartialIsBelieved: batches that are well formed and claim anything end in an error or in some state, but not in a
// panic; files and blocks may be of a broken or foreign sender.
func TestNoPartialIsBelieved(t *testing.T) {
	t.Parallel()
	for name, spec := range testSpecs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				s := newTestState(t, spec, EmitOnClose, 0)
				s.Track()
				frozen := s.FreezeAll()
				full := block.NewBatch(append(append(slices.Clone(testKeys), block.Field{Name: ColumnPane, Type: block.Timestamp}, block.Field{Name: ColumnFrom, Type: block.Timestamp}), frozen.layout.PartialFields()...), 0)
				for range rapid.IntRange(1, 3).Draw(t, "rows") {
					for _, c := range full.Cols {
						switch c.Type.Kind {
						case block.KindString:
							c.AppendString(rapid.SampledFrom([]string{"", "a", "1", "-1 0 0", "zz"}).Draw(t, "text"))
						case block.KindFloat64:
							c.AppendFloat(rapid.Float64().Draw(t, "float"))
						default:
							c.AppendInt(rapid.OneOf(rapid.Int64(), rapid.SampledFrom([]int64{0, 10, 20, 86_400_000, math.MinInt64, math.MaxInt64})).Draw(t, "int"))
						}
					}
				}
				r := s.Restore(0)
				r.NextFile()
				if r.Take(full) == nil {
					r.End()
					s.Advance(50, func(*Emission) {})
					s.FreezeTouched()
				}
				_ = newTestState(t, spec, EmitOnChange, 0).Merge(full)
			})
		})
	}
}
