package bench

import (
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/decode"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/kafka"
	"github.com/pondage/pondage/internal/pipeline"
	"github.com/pondage/pondage/internal/plan"
	"github.com/pondage/pondage/internal/rowjson"
	"github.com/pondage/pondage/internal/spec"
	"github.com/pondage/pondage/internal/watermark"
)

// path is the way of a record without its I/O: record batches as a fetch brings them, decoding, watermark,
// pre-aggregation, blocks, window state, JSON rows. One source task, one receiving task.
type path struct {
	records   kafka.Iterator
	decoder   *decode.Decoder
	batch     *block.Batch
	wm        *watermark.Source
	source    *pipeline.Source
	encoder   *block.Encoder
	body      []byte
	blocks    *block.Decoder
	receiving pipeline.Receiving
	rows      *rowjson.Encoder
	key       []int
	row       []byte
	counters  pipeline.Counters
	results   int64
	err       error
}

func newPath(tb testing.TB, q Query) *path {
	tb.Helper()
	must := func(err error) {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
	}
	text, err := sourceSpec("in")
	must(err)
	src, err := spec.ParseSource(text)
	must(err)
	text, err = q.streamSpec("s", "out", allRecords, Sink{Kind: SinkKafka, Delivery: AtLeastOnce})
	must(err)
	st, err := spec.ParseStream(text)
	must(err)
	p, err := plan.Build(src, st, plan.Env{Cluster: "bench", VGroups: 1, Zone: time.LoadLocation})
	must(err)
	const batchRows = 2048
	x := &path{
		batch: block.NewBatch(p.Input.Schema, batchRows), encoder: block.NewEncoder(block.CompressionNone), blocks: block.NewDecoder(),
		rows: rowjson.NewEncoder(p.Result.Fields()), key: p.Result.Key,
	}
	x.decoder, err = p.Input.NewDecoder(src)
	must(err)
	x.source, err = pipeline.NewSource(p, pipeline.SourceOptions{Seed: seed})
	must(err)
	x.receiving, err = pipeline.NewReceiving(p, seed)
	must(err)
	cfg, err := pipeline.SourceWatermark(p, []ident.Task{{Level: ident.LevelAgg}})
	must(err)
	x.wm = watermark.NewSource(cfg)
	_, err = x.wm.Step(watermark.Added{})
	must(err)
	return x
}

// chunk makes a chunk of records, as a fetch brings it.
func chunk(r Records, from, to int64) *kafka.Chunk {
	s := kafka.ChunkSpec{From: ident.NextOffset(from)}
	for i := from; i < to; i++ {
		x := r.at(i)
		s.Messages = append(s.Messages, kafka.Message{Key: appendDevice(nil, x.device), Value: x.appendValue(nil), TimestampMs: x.timeMs})
	}
	return kafka.NewChunk(s)
}

// take takes a chunk along the path; flush says whether a flush follows it.
func (x *path) take(c *kafka.Chunk, flush bool) {
	limits := decode.AnyTime()
	n := len(x.batch.Cols)
	numbers, offsets := x.batch.Cols[n-2], x.batch.Cols[n-1]
	for x.records.Reset(c); x.records.Next(); {
		r := &x.records.Record
		if v := x.decoder.Append(r.Value, limits, x.batch); !v.OK() {
			x.fail(fmt.Errorf("record %d: %s", r.Offset, v.Reason))
		}
		numbers.AppendInt(int64(c.Partition))
		offsets.AppendInt(int64(r.Offset))
		if offsets.Len() == cap(offsets.Int) {
			x.evaluate(c)
		}
	}
	x.fail(x.records.Err())
	x.evaluate(c)
	if flush || x.source.Full() {
		x.flush(c)
	}
}

func (x *path) evaluate(c *kafka.Chunk) {
	x.source.Take(x.batch, x.wm.Track(c.Partition), &x.counters)
	x.batch.Reset()
}

func (x *path) flush(c *kafka.Chunk) {
	x.source.Flush(func(_ ident.VGroup, rows *block.Batch) {
		var err error
		x.body, err = x.encoder.Append(x.body[:0], rows)
		x.fail(err)
		in := x.receiving.Batch()
		x.fail(x.blocks.Decode(x.body, in))
		x.fail(x.receiving.Take(in))
	})
	x.fail(x.receiving.Advance(x.wm.Track(c.Partition).Limit(), x))
}

// Rows implements pipeline.Results: what an output does with its rows.
func (x *path) Rows(b *block.Batch) error {
	for i := range b.Rows() {
		x.row = x.rows.AppendKey(x.row[:0], b.Cols, x.key, i)
		x.row = x.rows.AppendRow(x.row[:0], b.Cols, i)
		x.results++
	}
	return nil
}

// Reject implements pipeline.Results.
func (x *path) Reject(row []byte, _, reason string) error {
	return fmt.Errorf("%s: %s", row, reason)
}

func (x *path) fail(err error) {
	if x.err == nil {
		x.err = err
	}
}

// BenchmarkPath shows the CPU and the allocations of a record on its whole path. What is allocated is for flushes,
// result batches and windows: the records themselves cost nothing.
func BenchmarkPath(b *testing.B) {
	for _, c := range []struct {
		query   Query
		devices uint64
		step    time.Duration
	}{
		{tumbling, 1000, time.Millisecond}, {tumbling, 100_000, 10 * time.Microsecond}, {sliding, 1000, time.Millisecond},
	} {
		b.Run(fmt.Sprintf("%s/%d", c.query.Name, c.devices), func(b *testing.B) {
			const perChunk, chunks, flushEvery = 10_000, 50, 10 // a fetch of 1 MiB; ten of them in 200 ms
			x := newPath(b, c.query)
			r := Records{Count: perChunk * chunks, Devices: c.devices, Step: c.step}
			var all []*kafka.Chunk
			for i := range int64(chunks) {
				all = append(all, chunk(r, i*perChunk, (i+1)*perChunk))
			}
			runtime.GC()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			begin, records := cpu(b), 0
			for b.Loop() {
				x = newPath(b, c.query)
				for i, c := range all {
					x.take(c, (i+1)%flushEvery == 0)
				}
				records += perChunk * chunks
			}
			runtime.ReadMemStats(&after)
			if x.err != nil {
				b.Fatal(x.err)
			}
			b.ReportMetric(float64(cpu(b)-begin)/float64(records), "cpu-ns/record")
			b.ReportMetric(float64(after.Mallocs-before.Mallocs)/float64(records), "allocs/record")
			b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(records), "B/record")
			b.ReportMetric(float64(x.results)/float64(r.Count), "results/record")
		})
	}
}

// cpu is what the process has used so far.
func cpu(tb testing.TB) time.Duration {
	tb.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// TestARecordAllocatesNothing takes the same records along the path again and again, so that nothing grows any more.
func TestARecordAllocatesNothing(t *testing.T) {
	x := newPath(t, tumbling)
	const records = 20_000
	c := chunk(Records{Count: records, Devices: 100, Step: time.Millisecond}, 0, records)
	x.take(c, false)
	if n := testing.AllocsPerRun(5, func() { x.take(c, false) }); n > records/1000 {
		t.Errorf("%v allocations for %d records", n, records)
	}
	if x.err != nil || x.counters.Counted == 0 {
		t.Errorf("%+v, %v", x.counters, x.err)
	}
}
