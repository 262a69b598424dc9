package bench

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"
)

// row is a result as it lies in the output topic.
type row struct {
	Device string    `json:"device"`
	Start  time.Time `json:"wstart"`
	End    time.Time `json:"wend"`
	Count  string    `json:"cnt"`
	Sum    float64   `json:"sum"`
	Avg    float64   `json:"avg"`
	Min    float64   `json:"min"`
	Max    float64   `json:"max"`
}

// comparison counts how the results of a run differ from what was expected.
type comparison struct {
	query   Query
	want    map[window]total
	seen    map[window]struct{}
	results int64 // rows read
	changed int64 // of a window that is expected, with another content
	extra   int64 // of a window that is not expected, or that was seen before
	sample  string
}

func newComparison(q Query, want map[window]total) *comparison {
	return &comparison{query: q, want: want, seen: make(map[window]struct{}, len(want))}
}

// add takes one value of the output topic.
func (c *comparison) add(value []byte) error {
	var r row
	if err := json.Unmarshal(value, &r); err != nil {
		return fmt.Errorf("result %q: %w", value, err)
	}
	return c.addRow(r)
}

// addRow takes one result.
func (c *comparison) addRow(r row) error {
	c.results++
	if c.want == nil {
		return nil // only counted
	}
	w := window{device: r.Device, startMs: r.Start.UnixMilli()}
	want, expected := c.want[w]
	_, repeated := c.seen[w]
	c.seen[w] = struct{}{}
	switch {
	case !expected || repeated:
		c.extra++
	case r.End.Sub(r.Start) != c.query.Size || !r.equals(want):
		c.changed++
	default:
		return nil
	}
	if c.sample == "" {
		c.sample = fmt.Sprintf("%+v, expected %+v", r, want)
	}
	return nil
}

// missing returns how many windows have no row.
func (c *comparison) missing() int64 {
	n := int64(0)
	for w := range c.want {
		if _, ok := c.seen[w]; !ok {
			n++
		}
	}
	return n
}

// different returns how many rows are missing, extra or changed.
func (c *comparison) different() int64 { return c.missing() + c.extra + c.changed }

func (c *comparison) String() string {
	return fmt.Sprintf("%d missing, %d extra, %d changed; the first: %s", c.missing(), c.extra, c.changed, c.sample)
}

// equals compares counts, minima and maxima exactly. A sum of the rounded readings is not the rounded sum of the
// readings, so sums and averages are compared as the peers' check does, within tolerance.
func (r row) equals(t total) bool {
	return r.Count == strconv.FormatInt(t.count, 10) &&
		r.Min == hundredths(t.min) && r.Max == hundredths(t.max) &&
		near(r.Sum, hundredths(t.sum)) && near(r.Avg, hundredths(t.sum)/float64(t.count))
}

// hundredths is the float64 nearest to n/100, which is also what its decimal form is read as.
func hundredths(n int64) float64 { return float64(n) / 100 }

const tolerance = 1e-6 // relative, absolute below 1

func near(got, want float64) bool { return math.Abs(got-want) <= tolerance*max(1, math.Abs(want)) }
