package sim

import (
	"encoding/json"
	"fmt"
	"math/big"

	"github.com/pondage/pondage/internal/ident"
)

// expected is the batch answer, from the records alone: every row into every window that holds it, exact sums rounded once.
func (w *world) expected() map[string]string {
	const size, slide, precision = 10_000, 5_000, 2_200 // ms; bits that hold every sum of doubles
	type cell struct {
		rows int
		sum  *big.Float
	}
	cells := map[string]*cell{}
	for _, records := range w.records {
		for _, line := range records {
			var r struct {
				K  string
				Ts int64
				V  float64
			}
			if err := json.Unmarshal(line, &r); err != nil {
				panic(err) // the simulation wrote it
			}
			for start := r.Ts - r.Ts%slide; start > r.Ts-size; start -= slide {
				key := fmt.Sprintf("%s@%d", r.K, start)
				if cells[key] == nil {
					cells[key] = &cell{sum: new(big.Float).SetPrec(precision)}
				}
				cells[key].rows++
				cells[key].sum.Add(cells[key].sum, big.NewFloat(r.V))
			}
		}
	}
	out := map[string]string{}
	for key, c := range cells {
		sum, _ := c.sum.Float64()
		out[key] = fmt.Sprintf("%d rows, sum %x", c.rows, sum)
	}
	return out
}

// outcome compares the sinks with it.
func (w *world) outcome() Outcome {
	o := Outcome{Stages: w.control.stages, Complete: w.control.counts.complete, Failed: w.control.counts.failed}
	got := map[string]string{}
	for v := range ident.VGroup(vgroups) {
		o.Duplicated += w.sinks[v].doubled
		for key, value := range w.sinks[v].now {
			if _, twice := got[key]; twice {
				o.Duplicated++
			}
			got[key] = value
		}
	}
	want := w.expected()
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
	return o
}
