package watermark

import (
	"math"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/ident"
)

// Tracker follows the event times of one partition row by row; the hot loop uses it without Step.
//
// All times are event times in ms. Lateness is decided here and nowhere else (DESIGN §8): a row is late when the end of
// its last window is below its openFrom, and it counts in those of its windows that end at openFrom or later. So that
// `end` fits every kind: fixed windows end exclusively at start + size, a session's own one at t + gap + 1, a state, event
// or count window at t.
type Tracker struct {
	delay, allowed int64
	tableAllowed   int64 // −1: LateByWindow
	forgetAfter    int64
	loose          *bool // of the source: rows are observed that no flush has taken
	highest        int64 // event time; math.MinInt64 before the first row
	floor          int64 // math.MinInt64: none
	limit          int64 // max(highest − delay, floor): what rows are judged by
	tables         tableClocks
}

func newTracker(s *Source) Tracker {
	return Tracker{
		delay: s.delay, allowed: s.allowed, tableAllowed: s.tableAllowed, forgetAfter: s.forgetAfter, loose: &s.loose,
		highest: math.MinInt64, floor: math.MinInt64, limit: math.MinInt64,
	}
}

// Observe takes rows in the order of their offsets, filtered ones too, and writes for each the lowest window end that
// still counts for it: judged by the rows before it, never by itself or by a row behind it. tables are the rows' table
// names, used with LateByTable only. The slices have the same length; nothing is allocated for a table already known.
func (t *Tracker) Observe(ts []int64, tables *block.Column, openFrom []ident.EventMs) {
	if len(ts) == 0 {
		return
	}
	*t.loose = true
	if t.tableAllowed >= 0 {
		t.observeTables(ts, tables, openFrom)
		return
	}
	highest, limit, delay := t.highest, t.limit, t.delay
	open := openAt(limit, t.allowed)
	openFrom = openFrom[:len(ts)]
	for i, v := range ts {
		openFrom[i] = ident.EventMs(open)
		if v > highest {
			highest = v
			if w := v - delay; w > limit {
				limit = w
				open = openAt(limit, t.allowed)
			}
		}
	}
	t.highest, t.limit = highest, limit
}

// observeTables is Observe for LateByTable: a row that is ahead of its own table, as the first one of a table is, has the
// allowance tableAllowed, any other the stream's.
func (t *Tracker) observeTables(ts []int64, tables *block.Column, openFrom []ident.EventMs) {
	open, openAhead, known := t.horizons()
	for i, v := range ts {
		openFrom[i] = ident.EventMs(open)
		if t.tables.ahead(tables.Bytes(i), v, known) {
			openFrom[i] = ident.EventMs(openAhead)
		}
		if v > t.highest {
			t.highest = v
			if w := v - t.delay; w > t.limit {
				t.limit = w
				open, openAhead, known = t.horizons()
			}
		}
	}
}

// horizons returns the openFrom of a row, that of one ahead of its table, and the lowest clock that is not forgotten.
func (t *Tracker) horizons() (open, openAhead, known int64) {
	return openAt(t.limit, t.allowed), openAt(t.limit, t.tableAllowed), openAt(t.limit, t.forgetAfter)
}

// openAt returns the lowest time with time + allowed > limit.
func openAt(limit, allowed int64) int64 {
	if allowed == math.MaxInt64 {
		return math.MinInt64
	}
	if closed := minus(limit, allowed); closed != math.MinInt64 {
		return closed + 1
	}
	return math.MinInt64
}

// Limit returns what the next row is judged by: max(W_p, floor); WatermarkNone before anything is known. It is the
// `watermark` header of a late record.
func (t *Tracker) Limit() ident.EventMs { return ident.EventMs(t.limit) }

// raiseFloor never lowers it.
func (t *Tracker) raiseFloor(floor int64) {
	t.floor = max(t.floor, floor)
	t.limit = max(t.limit, t.floor)
}

// tableClocks holds the last event time of each table of a partition. The zero value is ready.
//
// A clock that is more than two TableTTL and a WindowSpan behind is forgotten. That changes nothing for a row that counts:
// it is at most one TableTTL and a WindowSpan behind, so it is ahead of such a clock, as the first row of a new table is.
// The row's own limit decides, not the time of the sweep, which only frees memory: replays and batch cuts cannot change it.
type tableClocks struct {
	index   map[string]int32 // table → clocks; an index, so that the hot path reads and writes without making a key
	clocks  []int64
	free    []int32
	sweepAt int
}

const (
	minTables   = 1024 // below so many no sweep is worth its time
	sweepGrowth = 2    // sweep when the tables have doubled since: a constant cost per insertion
)

// ahead tells whether the row is ahead of its own table, and moves the table's clock. The first row of a table is ahead
// of it; so is the next one of a table whose clock is below known, which is forgotten.
func (c *tableClocks) ahead(table []byte, ts, known int64) bool {
	i, ok := c.index[string(table)]
	if !ok {
		c.add(table, ts, known)
		return true
	}
	last := c.clocks[i]
	if ts > last {
		c.clocks[i] = ts
	}
	return last < known || ts > last
}

func (c *tableClocks) add(table []byte, ts, known int64) {
	if c.index == nil {
		c.index, c.sweepAt = map[string]int32{}, minTables
	}
	if len(c.index) >= c.sweepAt {
		c.sweep(known)
		c.sweepAt = max(minTables, sweepGrowth*len(c.index))
	}
	if n := len(c.free); n > 0 {
		i := c.free[n-1]
		c.free = c.free[:n-1]
		c.clocks[i] = ts
		c.index[string(table)] = i
		return
	}
	c.index[string(table)] = int32(len(c.clocks))
	c.clocks = append(c.clocks, ts)
}

func (c *tableClocks) sweep(known int64) {
	for table, i := range c.index {
		if c.clocks[i] < known {
			delete(c.index, table)
			c.free = append(c.free, i)
		}
	}
}
