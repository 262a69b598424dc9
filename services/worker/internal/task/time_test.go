package task

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pondage/pondage/internal/ident"
)

func TestT08_TheLastWindowComesOutWithoutAFurtherRow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stream string
		want   []string
	}{
		"defaults": {count10s, []string{row("a", 0, 3)}},
		"off":      {count10s + `,"close_idle_after":"0s"`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t, scene{stream: c.stream, vgroups: 8, partitions: 4})
				s.start()
				for i := range 3 {
					s.record(2, "a", float64(i+1), 0)
				}
				time.Sleep(45 * time.Second)
				synctest.Wait()
				wantLines(t, "results after 45 s", s.results(), c.want)
				time.Sleep(5 * time.Minute)
				synctest.Wait()
				wantLines(t, "results later", s.results(), c.want)
				s.wantWell()
				if c.want == nil {
					for id, r := range s.receivers {
						if m := r.Report().Progress.Merge; m.CloseIdleAfter != 0 || m.Rule != "idle_off" {
							t.Errorf("%s explains %+v", id, m)
						}
					}
				}
			})
		})
	}
}

func TestT11_APartitionThatNeverSpokeHoldsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, scene{stream: count10s, vgroups: 8, partitions: 2})
		s.start()
		for i := range 61 {
			s.record(0, "a", float64(i), 0)
			time.Sleep(time.Second)
		}
		time.Sleep(9 * time.Second)
		synctest.Wait()
		var want []string
		for start := 0; start < 60; start += 10 {
			want = append(want, row("a", start, 10))
		}
		wantLines(t, "results after 70 s", s.results(), want)
		s.wantWell()
	})
}

func TestT13_SlowIsNotLate(t *testing.T) {
	t.Parallel()
	const count1m = `"select":[{"expr":"tbname","as":"device"},{"expr":"_wstart","as":"start"},{"expr":"count(*)","as":"n"}],
		"partition_by":["tbname"],"window":{"kind":"interval","size":"1m"},"watermark":"0s"`
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, scene{stream: count1m, vgroups: 1, partitions: 1})
		s.start()
		began := time.Now()
		windows := map[int]int{}
		for i := range 100 {
			at := time.Duration(i) * 40 * time.Second
			time.Sleep(time.Until(began.Add(at + time.Duration(i%3)*time.Second))) // up to 2 s on the way
			sec := int(began.Add(at).Unix())
			windows[sec/60*60]++
			s.record(0, "a", float64(sec), 0)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		var want []string
		for start, n := range windows {
			want = append(want, row("a", start, n))
		}
		slices.Sort(want)
		wantLines(t, "results", s.results(), want)
		if c := s.counters(); c != (Counters{Counted: 100}) {
			t.Errorf("counters %+v", c)
		}
		s.wantWell()
	})
}

func TestT10_TheOnlyOneAwakeMovesTheWatermark(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, scene{stream: count10s, vgroups: 1, partitions: 2})
		s.start()
		s.record(0, "a", 7, 0)
		s.record(1, "b", 7, 0)
		time.Sleep(20 * time.Second) // both are idle, and not yet long enough to close anything
		s.record(0, "a", 10, 0)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		watermark := s.receivers[ident.Task{Level: ident.LevelAgg}].Report().Progress.Watermark
		if watermark != 10_000 {
			t.Errorf("watermark %d with one partition awake", watermark)
		}
		s.record(1, "b", 4, 0)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if w := s.receivers[ident.Task{Level: ident.LevelAgg}].Report().Progress.Watermark; w < watermark {
			t.Errorf("watermark fell to %d", w)
		}
		// b's row at 4 belongs to a window that is closed by now: late, and no result changes.
		wantLines(t, "results", s.results(), []string{row("a", 0, 1), row("b", 0, 1)})
		wantLines(t, "set aside", s.aside.sorted(), []string{"late readings/1@1"})
		s.wantWell()
	})
}

// TestARowBehindASilenceIsJudgedByItsFloor: silence has closed a window; the source has been idle and does not know.
func TestARowBehindASilenceIsJudgedByItsFloor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, scene{stream: count10s, vgroups: 3, partitions: 1})
		s.start()
		s.record(0, "a", 1, 0)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		closed := []string{row("a", 0, 1)}
		wantLines(t, "results after the silence", s.results(), closed)
		s.record(0, "a", 5, 0)   // of the window that is closed
		s.record(0, "a", 500, 0) // far ahead
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if c := s.counters(); c != (Counters{Counted: 2, Late: 1}) {
			t.Errorf("counters %+v", c)
		}
		wantLines(t, "results", s.results(), closed)
		wantLines(t, "set aside", s.aside.sorted(), []string{"late readings/0@1"})
		s.wantWell()
	})
}

func TestOpenWindowsAreDescribedWhenTheyAreAskedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, scene{stream: count10s, vgroups: 1, partitions: 1})
		s.start()
		for i := range 30 {
			s.record(0, "a", float64(i*10), 0) // each opens one and closes the one before
		}
		s.record(0, "b", 295, 0)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		r := s.receivers[agg(0)]
		if p := r.Report().Progress; p.Windows != nil || p.Open != 2 {
			t.Errorf("an ordinary report describes %v, %d open", p.Windows, p.Open)
		}
		p := r.Explain(t.Context()).Progress
		if len(p.Windows) != 1 || p.Windows[0].Start != 290_000 || p.Windows[0].Rows != 2 || p.Windows[0].Groups != 2 {
			t.Errorf("described: %+v", p.Windows)
		}
		s.end()
		if st := r.Explain(t.Context()); st.Task != agg(0) {
			t.Errorf("after the end: %+v", st)
		}
	})
}
