package state_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/watermark"
)

// restartedAfterEach runs a stream over the records of one partition, with a checkpoint and another process after each record,
// and returns its sink at the end.
func restartedAfterEach(t *testing.T, window string, records ...string) *sink {
	t.Helper()
	p := newPlan(t, "watermark: 0s, window: "+window)
	s := start(t, p, 1, [][]string{records}, nil)
	for i := range records {
		s.fetch(0, 1)
		s = start(t, p, uint64(i), s.records, s.checkpoint(false))
	}
	s.end()
	return s.sink
}

func TestT05_EdgesOfASlidingWindow_ThroughCheckpoints(t *testing.T) {
	t.Parallel()
	got := restartedAfterEach(t, "{kind: interval, size: 10s, sliding: 2s}", `{"k":"a","ts":0}`, `{"k":"a","ts":9999}`, `{"k":"a","ts":10000}`)
	for start := int64(-8000); start <= 10_000; start += 2000 {
		want := 0
		for _, ts := range []int64{0, 9999, 10_000} {
			if start <= ts && ts < start+10_000 {
				want++
			}
		}
		key := fmt.Sprintf("a %d", start)
		if n := member(t, got.rows[key], "n"); fmt.Sprint(n) != fmt.Sprint(want) || got.writes[key] != 1 {
			t.Errorf("window %d: %v rows, written %d times, want %d rows, once", start, n, got.writes[key], want)
		}
	}
	if len(got.rows) != 10 {
		t.Errorf("%d windows, want 10", len(got.rows))
	}
}

// TestT12_PendingWindowsSurvive: one row, a checkpoint, a crash, no more rows. The window closes by silence, once, and what is
// kept of it for late rows goes at its time.
func TestT12_PendingWindowsSurvive(t *testing.T) {
	t.Parallel()
	p := newPlan(t, "watermark: 0s, allowed_lateness: 20s, close_idle_after: 5s, window: {kind: interval, size: 10s}")
	s := start(t, p, 1, [][]string{{`{"k":"a","ts":1000}`, "one that never comes"}}, nil)
	s.fetch(0, 1)
	kept := s.checkpoint(false)
	kept.merge.SilenceMs = 3000

	s = start(t, p, 2, s.records, kept)
	s.hear(watermark.Heard{From: upstream, Watermark: 1000, Idle: true, Now: 100})
	tick := func(now ident.MonoMs) (writes, cells int) {
		effects, err := s.merge.Step(watermark.Tick{Now: now})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range effects {
			if a, ok := f.(watermark.Advance); ok {
				if err := s.receiving.Advance(a.Watermark, s.sink); err != nil {
					t.Fatal(err)
				}
			}
		}
		_, cells = s.receiving.Open(0)
		return s.sink.writes["a 0"], cells
	}
	// Silence is 3000 more than the clock, and moves the watermark, at 1000, once it is above 5000.
	for _, c := range []struct {
		now           ident.MonoMs
		writes, cells int
	}{{10_900, 0, 1}, {11_100, 1, 1}, {31_000, 1, 1}, {31_100, 1, 0}} {
		if writes, cells := tick(c.now); writes != c.writes || cells != c.cells {
			t.Errorf("at %d: written %d times, %d cells kept; want %d and %d", c.now, writes, cells, c.writes, c.cells)
		}
	}
}

func TestT14_ASumBeyond64Bits_ThroughCheckpoints(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		values [2]int64
		sum    string
		avg    float64
	}{
		{[2]int64{math.MaxInt64, 1}, "9223372036854775808", 0x1p62}, {[2]int64{math.MinInt64, -1}, "-9223372036854775809", -0x1p62},
	} {
		row := restartedAfterEach(t, "{kind: interval, size: 10s}", fmt.Sprintf(`{"k":"a","ts":1,"v":%d}`, c.values[0]), fmt.Sprintf(`{"k":"a","ts":2,"v":%d}`, c.values[1])).rows["a 0"]
		sum := member(t, row, "sv")
		avg, err := member(t, row, "av").(json.Number).Float64()
		if err != nil || fmt.Sprint(sum) != c.sum || avg != c.avg {
			t.Errorf("sum %v, avg %g; want %s and %g; %v", sum, avg, c.sum, c.avg, err)
		}
	}
}

func TestT15_SumsAtTheLimits_ThroughCheckpoints(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		values []string
		want   string
	}{
		{[]string{"1.797e308", "1.797e308", "-1.797e308"}, "1.797e+308"},
		{[]string{"1e16", "1", "-1e16"}, "1"},
		{[]string{"1e308", "1e-308", "-1e308"}, "1e-308"},
	} {
		var records []string
		for i, x := range c.values {
			records = append(records, fmt.Sprintf(`{"k":"a","ts":%d,"x":%s}`, i, x))
		}
		row := restartedAfterEach(t, "{kind: interval, size: 10s}", records...).rows["a 0"]
		if sum := member(t, row, "sx"); fmt.Sprint(sum) != c.want {
			t.Errorf("the sum of %v is %v, want %s", c.values, sum, c.want)
		}
	}
}

// member is a member of a row.
func member(t *testing.T, row, name string) any {
	t.Helper()
	var members map[string]any
	d := json.NewDecoder(bytes.NewReader([]byte(row)))
	d.UseNumber()
	if err := d.Decode(&members); err != nil {
		t.Fatalf("%s: %v", row, err)
	}
	return members[name]
}
