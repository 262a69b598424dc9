package chaos

import (
	"encoding/json"
	"errors"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"time"
)

// Read is a record of the source topic as it lies there.
type Read struct {
	Partition int32
	Offset    int64
	Value     []byte
}

// Answer is what a query gives over the records of a topic.
type Answer struct {
	// Rows by key: a text a value, in the order of the query's columns.
	Rows map[string][]string
	// Where the records went (DESIGN §16, I3).
	Accepted, Counted, Filtered, Late, Dead int64
}

// reading is a record that could be read.
type reading struct {
	partition int32
	offset    int64
	table     string
	atMs      int64
	v         *float64
	w         *int64
}

// Compute is the query in the simplest way there is: every record in the order of its partition, every group in a map. The
// records of a partition must stand in the order of their offsets; how the partitions are mixed does not matter, for what is
// late is decided by the rows of its own partition (docs/semantics.md). Windows that are open at the end are no results.
func Compute(q Query, records []Read) Answer {
	a := Answer{Rows: map[string][]string{}}
	latest := map[int32]int64{} // the highest event time of a partition, ms
	groups := map[string]*group{}
	for _, record := range records {
		a.Accepted++
		r, err := parse(record)
		if err != nil {
			a.Dead++
			continue
		}
		before, seen := latest[r.partition]
		watermark := before - q.Delay.Milliseconds()
		latest[r.partition] = r.atMs
		if seen {
			latest[r.partition] = max(before, r.atMs)
		}
		switch {
		case q.Where != nil && !q.Where(r):
			a.Filtered++
		case q.Size == 0:
			a.Counted++
			row := q.values(r, nil)
			a.Rows[q.key(row)] = row
		default:
			open := false
			for _, start := range q.starts(r.atMs) {
				if seen && start+q.Size.Milliseconds() <= watermark {
					continue
				}
				open = true
				id := strconv.FormatInt(start, 10)
				if q.ByTable {
					id += " " + r.table
				}
				g := groups[id]
				if g == nil {
					g = &group{table: r.table, startMs: start}
					groups[id] = g
				}
				g.add(r)
			}
			if open {
				a.Counted++
			} else {
				a.Late++
			}
		}
	}
	// A window closes when the lowest watermark of all partitions is at or past its end.
	closed := int64(math.MinInt64)
	if len(latest) == partitions {
		closed = slices.Min(slices.Collect(maps.Values(latest))) - q.Delay.Milliseconds()
	}
	for _, g := range groups {
		if g.startMs+q.Size.Milliseconds() > closed {
			continue
		}
		row := q.values(reading{table: g.table}, g)
		a.Rows[q.key(row)] = row
	}
	return a
}

var errNoRow = errors.New("no row")

// parse reads a record; what the sources' columns cannot take is an error.
func parse(record Read) (reading, error) {
	var text struct {
		K  *string          `json:"k"`
		TS json.RawMessage  `json:"ts"`
		V  *json.RawMessage `json:"v"`
		W  *int64           `json:"w"`
	}
	out := reading{partition: record.Partition, offset: record.Offset}
	if err := json.Unmarshal(record.Value, &text); err != nil {
		return out, err
	}
	if text.K == nil {
		return out, errNoRow
	}
	out.table, out.w = *text.K, text.W
	if err := json.Unmarshal(text.TS, &out.atMs); err != nil {
		return out, err
	}
	if text.V != nil {
		v, err := parseFloat(*text.V)
		if err != nil {
			return out, err
		}
		out.v = v
	}
	return out, nil
}

func parseFloat(raw json.RawMessage) (*float64, error) {
	switch string(raw) {
	case "null":
		return nil, nil
	case `"NaN"`:
		return new(math.NaN()), nil
	case `"Infinity"`:
		return new(math.Inf(1)), nil
	case `"-Infinity"`:
		return new(math.Inf(-1)), nil
	}
	v, err := strconv.ParseFloat(string(raw), 64)
	return &v, err
}

// starts are the windows that hold an instant, ms.
func (q Query) starts(atMs int64) []int64 {
	step, size := q.Step.Milliseconds(), q.Size.Milliseconds()
	var out []int64
	for start := atMs - floorMod(atMs, step); start > atMs-size; start -= step {
		out = append(out, start)
	}
	return out
}

func floorMod(a, b int64) int64 { return ((a % b) + b) % b }

// group is the rows of one group in one window.
type group struct {
	table   string
	startMs int64

	rows, vs         int64
	sum              big.Float // of finite values, exact
	nan, plus, minus int64     // values that are not finite
	least, most      float64   // of v, NaN above everything; valid when vs > 0
	ws               int64
	wSum             big.Int
	last             *reading // by event time, then partition and offset, of those with w
}

// exactBits holds any sum of the values that records.go makes, exactly: 53 bits of mantissa, exponents from −60 to 30, and room.
const exactBits = 512

func (g *group) add(r reading) {
	g.rows++
	if r.v != nil {
		v := *r.v
		if g.vs == 0 || above(g.least, v) {
			g.least = v
		}
		if g.vs == 0 || above(v, g.most) {
			g.most = v
		}
		g.vs++
		switch {
		case math.IsNaN(v):
			g.nan++
		case math.IsInf(v, 1):
			g.plus++
		case math.IsInf(v, -1):
			g.minus++
		default:
			g.sum.SetPrec(exactBits)
			g.sum.Add(&g.sum, new(big.Float).SetFloat64(v))
		}
	}
	if r.w != nil {
		g.ws++
		g.wSum.Add(&g.wSum, big.NewInt(*r.w))
		if g.last == nil || g.last.before(r) {
			g.last = &r
		}
	}
}

// above is the total order of numbers: NaN is above everything.
func above(a, b float64) bool {
	if math.IsNaN(a) || math.IsNaN(b) {
		return math.IsNaN(a) && !math.IsNaN(b)
	}
	return a > b
}

func (r *reading) before(o reading) bool {
	if r.atMs != o.atMs {
		return r.atMs < o.atMs
	}
	if r.partition != o.partition {
		return r.partition < o.partition
	}
	return r.offset < o.offset
}

// total is the sum of v divided by n, rounded once.
func (g *group) total(n int64) float64 {
	switch {
	case g.nan > 0 || g.plus > 0 && g.minus > 0:
		return math.NaN()
	case g.plus > 0:
		return math.Inf(1)
	case g.minus > 0:
		return math.Inf(-1)
	}
	exact, _ := g.sum.Rat(nil)
	if exact == nil { // nothing was added
		exact = new(big.Rat)
	}
	f, _ := exact.Quo(exact, new(big.Rat).SetInt64(n)).Float64()
	return f
}

// The texts of values, as batch.Value makes them.
func wholeText(n int64) string { return strconv.FormatInt(n, 10) }

func floatText(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

func timeText(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }

func orNull(n int64, text func() string) string {
	if n == 0 {
		return "null"
	}
	return text()
}
