package window

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/pondage/pondage/internal/agg"
	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/tablehash"
)

func TestFlushHandsOutOnePartialPerGroupPaneAndWindow(t *testing.T) {
	t.Parallel()
	p := preAgg(t, testSpecs["sliding"])
	var rows []row
	for i := range 300 { // three panes, taken in turn, of two groups; some restricted
		r := row{key: []string{"a", "bb"}[i%2], ts: int64(i % 3 * 2), openFrom: fromAll}
		if i%5 == 0 {
			r.openFrom = 9
		}
		rows = append(rows, r)
	}
	p.Add(columnsOf(rows))
	partials, counted := 0, int64(0)
	p.Flush(func(vg ident.VGroup, b *block.Batch) {
		partials += b.Rows()
		for i, n := range b.Col(agg.ColumnRows).Int {
			counted += n
			if want := len(b.Cols[0].Bytes(i)) % 3; int(vg) != want {
				t.Errorf("group %s went to %d, want %d", b.Cols[0].Bytes(i), vg, want)
			}
		}
		if b.MemBytes() > 4000 {
			t.Errorf("batch of %d bytes, target 2000", b.MemBytes())
		}
	})
	if partials != 12 || counted != 300 || p.Cells() != 0 {
		t.Errorf("%d partials with %d rows, want 2 groups × 3 panes × 2, 300 rows", partials, counted)
	}
}

func TestPreAggIsFullBeforeItTakesMuchMemory(t *testing.T) {
	t.Parallel()
	p := preAgg(t, testSpecs["sliding"])
	const chunk = 1000
	ts := int64(0)
	for !p.Full() {
		rows := make([]row, chunk)
		for i := range rows {
			ts += 2 // a pane of its own for each row
			rows[i] = row{key: "a", ts: ts, openFrom: fromAll}
		}
		p.Add(columnsOf(rows))
	}
	if n := p.MemBytes(); n > 16<<20 {
		t.Errorf("full with %d cells in %d bytes", p.Cells(), n)
	}
	p.Flush(func(ident.VGroup, *block.Batch) {})
	if p.Full() {
		t.Error("full after the flush")
	}
}

// TestGroupsAreCanonicalKeys checks that rows share a group exactly when their canonical keys are equal (trap T35), for
// key columns of any type, and that the keys come out as they went in.
func TestGroupsAreCanonicalKeys(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string]block.Schema{
		"none": {}, "text": {{Name: "k", Type: block.String}}, "float": {{Name: "k", Type: block.Float64}},
		"text and float": {{Name: "k", Type: block.String}, {Name: "f", Type: block.Float64}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				cols := block.NewBatch(keys, 0).Cols
				n := rapid.IntRange(1, 40).Draw(t, "rows")
				sel := make([]int32, n)
				for i := range n {
					sel[i] = int32(i)
					for _, c := range cols {
						drawKey(t, c)
					}
				}
				g := newGroups(keys, rapid.Uint64().Draw(t, "seed"), 0)
				out := make([]uint32, n)
				g.resolve(out, cols, sel, func(uint32, int) {})
				byKey := map[string]uint32{}
				for i, group := range out {
					key := string(tablehash.AppendKey(nil, cols, i))
					if old, ok := byKey[key]; ok && old != group {
						t.Fatalf("rows with the key %q are in groups %d and %d", key, old, group)
					}
					byKey[key] = group
					back := block.NewBatch(keys, 1).Cols
					g.appendKeys(back, group)
					if len(keys) > 0 && string(tablehash.AppendKey(nil, back, 0)) != key {
						t.Fatalf("group %d has another key than row %d", group, i)
					}
				}
				if len(byKey) != g.live {
					t.Fatalf("%d groups for %d keys", g.live, len(byKey))
				}
			})
		})
	}
}

func drawKey(t *rapid.T, c *block.Column) {
	switch {
	case rapid.IntRange(0, 4).Draw(t, "null") == 0:
		c.AppendNull()
	case c.Type.Kind == block.KindFloat64:
		c.AppendFloat(rapid.SampledFrom([]float64{0, math.Copysign(0, -1), math.NaN(), 1}).Draw(t, "f"))
	default:
		c.AppendString(rapid.SampledFrom([]string{"", "a", "ab", "abc", "abcd", "abcdefgh", "abcdefghi"}).Draw(t, "s"))
	}
}

func TestRemovedGroupsLeaveNoTrace(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g := newGroups(testKeys, 0, 0)
		live := map[string]uint32{}
		for range rapid.IntRange(1, 2000).Draw(t, "steps") {
			key := fmt.Sprint(rapid.IntRange(0, 200).Draw(t, "key"))
			n, ok := live[key]
			if ok && rapid.Bool().Draw(t, "remove") {
				g.remove(n)
				delete(live, key)
				continue
			}
			entered := false
			got := g.find(hashBytes([]byte(key), 0), []byte(key), 0, func(uint32, int) { entered = true })
			if entered == ok || ok && got != n {
				t.Fatalf("key %s: group %d, entered %v; want %d, %v", key, got, entered, n, !ok)
			}
			live[key] = got
		}
		g.compact()
		for key, n := range live {
			if got := g.find(hashBytes([]byte(key), 0), []byte(key), 0, func(uint32, int) {}); got != n {
				t.Fatalf("key %s is group %d, want %d", key, got, n)
			}
		}
		if g.live != len(live) || len(g.list) > 201 {
			t.Fatalf("%d groups in %d places, want %d", g.live, len(g.list), len(live))
		}
	})
}

func partialsOf(t *testing.T, spec Spec, rows ...row) []*block.Batch {
	t.Helper()
	var out []*block.Batch
	p := preAgg(t, spec)
	p.Add(columnsOf(rows))
	p.Flush(func(_ ident.VGroup, b *block.Batch) {
		c := &block.Batch{Schema: slices.Clone(b.Schema)}
		for _, col := range b.Cols {
			d := block.NewColumn(col.Type, 0)
			for i := range col.Len() {
				d.AppendFrom(col, i)
			}
			c.Cols = append(c.Cols, d)
		}
		out = append(out, c)
	})
	return out
}

func TestAPartialForAClosedWindowIsCorruption(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		row  row
		want error
	}{
		"all windows closed":   {row{ts: 5, openFrom: fromAll}, ErrClosedWindow},
		"first window closed":  {row{ts: 12, openFrom: fromAll}, ErrClosedWindow},
		"restricted to open":   {row{ts: 12, openFrom: 21}, nil},
		"restricted to closed": {row{ts: 12, openFrom: 19}, ErrClosedWindow},
	} {
		s := newTestState(t, testSpecs["sliding"], EmitOnClose, 0)
		s.Advance(20, func(*Emission) {})
		if err := s.Merge(partialsOf(t, testSpecs["sliding"], c.row)[0]); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

func TestForeignBatchesAreRefused(t *testing.T) {
	t.Parallel()
	good := func() *block.Batch { return partialsOf(t, testSpecs["tumbling"], row{ts: 5, openFrom: fromAll})[0] }
	for name, change := range map[string]func(*block.Batch){
		"empty":          func(b *block.Batch) { *b = block.Batch{} },
		"other key":      func(b *block.Batch) { b.Schema[0].Name = "x" },
		"other type":     func(b *block.Batch) { b.Schema[1].Type = block.Int64 },
		"no such pane":   func(b *block.Batch) { b.Col(ColumnPane).Int[0] = 3 },
		"no rows":        func(b *block.Batch) { b.Col(agg.ColumnRows).Int[0] = 0 },
		"missing column": func(b *block.Batch) { b.Schema, b.Cols = b.Schema[:5], b.Cols[:5] },
		"unknown column": func(b *block.Batch) {
			b.Schema, b.Cols = append(b.Schema, block.Field{Name: "y", Type: block.Int64}), append(b.Cols, b.Cols[2])
		},
	} {
		s := newTestState(t, testSpecs["tumbling"], EmitOnClose, 0)
		b := good()
		change(b)
		if err := s.Merge(b); !errors.Is(err, ErrPartial) {
			t.Errorf("%s: %v, want ErrPartial", name, err)
		}
	}
}

// TestT06_OneRowIsJudgedAlone: of four rows of a batch, one counts in fewer windows than its neighbours; every order and
// every cut into batches gives the same result.
func TestT06_OneRowIsJudgedAlone(t *testing.T) {
	t.Parallel()
	spec := testSpecs["sliding"]
	rows := []row{
		{key: "a", ts: 15, openFrom: 21, x: 1, offset: 1}, // its windows that end at 16, 18, 20 are closed
		{key: "a", ts: 15, openFrom: fromAll, x: 2, offset: 2},
		{key: "a", ts: 22, openFrom: 21, x: 4, offset: 3},
		{key: "b", ts: 15, openFrom: fromAll, x: 8, offset: 4},
	}
	want := modelResults(t, spec, rows)
	rapid.Check(t, func(t *rapid.T) {
		source, state := preAgg(t, spec), newTestState(t, spec, EmitOnClose, 0)
		for _, r := range rapid.Permutation(rows).Draw(t, "order") {
			source.Add(columnsOf([]row{r}))
			if rapid.Bool().Draw(t, "flush") {
				flushInto(t, source, state)
			}
		}
		flushInto(t, source, state)
		got := results{}
		state.Advance(ident.WatermarkEnd, func(e *Emission) { got.take(t, e) })
		got.equal(t, want)
	})
}
