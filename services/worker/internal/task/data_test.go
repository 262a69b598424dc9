package task

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/kafka"
	"github.com/pondage/pondage/internal/task"
)

func TestT17_OneBadGroupDoesNotStopAThousand(t *testing.T) {
	t.Parallel()
	const divides = `"select":[{"expr":"tbname","as":"device"},{"expr":"sum(100 / v)","as":"n"}],
		"partition_by":["tbname"],"window":{"kind":"interval","size":"10s"},"watermark":"0s"`
	const groups, each = 1000, 10
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, scene{stream: divides, vgroups: 4, partitions: 1, bounded: true})
		for i := range each {
			for g := range groups {
				v := 1
				if g == 500 {
					v = 0
				}
				s.record(0, fmt.Sprint("d", g), float64(i), v)
			}
		}
		s.start()
		s.wantFinished()
		s.wantWell()
		results := s.results()
		if len(results) != groups-1 || slices.ContainsFunc(results, func(r string) bool { return strings.Contains(r, `"d500"`) }) {
			t.Errorf("%d groups came out", len(results))
		}
		aside := s.aside.sorted()
		if len(aside) != each || !strings.HasSuffix(aside[0], "division_by_zero") {
			t.Errorf("set aside: %q", aside)
		}
		if c := s.counters(); c != (Counters{Counted: (groups - 1) * each, DeadLettered: each}) {
			t.Errorf("counters %+v", c)
		}
	})
}

func TestT30_NothingToCountIsAnOrdinaryRun(t *testing.T) {
	t.Parallel()
	for name, records := range map[string]int{"none": 0, "one": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t, scene{stream: count10s, vgroups: 8, partitions: 3, bounded: true})
				var want []string
				for range records {
					s.record(1, "a", 1, 0)
					want = []string{row("a", 0, 1)}
				}
				s.start()
				s.wantFinished()
				wantLines(t, "results", s.results(), want)
			})
		})
	}
}

func TestT34_PoisonRecordsAreSetAsideOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, scene{stream: count10s, vgroups: 2, partitions: 1, bounded: true})
		for i := range 5 {
			s.record(0, "a", float64(i), 0)
		}
		put := func(value string) { s.kafka.append(sourceTopic, 0, kafka.Message{Value: []byte(value)}) }
		put(`{"ts":"x"}`)
		s.record(0, "a", 6, 0)
		put(`{"device":"a","ts":7000,"v":1,"more":"` + strings.Repeat("x", 10<<20)) // and no end
		put("")
		put(`{"device":"a","ts":253400000000000,"v":1}`) // in the year 9999
		s.record(0, "a", 8, 0)
		s.start()
		s.wantFinished()
		wantLines(t, "results", s.results(), []string{row("a", 0, 7)})
		aside := s.aside.sorted()
		for i, at := range []string{"@5 ", "@7 ", "@8 ", "@9 "} {
			if len(aside) != 4 || !strings.HasPrefix(aside[i], "dead readings/0"+at) {
				t.Fatalf("set aside: %q", aside)
			}
		}
		if c := s.counters(); c != (Counters{Counted: 7, DeadLettered: 4}) {
			t.Errorf("counters %+v", c)
		}
	})
}

func TestT22_ARunThatIsRepeatedGivesTheSame(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, scene{stream: count10s, vgroups: 2, partitions: 1})
		for i := range 10 {
			s.record(0, "a", float64(i), 0)
		}
		s.record(0, "a", 20, 0)
		for range 10 {
			again := newStage(t, s.scene)
			again.kafka.logs[sourceTopic] = [][]kafka.Message{s.kafka.read(sourceTopic, 0)}
			again.start()
			time.Sleep(2 * time.Second)
			synctest.Wait()
			wantLines(t, "results", again.results(), []string{row("a", 0, 10)})
			p := again.sources[again.graph.Tasks[0].Task].Report().Progress.Partitions[0]
			if p.Next != 11 || p.End != 11 {
				t.Errorf("next to read is %d, the end %d", p.Next, p.End)
			}
			again.cancel()
		}
	})
}

func TestT23_FetchedIsNotProcessed(t *testing.T) {
	t.Parallel()
	const copies = `"select":[{"expr":"tbname","as":"device"},{"expr":"v"}]`
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, scene{stream: copies, vgroups: 1, partitions: 1})
		out := s.outlets[ident.Task{Level: ident.LevelSource}]
		out.close()
		s.start()
		for i := range 5000 {
			s.record(0, "a", float64(i), i)
			if i%100 == 99 {
				time.Sleep(100 * time.Millisecond)
			}
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		p := s.sources[ident.Task{Level: ident.LevelSource}].Report().Progress.Partitions[0]
		if int64(p.Next) != p.Counters.Accepted() || p.Next >= 5000 {
			t.Errorf("next to read is %d with %d processed", p.Next, p.Counters.Accepted())
		}
		out.open()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if n := len(s.results()); n != 5000 {
			t.Errorf("%d results", n)
		}
	})
}

func TestT26_APartitionThatIsAddedIsReadFromItsStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, scene{stream: count10s, vgroups: 1, partitions: 2})
		s.start()
		s.record(0, "a", 1, 0)
		s.record(1, "a", 2, 0)
		time.Sleep(time.Second)
		s.kafka.create(sourceTopic, 4)
		for p := ident.Partition(2); p < 4; p++ {
			for i := range 100 {
				s.record(p, "a", 3+float64(i)/100, 0)
			}
			for range 2 { // an order may be repeated
				s.sources[ident.Task{Level: ident.LevelSource}].AddPartition(SourcePartition{Topic: sourceTopic, Partition: p})
			}
		}
		time.Sleep(time.Second)
		for p := ident.Partition(0); p < 4; p++ {
			s.record(p, "a", 20, 0)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		wantLines(t, "results", s.results(), []string{row("a", 0, 202)})
		if n := len(s.sources[ident.Task{Level: ident.LevelSource}].Report().Progress.Partitions); n != 4 {
			t.Errorf("%d partitions are reported", n)
		}
		s.wantWell()
	})
}

func TestRepeatsOfAnIngestRequestAreDropped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, scene{stream: count10s, vgroups: 1, partitions: 1})
		put := func(ik string, ts int) {
			s.kafka.append(sourceTopic, 0, kafka.Message{
				Value: fmt.Appendf(nil, `{"device":"a","ts":%d,"v":1}`, ts*1000), TimestampMs: time.Now().UnixMilli(),
				Headers: []kafka.Header{{Key: HeaderIngestKey, Value: []byte(ik)}},
			})
		}
		s.start()
		put("k/0", 1)
		put("k/1", 2)
		put("k/0", 1) // an interrupted request that is sent again whole
		put("k/1", 2)
		put("k/2", 3)
		put("k", 4) // another key
		put("k", 4)
		time.Sleep(9 * time.Minute)
		put("k/2", 3)
		time.Sleep(21 * time.Minute) // by now it may be forgotten
		put("k/0", 1801)
		s.record(0, "a", 2000, 0)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if c := s.counters(); c.Counted != 6 {
			t.Errorf("counters %+v", c)
		}
		wantLines(t, "results", s.results(), []string{row("a", 0, 4), row("a", 1800, 1)})
	})
}

func TestAPausedStreamDrainsAndGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, scene{stream: count10s, vgroups: 2, partitions: 1})
		s.start()
		src := s.sources[s.graph.Tasks[0].Task]
		s.record(0, "a", 1, 0)
		s.record(0, "a", 11, 0)
		time.Sleep(time.Second)
		src.Pause()
		time.Sleep(time.Second)
		s.record(0, "a", 30, 0)
		time.Sleep(time.Minute)
		synctest.Wait()
		if st := src.Report().State; st != task.Paused {
			t.Errorf("state %s", st)
		}
		// What was read before the pause is out; what came later is lag, not silence, and closes nothing.
		wantLines(t, "results while paused", s.results(), []string{row("a", 0, 1)})
		src.Resume()
		time.Sleep(time.Second)
		synctest.Wait()
		wantLines(t, "results", s.results(), []string{row("a", 0, 1), row("a", 10, 1)})
		s.wantWell()
	})
}

func TestAStreamThatFinishesWhilePausedIsFinishedAfterwards(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, scene{stream: count10s, vgroups: 2, partitions: 1, bounded: true})
		s.record(0, "a", 1, 0)
		s.kafka.set(func(c *cluster) {
			c.broken = func(string, ident.Partition, kafka.Message) error { return &kafka.Error{Code: kafka.CodeUnreachable} }
		})
		s.start()
		src := s.sources[s.graph.Tasks[0].Task]
		time.Sleep(time.Second) // everything is read, nothing acknowledged
		src.Pause()
		time.Sleep(time.Second)
		s.kafka.set(func(c *cluster) { c.broken = nil })
		time.Sleep(time.Minute)
		synctest.Wait()
		if st := src.Report().State; st != task.Paused {
			t.Errorf("state %s while paused", st)
		}
		src.Resume()
		s.wantFinished()
		wantLines(t, "results", s.results(), []string{row("a", 0, 1)})
	})
}
