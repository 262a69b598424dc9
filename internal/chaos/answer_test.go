package chaos

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"
)

// topic makes the records of one partition after another; a text a record.
func topic(values ...[]string) (out []Read) {
	for p, lines := range values {
		for i, line := range lines {
			out = append(out, Read{Partition: int32(p), Offset: int64(i), Value: []byte(line)})
		}
	}
	return out
}

// reach is a record that closes what ends up to a time, less the delay.
func reach(s int) string { return fmt.Sprintf(`{"k":"end","ts":%d,"v":0,"w":0}`, s*1000) }

func query(t *testing.T, name string) Query {
	t.Helper()
	all := Queries(Sinks())
	i := slices.IndexFunc(all, func(q Query) bool { return q.Name == name })
	if i < 0 {
		t.Fatalf("no stream %s", name)
	}
	return all[i]
}

func TestAnswerOfWindows(t *testing.T) {
	t.Parallel()
	in := topic([]string{
		`{"k":"a","ts":1000,"v":1e16,"w":1}`,
		`{"k":"a","ts":2000,"v":1,"w":null}`,
		`{"k":"a","ts":3000,"v":"NaN","w":5}`, // of another window? no: the same, and it stays there
		`not JSON`,
		reach(16),                         // watermark 11 s: [0, 10 s) is closed for this partition
		`{"k":"a","ts":9999,"v":1,"w":1}`, // late
		`{"k":"a","ts":11000,"v":null,"w":2}`,
		reach(40),
	}, []string{
		`{"k":"a","ts":1500,"v":-1e16,"w":7}`, // in its partition nothing is late
		`{"k":"b","ts":1500,"v":0.1}`,
		`{"k":"b","ts":1500,"v":"Infinity","w":3}`,
		reach(40),
	}, []string{reach(40)}, []string{reach(26)})
	got := Compute(query(t, "tumbling"), in)
	want := map[string]string{
		`k="a" at=1970-01-01T00:00:00.000Z`:   `["a" 1970-01-01T00:00:00.000Z 4 4 NaN NaN -1e+16 NaN 13 5]`,
		`k="b" at=1970-01-01T00:00:00.000Z`:   `["b" 1970-01-01T00:00:00.000Z 2 2 +Inf +Inf 0.1 +Inf 3 3]`,
		`k="a" at=1970-01-01T00:00:10.000Z`:   `["a" 1970-01-01T00:00:10.000Z 1 0 null null null null 2 2]`,
		`k="end" at=1970-01-01T00:00:10.000Z`: `["end" 1970-01-01T00:00:10.000Z 1 1 0 0 0 0 0 0]`,
	}
	for key, row := range want {
		if text := fmt.Sprint(got.Rows[key]); text != row {
			t.Errorf("%s: %s, want %s", key, text, row)
		}
	}
	// The lowest watermark is 21 s: what ends later is no result.
	if len(got.Rows) != len(want) {
		t.Errorf("%d rows, want %d: %v", len(got.Rows), len(want), got.Rows)
	}
	if got.Late != 1 || got.Dead != 1 || got.Accepted != int64(len(in)) || got.Counted != got.Accepted-2 {
		t.Errorf("counters: %+v", got)
	}
}

// TestAnswerOfSums: what cancels out leaves what is small, and an average is rounded once.
func TestAnswerOfSums(t *testing.T) {
	t.Parallel()
	var g group
	for _, v := range []float64{1e16, 1, -1e16, 0.1, 0.2} {
		g.add(reading{v: &v})
	}
	if got := g.total(1); got != 1.3 {
		t.Errorf("sum %v", got)
	}
	if got := g.total(3); math.Abs(got-1.3/3) > 1e-16 {
		t.Errorf("a third: %v", got)
	}
}

func TestAnswerOfSlidingWindows(t *testing.T) {
	t.Parallel()
	end := []string{reach(100)}
	got := Compute(query(t, "sliding"), topic([]string{
		reach(16), `{"k":"a","ts":1000,"v":2,"w":1}`, // late for [−20 s, 10 s), not for [−10 s, 20 s)
		reach(100),
	}, end, end, end))
	var starts []string
	for key := range got.Rows {
		if key[:5] == `k="a"` {
			starts = append(starts, key[len(`k="a" at=1970-01-01T`):])
		}
	}
	slices.Sort(starts)
	if want := "[00:00:00.000Z 1T23:59:50.000Z]"; len(starts) != 2 || got.Late != 0 {
		t.Errorf("windows %v, want those like %s; %d late", starts, want, got.Late)
	}
}

func TestAnswerOfRows(t *testing.T) {
	t.Parallel()
	in := topic([]string{`{"k":"a","ts":1000,"v":2,"w":20}`, `{"k":"a","ts":1000,"v":2,"w":19}`, `{"k":"a","ts":1,"v":2}`})
	above, below := Compute(query(t, "chained"), in), Compute(query(t, "routed"), in)
	if len(above.Rows) != 1 || len(below.Rows) != 1 || above.Filtered != 2 || below.Filtered != 2 {
		t.Errorf("%+v\n%+v", above, below)
	}
	if got := fmt.Sprint(above.Rows["_partition=0 _offset=0"]); got != `[0 0 "a" 1970-01-01T00:00:01.000Z 2 20]` {
		t.Error(got)
	}
}

// TestRecordsMeetEverything: laggards, values that are no numbers, nulls, and records that cannot be read.
func TestRecordsMeetEverything(t *testing.T) {
	t.Parallel()
	const count = 20_000
	var in []Read
	next := map[int32]int64{}
	for _, r := range append(Records(3, count), closing(count)...) {
		in = append(in, Read{Partition: r.Partition, Offset: next[r.Partition], Value: r.Value})
		next[r.Partition]++
	}
	got := Compute(query(t, "tumbling"), in)
	if got.Late < count/200 || got.Dead < count/1000 || int64(len(in)) != got.Accepted || got.Accepted != got.Counted+got.Late+got.Dead {
		t.Errorf("accepted %d, counted %d, late %d, dead %d", got.Accepted, got.Counted, got.Late, got.Dead)
	}
	odd := map[string]int{}
	for _, row := range got.Rows {
		for _, value := range row {
			odd[value]++
		}
	}
	windows := time.Duration(count) * eventStep / (10 * time.Second)
	if odd["NaN"] == 0 || odd["+Inf"] == 0 || odd["-Inf"] == 0 || len(got.Rows) < tables*int(windows)*9/10 {
		t.Errorf("%d rows, of values %d NaN, %d +Inf, %d -Inf", len(got.Rows), odd["NaN"], odd["+Inf"], odd["-Inf"])
	}
}
