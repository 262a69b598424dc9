package window

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pondage/pondage/internal/agg"
	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/ident"
)

// row is one input row of the model.
type row struct {
	key      string
	null     bool // the key is null
	ts       int64
	x        float64
	xNull    bool
	openFrom ident.EventMs // lowest window end it counts in
	offset   int64
}

func (r row) keyText() string {
	if r.null {
		return "(null)"
	}
	return "'" + r.key + "'"
}

// stream is what the tests aggregate: a string key, a float argument, all functions.
func testAggs(t rapid.TB) []agg.Spec {
	var specs []agg.Spec
	star, _, err := agg.Resolve("count", block.Type{})
	if err != nil {
		t.Fatal(err)
	}
	specs = append(specs, star)
	for _, name := range agg.Names() {
		s, _, err := agg.Resolve(name, block.Float64)
		if err != nil {
			t.Fatal(err)
		}
		specs = append(specs, s)
	}
	return specs
}

var testKeys = block.Schema{{Name: "tbname", Type: block.String}}

// preAgg returns a PreAgg that spreads its groups over three destinations.
func preAgg(t rapid.TB, spec Spec) *PreAgg {
	return NewPreAgg(PreAggConfig{Windows: mustWindows(t, spec), Keys: testKeys, Aggs: testAggs(t), Args: []block.Type{block.Float64},
		Route: func(keys []*block.Column, row int) ident.VGroup {
			if keys[0].IsNull(row) {
				return 2
			}
			return ident.VGroup(len(keys[0].Bytes(row)) % 3)
		}, TargetBytes: 2000, MaxGroups: 5})
}

func mustWindows(t rapid.TB, spec Spec) *Windows {
	w, err := NewWindows(spec)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func newTestState(t rapid.TB, spec Spec, trigger Trigger, keep ident.EventMs) *State {
	return NewState(StateConfig{Windows: mustWindows(t, spec), Keys: testKeys, Aggs: testAggs(t), Args: []block.Type{block.Float64},
		Trigger: trigger, Keep: keep, BatchRows: 7})
}

// columnsOf turns rows into the columns of PreAgg.Add, with a row in front that is not selected.
func columnsOf(rows []row) Rows {
	key, x := block.NewColumn(block.String, 0), block.NewColumn(block.Float64, 0)
	out := Rows{Keys: []*block.Column{key}, Args: []*block.Column{x}}
	for i, r := range append([]row{{key: "not selected", x: math.NaN()}}, rows...) {
		if r.null {
			key.AppendNull()
		} else {
			key.AppendString(r.key)
		}
		if r.xNull {
			x.AppendNull()
		} else {
			x.AppendFloat(r.x)
		}
		out.Ts, out.Partition, out.Offset = append(out.Ts, r.ts), append(out.Partition, 0), append(out.Offset, r.offset)
		out.OpenFrom = append(out.OpenFrom, r.openFrom)
		if i > 0 {
			out.Sel = append(out.Sel, int32(i))
		}
	}
	return out
}

// results is the newest emitted row by window and group, all columns as text with all bits.
type results map[string]string

func (rs results) take(t rapid.TB, e *Emission) int {
	for i := range e.Batch.Rows() {
		key := "(null)"
		if !e.Batch.Cols[0].IsNull(i) {
			key = "'" + string(e.Batch.Cols[0].Bytes(i)) + "'"
		}
		id := fmt.Sprintf("[%d,%d) %s", e.Batch.Cols[1].Int[i], e.Batch.Cols[2].Int[i], key)
		rs[id] = rowText(e.Batch, i)
	}
	if err := e.Batch.Check(); err != nil {
		t.Fatalf("emitted batch: %v", err)
	}
	return e.Batch.Rows()
}

func rowText(b *block.Batch, i int) string {
	text := ""
	for j, c := range b.Cols[3:] {
		switch {
		case c.IsNull(i):
			text += fmt.Sprintf(" %s=null", b.Schema[j+3].Name)
		case c.Type.Kind == block.KindFloat64:
			text += fmt.Sprintf(" %s=%x", b.Schema[j+3].Name, c.Float[i])
		default:
			text += fmt.Sprintf(" %s=%d", b.Schema[j+3].Name, c.Int[i])
		}
	}
	return text
}

// modelResults sorts and groups: every row into every window that holds it and is open for it, one cell a window.
func modelResults(t rapid.TB, spec Spec, rows []row) results {
	w := mustWindows(t, spec)
	cells := agg.NewCells(agg.NewLayout(testAggs(t), []block.Type{block.Float64}))
	byWindow := map[string]uint32{}
	in := columnsOf(rows)
	for i, r := range rows {
		for _, start := range w.AppendStarts(nil, ident.EventMs(r.ts)) {
			if w.End(start) < r.openFrom {
				continue
			}
			id := fmt.Sprintf("[%d,%d) %s", start, w.End(start), r.keyText())
			cell, ok := byWindow[id]
			if !ok {
				cell = cells.Alloc()
				byWindow[id] = cell
			}
			cells.Add(agg.Rows{Cells: []uint32{cell}, Sel: []int32{int32(i + 1)}, Args: in.Args, Ts: in.Ts, Partition: in.Partition, Offset: in.Offset})
		}
	}
	out := results{}
	for id, cell := range byWindow {
		b := block.NewBatch(Schema(StateConfig{Keys: testKeys, Aggs: testAggs(t)}), 0)
		cells.AppendResults(b.Cols[4:], []uint32{cell}, nil)
		b.Cols[3].AppendInt(cells.Count(cell))
		out[id] = rowText(b, 0)
	}
	return out
}

func (rs results) equal(t rapid.TB, want results) {
	for id, w := range want {
		if rs[id] != w {
			t.Fatalf("window %s:\n got %s\nwant %s", id, rs[id], w)
		}
	}
	for id := range rs {
		if _, ok := want[id]; !ok {
			t.Fatalf("window %s should not be there: %s", id, rs[id])
		}
	}
}

var testSpecs = map[string]Spec{
	"tumbling":         {Size: Length{10, UnitMillisecond}},
	"tumbling, offset": {Size: Length{10, UnitMillisecond}, Offset: Length{3, UnitMillisecond}},
	"sliding":          {Size: Length{10, UnitMillisecond}, Slide: Length{2, UnitMillisecond}},
	"sliding, gcd":     {Size: Length{10, UnitMillisecond}, Slide: Length{4, UnitMillisecond}, Offset: Length{-3, UnitMillisecond}},
	"sliding, nearly":  {Size: Length{7, UnitMillisecond}, Slide: Length{6, UnitMillisecond}},
	"gaps":             {Size: Length{4, UnitMillisecond}, Slide: Length{7, UnitMillisecond}},
	"days":             {Size: Length{1, UnitDay}, Zone: berlin},
	"weeks by days":    {Size: Length{1, UnitWeek}, Slide: Length{1, UnitDay}, Zone: berlin},
	"months":           {Size: Length{3, UnitMonth}, Slide: Length{1, UnitMonth}, Zone: berlin},
}

// scaleOf is how far event times of a test spread: small windows in ms, calendar windows in hours.
func scaleOf(s Spec) int64 {
	if s.Size.Unit == UnitMillisecond {
		return 1
	}
	if s.Size.Unit == UnitMonth {
		return 100 * 3600 * 1000
	}
	return 5 * 3600 * 1000
}

// TestStateEqualsSortAndGroup feeds rows in any order through several sources, cut into flushes anywhere, with the watermark
// moving in between; the rules that watermarks and lateness follow are those of DESIGN §8.
func TestStateEqualsSortAndGroup(t *testing.T) {
	t.Parallel()
	for name, spec := range testSpecs {
		for _, trigger := range []Trigger{EmitOnClose, EmitOnChange} {
			t.Run(fmt.Sprintf("%s, trigger %d", name, trigger), func(t *testing.T) {
				t.Parallel()
				rapid.Check(t, func(t *rapid.T) {
					for event, windows := range simulate(t, spec, trigger, neverStops) {
						for id, n := range windows {
							if n != 1 {
								t.Fatalf("event %d of %s is told %d times", event, id, n)
							}
						}
					}
				})
			})
		}
	}
}

// life says what becomes of a state between two flushes: it goes on as it is, or as another one.
type life func(t *rapid.T, s *State, emit func(*Emission)) *State

func neverStops(_ *rapid.T, s *State, _ func(*Emission)) *State { return s }

// told is how often an event was told of each window.
type told map[Event]map[string]int

// take notes the events of an emission. A window opens before it closes, and closes with the result that it has.
func (td told) take(t *rapid.T, e *Emission, known results) {
	if e.Event == EventNone {
		return
	}
	rows := results{}
	rows.take(t, e)
	for id, row := range rows {
		td[e.Event][id]++
		if e.Event == EventClosed && td[EventOpened][id] == 0 {
			t.Fatalf("%s closes before it opens", id)
		}
		if now, ok := known[id]; ok && e.EventOnly && e.Event == EventClosed && td[e.Event][id] == 1 && now != row {
			t.Fatalf("%s closes with\n%s\nand has\n%s", id, row, now)
		}
	}
}

// equal checks that each window opened and closed.
func (td told) equal(t *rapid.T, want results) {
	for event, windows := range td {
		if len(windows) != len(want) {
			t.Fatalf("event %d is told of %d windows, want %d", event, len(windows), len(want))
		}
		for id := range windows {
			if _, ok := want[id]; !ok {
				t.Fatalf("event %d of window %s, which should not be there", event, id)
			}
		}
	}
}

func simulate(t *rapid.T, spec Spec, trigger Trigger, between life) told {
	unit := scaleOf(spec)
	keep := ident.EventMs(rapid.SampledFrom([]int64{0, 0, 5 * unit, 40 * unit, math.MaxInt64}).Draw(t, "keep"))
	delay := rapid.Int64Range(0, 10).Draw(t, "delay") * unit
	w := mustWindows(t, spec)
	state := newTestState(t, spec, trigger, keep)
	state.cfg.Tell = Events{Opened: true, Closed: true}
	sources := []*PreAgg{preAgg(t, spec), preAgg(t, spec)}
	watermarks := []ident.EventMs{ident.WatermarkNone, ident.WatermarkNone}
	got := results{}
	emitted, events := 0, told{EventOpened: {}, EventClosed: {}}
	emit := func(e *Emission) {
		if events.take(t, e, got); !e.EventOnly {
			emitted += got.take(t, e)
		}
	}
	var counted []row
	turn := int64(-30)
	for step := range rapid.IntRange(1, 60).Draw(t, "steps") {
		i := rapid.IntRange(0, len(sources)-1).Draw(t, "source")
		var batch []row
		for range rapid.IntRange(0, 12).Draw(t, "rows") {
			r := row{key: rapid.SampledFrom([]string{"", "a", "bb", "device-000017", "device-000018", "ü", "g"}).Draw(t, "key"), null: rapid.IntRange(0, 8).Draw(t, "null") == 0,
				ts: (turn+rapid.Int64Range(-25, 3).Draw(t, "back"))*unit + rapid.Int64Range(0, unit-1).Draw(t, "ms"), x: rapid.OneOf(rapid.Float64(), rapid.Float64Range(-40, 40), rapid.SampledFrom([]float64{1e16, -1e16, 1, math.Inf(1), math.NaN()})).Draw(t, "x"),
				xNull: rapid.IntRange(0, 6).Draw(t, "no x") == 0, offset: int64(step)*100 + int64(len(batch))}
			r.openFrom = ident.WatermarkNone
			if keep != KeepForever && watermarks[i] != ident.WatermarkNone {
				r.openFrom = watermarks[i] - keep + 1
			}
			if !w.Holds(ident.EventMs(r.ts)) || w.LastEnd(ident.EventMs(r.ts)) < r.openFrom {
				continue // in no window, or late: not counted
			}
			watermarks[i] = max(watermarks[i], ident.EventMs(r.ts-delay))
			batch = append(batch, r)
		}
		counted = append(counted, batch...)
		sources[i].Add(columnsOf(batch))
		turn += rapid.Int64Range(0, 6).Draw(t, "turn")
		if rapid.Bool().Draw(t, "flush") {
			flushInto(t, sources[i], state)
			advance(t, sources, watermarks, state, emit)
			state = between(t, state, emit)
		}
	}
	for _, s := range sources {
		flushInto(t, s, state)
	}
	state.Changed(emit)
	if trigger == EmitOnChange {
		got.equal(t, modelResults(t, spec, counted))
	}
	state.Advance(ident.WatermarkEnd, emit)
	want := modelResults(t, spec, counted)
	got.equal(t, want)
	if keep == 0 && trigger == EmitOnClose && emitted != len(want) {
		t.Fatalf("%d rows emitted for %d windows: final means one row", emitted, len(want))
	}
	if st := state.Stats(); keep != KeepForever && (st.Cells != 0 || st.Groups != 0 || st.Panes != 0 || state.cells.Len() != 0) {
		t.Fatalf("after the end %+v and %d cells are left", st, state.cells.Len())
	}
	events.equal(t, want)
	return events
}

// TestOnlyWhatIsAskedForIsTold: and results are as they are without.
func TestOnlyWhatIsAskedForIsTold(t *testing.T) {
	t.Parallel()
	for _, tell := range []Events{{}, {Opened: true}, {Closed: true}} {
		for _, trigger := range []Trigger{EmitOnClose, EmitOnChange} {
			s := newTestState(t, testSpecs["tumbling"], trigger, 20)
			s.cfg.Tell = tell
			var got []string
			emit := func(e *Emission) { got = append(got, fmt.Sprintf("%d %t %d", e.Event, e.EventOnly, e.Batch.Rows())) }
			source := preAgg(t, testSpecs["tumbling"])
			add := func(ts int64) {
				source.Add(columnsOf([]row{{key: "a", ts: ts, openFrom: ident.WatermarkNone}}))
				source.Flush(func(_ ident.VGroup, b *block.Batch) {
					if err := s.Merge(b); err != nil {
						t.Fatal(err)
					}
				})
				s.Changed(emit)
			}
			add(5)
			add(6)
			s.Advance(10, emit)
			add(7) // late
			add(2) // late
			want := map[Events]map[Trigger]string{
				{}:             {EmitOnClose: "0 false 1,0 false 1,0 false 1", EmitOnChange: "0 false 1,0 false 1,0 false 1,0 false 1"},
				{Opened: true}: {EmitOnClose: "1 true 1,0 false 1,0 false 1,0 false 1", EmitOnChange: "1 true 1,0 false 1,0 false 1,0 false 1,0 false 1"},
				{Closed: true}: {EmitOnClose: "2 false 1,0 false 1,0 false 1", EmitOnChange: "0 false 1,0 false 1,2 true 1,0 false 1,0 false 1"},
			}[tell][trigger]
			if strings.Join(got, ",") != want {
				t.Errorf("%+v, trigger %d: %v, want %s", tell, trigger, got, want)
			}
		}
	}
}

// flushInto merges what a source has, which may change the order of batches.
func flushInto(t *rapid.T, p *PreAgg, s *State) {
	p.Flush(func(_ ident.VGroup, b *block.Batch) {
		if err := b.Check(); err != nil {
			t.Fatalf("partials: %v", err)
		}
		if err := s.Merge(b); err != nil {
			t.Fatalf("merge: %v", err)
		}
	})
}

// advance moves the state to the lower watermark of the sources, as far as both have flushed what decided it.
func advance(t *rapid.T, sources []*PreAgg, watermarks []ident.EventMs, s *State, emit func(*Emission)) {
	for _, p := range sources {
		flushInto(t, p, s)
	}
	low := slices.Min(watermarks)
	end, open := s.NextEnd()
	before := len(s.OpenWindows(math.MaxInt))
	s.Advance(low, emit)
	if open && end <= low && before == 0 {
		t.Fatalf("window end %d was announced, but no window was open", end)
	}
	if next, ok := s.NextEnd(); ok && next <= max(low, s.watermark) {
		t.Fatalf("NextEnd = %d at watermark %d", next, low)
	}
	if !slices.IsSortedFunc(s.OpenWindows(math.MaxInt), func(a, b Open) int { return cmp.Compare(a.Start, b.Start) }) {
		t.Fatal("open windows are not in order")
	}
}
