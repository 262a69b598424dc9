package e2e

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/pondage/pondage/internal/batch"
)

// answers are the example streams whose answer another program has computed.
var answers = []struct{ dataset, stream, answer string }{
	{"flights", "flights/flights_1h.yaml", "flights_tumbling_1h_by_origin.csv.gz"},
	{"flights", "flights/flights_1d_utc.yaml", "flights_tumbling_1d_utc_by_origin.csv.gz"},
	{"flights", "flights/flights_1d_ny.yaml", "flights_tumbling_1d_newyork_by_origin.csv.gz"},
	{"flights", "flights/flights_6h.yaml", "flights_sliding_6h_1h_by_origin.csv.gz"},
	{"weather", "weather/weather_day_by_station.yaml", "weather_day_newyork_by_station.csv.gz"},
	{"weather", "weather/weather_month_by_station.yaml", "weather_month_newyork_by_station.csv"},
	{"weather", "weather/weather_month.yaml", "weather_month_newyork.csv"},
	{"flights-nyc", "flights-nyc/nyc_month_by_carrier.yaml", "nyc_month_newyork_by_carrier.csv"},
	{"flights-nyc", "flights-nyc/nyc_day_by_origin.yaml", "nyc_day_newyork_by_origin.csv.gz"},
	{"earthquakes", "earthquakes/quakes_6h.yaml", "quakes_tumbling_6h_by_net.csv"},
}

// partitionsOf is how many partitions the topic of a dataset has. One for those whose lateness is counted.
var partitionsOf = map[string]int{"flights": 4, "weather": 2, "flights-nyc": 1, "earthquakes": 1}

// TestAnswersOverRealData compares Postgres, Kafka and HTTP results with answers that a database has computed.
func TestAnswersOverRealData(t *testing.T) {
	t.Parallel()
	c := shared(t)
	for _, a := range answers {
		t.Run(strings.TrimSuffix(filepath.Base(a.stream), ".yaml"), func(t *testing.T) {
			t.Parallel()
			c.answers(t, a.dataset, a.stream, a.answer)
		})
	}
}

// answers runs an example stream over its dataset and compares all outputs.
func (c *cluster) answers(t *testing.T, dataset, stream, answer string) {
	t.Helper()
	d := c.dataset(t, dataset, partitionsOf[dataset])
	name := c.example(t, d, stream, nil)
	s := c.untilState(t, name, "finished")
	if !s.Ended || s.Lag != 0 || s.Counters.Late != 0 {
		t.Errorf("a finished stream has ended %v, lag %d, late %d", s.Ended, s.Lag, s.Counters.Late)
	}
	columns := c.columns(t, name)
	compare(t, expected(t, answer, columns), c.outputs(t, name, columns)...)
	c.conserves(t, name)
}

// conserves checks I3 for every partition of a stream: each accepted record is in exactly one counter, and the rows of the
// partition's log are the accepted ones.
func (c *cluster) conserves(t *testing.T, name string) {
	t.Helper()
	s := c.stream(t, name)
	var accepted int64
	for _, p := range s.Partitions {
		k := p.Counters
		if sum := k.Counted + k.Filtered + k.NoWindow + k.Late + k.DeadLettered; k.Accepted != sum {
			t.Errorf("partition %d: %d accepted, but the counters sum up to %d: %+v", p.Partition, k.Accepted, sum, k)
		}
		if int64(k.Accepted) != int64(p.Next-p.Start) {
			t.Errorf("partition %d: %d accepted from offset %d to %d", p.Partition, k.Accepted, p.Start, p.Next)
		}
		accepted += int64(k.Accepted)
	}
	if int64(s.Counters.Accepted) != accepted {
		t.Errorf("stream %s: %d accepted, its partitions %d", name, s.Counters.Accepted, accepted)
	}
}

// lateness are the lines of lateness.csv that are run: for every source some delays, at a cost of one stream each.
var lateness = map[string]bool{
	"flights 3600000 0": true, "flights 3600000 300000": true, "flights 3600000 3600000": true, "flights 3600000 7200000": true, "flights 21600000 60000": true,
	"flights-nyc 3600000 60000": true, "flights-nyc 21600000 14400000": true,
	"earthquakes 3600000 0": true, "earthquakes 3600000 60000": true, "earthquakes 21600000 7200000": true, "earthquakes 21600000 86400000": true, "earthquakes 21600000 604800000": true,
}

// TestLateRowsAreCounted: as many rows are late as a plain program counts, row by row, with allowed_lateness 0 and one
// partition; all others count.
func TestLateRowsAreCounted(t *testing.T) {
	t.Parallel()
	c := shared(t)
	sources := map[string]struct{ source, rows string }{
		"flights": {"flights", "201601"}, "flights-nyc": {"nyc_airports", "336776"}, "earthquakes": {"quakes", "1707"},
	}
	for _, line := range readCSV(t, "lateness.csv")[1:] {
		if !lateness[strings.Join(line[:3], " ")] {
			continue
		}
		t.Run(strings.Join(line[:3], "_"), func(t *testing.T) {
			t.Parallel()
			d := c.dataset(t, line[0], 1)
			name := c.create(t, count(c.name("late"), d.sources[sources[line[0]].source], object{
				"until": "latest", "watermark": line[2] + "ms", "late_by": "window", "allowed_lateness": "0s",
				"window": object{"kind": "interval", "size": line[1] + "ms"},
				"select": []any{object{"expr": "_wstart", "as": "at"}, object{"expr": "count(*)", "as": "n"}},
			}))
			s := c.untilState(t, name, "finished")
			if got := strconv.FormatInt(int64(s.Counters.Late), 10); got != line[4] {
				t.Errorf("%s rows are late, want %s", got, line[4])
			}
			if got := strconv.FormatInt(int64(s.Counters.Late+s.Counters.Counted), 10); got != sources[line[0]].rows {
				t.Errorf("%s rows are late or counted, want %s", got, sources[line[0]].rows)
			}
			c.conserves(t, name)
		})
	}
}

// TestTablesLieInTheirVGroups: a group's rows are written by the vgroup that the hash of its table name lies in.
func TestTablesLieInTheirVGroups(t *testing.T) {
	t.Parallel()
	c := shared(t)
	d := c.dataset(t, "flights", partitionsOf["flights"])
	name := c.example(t, d, "flights/flights_1d_utc.yaml", nil)
	c.untilState(t, name, "finished")
	got := map[string]string{}
	for _, row := range c.query(t, `SELECT DISTINCT origin, _vgroup::text FROM `+name) {
		if before, ok := got[row[0]]; ok {
			t.Errorf("table %s is in vgroups %s and %s", row[0], before, row[1])
		}
		got[row[0]] = row[1]
	}
	tables := 0
	for _, line := range readCSV(t, "tables.csv")[1:] {
		if line[0] != "flights" {
			continue
		}
		tables++
		if got[line[1]] != line[4] {
			t.Errorf("table %s is in vgroup %s, want %s", line[1], got[line[1]], line[4])
		}
	}
	if len(got) != tables {
		t.Errorf("%d tables, want %d", len(got), tables)
	}
}

// TestAFilterWithoutWindow compares a stateless stream, whose rows are named by topic, partition and offset.
func TestAFilterWithoutWindow(t *testing.T) {
	t.Parallel()
	c := shared(t)
	d := c.dataset(t, "flights", partitionsOf["flights"])
	name := c.example(t, d, "flights/flights_delayed.yaml", nil)
	c.untilState(t, name, "finished")
	const most = 120 // minutes
	query := batch.Query{
		Name: name, Time: "ts", Where: func(r batch.Record) bool { d, ok := r.Number("delay"); return ok && d > most },
		Columns: []batch.Column{
			{Name: "id", Path: "id", Key: true}, {Name: "ts", Of: batch.OfTime, Type: batch.TypeTime}, {Name: "origin", Path: "origin", Type: batch.TypeText},
			{Name: "delay", Path: "delay"},
		},
	}
	rows, err := batch.Compute(records(t, "flights"), &query)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, rows[0], c.outputs(t, name, query.Columns)...)
	c.conserves(t, name)
}
