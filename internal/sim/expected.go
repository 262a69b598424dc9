package sim

import (
	"fmt"
	"math/big"

	"github.com/pondage/pondage/internal/ident"
)

// The stream's windows, ms.
const size, slide = 10_000, 5_000

// result is a row of the stream's output.
type result struct{ key, value string }

func newResult(table string, start, rows int64, sum float64) result {
	return result{fmt.Sprintf("%s@%d", table, start), fmt.Sprintf("%d rows, sum %x", rows, sum)}
}

// expected is the batch answer: every row into every window that holds it, exact sums rounded once.
func (in *input) expected() map[string]string {
	const precision = 2_200 // bits that hold every sum of doubles
	type window struct {
		table string
		start int64
	}
	type cell struct {
		rows int64
		sum  *big.Float
	}
	cells := map[window]*cell{}
	for _, r := range in.rows {
		for start := r.ts - r.ts%slide; start > r.ts-size; start -= slide {
			c := cells[window{r.table, start}]
			if c == nil {
				c = &cell{sum: new(big.Float).SetPrec(precision)}
				cells[window{r.table, start}] = c
			}
			c.rows++
			c.sum.Add(c.sum, big.NewFloat(r.value))
		}
	}
	out := map[string]string{}
	for w, c := range cells {
		sum, _ := c.sum.Float64()
		x := newResult(w.table, w.start, c.rows, sum)
		out[x.key] = x.value
	}
	return out
}

// lastEnd is the end of the last window.
func (in *input) lastEnd() ident.EventMs {
	end := ident.WatermarkNone
	for _, r := range in.rows {
		end = max(end, ident.EventMs(r.ts-r.ts%slide+size))
	}
	return end
}

// outcome compares both sinks with it.
func (w *world) outcome() Outcome {
	o := Outcome{
		Stages: w.stages, Terms: int(w.meta.term), Complete: w.meta.counts.complete, Failed: w.meta.counts.failed,
		Duplicated: w.table.doubled + w.output.doubled,
	}
	want := w.expected()
	got := map[string]string{}
	for key, r := range w.table.rows {
		got[key] = r.value
	}
	o.compare(want, got)
	o.compare(want, w.output.last)
	w.count()
	if o.Changed > 0 {
		w.violated("I1", "%d results differ from the batch computation", o.Changed)
	}
	if o.Lost+o.Duplicated > 0 {
		w.violated("I2", "%d results are lost, %d are there twice", o.Lost, o.Duplicated)
	}
	o.Broken, o.Reached, o.Time = w.broken, w.reached, w.now
	return o
}

func (o *Outcome) compare(want, got map[string]string) {
	for key, value := range want {
		switch have, there := got[key]; {
		case !there:
			o.Lost++
		case have != value:
			o.Changed++
		default:
			o.Results++
		}
	}
	for key := range got {
		if _, there := want[key]; !there {
			o.Changed++
		}
	}
}

// count holds what the tasks have counted against the records.
func (w *world) count() {
	for _, src := range w.stage.sources {
		if want := w.counts[src.partition]; src.counters != want {
			w.violated("I3", "partition %d: counted %+v of %+v", src.partition, src.counters, want)
		}
	}
}
