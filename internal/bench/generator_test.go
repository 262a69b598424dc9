package bench

import (
	"errors"
	"slices"
	"testing"
	"time"
)

func TestAWindowIsAllowedWhenEveryPartitionIsPastItsEndAndTheDelay(t *testing.T) {
	t.Parallel()
	g := newGenerator(Live{Devices: 1, Partitions: 2})
	const end = 1_000_000
	g.next = []int64{end, end}
	g.acknowledged(0, end+5000, nil)
	g.acknowledged(1, end+1999, nil)
	if _, ok := g.allowedAt(end); ok {
		t.Fatal("allowed with a partition a millisecond before it")
	}
	before := time.Now()
	g.acknowledged(1, end+2000, nil)
	if at, ok := g.allowedAt(end); !ok || at.Before(before) {
		t.Errorf("%v, %v: want the moment of the last partition", at, ok)
	}
	g.acknowledged(0, end+12_000, nil)
	g.acknowledged(1, end+22_000, nil)
	if got := g.allowedEnds(); !slices.Equal(got, []int64{end, end + 10_000}) {
		t.Errorf("allowed %v: the lowest partition decides", got)
	}
}

func TestAFailedWriteAllowsNothing(t *testing.T) {
	t.Parallel()
	g := newGenerator(Live{Devices: 1, Partitions: 1})
	g.next = []int64{10_000}
	g.acknowledged(0, 12_000, errors.New("lost"))
	if ends := g.allowedEnds(); len(ends) > 0 || g.err == nil {
		t.Errorf("allowed %v, error %v", ends, g.err)
	}
}

func TestLatencyCountsFromAllowedAndLeavesColdWindowsOut(t *testing.T) {
	t.Parallel()
	l := Live{Devices: 1, Partitions: 1}
	g := newGenerator(l)
	g.next = []int64{10_000}
	var sights []sight
	for i := range int64(4) {
		start := i * 10_000
		g.count(record{timeMs: start, temp: 100})
		g.acknowledged(0, start+12_000, nil)
		allowed, _ := g.allowedAt(start + 10_000)
		r := row{
			Device: "d00000", Start: time.UnixMilli(start), End: time.UnixMilli(start + 10_000),
			Count: "1", Sum: 1, Avg: 1, Min: 1, Max: 1,
		}
		late := 30 * time.Millisecond
		if i < coldWindows {
			late = time.Minute
		}
		sights = append(sights, sight{row: r, at: allowed.Add(late)})
	}
	r, err := g.result(l, sights)
	if err != nil {
		t.Fatal(err)
	}
	if r.P50Ms != 30 || r.MaxMs != 30 || r.Windows != 2 || r.Rows != 2 || r.Different != 0 {
		t.Errorf("%+v: want two rows after 30 ms", r)
	}
	r, err = g.result(l, sights[:3])
	if err != nil || r.Different != 1 {
		t.Errorf("%+v, %v: want the missing row to be told", r, err)
	}
}

func TestASinkTakesItsOwnDeliveriesOnly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind, delivery, want string
	}{
		{SinkKafka, "", AtLeastOnce}, {SinkKafka, "at-least-once", AtLeastOnce}, {SinkKafka, Transactional, Transactional}, {SinkKafka, Upsert, ""},
		{SinkPostgres, "", Upsert}, {SinkPostgres, Transactional, Transactional}, {SinkPostgres, AtLeastOnce, ""}, {"paper", "", ""},
	} {
		s := Sink{Kind: c.kind, Delivery: c.delivery}
		if err := s.validate(); (err == nil) != (c.want != "") || err == nil && s.Delivery != c.want {
			t.Errorf("%s %q: %q, %v", c.kind, c.delivery, s.Delivery, err)
		}
	}
}
