package demo

import (
	"time"

	"github.com/pondage/pondage/internal/batch"
)

// example is an example stream with the query that computes its answer in one batch.
type example struct {
	file string // its spec
	name string
	says string
	// order and show choose the sample of its results: the rows that come first, and their columns.
	order string
	show  []string
	query batch.Query
}

// busyDelay is the delay, in minutes, above which flights_delayed keeps a flight.
const busyDelay = 120

// examples are the streams of the demo.
func examples() ([]example, error) {
	newYork, err := time.LoadLocation("America/New_York")
	if err != nil {
		return nil, err
	}
	return []example{
		{
			file: "flights_1h.yaml", name: "flights_1h", says: "departures by hour and airport", order: "count desc, window_start, origin",
			show:  []string{"origin", "window_start", "window_end", "count", "avg_delay"},
			query: windowed(batch.Tumbling{Size: time.Hour}, average, least, most, distance),
		},
		{
			file: "flights_1d_ny.yaml", name: "flights_1d_ny", says: "by day in New York and airport; 1 April 2001 has 23 hours there", order: "count desc, window_start, origin",
			show:  []string{"origin", "window_start", "window_end", "count", "sum_distance"},
			query: windowed(batch.Cached(batch.Days{Zone: newYork}), average, least, most, distance),
		},
		{
			file: "flights_6h.yaml", name: "flights_6h", says: "the last six hours, every hour", order: "max_delay desc, window_start, origin",
			show:  []string{"origin", "window_start", "window_end", "count", "max_delay"},
			query: windowed(batch.Sliding{Size: 6 * time.Hour, Step: time.Hour}, average, most),
		},
		{
			file: "flights_delayed.yaml", name: "flights_delayed", says: "flights more than two hours late, without window", order: "delay desc, id",
			show: []string{"id", "ts", "origin", "destination", "delay"},
			query: batch.Query{
				Time:  "ts",
				Where: func(r batch.Record) bool { d, ok := r.Number("delay"); return ok && d > busyDelay },
				Columns: []batch.Column{
					{Name: "id", Path: "id", Key: true}, {Name: "ts", Of: batch.OfTime, Type: batch.TypeTime},
					{Name: "origin", Path: "origin", Type: batch.TypeText}, {Name: "destination", Path: "destination", Type: batch.TypeText},
					{Name: "delay", Path: "delay"}, {Name: "distance", Path: "distance"},
				},
			},
		},
	}, nil
}

// The aggregates of the windowed examples.
var (
	average  = batch.Column{Name: "avg_delay", Of: batch.OfAvg, Path: "delay", Type: batch.TypeFloat}
	least    = batch.Column{Name: "min_delay", Of: batch.OfMin, Path: "delay"}
	most     = batch.Column{Name: "max_delay", Of: batch.OfMax, Path: "delay"}
	distance = batch.Column{Name: "sum_distance", Of: batch.OfSum, Path: "distance"}
)

// windowed is the query of an example with a window: per airport, with a count and some aggregates.
func windowed(w batch.Window, aggregates ...batch.Column) batch.Query {
	columns := []batch.Column{
		{Name: "origin", Path: "origin", Type: batch.TypeText, Key: true},
		{Name: "window_start", Of: batch.OfStart, Type: batch.TypeTime, Key: true}, {Name: "window_end", Of: batch.OfEnd, Type: batch.TypeTime},
		{Name: "count", Of: batch.OfRows},
	}
	return batch.Query{Time: "ts", Window: w, Columns: append(columns, aggregates...)}
}
