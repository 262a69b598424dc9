package overflow

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"github.com/pondage/pondage/internal/agg"
	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/window"
)

func open(t testing.TB) *Spill {
	t.Helper()
	s, err := Open(filepath.Join(t.TempDir(), "spill"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

var schema = block.Schema{{Name: "k", Type: block.String}, {Name: "n", Type: block.Int64}}

func batchOf(number int64) *block.Batch {
	b := block.NewBatch(schema, 1)
	b.Cols[0].AppendString(fmt.Sprint("key ", number))
	b.Cols[1].AppendInt(number)
	return b
}

// contents is what a reader gives out of a bucket, as text.
func contents(t rapid.TB, r window.SpillReader, pane ident.EventMs, bucket int) (all []string) {
	err := r.Each(pane, bucket, func(m window.SpillMark, b *block.Batch) error {
		all = append(all, fmt.Sprintf("%+v %s %d", m, b.Cols[0].Bytes(0), b.Cols[1].Int[0]))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestASpillKeepsWhatIsPut: against lists in maps, with snapshots that stay as they are.
func TestASpillKeepsWhatIsPut(t *testing.T) {
	t.Parallel()
	type place struct {
		pane   ident.EventMs
		bucket int
	}
	panes := rapid.SampledFrom([]ident.EventMs{math.MinInt64, -1, 0, 1, 256, math.MaxInt64})
	buckets := rapid.SampledFrom([]int{0, 1, 63, 254})
	rapid.Check(t, func(t *rapid.T) {
		fs := vfs.NewMem()
		s, err := openOn(fs, "spill")
		if err != nil {
			t.Fatal(err)
		}
		model := map[place][]string{}
		check := func(r window.SpillReader, model map[place][]string) {
			for at, want := range model {
				if got := contents(t, r, at.pane, at.bucket); !slices.Equal(got, want) {
					t.Fatalf("%+v: %v, want %v", at, got, want)
				}
			}
		}
		frozen := map[window.SpillSnapshot]map[place][]string{}
		for n := range rapid.Int64Range(1, 60).Draw(t, "calls") {
			at := place{panes.Draw(t, "pane"), buckets.Draw(t, "bucket")}
			switch rapid.IntRange(0, 5).Draw(t, "call") {
			case 0:
				err = s.Drop(at.pane, at.bucket)
				model[at] = nil
			case 1:
				copied := map[place][]string{}
				for at, all := range model {
					copied[at] = slices.Clone(all)
				}
				frozen[s.Snapshot()] = copied
			default:
				m := window.SpillMark{Epoch: rapid.Uint64().Draw(t, "epoch"), Restored: rapid.Bool().Draw(t, "restored")}
				err = s.Put(at.pane, at.bucket, m, batchOf(n))
				model[at] = append(model[at], fmt.Sprintf("%+v key %d %d", m, n, n))
			}
			if err != nil {
				t.Fatal(err)
			}
			check(s, model)
		}
		left := 0
		for r, model := range frozen {
			check(r, model)
			if left++; left == 1 {
				continue // to Close
			}
			// Given up while it is read, and once more: the reader ends as it would have.
			err := r.Each(0, 0, func(window.SpillMark, *block.Batch) error { return r.Close() })
			if err := errors.Join(err, r.Close(), r.Close()); err != nil {
				t.Fatal(err)
			}
			if err := r.Each(0, 0, nil); !errors.Is(err, errClosed) {
				t.Fatalf("read after it was given up: %v", err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := fs.Stat(s.dir); !os.IsNotExist(err) {
			t.Fatalf("the directory is left: %v", err)
		}
	})
}

func TestWhatAnotherRunLeftIsGone(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "spill")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "CURRENT"), []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestAFailureInTheBackgroundIsSaid: the next call has it, whatever it is.
func TestAFailureInTheBackgroundIsSaid(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.fail(os.ErrPermission)
	nothing := func(window.SpillMark, *block.Batch) error { return nil }
	for name, err := range map[string]error{"put": s.Put(0, 0, window.SpillMark{}, batchOf(1)), "each": s.Each(0, 0, nothing), "drop": s.Drop(0, 0)} {
		if err == nil || !strings.Contains(err.Error(), s.dir) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// windowed is a windowed task's state with its source in front.
type windowed struct {
	t      testing.TB
	state  *window.State
	source *window.PreAgg
}

var keys = block.Schema{{Name: "tbname", Type: block.String}}

func newWindowed(t testing.TB) *windowed {
	t.Helper()
	windows := func() *window.Windows {
		w, err := window.NewWindows(window.Spec{Size: window.Length{N: 1, Unit: window.UnitHour}})
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	sum, _, err := agg.Resolve("sum", block.Float64)
	if err != nil {
		t.Fatal(err)
	}
	aggs, args := []agg.Spec{sum}, []block.Type{block.Float64}
	return &windowed{
		t: t, state: window.NewState(window.StateConfig{Windows: windows(), Keys: keys, Aggs: aggs, Args: args}),
		source: window.NewPreAgg(window.PreAggConfig{Windows: windows(), Keys: keys, Aggs: aggs, Args: args, Route: func([]*block.Column, int) ident.VGroup { return 0 }}),
	}
}

// feed gives each of so many devices a row.
func (w *windowed) feed(ts int64, devices int) {
	w.t.Helper()
	if err := w.feedUntil(ts, devices); err != nil {
		w.t.Fatal(err)
	}
}

// feedUntil is feed up to the first error of the spill.
func (w *windowed) feedUntil(ts int64, devices int) error {
	w.t.Helper()
	const batch = 10_000
	for from := 0; from < devices; from += batch {
		key, x := block.NewColumn(block.String, 0), block.NewColumn(block.Float64, 0)
		rows := window.Rows{Keys: []*block.Column{key}, Args: []*block.Column{x}}
		for i := range min(batch, devices-from) {
			key.AppendString(fmt.Sprintf("device-%07d", from+i))
			x.AppendFloat(float64(from + i))
			rows.Ts, rows.Sel = append(rows.Ts, ts), append(rows.Sel, int32(i))
		}
		w.source.Add(rows)
		w.source.Flush(func(_ ident.VGroup, b *block.Batch) {
			if err := w.state.Merge(b); err != nil {
				w.t.Fatal(err)
			}
		})
		if err := w.state.Relieve(); err != nil {
			return err
		}
	}
	return nil
}

// sums closes all windows and returns the sums by device.
func (w *windowed) sums() map[string]float64 {
	w.t.Helper()
	out := map[string]float64{}
	w.state.Advance(ident.WatermarkEnd, func(e *window.Emission) {
		for i := range e.Batch.Rows() {
			key := string(e.Batch.Cols[0].Bytes(i))
			if _, again := out[key]; again {
				w.t.Fatalf("%s has two results", key)
			}
			out[key] = e.Batch.Cols[4].Float[i]
		}
	})
	if err := w.state.Relieve(); err != nil {
		w.t.Fatal(err)
	}
	return out
}

// TestAWindowBeyondMemory: one window of many devices, of which memory holds a tenth, closes whole, and memory stays below the
// bound, also while it is restored.
func TestAWindowBeyondMemory(t *testing.T) {
	t.Parallel()
	const devices, limit = 60_000, 1 << 20
	w := newWindowed(t)
	spill := open(t)
	w.state.Bound(limit, func() (window.Spill, error) { return spill, nil })
	w.feed(1, devices)
	w.feed(2, devices)

	var files []*block.Batch
	err := w.state.FreezeAll().Partials(1000, func(b *block.Batch) error { files = append(files, copyOf(b)); return nil })
	if err != nil {
		t.Fatal(err)
	}
	again := newWindowed(t)
	other := open(t)
	again.state.Bound(limit, func() (window.Spill, error) { return other, nil })
	r := again.state.Restore(ident.WatermarkNone)
	for _, b := range files {
		if err := r.Take(b); err != nil {
			t.Fatal(err)
		}
	}
	r.End()
	again.feed(3, devices)

	for times, w := range map[float64]*windowed{2: w, 3: again} {
		seen := map[string]bool{}
		w.state.Advance(ident.WatermarkEnd, func(e *window.Emission) {
			for i := range e.Batch.Rows() {
				key := string(e.Batch.Cols[0].Bytes(i))
				var device float64
				if _, err := fmt.Sscanf(key, "device-%f", &device); err != nil {
					t.Fatal(err)
				}
				if sum := e.Batch.Cols[4].Float[i]; seen[key] || sum != times*device {
					t.Fatalf("%s: seen before: %t, sum %g, want %g", key, seen[key], sum, times*device)
				}
				seen[key] = true
			}
		})
		if err := w.state.Relieve(); err != nil || len(seen) != devices {
			t.Fatalf("%d devices, want %d: %v", len(seen), devices, err)
		}
		// Memory is used again, not given back: what is held tells what was used at most. Tables and slabs double.
		if held := w.state.Stats().MemBytes; held > 4*limit {
			t.Errorf("%d bytes were held, with a bound of %d", held, limit)
		}
	}
}

func copyOf(b *block.Batch) *block.Batch {
	out := block.NewBatch(b.Schema, b.Rows())
	for c, col := range b.Cols {
		for i := range b.Rows() {
			out.Cols[c].AppendFrom(col, i)
		}
	}
	return out
}

// BenchmarkSpill takes a million groups through a state that holds a tenth of them.
func BenchmarkSpill(b *testing.B) {
	const devices, limit = 1_000_000, 16 << 20
	for b.Loop() {
		w := newWindowed(b)
		spill := open(b)
		w.state.Bound(limit, func() (window.Spill, error) { return spill, nil })
		w.feed(1, devices)
		rows := 0
		w.state.Advance(ident.WatermarkEnd, func(e *window.Emission) { rows += e.Batch.Rows() })
		if rows != devices {
			b.Fatal(rows)
		}
	}
}
