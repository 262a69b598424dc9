package window

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/pondage/pondage/internal/agg"
	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/tablehash"
)

// The benchmarks have the shape of `pondage bench`: count, sum, avg, min and max of a float64 by device; each record's
// device is drawn evenly, records come up to 1.5 s out of order.
const benchDisorderMs = 1500

func benchAggs(b *testing.B) []agg.Spec {
	b.Helper()
	var specs []agg.Spec
	star, _, _ := agg.Resolve("count", block.Type{})
	specs = append(specs, star)
	for _, name := range []string{"sum", "avg", "min", "max"} {
		s, _, err := agg.Resolve(name, block.Float64)
		if err != nil {
			b.Fatal(err)
		}
		specs = append(specs, s)
	}
	return specs
}

type benchCase struct {
	name    string
	devices int
	stepUs  int64 // event time from one record to the next
	spec    Spec
}

var (
	tumble     = Spec{Size: Length{10, UnitSecond}}
	hop        = Spec{Size: Length{60, UnitSecond}, Slide: Length{1, UnitSecond}}
	benchCases = []benchCase{
		{"tumble/1000", 1000, 1000, tumble},
		{"tumble/100000", 100_000, 10, tumble},
		{"hop/1000", 1000, 1000, hop},
	}
)

func (c benchCase) preAgg(b *testing.B) *PreAgg {
	w, err := NewWindows(c.spec)
	if err != nil {
		b.Fatal(err)
	}
	return NewPreAgg(PreAggConfig{Windows: w, Keys: testKeys, Aggs: benchAggs(b), Args: []block.Type{block.Float64},
		Route: func(keys []*block.Column, row int) ident.VGroup {
			return tablehash.VGroupOf(tablehash.Sum(keys[0].Bytes(row)), 8)
		}})
}

func (c benchCase) state(b *testing.B) *State {
	w, err := NewWindows(c.spec)
	if err != nil {
		b.Fatal(err)
	}
	return NewState(StateConfig{Windows: w, Keys: testKeys, Aggs: benchAggs(b), Args: []block.Type{block.Float64}})
}

const benchBatchRows = 4096

// batches returns enough rows for one run over all devices, as batches.
func (c benchCase) batches(rows int) []Rows {
	rng := rand.New(rand.NewPCG(1, 2))
	var out []Rows
	for first := 0; first < rows; first += benchBatchRows {
		key, x := block.NewColumn(block.String, benchBatchRows), block.NewColumn(block.Float64, benchBatchRows)
		r := Rows{Keys: []*block.Column{key}, Args: []*block.Column{x}}
		for i := range min(benchBatchRows, rows-first) {
			key.AppendString(fmt.Sprintf("device-%06d", rng.IntN(c.devices)))
			x.AppendFloat(float64(rng.IntN(10_000)) / 100)
			ts := int64(first+i)*c.stepUs/1000 - rng.Int64N(benchDisorderMs)
			r.Ts, r.Sel = append(r.Ts, ts), append(r.Sel, int32(i))
			r.OpenFrom = append(r.OpenFrom, ident.EventMs(ts-benchDisorderMs))
		}
		out = append(out, r)
	}
	return out
}

// flushRows is about what a source task reads between two flushes (200 ms at 2 M records/s).
const flushRows = 400_000

// BenchmarkPreAggAdd is the cost of a row at the source, without the flush.
func BenchmarkPreAggAdd(b *testing.B) {
	for _, c := range benchCases {
		b.Run(c.name, func(b *testing.B) {
			p, batches := c.preAgg(b), c.batches(1<<20)
			m := newMeter(b)
			for m.ops < b.N {
				m.start()
				n := 0
				for i := 0; n < flushRows; i++ {
					r := batches[(m.ops/benchBatchRows+i)%len(batches)]
					p.Add(r)
					n += len(r.Sel)
				}
				m.stop()
				m.ops += n
				p.Flush(func(ident.VGroup, *block.Batch) {})
			}
			m.report()
		})
	}
}

// BenchmarkPreAggFlush is the cost of a partial that is handed out.
func BenchmarkPreAggFlush(b *testing.B) {
	for _, c := range benchCases {
		b.Run(c.name, func(b *testing.B) {
			p, batches := c.preAgg(b), c.batches(flushRows)
			m := newMeter(b)
			for m.ops < b.N {
				for _, r := range batches {
					p.Add(r)
				}
				m.start()
				p.Flush(func(_ ident.VGroup, out *block.Batch) { m.ops += out.Rows() })
				m.stop()
			}
			m.report()
		})
	}
}

// copied returns a copy of a batch that outlives the flush.
func copied(b *block.Batch) *block.Batch {
	out := block.NewBatch(append(block.Schema{}, b.Schema...), b.Rows())
	for i, c := range b.Cols {
		for r := range c.Len() {
			out.Cols[i].AppendFrom(c, r)
		}
	}
	return out
}

// flushed is what one flush of a source sends.
type flushed struct {
	batches   []*block.Batch
	watermark ident.EventMs
}

// partialsFor returns the partials of the rows, flushed every perFlush rows.
func (c benchCase) partialsFor(b *testing.B, rows, perFlush int) []flushed {
	var out []flushed
	p := c.preAgg(b)
	pending := 0
	for _, r := range c.batches(rows) {
		p.Add(r)
		if pending += len(r.Sel); pending < perFlush {
			continue
		}
		pending = 0
		f := flushed{watermark: ident.EventMs(r.Ts[len(r.Ts)-1] - 2*benchDisorderMs)}
		p.Flush(func(_ ident.VGroup, batch *block.Batch) { f.batches = append(f.batches, copied(batch)) })
		out = append(out, f)
	}
	return out
}

// BenchmarkStateMerge is the cost of a partial that is merged.
func BenchmarkStateMerge(b *testing.B) {
	for _, c := range benchCases {
		b.Run(c.name, func(b *testing.B) {
			in := c.partialsFor(b, 1<<20, 1<<17)
			m := newMeter(b)
			for m.ops < b.N {
				s := c.state(b)
				m.start()
				for _, f := range in {
					for _, batch := range f.batches {
						if err := s.Merge(batch); err != nil {
							b.Fatal(err)
						}
						m.ops += batch.Rows()
					}
				}
				m.stop()
			}
			m.report()
		})
	}
}

// BenchmarkState is the cost of an emitted row, all in: merge, advance after every flush, results.
func BenchmarkState(b *testing.B) {
	for _, c := range benchCases {
		b.Run(c.name, func(b *testing.B) {
			in := c.partialsFor(b, 1<<20, 1<<16)
			m := newMeter(b)
			emit := func(e *Emission) { m.ops += e.Batch.Rows() }
			for m.ops < b.N {
				m.start()
				s := c.state(b)
				for _, f := range in {
					for _, batch := range f.batches {
						if err := s.Merge(batch); err != nil {
							b.Fatal(err)
						}
					}
					s.Advance(f.watermark, emit)
				}
				s.Advance(ident.WatermarkEnd, emit)
				m.stop()
			}
			m.report()
		})
	}
}

// meter measures CPU time, which a busy machine does not blur as it does wall time, and allocations, of the part of a
// benchmark between start and stop.
type meter struct {
	b       *testing.B
	ops     int
	began   time.Duration
	spent   time.Duration
	mallocs uint64
}

func newMeter(b *testing.B) *meter { return &meter{b: b} }

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

func (m *meter) start() {
	m.mallocs -= mallocs()
	m.began = cpuTime()
}

func (m *meter) stop() {
	m.spent += cpuTime() - m.began
	m.mallocs += mallocs()
}

func (m *meter) report() {
	m.b.ReportMetric(float64(m.spent.Nanoseconds())/float64(m.ops), "cpu-ns/row")
	m.b.ReportMetric(float64(m.mallocs)/float64(m.ops), "allocs/row")
}

// BenchmarkFreeze is the synchronous part of a checkpoint with a million open windows: all of them touched since the last
// one, or whether touched or not. Its goal is 50 ms (DESIGN §10).
func BenchmarkFreeze(b *testing.B) {
	const windows = 1_000_000
	s := benchState(b, windows)
	b.Run("touched", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			var all []uint32
			s.eachCell(func(cell uint32) { all = append(all, cell) })
			s.cells.Touch(all)
			b.StartTimer()
			if f := s.FreezeTouched(); f.Len() != windows {
				b.Fatalf("%d cells", f.Len())
			}
		}
	})
	b.Run("all", func(b *testing.B) {
		for b.Loop() {
			if f := s.FreezeAll(); f.Len() != windows {
				b.Fatalf("%d cells", f.Len())
			}
		}
	})
}

// BenchmarkRestore brings a million open windows back from their partials; files and their decoding are not in it.
func BenchmarkRestore(b *testing.B) {
	const windows = 1_000_000
	s := benchState(b, windows)
	chain := []file{write4096(b, s.FreezeAll())}
	for b.Loop() {
		restored(b, s.cfg, ident.WatermarkNone, chain)
	}
}

func write4096(b *testing.B, f *Frozen) (out file) {
	b.Helper()
	const rows = 4096
	err := f.Partials(rows, func(p *block.Batch) error { out = append(out, clone(p)); return nil })
	if err != nil {
		b.Fatal(err)
	}
	return out
}

// benchState has so many groups with an open window of 10 s each.
func benchState(b *testing.B, windows int) *State {
	b.Helper()
	s := NewState(StateConfig{Windows: mustWindows(b, tumble), Keys: testKeys, Aggs: benchAggs(b), Args: []block.Type{block.Float64}})
	s.Track()
	source := NewPreAgg(PreAggConfig{Windows: mustWindows(b, tumble), Keys: testKeys, Aggs: benchAggs(b), Args: []block.Type{block.Float64},
		Route: func([]*block.Column, int) ident.VGroup { return 0 }})
	const batch = 10_000
	for from := 0; from < windows; from += batch {
		var rows []row
		for i := range batch {
			rows = append(rows, row{key: fmt.Sprint("device-", from+i), ts: 5, x: float64(i), openFrom: ident.WatermarkNone})
		}
		source.Add(columnsOf(rows))
		source.Flush(func(_ ident.VGroup, p *block.Batch) {
			if err := s.Merge(p); err != nil {
				b.Fatal(err)
			}
		})
	}
	return s
}
