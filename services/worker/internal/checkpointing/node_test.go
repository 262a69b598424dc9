package checkpointing

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pondage/pondage/internal/align"
	"github.com/pondage/pondage/internal/dispatch"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/services/worker/internal/task"
)

// outside is the coordinator and the other nodes.
type outside struct {
	mu      sync.Mutex
	batches [][]task.PartReport
	away    bool
}

func (o *outside) CheckpointReports(_ context.Context, reports []task.PartReport) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.away {
		return errors.New("away")
	}
	o.batches = append(o.batches, reports)
	return nil
}

// AskTrigger never answers for vgroup 1.
func (o *outside) AskTrigger(ctx context.Context, q task.TriggerQuestion) (align.Answer, error) {
	if q.Upstream.VGroup == 1 {
		<-ctx.Done()
		return align.Answer{}, ctx.Err()
	}
	return align.Answer{Status: align.StatusNotRunning}, nil
}

func source(vg int) ident.Task { return ident.Task{Level: ident.LevelSource, VGroup: ident.VGroup(vg)} }

func report(vg int, stage ident.Stage, c ident.CheckpointID) task.PartReport {
	return task.PartReport{Self: dispatch.Self{Stream: 1, Stage: stage, Task: source(vg)}, Checkpoint: c}
}

func run(t *testing.T) (*Node, *outside) {
	o := &outside{}
	n := New(o, o, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { n.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
		n.Close()
	})
	return n, o
}

func TestReportsGoTogetherTheNewestOfEachTask(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n, o := run(t)
		for vg := range 3 {
			n.Report(report(vg, 2, 7))
		}
		n.Report(report(0, 2, 8))
		n.Report(report(1, 1, 9)) // of a stage that is over
		time.Sleep(BatchWithin)
		synctest.Wait()
		if len(o.batches) != 1 || len(o.batches[0]) != 3 {
			t.Fatalf("batches %v, want one of 3", o.batches)
		}
		for _, r := range o.batches[0] {
			want := ident.CheckpointID(7)
			if r.Self.Task == source(0) {
				want = 8
			}
			if r.Checkpoint != want || r.Self.Stage != 2 {
				t.Errorf("%s of stage %d reports %d, want %d of stage 2", r.Self.Task, r.Self.Stage, r.Checkpoint, want)
			}
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(o.batches) != 1 {
			t.Errorf("%d requests, and nothing new to say", len(o.batches))
		}
	})
}

func TestACoordinatorThatIsAwayCostsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n, o := run(t)
		o.away = true
		n.Report(report(0, 1, 7))
		time.Sleep(time.Second)
		synctest.Wait()
		o.mu.Lock()
		o.away = false
		o.mu.Unlock()
		n.Report(report(0, 1, 7)) // the task repeats it
		time.Sleep(time.Second)
		synctest.Wait()
		if len(o.batches) != 1 {
			t.Errorf("%d batches, want 1", len(o.batches))
		}
	})
}

// TestFourPlaces: T33's kind: what hangs in its asynchronous part is given up by its context, and then holds nobody up.
func TestFourPlaces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n, _ := run(t)
		var first func()
		for range Places {
			release, err := n.Place(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			first = release
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := n.Place(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a fifth place: %v", err)
		}
		first()
		first() // gives back no other's place
		if _, err := n.Place(t.Context()); err != nil {
			t.Errorf("no place after one was given back: %v", err)
		}
		ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := n.Place(ctx); err == nil {
			t.Error("a place was given back twice")
		}
	})
}

func TestAQuestionWithoutAnAnswerEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n, _ := run(t)
		var mu sync.Mutex
		got := map[int]align.Status{}
		for vg := range 2 {
			n.Ask(task.TriggerQuestion{Upstream: source(vg)}, func(a align.Answer) {
				mu.Lock()
				defer mu.Unlock()
				got[vg] = a.Status
			})
		}
		time.Sleep(callDeadline)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if len(got) != 1 || got[0] != align.StatusNotRunning {
			t.Errorf("answers %v, want one of source-0", got)
		}
		n.Close()
		n.Ask(task.TriggerQuestion{Upstream: source(0)}, func(align.Answer) { t.Error("answered after the end") })
		synctest.Wait()
	})
}
