package bench

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

var tumbling, sliding = queries[0], queries[1]

// rowsOf writes the expected results as Pondage would.
func rowsOf(q Query, want map[window]total) [][]byte {
	var rows [][]byte
	for w, t := range want {
		start := time.UnixMilli(w.startMs).UTC()
		const form = "2006-01-02T15:04:05.000Z"
		rows = append(rows, fmt.Appendf(nil, `{"device":%q,"wstart":%q,"wend":%q,"cnt":"%d","sum":%v,"avg":%v,"min":%v,"max":%v}`,
			w.device, start.Format(form), start.Add(q.Size).Format(form), t.count,
			hundredths(t.sum), hundredths(t.sum)/float64(t.count), hundredths(t.min), hundredths(t.max)))
	}
	return rows
}

func compareAll(t *testing.T, q Query, want map[window]total, rows [][]byte) *comparison {
	t.Helper()
	c := newComparison(q, want)
	for _, r := range rows {
		if err := c.add(r); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func TestEveryRecordIsExpectedInEachOfItsWindows(t *testing.T) {
	t.Parallel()
	r := Records{Count: 5000, Devices: 7, Step: time.Millisecond}
	for _, q := range queries {
		perRecord := int64(q.Size / q.Step)
		count, sum := int64(0), int64(0)
		for _, x := range expect(r, q) {
			count += x.count
			sum += x.sum
		}
		all := int64(0)
		for i := range r.Count {
			all += r.at(i).temp
		}
		if count != perRecord*r.Count || sum != perRecord*all {
			t.Errorf("%s: %d records with a sum of %d, want %d times %d and %d", q.Name, count, sum, perRecord, r.Count, all)
		}
	}
}

func TestAWindowHoldsWhatLiesInIt(t *testing.T) {
	t.Parallel()
	r := Records{Count: 3000, Devices: 3, Step: 10 * time.Millisecond}
	for w, got := range expect(r, sliding) {
		want := total{}
		for i := range r.Count {
			x := r.at(i)
			if string(appendDevice(nil, x.device)) != w.device || x.timeMs < w.startMs || x.timeMs >= w.startMs+60_000 {
				continue
			}
			if want.count == 0 {
				want.min, want.max = x.temp, x.temp
			}
			want = total{want.count + 1, want.sum + x.temp, min(want.min, x.temp), max(want.max, x.temp)}
		}
		if got != want {
			t.Fatalf("%+v: %+v, want %+v", w, got, want)
		}
	}
}

func TestEachKindOfDifferenceIsCounted(t *testing.T) {
	t.Parallel()
	want := expect(Records{Count: 1000, Devices: 3, Step: 10 * time.Millisecond}, tumbling)
	rows := rowsOf(tumbling, want)
	edit := func(edited string) [][]byte { return append(slices.Clone(rows[1:]), []byte(edited)) }
	first := string(rows[0])
	replaced := func(format string, args ...any) string {
		return first[:len(first)-1] + fmt.Sprintf(format, args...) + "}"
	}
	for name, c := range map[string]struct {
		rows                    [][]byte
		missing, extra, changed int64
	}{
		"equal":           {rows: rows},
		"missing":         {rows: rows[2:], missing: 2},
		"repeated":        {rows: append(slices.Clone(rows), rows[0]), extra: 1},
		"unknown device":  {rows: edit(replaced(`,"device":"d99999"`)), missing: 1, extra: 1},
		"another count":   {rows: edit(replaced(`,"cnt":"0"`)), changed: 1},
		"another sum":     {rows: edit(replaced(`,"sum":-123456.5`)), changed: 1},
		"another average": {rows: edit(replaced(`,"avg":-123456.5`)), changed: 1},
		"another minimum": {rows: edit(replaced(`,"min":-10.001`)), changed: 1},
		"another maximum": {rows: edit(replaced(`,"max":49.991`)), changed: 1},
		"another end":     {rows: edit(replaced(`,"wend":"2026-01-01T00:00:01.000Z"`)), changed: 1},
	} {
		got := compareAll(t, tumbling, want, c.rows)
		if got.missing() != c.missing || got.extra != c.extra || got.changed != c.changed {
			t.Errorf("%s: %s; want %d missing, %d extra, %d changed", name, got, c.missing, c.extra, c.changed)
		}
		if sum := c.missing + c.extra + c.changed; got.different() != sum {
			t.Errorf("%s: %d different, want %d", name, got.different(), sum)
		}
	}
}

func TestSumsMayDifferByTheirRounding(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		got, want float64
		near      bool
	}{
		{1e6 + 0.9, 1e6, true}, {1e6 + 1.1, 1e6, false}, {0.0000009, 0, true}, {0.0000011, 0, false}, {-1e6 - 0.9, -1e6, true},
	} {
		if near(c.got, c.want) != c.near {
			t.Errorf("near(%v, %v) = %t", c.got, c.want, !c.near)
		}
	}
}

func TestAResultThatIsNoJSONIsAnError(t *testing.T) {
	t.Parallel()
	if err := newComparison(tumbling, nil).add([]byte(`{"device":`)); err == nil {
		t.Error("taken")
	}
}
