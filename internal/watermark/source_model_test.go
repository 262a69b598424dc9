package watermark

import (
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/ident"
)

// row is a row of one partition.
type row struct {
	ts    int64
	table string
}

// dumbOpenFrom judges row i by a look at all rows before it (DESIGN §8).
func dumbOpenFrom(rows []row, i int, c SourceConfig, floor int64) int64 {
	limit := floor
	known, last := false, int64(0)
	ttl := max(c.TableTTL, c.AllowedLateness).Milliseconds()
	for _, r := range rows[:i] {
		if r.table == rows[i].table {
			if !known || r.ts > last {
				last = r.ts
			}
			known = true
		}
		limit = max(limit, r.ts-c.Delay.Milliseconds())
	}
	if limit == math.MinInt64 {
		return limit
	}
	forgotten := known && last+2*ttl+c.WindowSpan.Milliseconds() <= limit
	allowed := c.AllowedLateness.Milliseconds()
	if c.LateBy == LateByTable && (!known || forgotten || rows[i].ts > last) {
		allowed = ttl
	}
	return limit - allowed + 1
}

// TestT06_BatchCutsChangeNothing: however rows are cut into batches, and whatever a save and restore in between does,
// each row is judged by the rows before it.
func TestT06_BatchCutsChangeNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := SourceConfig{
			Delay:           time.Duration(rapid.IntRange(0, 20).Draw(t, "delay")) * time.Millisecond,
			AllowedLateness: time.Duration(rapid.IntRange(0, 20).Draw(t, "allowed")) * time.Millisecond,
			LateBy:          LateBy(rapid.IntRange(0, 1).Draw(t, "late by")),
			TableTTL:        time.Duration(rapid.IntRange(1, 60).Draw(t, "ttl")) * time.Millisecond,
			WindowSpan:      10 * time.Millisecond,
		}
		rows := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) row {
			return row{int64(rapid.IntRange(-100, 400).Draw(t, "ts")), rapid.SampledFrom([]string{"a", "b", "c", ""}).Draw(t, "table")}
		}), 1, 60).Draw(t, "rows")
		src := newTracked(t, c)
		for at := 0; at < len(rows); {
			n := rapid.IntRange(1, len(rows)-at).Draw(t, "cut")
			for i, got := range observe(src.Track(0), rows[at:at+n]) {
				if want := dumbOpenFrom(rows, at+i, c, math.MinInt64); int64(got) != want {
					t.Fatalf("row %d (%v): open from %d, want %d", at+i, rows[at+i], got, want)
				}
			}
			at += n
			if rapid.Bool().Draw(t, "restore") {
				st := src.State()
				c := c
				c.Restored = &st
				src = newTracked(t, c)
			}
		}
	})
}

func newTracked(t interface{ Fatal(...any) }, c SourceConfig) *Source {
	src := NewSource(c)
	if _, err := src.Step(Added{Partition: 0}); err != nil {
		t.Fatal(err)
	}
	return src
}

func observe(tr *Tracker, rows []row) []ident.EventMs {
	ts, open := make([]int64, len(rows)), make([]ident.EventMs, len(rows))
	tables := block.NewColumn(block.String, len(rows))
	for i, r := range rows {
		ts[i] = r.ts
		tables.AppendString(r.table)
	}
	tr.Observe(ts, tables, open)
	return open
}

// TestTableClocksAreBounded: tables that are far behind are forgotten, and what is left is judged as before.
func TestTableClocksAreBounded(t *testing.T) {
	t.Parallel()
	src := newTracked(t, SourceConfig{LateBy: LateByTable, TableTTL: time.Second})
	tr := src.Track(0)
	for i := range int64(50) {
		var rows []row
		for j := range minTables {
			rows = append(rows, row{i * 10_000, fmt.Sprintf("%d-%d", i, j)})
		}
		observe(tr, rows)
	}
	if n, limit := len(tr.tables.index), 3*minTables; n > limit || len(tr.tables.clocks) > limit {
		t.Errorf("%d tables and %d clocks are kept, want at most %d", n, len(tr.tables.clocks), limit)
	}
}

func TestObserveAllocatesNothing(t *testing.T) { // not parallel: AllocsPerRun counts the whole process
	for _, by := range []LateBy{LateByWindow, LateByTable} {
		tr := newTracked(t, SourceConfig{LateBy: by, Delay: time.Second}).Track(0)
		ts, open := make([]int64, 1000), make([]ident.EventMs, 1000)
		tables := block.NewColumn(block.String, len(ts))
		for i := range ts {
			ts[i] = int64(i)
			tables.AppendString(fmt.Sprint("device-", i%100))
		}
		if n := testing.AllocsPerRun(10, func() { tr.Observe(ts, tables, open) }); n != 0 {
			t.Errorf("late by %d: %v allocations a batch", by, n)
		}
	}
}

func BenchmarkObserve(b *testing.B) {
	for name, by := range map[string]LateBy{"window": LateByWindow, "table": LateByTable} {
		b.Run(name, func(b *testing.B) {
			src := NewSource(SourceConfig{LateBy: by})
			if _, err := src.Step(Added{}); err != nil {
				b.Fatal(err)
			}
			tr := src.Track(0)
			ts, open := make([]int64, 4096), make([]ident.EventMs, 4096)
			tables := block.NewColumn(block.String, len(ts))
			for i := range ts {
				ts[i] = int64(i)
				tables.AppendString(fmt.Sprint("device-", i%1000))
			}
			b.SetBytes(int64(len(ts)))
			for b.Loop() {
				tr.Observe(ts, tables, open)
			}
		})
	}
}

// edge is a source task and a windowed task, joined by a channel that keeps the order.
type edge struct {
	t     *testing.T
	src   *Source
	merge *Merge
	// ready is false while the partition's rows wait.
	ready bool
}

var (
	up   = ident.Task{Level: ident.LevelSource}
	down = ident.Task{Level: ident.LevelAgg}
)

func newEdge(t *testing.T, delay, window, closeAfter time.Duration) *edge {
	next := func(after ident.EventMs) ident.EventMs {
		w := window.Milliseconds()
		return ident.EventMs(floorDiv(int64(after), w)*w + w)
	}
	e := &edge{
		t: t, ready: true,
		src:   NewSource(SourceConfig{Destinations: []ident.Task{down}, Delay: delay, NextEnd: next}),
		merge: NewMerge(MergeConfig{Upstreams: []ident.Task{up}, CloseIdleAfter: closeAfter}),
	}
	e.source(Added{Partition: 0}, 0)
	return e
}

// source steps the source and carries what it says to the merge at once.
func (e *edge) source(ev Event, now ident.MonoMs) {
	effects, err := e.src.Step(ev)
	if err != nil {
		e.t.Fatal(err)
	}
	for _, f := range append([]Effect(nil), effects...) {
		switch f := f.(type) {
		case Wait:
			e.ready = false
		case Go:
			e.ready = true
		case Stamp:
			if fl := ev.(Flush); len(fl.Data) > 0 {
				e.down(Heard{From: up, Watermark: f.Watermark, Rows: 1, Now: now}, now)
			}
		case Say:
			e.down(Heard{From: up, Watermark: f.Watermark, Idle: f.Idle, Question: f.Question, Now: now}, now)
		}
	}
}

func (e *edge) down(ev Event, now ident.MonoMs) {
	effects, err := e.merge.Step(ev)
	if err != nil {
		e.t.Fatal(err)
	}
	for _, f := range append([]Effect(nil), effects...) {
		if a, ok := f.(Answer); ok {
			e.source(Answered{From: down, Question: a.Question, Watermark: a.Watermark, Now: now}, now)
		}
	}
}

// row brings one row and reports whether it is late for its window.
func (e *edge) row(ts int64, window time.Duration, now ident.MonoMs) (late bool) {
	e.source(Fetched{Partition: 0, Records: 1, Now: now}, now)
	if !e.ready {
		e.t.Fatalf("at %d: the row still waits for its floor", now)
	}
	open := observe(e.src.Track(0), []row{{ts: ts}})
	e.source(Flush{Data: []ident.Task{down}, Now: now}, now)
	w := window.Milliseconds()
	return ident.EventMs(floorDiv(ts, w)*w+w) < open[0]
}

// silence passes time, with an empty answer of the broker every 500 ms.
func (e *edge) silence(from, to ident.MonoMs) {
	for now := from; now < to; now += 100 {
		if now%500 == 0 {
			e.source(Fetched{Partition: 0, Now: now}, now)
		}
		e.source(Tick{Now: now}, now)
		e.down(Tick{Now: now}, now)
	}
}

// TestT13_SlowIsNotLate: one row every 40 s, in order, up to 2 s under way; windows of a minute, delay 0, defaults.
func TestT13_SlowIsNotLate(t *testing.T) {
	t.Parallel()
	for _, minute := range []time.Duration{time.Minute, time.Second} {
		e := newEdge(t, 0, minute, DefaultCloseIdleAfter)
		now := ident.MonoMs(0)
		for i := range int64(100) {
			ts := i * 40_000
			arrives := ident.MonoMs(ts + i*700%2_000)
			e.silence(now, arrives)
			if e.row(ts, minute, arrives) {
				t.Errorf("windows of %s: row %d (%d s) is late; the watermark is at %d", minute, i, ts/1000, e.merge.Watermark())
			}
			now = arrives - arrives%100 + 100
		}
	}
}

// TestT08_TheLastWindowComesOut: rows at 1, 2, 3 s, then silence; within 45 s the window of 10 s is closed.
func TestT08_TheLastWindowComesOut(t *testing.T) {
	t.Parallel()
	window := 10 * time.Second
	e := newEdge(t, DefaultDelay, window, DefaultCloseIdleAfter)
	for i := range int64(3) {
		e.row((i+1)*1000, window, ident.MonoMs(i*1000))
	}
	e.silence(2100, 47_000)
	if got := e.merge.Watermark(); got < 10_000 {
		t.Errorf("45 s after the last row the watermark is at %d, want at least 10000", got)
	}
	off := newEdge(t, DefaultDelay, window, 0)
	off.row(1000, window, 0)
	off.silence(100, 200_000)
	if got := off.merge.Explain(200_000); got.Watermark >= 10_000 || got.Rule != RuleIdleOff {
		t.Errorf("with close_idle_after 0: watermark %d, rule %s", got.Watermark, got.Rule)
	}
}

// TestAFloorCoversWhatSilenceClosed: a row that comes after silence has closed its window is late, and no row that is
// not late ever meets a closed window.
func TestAFloorCoversWhatSilenceClosed(t *testing.T) {
	t.Parallel()
	window := 10 * time.Second
	e := newEdge(t, 0, window, DefaultCloseIdleAfter)
	e.row(1000, window, 0)
	e.silence(100, 60_000)
	closed := e.merge.Watermark()
	if closed < 20_000 {
		t.Fatalf("silence has moved the watermark to %d", closed)
	}
	if !e.row(5000, window, 60_000) {
		t.Error("a row of a closed window counts")
	}
	if e.row(int64(closed)+1000, window, 60_100) {
		t.Error("a row ahead of everything closed is late")
	}
	if got := e.merge.Watermark(); got < closed {
		t.Errorf("the watermark fell from %d to %d", closed, got)
	}
}
