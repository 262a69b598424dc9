package node

import (
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/pondage/pondage/internal/api/common"
	"github.com/pondage/pondage/internal/ident"
)

var here = ident.Place{Node: "n1", Instance: ident.Instance{Counter: 3}}

// journal is a Starter that writes down what is done with its runs.
type journal struct {
	mu    sync.Mutex
	lines []string
	// ending is waited for by End; nil: ends at once.
	ending chan struct{}
	slow   int64 // the stream whose End waits; 0: all
}

func (j *journal) note(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, fmt.Sprintf(format, args...))
}

// take returns what was noted since the last call.
func (j *journal) take() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	lines := j.lines
	j.lines = nil
	return lines
}

func (j *journal) Start(o common.Order, changed func()) Run {
	j.note("start %d.%d", o.StreamID, o.Stage)
	return &journalRun{j: j, id: int64(o.StreamID), stage: int64(o.Stage)}
}

func (j *journal) Drop(id ident.StreamID) { j.note("drop %d", id) }

type journalRun struct {
	j         *journal
	id, stage int64
}

func (r *journalRun) Update(o common.Order) {
	r.j.note("update %d.%d gen=%d wanted=%s", r.id, r.stage, o.Generation, o.Wanted)
}
func (r *journalRun) Reports() []common.TaskReport {
	return []common.TaskReport{{StreamID: common.Int64(r.id), Stage: common.Int64(r.stage)}}
}
func (r *journalRun) Updates() []common.NodeUpdate { return nil }
func (r *journalRun) End() {
	if r.j.ending != nil && (r.j.slow == 0 || r.j.slow == r.id) {
		<-r.j.ending
	}
	r.j.note("end %d.%d", r.id, r.stage)
}

// orderOf is an order of term 1 for tasks of this instance.
func orderOf(id, generation, stage int, wanted string) common.Order {
	return common.Order{
		StreamID: common.Int64(id), Name: fmt.Sprintf("s%d", id), Term: 1, Generation: common.Int64(generation), Stage: common.Int64(stage), Wanted: wanted,
		Tasks: []common.PlacedTask{{Task: "source-0", Node: string(here.Node), Instance: here.Instance.String()}},
	}
}

// newRuns returns runs whose Loop goes on until the test ends.
func newRuns(t *testing.T) (*Runs, *journal) {
	t.Helper()
	j := &journal{}
	r := NewRuns(here, j, slog.New(slog.DiscardHandler))
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		r.Loop(done)
	}()
	t.Cleanup(func() {
		close(done)
		<-ended
	})
	return r, j
}

// expect compares what was done with the runs since the last look.
func expect(t *testing.T, j *journal, want ...string) {
	t.Helper()
	synctest.Wait()
	if got := j.take(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// expectAll is expect where streams are obeyed beside each other.
func expectAll(t *testing.T, j *journal, want ...string) {
	t.Helper()
	synctest.Wait()
	got := j.take()
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q, in any order", got, want)
	}
}

func TestAStageIsStartedOnceAndEndedBeforeTheNext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, j := newRuns(t)
		first := orderOf(1, 1, 1, wantedRunning)
		r.Obey([]common.Order{first})
		expect(t, j, "start 1.1")
		r.Obey([]common.Order{first})
		expect(t, j, "update 1.1 gen=1 wanted=running")
		r.Obey([]common.Order{orderOf(1, 2, 1, wantedPaused)})
		expect(t, j, "update 1.1 gen=2 wanted=paused")
		r.Obey([]common.Order{orderOf(1, 3, 1, wantedStopped)})
		expect(t, j, "end 1.1")
		// A stream that was stopped goes on in a new stage only.
		r.Obey([]common.Order{orderOf(1, 4, 1, wantedRunning)})
		expect(t, j)
		r.Obey([]common.Order{orderOf(1, 5, 2, wantedRunning)})
		expect(t, j, "start 1.2")
		r.Obey([]common.Order{orderOf(1, 5, 3, wantedRunning)})
		expect(t, j, "end 1.2", "start 1.3")
	})
}

func TestAnOlderOrderChangesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, j := newRuns(t)
		r.Obey([]common.Order{orderOf(1, 5, 2, wantedRunning)})
		expect(t, j, "start 1.2")
		lowerTerm := orderOf(1, 9, 9, wantedDropped)
		lowerTerm.Term = 0
		r.Obey([]common.Order{orderOf(1, 4, 3, wantedStopped), orderOf(1, 5, 1, wantedStopped), lowerTerm})
		expect(t, j)
		// A new leader that counts from an older row cannot bring a stage back, but it can end the stream.
		newTerm := orderOf(1, 1, 1, wantedRunning)
		newTerm.Term = 2
		r.Obey([]common.Order{newTerm})
		expect(t, j)
		newTerm.Wanted = wantedStopped
		r.Obey([]common.Order{newTerm})
		expect(t, j, "end 1.2")
	})
}

// TestAnOrderThatIsObeyedAlreadyCounts: the newer order is under way, its run takes long to end, when the older one comes.
func TestAnOrderThatIsUnderWayIsTheNewest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, j := newRuns(t)
		r.Obey([]common.Order{orderOf(1, 1, 1, wantedRunning)})
		expect(t, j, "start 1.1")
		j.ending = make(chan struct{})
		r.Obey([]common.Order{orderOf(1, 3, 2, wantedRunning)})
		expect(t, j)
		r.Obey([]common.Order{orderOf(1, 2, 1, wantedPaused)})
		expect(t, j)
		close(j.ending)
		expect(t, j, "end 1.1", "start 1.2")
		streams, _, _ := r.Reports()
		if len(streams) != 1 || streams[0].Generation != 3 || streams[0].Stage != 2 {
			t.Errorf("reported %+v", streams)
		}
	})
}

func TestTasksOfAnotherInstanceAreNotStarted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, j := newRuns(t)
		o := orderOf(1, 1, 1, wantedRunning)
		o.Tasks[0].Instance = ident.Instance{Counter: 2}.String()
		r.Obey([]common.Order{o})
		expect(t, j)
		streams, tasks, _ := r.Reports()
		if len(streams) != 1 || len(tasks) != 0 {
			t.Errorf("reported %+v, %+v: the order is acknowledged, without tasks", streams, tasks)
		}
	})
}

func TestAStreamThatIsNoLongerListedIsForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, j := newRuns(t)
		two := []common.Order{orderOf(1, 1, 1, wantedRunning), orderOf(2, 1, 1, wantedRunning)}
		r.ObeyAll(1, two)
		expectAll(t, j, "start 1.1", "start 2.1")
		// One list without it may be older than the order; under another term the count begins anew.
		r.ObeyAll(1, two[:1])
		r.ObeyAll(2, two[:1])
		expect(t, j, "update 1.1 gen=1 wanted=running")
		r.ObeyAll(2, two)
		expectAll(t, j, "update 1.1 gen=1 wanted=running", "update 2.1 gen=1 wanted=running")
		r.ObeyAll(2, two[:1])
		r.ObeyAll(2, two[:1])
		expectAll(t, j, "end 2.1", "update 1.1 gen=1 wanted=running")
		if streams, _, _ := r.Reports(); len(streams) != 2 {
			t.Errorf("reported %+v: a stream is reported until its end was told", streams)
		}
		r.ObeyAll(2, two[:1])
		if streams, _, _ := r.Reports(); len(streams) != 1 || streams[0].StreamID != 1 {
			t.Errorf("reported %+v, want stream 1 alone", streams)
		}
		expect(t, j, "update 1.1 gen=1 wanted=running")
	})
}

func TestADroppedStreamIsReportedUntilItIsGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, j := newRuns(t)
		r.ObeyAll(1, []common.Order{orderOf(1, 1, 1, wantedRunning)})
		r.ObeyAll(1, []common.Order{orderOf(1, 2, 1, wantedDropped)})
		synctest.Wait()
		if _, _, ok := r.Order("s1"); ok {
			t.Error("a dropped stream is still found by its name")
		}
		streams, tasks, _ := r.Reports()
		if len(streams) != 1 || streams[0].Generation != 2 || len(tasks) != 0 {
			t.Errorf("reported %+v, %+v", streams, tasks)
		}
		for range absentLists {
			r.ObeyAll(1, nil)
		}
		if streams, _, _ := r.Reports(); len(streams) != 0 {
			t.Errorf("still reported: %+v", streams)
		}
		j.take()
	})
}

func TestAnOrphanIsStoppedAndDoesNotComeBackInItsStage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, j := newRuns(t)
		r.Obey([]common.Order{orderOf(1, 1, 1, wantedRunning)})
		expect(t, j, "start 1.1")
		r.StopOrphans([]ident.StreamID{1, 7})
		expect(t, j, "end 1.1")
		r.Obey([]common.Order{orderOf(1, 1, 1, wantedRunning)})
		expect(t, j)
	})
}

func TestTheEndOfTheNodeEndsAllRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := &journal{}
		r := NewRuns(here, j, slog.New(slog.DiscardHandler))
		done, ended := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			r.Loop(done)
		}()
		r.Obey([]common.Order{orderOf(1, 1, 1, wantedRunning), orderOf(2, 1, 1, wantedRunning)})
		expectAll(t, j, "start 1.1", "start 2.1")
		close(done)
		<-ended
		got := j.take()
		slices.Sort(got)
		if !slices.Equal(got, []string{"end 1.1", "end 2.1"}) {
			t.Errorf("got %q", got)
		}
	})
}

func TestADroppedStreamIsToldOnceWhenNothingOfItRunsAnyMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, j := newRuns(t)
		r.Obey([]common.Order{orderOf(7, 1, 1, wantedRunning)})
		expect(t, j, "start 7.1")
		r.Obey([]common.Order{orderOf(7, 2, 1, wantedDropped)})
		expect(t, j, "end 7.1", "drop 7")
		r.Obey([]common.Order{orderOf(7, 3, 1, wantedDropped)})
		expect(t, j)
	})
}

func TestARunThatIsSlowToEndHoldsUpItsOwnStreamAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, j := newRuns(t)
		j.ending, j.slow = make(chan struct{}), 1
		r.Obey([]common.Order{orderOf(1, 1, 1, wantedRunning), orderOf(2, 1, 1, wantedRunning)})
		expectAll(t, j, "start 1.1", "start 2.1")
		r.Obey([]common.Order{orderOf(1, 2, 2, wantedRunning)})
		expect(t, j)
		r.Obey([]common.Order{orderOf(2, 2, 2, wantedRunning), orderOf(3, 1, 1, wantedRunning)})
		synctest.Wait()
		if got := j.take(); !slices.Contains(got, "start 2.2") || !slices.Contains(got, "start 3.1") {
			t.Errorf("got %q while stream 1 ends", got)
		}
		// Of what came for it meanwhile the newest counts, and nothing starts before the end.
		r.Obey([]common.Order{orderOf(1, 3, 3, wantedRunning)})
		r.Obey([]common.Order{orderOf(1, 4, 4, wantedRunning)})
		expect(t, j)
		close(j.ending)
		expect(t, j, "end 1.1", "start 1.2", "end 1.2", "start 1.4")
	})
}

// TestAStageThatWasForgottenDoesNotStartAgain: an order that was pushed comes behind two lists without the stream, when
// nothing else is known of it any more (traps T21, T41).
func TestAStageThatWasForgottenDoesNotStartAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, j := newRuns(t)
		r.ObeyAll(1, []common.Order{orderOf(1, 1, 3, wantedRunning)})
		expect(t, j, "start 1.3")
		for range absentLists + 1 {
			r.ObeyAll(1, nil)
			synctest.Wait()
		}
		if streams, _, _ := r.Reports(); len(streams) != 0 {
			t.Fatalf("still reported: %+v", streams)
		}
		expect(t, j, "end 1.3")
		r.Obey([]common.Order{orderOf(1, 1, 3, wantedRunning)})
		r.Obey([]common.Order{orderOf(1, 2, 2, wantedRunning)})
		expect(t, j)
		r.Obey([]common.Order{orderOf(1, 3, 4, wantedRunning)})
		expect(t, j, "start 1.4")
	})
}

func TestTheEndOfTheNodeWaitsForWhatIsObeyed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := &journal{ending: make(chan struct{})}
		r := NewRuns(here, j, slog.New(slog.DiscardHandler))
		done, ended := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			r.Loop(done)
		}()
		r.Obey([]common.Order{orderOf(1, 1, 1, wantedRunning)})
		expect(t, j, "start 1.1")
		r.Obey([]common.Order{orderOf(1, 2, 2, wantedRunning)})
		synctest.Wait()
		close(done)
		close(j.ending)
		<-ended
		if got := j.take(); !slices.Equal(got, []string{"end 1.1", "start 1.2", "end 1.2"}) {
			t.Errorf("got %q", got)
		}
	})
}
