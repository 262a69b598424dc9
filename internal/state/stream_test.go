package state_test

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"
	_ "time/tzdata"

	"pgregory.net/rapid"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/decode"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/manifest"
	"github.com/pondage/pondage/internal/pipeline"
	"github.com/pondage/pondage/internal/plan"
	"github.com/pondage/pondage/internal/rowjson"
	"github.com/pondage/pondage/internal/spec"
	"github.com/pondage/pondage/internal/state"
	"github.com/pondage/pondage/internal/watermark"
)

const source = `{name: src, format: json, kafka: {topic: src}, table: k, event_time: ts, max_future: null,
  columns: [{name: x, type: float64}, {name: v, type: int64}, {name: s, type: string}]}`

// functions need every kind of accumulator: rows, counts, sums of both kinds, squares, extremes and edges, of numbers and texts.
const functions = `{expr: tbname, as: k}, {expr: _wstart, as: ts}, {expr: count(*), as: n}, {expr: count(x), as: nx}, {expr: sum(x), as: sx},
  {expr: avg(x), as: ax}, {expr: stddev(x), as: dx}, {expr: min(x), as: lx}, {expr: sum(v), as: sv}, {expr: avg(v), as: av}, {expr: variance(v), as: vv},
  {expr: max(v), as: mv}, {expr: min(s), as: ls}, {expr: max(s), as: ms}, {expr: first(s), as: fs}, {expr: last(v), as: zv}`

func newPlan(t testing.TB, stream string) *plan.Plan {
	t.Helper()
	src, err := spec.ParseSource([]byte(source))
	if err != nil {
		t.Fatal(err)
	}
	st, err := spec.ParseStream([]byte("{name: st, source: src, partition_by: [tbname], select: [" + functions + "], " + stream + "}"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Build(src, st, plan.Env{Cluster: "test", VGroups: 1, Zone: time.LoadLocation})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// sink holds the newest row of each window, and how often it was written.
type sink struct {
	encoder *rowjson.Encoder
	rows    map[string]string
	writes  map[string]int
}

func (s *sink) Rows(b *block.Batch) error {
	for i := range b.Rows() {
		key := fmt.Sprintf("%s %d", b.Cols[0].Bytes(i), b.Cols[1].Int[i])
		s.rows[key] = string(s.encoder.AppendRow(nil, b.Cols, i))
		s.writes[key]++
	}
	return nil
}

func (s *sink) Reject(row []byte, code, _ string) error {
	s.rows[string(row)] = code
	return nil
}

func (s *sink) clone() *sink {
	return &sink{encoder: s.encoder, rows: maps.Clone(s.rows), writes: maps.Clone(s.writes)}
}

// stream is a source task of some partitions and the windowed task behind it, in one piece. Its outside are the records and
// the sink.
type stream struct {
	t       rapid.TB
	plan    *plan.Plan
	records [][]string // by partition

	source    *pipeline.Source
	decoder   *decode.Decoder
	batch     *block.Batch
	wm        *watermark.Source
	next      []int
	counters  pipeline.Counters
	merge     *watermark.Merge
	receiving pipeline.Receiving
	sink      *sink

	operator manifest.Operator
	chain    []file
}

// file is a state file.
type file struct {
	role    manifest.Role
	content []byte
}

// checkpoint is everything that a stage goes on from.
type checkpoint struct {
	next     []int
	counters pipeline.Counters
	source   watermark.SourceState
	merge    watermark.MergeState
	chain    []file
	sink     *sink // as of its trigger: what was written later is taken back
}

var (
	upstream   = ident.Task{Level: ident.LevelSource}
	downstream = ident.Task{Level: ident.LevelAgg}
)

// start returns the stream at its beginning, or at a checkpoint.
func start(t rapid.TB, p *plan.Plan, seed uint64, records [][]string, from *checkpoint) *stream {
	t.Helper()
	s := &stream{t: t, plan: p, records: records, batch: block.NewBatch(p.Input.Schema, 0), next: make([]int, len(records))}
	s.operator, _ = p.Operator()
	var err error
	fatal := func() {
		if err != nil {
			t.Fatal(err)
		}
	}
	s.source, err = pipeline.NewSource(p, pipeline.SourceOptions{Seed: seed})
	fatal()
	s.decoder, err = p.Input.NewDecoder(p.Source)
	fatal()
	s.receiving, err = pipeline.NewReceiving(p, seed)
	fatal()
	wm, err := pipeline.SourceWatermark(p, []ident.Task{downstream})
	fatal()
	merge := pipeline.MergeWatermark(p, []ident.Task{upstream})
	s.sink = &sink{encoder: rowjson.NewEncoder(p.Result.Fields()), rows: map[string]string{}, writes: map[string]int{}}
	if from != nil {
		wm.Restored, merge.Restored = &from.source, &from.merge
		s.next, s.counters, s.chain, s.sink = slices.Clone(from.next), from.counters, slices.Clone(from.chain), from.sink.clone()
		s.restore(from.merge.Watermark)
	}
	s.receiving.State().Track()
	s.wm, s.merge = watermark.NewSource(wm), watermark.NewMerge(merge)
	for p := range records {
		until := watermark.Until(ident.NextOffset(len(records[p])))
		s.step(watermark.Added{Partition: ident.Partition(p), Next: ident.NextOffset(s.next[p]), Until: until})
	}
	return s
}

func (s *stream) restore(w ident.EventMs) {
	r := s.receiving.State().Restore(w)
	for _, f := range slices.Backward(s.chain) {
		if err := state.Restore(bytes.NewReader(f.content), s.operator, state.LostRefused, s.receiving.Batch, r); err != nil {
			s.t.Fatal(err)
		}
		r.NextFile()
	}
	r.End()
}

// fetch takes up to n records of a partition.
func (s *stream) fetch(p, n int) {
	from := s.next[p]
	to := min(from+n, len(s.records[p]))
	if from == to {
		return
	}
	s.step(watermark.Fetched{Partition: ident.Partition(p), Records: to - from})
	cols := s.batch.Cols
	for i, record := range s.records[p][from:to] {
		if v := s.decoder.Append([]byte(record), decode.AnyTime(), s.batch); !v.OK() {
			s.t.Fatalf("%s: %v", record, v)
		}
		cols[len(cols)-2].AppendInt(int64(p))
		cols[len(cols)-1].AppendInt(int64(from + i))
	}
	s.source.Take(s.batch, s.wm.Track(ident.Partition(p)), &s.counters)
	s.batch.Reset()
	s.next[p] = to
	s.step(watermark.Processed{Partition: ident.Partition(p), Next: ident.NextOffset(to)})
}

// flush hands on what is held back, and the watermark behind it.
func (s *stream) flush() {
	rows := 0
	s.source.Flush(func(_ ident.VGroup, b *block.Batch) {
		rows += b.Rows()
		if err := s.receiving.Take(b); err != nil {
			s.t.Fatal(err)
		}
	})
	var data []ident.Task
	if rows > 0 {
		data = append(data, downstream)
	}
	s.step(watermark.Flush{Data: data})
	if err := s.receiving.Settle(s.sink); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stream) step(e watermark.Event) {
	effects, err := s.wm.Step(e)
	if err != nil {
		s.t.Fatal(err)
	}
	flush, isFlush := e.(watermark.Flush)
	for _, f := range slices.Clone(effects) {
		switch f := f.(type) {
		case watermark.Stamp:
			if isFlush && len(flush.Data) > 0 {
				s.hear(watermark.Heard{From: upstream, Watermark: f.Watermark, Rows: 1})
			}
		case watermark.Say:
			s.hear(watermark.Heard{From: upstream, Watermark: f.Watermark, Idle: f.Idle})
		}
	}
}

func (s *stream) hear(e watermark.Heard) {
	effects, err := s.merge.Step(e)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, f := range slices.Clone(effects) {
		if a, ok := f.(watermark.Advance); ok {
			if err := s.receiving.Advance(a.Watermark, s.sink); err != nil {
				s.t.Fatal(err)
			}
		}
	}
}

// checkpoint flushes and freezes everything. One that fails leaves its changes to the next.
func (s *stream) checkpoint(fails bool) *checkpoint {
	s.flush()
	if s.source.Pending() {
		s.t.Fatal("a flush has held something back")
	}
	chain := &state.Chain{}
	for _, f := range s.chain {
		chain.Add(manifest.File{Role: f.role, Bytes: int64(len(f.content))})
	}
	role, frozen := chain.Next(), s.receiving.State().FreezeTouched
	if role == manifest.RoleBase {
		frozen = s.receiving.State().FreezeAll
	}
	f := frozen()
	if fails {
		s.receiving.State().GiveBack(f)
		return nil
	}
	var content bytes.Buffer
	if _, err := state.Write(&content, state.Header{Operator: s.operator}, f); err != nil {
		s.t.Fatal(err)
	}
	if role == manifest.RoleBase {
		s.chain = nil
	}
	s.chain = append(s.chain, file{role, content.Bytes()})
	return &checkpoint{
		next: slices.Clone(s.next), counters: s.counters, source: s.wm.State(), merge: s.merge.State(0), chain: slices.Clone(s.chain), sink: s.sink.clone(),
	}
}

// end takes everything that is left.
func (s *stream) end() {
	for p := range s.records {
		s.fetch(p, len(s.records[p]))
	}
	s.flush()
	s.step(watermark.Tick{})
	if s.merge.Watermark() != ident.WatermarkEnd {
		s.t.Fatalf("the watermark is %d at the end", s.merge.Watermark())
	}
}

func (s *sink) equal(t rapid.TB, want *sink) {
	t.Helper()
	for key, row := range want.rows {
		if s.rows[key] != row {
			t.Fatalf("window %s:\n got %s\nwant %s", key, s.rows[key], row)
		}
	}
	if len(s.rows) != len(want.rows) {
		t.Fatalf("%d windows, want %d", len(s.rows), len(want.rows))
	}
}

// drawRecords draws what the partitions hold: event times that go on with steps back, values whose sums need more than a double.
func drawRecords(t *rapid.T, unit int64) (records [][]string) {
	xs := rapid.SampledFrom([]string{"0.1", "-3.5", "1e16", "-1e16", "1.7e308", "-1.7e308", "5e-324", "null"})
	vs := rapid.SampledFrom([]string{"1", "-7", "9223372036854775807", "-9223372036854775808", "null"})
	for range rapid.IntRange(1, 3).Draw(t, "partitions") {
		var of []string
		now := int64(0)
		for range rapid.IntRange(0, 40).Draw(t, "records") {
			now += rapid.Int64Range(0, 3).Draw(t, "step") * unit
			ts := now - rapid.SampledFrom([]int64{0, 0, 0, 1, 4, 9, 20}).Draw(t, "back")*unit + rapid.Int64Range(0, unit-1).Draw(t, "ms")
			of = append(of, fmt.Sprintf(`{"k":%q,"ts":%d,"x":%s,"v":%s,"s":%q}`, rapid.SampledFrom([]string{"a", "b", "device-000017"}).Draw(t, "table"),
				ts, xs.Draw(t, "x"), vs.Draw(t, "v"), rapid.SampledFrom([]string{"", "ü", "zz", "m"}).Draw(t, "s")))
		}
		records = append(records, of)
	}
	return records
}

// TestAStreamGoesOnFromAnyCheckpoint: killed at any moment and gone on from the last complete checkpoint, others failed in
// between, a stream leaves the same in the sink as one that never stopped, to the last bit, and what of its records became
// of what: late ones are the same ones.
func TestAStreamGoesOnFromAnyCheckpoint(t *testing.T) {
	t.Parallel()
	windows := map[string]struct {
		window string
		unit   int64 // ms
	}{
		"tumbling": {"{kind: interval, size: 10s}", 1000}, "sliding": {"{kind: interval, size: 10s, sliding: 4s}", 1000},
		"days": {"{kind: interval, size: 1d, timezone: Europe/Berlin}", 3 * 3600 * 1000}, "months": {"{kind: interval, size: 3n, sliding: 1n, timezone: Europe/Berlin}", 100 * 3600 * 1000},
	}
	for name, w := range windows {
		for _, trigger := range []string{"window_close", "at_once"} {
			for lateness, of := range map[string]int64{"none": 0, "some": 6 * w.unit} {
				t.Run(fmt.Sprintf("%s %s lateness %s", name, trigger, lateness), func(t *testing.T) {
					t.Parallel()
					p := newPlan(t, fmt.Sprintf("window: %s, trigger: %s, watermark: %dms, allowed_lateness: %dms", w.window, trigger, 2*w.unit, of))
					rapid.Check(t, func(t *rapid.T) {
						records := drawRecords(t, w.unit)
						twin := start(t, p, 1, records, nil)
						twin.end()
						got := live(t, p, records)
						got.sink.equal(t, twin.sink)
						if got.counters != twin.counters {
							t.Fatalf("%+v, want %+v", got.counters, twin.counters)
						}
						for key, n := range got.sink.writes {
							if trigger == "window_close" && of == 0 && n != 1 {
								t.Fatalf("window %s was written %d times", key, n)
							}
						}
					})
				})
			}
		}
	}
}

// live runs a stream through crashes and checkpoints to its end.
func live(t *rapid.T, p *plan.Plan, records [][]string) *stream {
	s := start(t, p, 2, records, nil)
	var complete *checkpoint
	for range rapid.IntRange(0, 40).Draw(t, "events") {
		switch rapid.SampledFrom([]string{"fetch", "fetch", "fetch", "flush", "checkpoint", "failed checkpoint", "crash"}).Draw(t, "event") {
		case "fetch":
			s.fetch(rapid.IntRange(0, len(records)-1).Draw(t, "partition"), rapid.IntRange(1, 6).Draw(t, "n"))
		case "flush":
			s.flush()
		case "checkpoint":
			complete = s.checkpoint(false)
		case "failed checkpoint":
			s.checkpoint(true)
		case "crash":
			s = start(t, p, 3, records, complete)
		}
	}
	s.end()
	return s
}
