package batch_test

import (
	"compress/gzip"
	"encoding/csv"
	"io"
	"os"
	"path"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/pondage/pondage/internal/batch"
)

const (
	testdata = "../../test/testdata/"
	flights  = "../../examples/flights/flights.ndjson.gz"
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// open reads a file, packed or not.
func open(t *testing.T, name string) io.Reader {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if !strings.HasSuffix(name, ".gz") {
		return f
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// expected reads an answer that another program has computed.
func expected(t *testing.T, q *batch.Query, name string) *batch.Rows {
	t.Helper()
	lines, err := csv.NewReader(open(t, testdata+"expected/"+name)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	rows := batch.NewRows(q.Columns)
	rows.Tolerance = 1e-9 // the files have rounded sums
	for _, line := range lines[1:] {
		values := make([]string, len(q.Columns))
		for i, c := range q.Columns {
			var v any
			if line[i] != "" {
				v = line[i]
			}
			if values[i], err = batch.Value(c.Type, v); err != nil {
				t.Fatal(err)
			}
		}
		rows.Add(values)
	}
	return rows
}

// key and the following are columns.
func key(name, path string) batch.Column {
	return batch.Column{Name: name, Of: batch.OfMember, Path: path, Type: batch.TypeText, Key: true}
}

var (
	start = batch.Column{Name: "window_start", Of: batch.OfStart, Type: batch.TypeTime, Key: true}
	end   = batch.Column{Name: "window_end", Of: batch.OfEnd, Type: batch.TypeTime}
	rows  = batch.Column{Name: "count", Of: batch.OfRows}
)

func column(name string, of batch.Of, path string, typ batch.Type) batch.Column {
	return batch.Column{Name: name, Of: of, Path: path, Type: typ}
}

// TestAnswersEqualAnotherProgram compares with answers that a database has computed over real data.
func TestAnswersEqualAnotherProgram(t *testing.T) {
	t.Parallel()
	ny := zone(t, "America/New_York")
	delays := func(w batch.Window) *batch.Query {
		return &batch.Query{Time: "ts", Window: w, Columns: []batch.Column{
			key("origin", "origin"), start, end, rows, column("avg_delay", batch.OfAvg, "delay", batch.TypeFloat),
			column("min_delay", batch.OfMin, "delay", batch.TypeInteger), column("max_delay", batch.OfMax, "delay", batch.TypeInteger),
			column("sum_distance", batch.OfSum, "distance", batch.TypeInteger),
		}}
	}
	tests := map[string]map[string]*batch.Query{
		flights: {
			"flights_tumbling_1h_by_origin.csv.gz":         delays(batch.Tumbling{Size: time.Hour}),
			"flights_tumbling_1d_newyork_by_origin.csv.gz": delays(batch.Cached(batch.Days{Zone: ny})),
			"flights_sliding_6h_1h_by_origin.csv.gz": {Time: "ts", Window: batch.Sliding{Size: 6 * time.Hour, Step: time.Hour}, Columns: []batch.Column{
				key("origin", "origin"), start, end, rows, column("avg_delay", batch.OfAvg, "delay", batch.TypeFloat), column("max_delay", batch.OfMax, "delay", batch.TypeInteger),
			}},
		},
		testdata + "data/weather.ndjson.gz": {
			"weather_day_newyork_by_station.csv.gz": {Time: "ts", Window: batch.Cached(batch.Days{Zone: ny}), Columns: []batch.Column{
				key("station", "station"), start, end, rows,
				column("count_wind_gust", batch.OfCount, "wind_gust", batch.TypeInteger), column("count_pressure", batch.OfCount, "pressure", batch.TypeInteger),
				column("avg_temp", batch.OfAvg, "temp", batch.TypeFloat), column("avg_wind_gust", batch.OfAvg, "wind_gust", batch.TypeFloat),
				column("sum_wind_gust", batch.OfSum, "wind_gust", batch.TypeFloat), column("max_wind_gust", batch.OfMax, "wind_gust", batch.TypeFloat),
				column("sum_precip", batch.OfSum, "precip", batch.TypeFloat),
			}},
			"weather_month_newyork.csv": {Time: "ts", Window: batch.Cached(batch.Months{Zone: ny}), Columns: []batch.Column{
				start, end, rows, column("count_pressure", batch.OfCount, "pressure", batch.TypeInteger), column("avg_temp", batch.OfAvg, "temp", batch.TypeFloat),
				column("avg_pressure", batch.OfAvg, "pressure", batch.TypeFloat), column("sum_precip", batch.OfSum, "precip", batch.TypeFloat),
			}},
		},
		testdata + "data/earthquakes.ndjson.gz": {
			"quakes_tumbling_6h_by_net.csv": {Time: "time", Window: batch.Tumbling{Size: 6 * time.Hour}, Columns: []batch.Column{
				key("net", "net"), start, end, rows, column("avg_mag", batch.OfAvg, "mag", batch.TypeFloat), column("max_mag", batch.OfMax, "mag", batch.TypeFloat),
				column("count_nst", batch.OfCount, "nst", batch.TypeInteger), column("sum_nst", batch.OfSum, "nst", batch.TypeInteger),
				column("avg_depth", batch.OfAvg, "geometry.depth", batch.TypeFloat),
			}},
		},
	}
	for file, queries := range tests {
		t.Run(path.Base(file), func(t *testing.T) {
			t.Parallel()
			var list []*batch.Query
			for name, q := range queries {
				q.Name = name
				list = append(list, q)
			}
			answers, err := batch.Compute(open(t, file), list...)
			if err != nil {
				t.Fatal(err)
			}
			for i, q := range list {
				c := batch.Compare(expected(t, q, q.Name), batch.Output{Name: "batch", Rows: answers[i]})
				if c.Different > 0 || c.Equal != answers[i].Len() {
					t.Errorf("%s: %d equal, %d different: %s", q.Name, c.Equal, c.Different, strings.Join(c.First, "\n"))
				}
			}
		})
	}
}

// TestDaysThatAreNot24Hours: a day begins at its first instant, also where midnight does not exist.
func TestDaysThatAreNot24Hours(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ zone, at, start, end string }{
		{"Europe/Berlin", "2024-03-31T12:00:00Z", "2024-03-30T23:00:00Z", "2024-03-31T22:00:00Z"},
		{"Europe/Berlin", "2024-10-27T00:30:00Z", "2024-10-26T22:00:00Z", "2024-10-27T23:00:00Z"},
		{"America/Santiago", "2024-09-08T12:00:00Z", "2024-09-08T04:00:00Z", "2024-09-09T03:00:00Z"},
	} {
		at, err := time.Parse(time.RFC3339, test.at)
		if err != nil {
			t.Fatal(err)
		}
		got := batch.Days{Zone: zone(t, test.zone)}.Spans(at)[0]
		if got.Start.Format(time.RFC3339) != test.start || got.End.Format(time.RFC3339) != test.end {
			t.Errorf("%s at %s: %v, want %s to %s", test.zone, test.at, got, test.start, test.end)
		}
	}
}

// TestWindowsBeforeTheEpoch: starts are rounded down, not toward zero.
func TestWindowsBeforeTheEpoch(t *testing.T) {
	t.Parallel()
	got := batch.Tumbling{Size: 10 * time.Second}.Spans(time.UnixMilli(-1))[0]
	if got.Start.UnixMilli() != -10_000 || got.End.UnixMilli() != 0 {
		t.Errorf("−1 ms lies in %v", got)
	}
}

// TestCompareCountsAKeyOnce: missing in one output and changed in another is one difference; a double is one, too.
func TestCompareCountsAKeyOnce(t *testing.T) {
	t.Parallel()
	columns := []batch.Column{{Name: "k", Type: batch.TypeText, Key: true}, {Name: "v"}}
	of := func(lines ...string) *batch.Rows {
		r := batch.NewRows(columns)
		for _, line := range lines {
			if err := r.AddJSON([]byte(line)); err != nil {
				t.Fatal(err)
			}
		}
		return r
	}
	answer := of(`{"k":"a","v":1}`, `{"k":"b","v":2}`, `{"k":"c","v":3}`, `{"k":"d","v":null}`)
	c := batch.Compare(answer,
		batch.Output{Name: "kafka", Rows: of(`{"k":"a","v":"1"}`, `{"k":"b","v":"9"}`, `{"k":"c","v":3}`, `{"k":"c","v":3}`, `{"k":"d","v":null}`)},
		batch.Output{Name: "http", Rows: of(`{"k":"a","v":"1"}`, `{"k":"c","v":3}`, `{"k":"d","v":null}`, `{"k":"e","v":5}`)})
	if c.Equal != 2 || c.Different != 3 {
		t.Errorf("%d equal, %d different, want 2 and 3: %v", c.Equal, c.Different, c.First)
	}
}
