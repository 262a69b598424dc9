package pipeline_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/decode"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/pipeline"
	"github.com/pondage/pondage/internal/plan"
	"github.com/pondage/pondage/internal/rowjson"
	"github.com/pondage/pondage/internal/spec"
	"github.com/pondage/pondage/internal/tablehash"
	"github.com/pondage/pondage/internal/watermark"
)

const source = `{name: src, format: json, kafka: {topic: src}, table: k, event_time: ts, max_future: null,
  columns: [{name: v, type: int64}, {name: d, type: int64}]}`

const vgroups = 8

// newPlan plans a stream over the source; stream are its members but name and source.
func newPlan(t testing.TB, stream string) *plan.Plan {
	t.Helper()
	src, err := spec.ParseSource([]byte(source))
	if err != nil {
		t.Fatal(err)
	}
	st, err := spec.ParseStream([]byte("{name: st, source: src, " + stream + "}"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Build(src, st, plan.Env{Cluster: "test", VGroups: vgroups, Zone: time.LoadLocation})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// row is a record of the source.
type row struct {
	ts    int64
	table string
	v, d  int64
}

// task is a source side with the watermark and the positions of its only partition.
type task struct {
	t        testing.TB
	source   *pipeline.Source
	wm       *watermark.Source
	decoder  *decode.Decoder
	batch    *block.Batch
	next     int64
	counters pipeline.Counters
	late     []int64 // offsets
	rejected []int64
}

func newTask(t testing.TB, p *plan.Plan, o pipeline.SourceOptions) *task {
	t.Helper()
	src, err := pipeline.NewSource(p, o)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := pipeline.SourceWatermark(p, nil)
	if err != nil {
		t.Fatal(err)
	}
	decoder, err := p.Input.NewDecoder(p.Source)
	if err != nil {
		t.Fatal(err)
	}
	k := &task{t: t, source: src, wm: watermark.NewSource(cfg), decoder: decoder, batch: block.NewBatch(p.Input.Schema, 0)}
	if _, err := k.wm.Step(watermark.Added{}); err != nil {
		t.Fatal(err)
	}
	return k
}

// take takes rows as one batch.
func (k *task) take(rows ...row) {
	k.t.Helper()
	n := len(k.batch.Cols)
	for _, r := range rows {
		line := fmt.Sprintf(`{"k":%q,"ts":%d,"v":%d,"d":%d}`, r.table, r.ts, r.v, r.d)
		if v := k.decoder.Append([]byte(line), decode.AnyTime(), k.batch); !v.OK() {
			k.t.Fatalf("%s: %v", line, v)
		}
		k.batch.Cols[n-2].AppendInt(0)
		k.batch.Cols[n-1].AppendInt(k.next)
		k.next++
	}
	k.source.Take(k.batch, k.wm.Track(0), &k.counters)
	k.batch.Reset()
	for _, l := range k.source.Late() {
		k.late = append(k.late, int64(l.Offset))
	}
	for _, r := range k.source.Rejected() {
		k.rejected = append(k.rejected, int64(r.Offset))
	}
}

// sink keeps results as lines.
type sink struct {
	encoder *rowjson.Encoder
	lines   []string
}

func (s *sink) Rows(b *block.Batch) error {
	for i := range b.Rows() {
		s.lines = append(s.lines, string(s.encoder.AppendRow(nil, b.Cols, i)))
	}
	return nil
}

func (s *sink) Reject(row []byte, code, _ string) error {
	s.lines = append(s.lines, "rejected "+code+" "+string(row))
	return nil
}

// taken returns what was written since the last call, sorted.
func (s *sink) taken() string {
	slices.Sort(s.lines)
	out := strings.Join(s.lines, "\n")
	s.lines = nil
	return out
}

// results is a receiving side that takes everything a task flushes, whatever the vgroup.
type results struct {
	t    testing.TB
	side pipeline.Receiving
	sink *sink
}

func newResults(t testing.TB, p *plan.Plan) *results {
	t.Helper()
	side, err := pipeline.NewReceiving(p, 0)
	if err != nil {
		t.Fatal(err)
	}
	return &results{t, side, &sink{encoder: rowjson.NewEncoder(p.Result.Fields())}}
}

func (r *results) flush(k *task) {
	r.t.Helper()
	k.source.Flush(func(_ ident.VGroup, b *block.Batch) {
		if err := r.side.Take(b); err != nil {
			r.t.Error(err)
		}
	})
}

func (r *results) advance(w ident.EventMs) string {
	r.t.Helper()
	if err := r.side.Advance(w, r.sink); err != nil {
		r.t.Error(err)
	}
	return r.sink.taken()
}

func (r *results) settle() string {
	r.t.Helper()
	if err := r.side.Settle(r.sink); err != nil {
		r.t.Error(err)
	}
	return r.sink.taken()
}

func TestT06_OneLateRowDoesNotTakeItsNeighboursAlong(t *testing.T) {
	t.Parallel()
	p := newPlan(t, "select: [{expr: count(*), as: n}], partition_by: [tbname], window: {kind: interval, size: 10s}, watermark: 0s")
	late, other := row{ts: 5_000, table: "a"}, row{ts: 6_000, table: "b"}
	near := []row{{ts: 21_000, table: "a"}, {ts: 22_000, table: "a"}}
	for at := range 3 {
		for cut := range 5 {
			k := newTask(t, p, pipeline.SourceOptions{})
			k.take(row{ts: 20_000, table: "a"})
			rows := append(slices.Insert(slices.Clone(near), at, late), other)
			k.take(rows[:cut]...)
			k.take(rows[cut:]...)
			if want := (pipeline.Counters{Counted: 3, Late: 2}); k.counters != want {
				t.Errorf("late row at %d, cut at %d: %+v, want %+v", at, cut, k.counters, want)
			}
			if want := []int64{int64(at) + 1, 4}; !slices.Equal(k.late, want) {
				t.Errorf("late row at %d, cut at %d: offsets %v are late, want %v", at, cut, k.late, want)
			}
		}
	}
}

func TestT17_OneBadGroupDoesNotStopTheOthers(t *testing.T) {
	t.Parallel()
	p := newPlan(t, "select: [{expr: tbname, as: k}, {expr: sum(v % d), as: s}], partition_by: [tbname], window: {kind: interval, size: 10s}, watermark: 0s")
	k := newTask(t, p, pipeline.SourceOptions{})
	var rows []row
	for i := range int64(30) {
		rows = append(rows, row{ts: 1_000, table: fmt.Sprint("g", i%3), v: 7, d: i % 3})
	}
	k.take(rows...)
	if k.counters.DeadLettered != 10 || k.counters.Counted != 20 {
		t.Errorf("%+v, want 10 dead letters and 20 counted", k.counters)
	}
	for _, offset := range k.rejected {
		if offset%3 != 0 {
			t.Errorf("offset %d of a good group is a dead letter", offset)
		}
	}
	r := newResults(t, p)
	r.flush(k)
	if got := r.advance(ident.WatermarkEnd); strings.Count(got, "\n") != 1 || strings.Contains(got, "g0") {
		t.Errorf("results:\n%s", got)
	}
}

// TestEveryRowIsInOneCounter is I3: accepted = counted + filtered + no window + late + dead-lettered.
func TestEveryRowIsInOneCounter(t *testing.T) {
	t.Parallel()
	p := newPlan(t, "select: [{expr: sum(v / d), as: s}], where: v > 2, window: {kind: interval, size: 3s, sliding: 5s}, watermark: 4s")
	rapid.Check(t, func(rt *rapid.T) {
		k := newTask(t, p, pipeline.SourceOptions{})
		rows := rapid.SliceOf(rapid.Custom(func(t *rapid.T) row {
			return row{int64(rapid.IntRange(-20_000, 40_000).Draw(t, "ts")), "a", int64(rapid.IntRange(0, 5).Draw(t, "v")), int64(rapid.IntRange(0, 2).Draw(t, "d"))}
		})).Draw(rt, "rows")
		highest, want := int64(-1<<62), pipeline.Counters{}
		for _, r := range rows {
			in := ((r.ts%5_000)+5_000)%5_000 < 3_000
			switch end := r.ts - ((r.ts%5_000)+5_000)%5_000 + 3_000; {
			case r.v <= 2:
				want.Filtered++
			case !in:
				want.NoWindow++
			case end <= highest-4_000:
				want.Late++
			case r.d == 0:
				want.DeadLettered++
			default:
				want.Counted++
			}
			highest = max(highest, r.ts)
		}
		for len(rows) > 0 {
			n := rapid.IntRange(1, len(rows)).Draw(rt, "cut")
			k.take(rows[:n]...)
			rows = rows[n:]
		}
		if k.counters != want || k.counters.Accepted() != k.next {
			rt.Fatalf("%+v of %d rows, want %+v", k.counters, k.next, want)
		}
	})
}

// TestRowsOfAStreamWithoutWindowGoWhereTheirGroupIs: to the group's vgroup over an edge, nowhere when the sinks are chained.
func TestRowsOfAStreamWithoutWindowGoWhereTheirGroupIs(t *testing.T) {
	t.Parallel()
	routed := newPlan(t, "select: [{expr: v}], partition_by: [tbname]")
	chained := newPlan(t, "select: [{expr: v}]")
	for _, table := range []string{"a", "b", "c", "d"} {
		k := newTask(t, routed, pipeline.SourceOptions{VGroup: 3})
		k.take(row{table: table})
		if want := tablehash.VGroupOf(tablehash.Sum([]byte(table)), vgroups); !slices.Equal(destinations(k), []ident.VGroup{want}) {
			t.Errorf("table %s does not go to vgroup %d", table, want)
		}
		k = newTask(t, chained, pipeline.SourceOptions{Chained: true, VGroup: 3})
		k.take(row{table: table})
		if got := destinations(k); !slices.Equal(got, []ident.VGroup{3}) {
			t.Errorf("table %s leaves its chained task for %v", table, got)
		}
	}
}

func destinations(k *task) (to []ident.VGroup) {
	k.source.Flush(func(vg ident.VGroup, _ *block.Batch) { to = append(to, vg) })
	if k.source.Pending() {
		k.t.Error("rows are held back after a flush")
	}
	return to
}

func TestAtOnceShowsEachChangeWindowCloseOnlyTheLast(t *testing.T) {
	t.Parallel()
	const stream = "select: [{expr: _wstart}, {expr: count(*), as: n}], window: {kind: interval, size: 10s}, watermark: 0s, allowed_lateness: 5s, trigger: "
	first, second := `{"_wstart":"1970-01-01T00:00:00.000Z","n":"1"}`, `{"_wstart":"1970-01-01T00:00:00.000Z","n":"2"}`
	for _, test := range []struct {
		trigger              string
		open, closed, reopen string
	}{
		{"at_once", first, "", second},
		{"window_close", "", first, second},
	} {
		p := newPlan(t, stream+test.trigger)
		k, r := newTask(t, p, pipeline.SourceOptions{}), newResults(t, p)
		k.take(row{ts: 1_000, table: "a"})
		r.flush(k)
		if got := r.settle(); got != test.open {
			t.Errorf("%s: %s shown while the window is open, want %q", test.trigger, got, test.open)
		}
		if first, _ := r.side.Open(1); len(first) != 1 || first[0].Rows != 1 {
			t.Errorf("%s: open windows %v", test.trigger, first)
		}
		if got := r.advance(10_000); got != test.closed {
			t.Errorf("%s: %s shown at the close, want %q", test.trigger, got, test.closed)
		}
		k.take(row{ts: 2_000, table: "a"})
		r.flush(k)
		if got := r.settle(); got != test.reopen {
			t.Errorf("%s: %s shown after a late row, want %q", test.trigger, got, test.reopen)
		}
	}
}

// TestAWindowWithoutAValueIsSetAside: an expression over aggregates that has no value for one group leaves the others alone.
func TestAWindowWithoutAValueIsSetAside(t *testing.T) {
	t.Parallel()
	p := newPlan(t, "select: [{expr: tbname, as: k}, {expr: sum(v) / sum(d), as: q}], partition_by: [tbname], window: {kind: interval, size: 10s}")
	k, r := newTask(t, p, pipeline.SourceOptions{}), newResults(t, p)
	k.take(row{table: "bad", v: 6}, row{table: "good", v: 6, d: 2})
	r.flush(k)
	got := r.advance(ident.WatermarkEnd)
	if !strings.Contains(got, `rejected division_by_zero`) || !strings.Contains(got, `"k":"good"`) || strings.Contains(got, `"k":"bad"`) {
		t.Errorf("results:\n%s", got)
	}
}
