package control

import (
	"slices"
	"testing"
	"time"

	"github.com/pondage/pondage/internal/checkpoint"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/services/coordinator/internal/control/decide"
	"github.com/pondage/pondage/services/coordinator/internal/store"
)

// running makes a stream on a node, and waits until it runs.
func (r *rig) running(d doc) (*fakeNode, Stream) {
	r.t.Helper()
	n := r.node("a", 1)
	r.source()
	r.stream(d)
	return n, r.untilState(d.Name, StreamRunning)
}

// list returns the stream's checkpoints, oldest first.
func (r *rig) list(stream string) []Checkpoint {
	r.t.Helper()
	l, err := r.ListCheckpoints(r.ctx, stream, Page{Limit: MaxPage})
	if err != nil {
		r.t.Fatal(err)
	}
	slices.Reverse(l.Items)
	return l.Items
}

// newest returns the stream's newest checkpoint; zero when it has none.
func (r *rig) newest(stream string) (c Checkpoint) {
	if all := r.list(stream); len(all) > 0 {
		c = all[len(all)-1]
	}
	return c
}

// moves lets the sources of the stream read a record.
func (n *fakeNode) moves() {
	n.with(func() {
		for key, r := range n.tasks {
			if len(r.Partitions) > 0 {
				r.Partitions = slices.Clone(r.Partitions)
				r.Partitions[0].Next++
				n.tasks[key] = r
			}
		}
	})
}

func TestACheckpointIsTakenWhenSomethingHasMoved(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		n, s := r.running(doc{Name: "hourly"})
		r.until("the first is complete", func() bool { return r.newest("hourly").State == store.CheckpointComplete })
		first := r.newest("hourly")
		if first.Kind != checkpoint.Interval || first.ID != 1 {
			t.Fatalf("%+v", first)
		}
		r.until("it is told", func() bool {
			o := n.order(s.ID)
			return o.Complete == 1 && slices.Equal(o.Retained, []ident.CheckpointID{1})
		})
		time.Sleep(time.Minute)
		if got := r.newest("hourly"); got.ID != 1 {
			t.Fatalf("nothing has moved, and checkpoint %d was begun", got.ID)
		}
		for id := ident.CheckpointID(2); id <= 4; id++ {
			n.moves()
			r.until("another is complete", func() bool { got := r.newest("hourly"); return got.ID == id && got.State == store.CheckpointComplete })
		}
		r.until("retention has dropped the older ones", func() bool { return len(r.list("hourly")) == 2 })
		for i, q := range n.requests {
			if q.Attempt.Checkpoint != ident.CheckpointID(i+1) || q.Place.Instance != n.instance || q.Left != 60_000 || len(q.Tasks) != 2 {
				t.Errorf("request %d: %+v", i, q)
			}
		}
	})
}

func TestACheckpointThatIsAskedForBeginsAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.running(doc{Name: "hourly"})
		r.until("the first is complete", func() bool { return r.newest("hourly").State == store.CheckpointComplete })
		asked, err := r.TakeCheckpoint(r.ctx, Request{}, "hourly")
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		r.until("it is complete", func() bool {
			got, err := r.GetCheckpoint(r.ctx, "hourly", asked.ID)
			return err == nil && got.State == store.CheckpointComplete && len(got.Tasks) == 2+vgroups
		})
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

func TestAFailedCheckpointFailsNoStream(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		n, _ := r.running(doc{Name: "hourly"})
		n.with(func() { n.part = &Cause{Code: "disk_full", Message: "no space"} })
		r.until("three have failed", func() bool { return len(r.list("hourly")) >= 3 && r.list("hourly")[2].State == store.CheckpointFailed })
		c := r.list("hourly")[0]
		if c.Cause == nil || c.Cause.Code != "disk_full" {
			t.Fatalf("cause %+v", c.Cause)
		}
		codes := r.codes()
		if !slices.Contains(codes, "checkpoint_failed") || !slices.Contains(codes, "checkpoints_failing") {
			t.Errorf("events %v", codes)
		}
		if s := r.get("hourly"); s.State != StreamRunning || s.Stage != 1 || s.Checkpoints.Failed < 3 {
			t.Errorf("%s in stage %d, %d failed", s.State, s.Stage, s.Checkpoints.Failed)
		}
		n.with(func() { n.part = nil })
		r.until("one is complete", func() bool { return r.get("hourly").Checkpoints.Failed == 0 })
	})
}

func TestARefusedCheckpointFails(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		n, _ := r.running(doc{Name: "hourly"})
		n.with(func() { n.refuses = &Cause{Code: "not_ready"} })
		r.until("one has failed", func() bool { return r.newest("hourly").State == store.CheckpointFailed })
		if c := r.newest("hourly").Cause; c.Code != "not_ready" {
			t.Errorf("cause %+v", c)
		}
	})
}

func TestACheckpointWithoutReportsEndsByItsTime(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		n, _ := r.running(doc{Name: "hourly"})
		n.with(func() { n.mute = true })
		r.until("it runs", func() bool { return r.newest("hourly").State == store.CheckpointRunning })
		began := time.Now()
		r.until("it has failed", func() bool { return r.list("hourly")[0].State == store.CheckpointFailed })
		c := r.list("hourly")[0]
		if took := time.Since(began); took < 59*time.Second || took > 62*time.Second || c.Cause.Code != checkpoint.CodeTimeout {
			t.Errorf("after %s: %+v", took, c.Cause)
		}
		asked := 0
		for _, q := range n.requests {
			if q.Attempt == c.Attempt() {
				asked++
			}
		}
		if asked != 1 { // its source tasks had answered
			t.Errorf("%d requests", asked)
		}
	})
}

// TestANewCoordinatorAdopts: who takes the lease goes on with what runs: the same id, the same transaction.
func TestANewCoordinatorAdopts(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		n, _ := r.running(doc{Name: "hourly"})
		n.with(func() { n.mute = true })
		r.until("it runs", func() bool { return r.newest("hourly").State == store.CheckpointRunning })
		before := r.newest("hourly")
		r.crash()
		n.with(func() { n.mute = false })
		r.startCoordinator("c2")
		r.until("it is complete", func() bool { return r.newest("hourly").State == store.CheckpointComplete })
		if after := r.newest("hourly"); after.Attempt() != before.Attempt() {
			t.Errorf("%+v, it was %+v", after.Attempt(), before.Attempt())
		}
	})
}

// TestABoundedStreamEndsWithACheckpoint: it is finished when all tasks have done what follows from its last checkpoint:
// before, a transactional output may not have shown all (trap T28).
func TestABoundedStreamEndsWithACheckpoint(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		n, s := r.running(doc{Name: "hourly", Bounded: true})
		n.with(func() { n.finished[s.ID], n.lags, n.part = true, true, &Cause{Code: "disk_full"} })
		r.until("its last has failed", func() bool {
			c := r.newest("hourly")
			return c.Kind == checkpoint.Last && c.State == store.CheckpointFailed
		})
		n.with(func() { n.part = nil })
		r.until("its last is complete", func() bool {
			c := r.newest("hourly")
			return c.Kind == checkpoint.Last && c.State == store.CheckpointComplete
		})
		time.Sleep(time.Minute)
		if got := r.get("hourly"); got.State != StreamRunning {
			t.Fatalf("it is %s before its results are shown", got.State)
		}
		last := r.newest("hourly").ID
		n.with(func() { n.lags = false })
		r.untilState("hourly", StreamFinished)
		if got := r.newest("hourly").ID; got != last {
			t.Errorf("checkpoint %d was taken after the last, %d", got, last)
		}
	})
}

// TestAPauseWaitsForARunningCheckpoint, and none begins while it waits.
func TestAPauseWaitsForARunningCheckpoint(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		n, s := r.running(doc{Name: "hourly"})
		n.with(func() { n.mute = true })
		r.until("it runs", func() bool { return r.newest("hourly").State == store.CheckpointRunning })
		r.act("hourly", decide.Pause)
		time.Sleep(10 * time.Second)
		if o := n.order(s.ID); o.Wanted != OrderRunning {
			t.Errorf("%s while a checkpoint runs", o.Wanted)
		}
		n.with(func() { n.mute = false })
		r.untilState("hourly", StreamPaused) // by its deadline: nobody asks again
		asked, err := r.TakeCheckpoint(r.ctx, Request{}, "hourly")
		if err != nil {
			t.Fatal(err)
		}
		r.until("a paused stream takes one that is asked for", func() bool {
			got, err := r.GetCheckpoint(r.ctx, "hourly", asked.ID)
			return err == nil && got.State == store.CheckpointComplete
		})
	})
}

// twoThenLost has two complete checkpoints, and a stage that cannot read the newest.
func (r *rig) twoThenLost(d doc) (*fakeNode, Stream) {
	r.t.Helper()
	n, s := r.running(d)
	for id := ident.CheckpointID(1); id <= 2; id++ {
		n.moves()
		r.until("it is complete", func() bool { got := r.newest(d.Name); return got.ID == id && got.State == store.CheckpointComplete })
	}
	n.with(func() { n.slow = true })
	r.act(d.Name, decide.Reset)
	r.until("the stage has begun", func() bool { return n.order(s.ID).Stage == 2 })
	time.Sleep(2 * time.Second)
	n.fail(s.ID, decide.Cause{Code: "checkpoint_damaged", Message: "one bit is wrong"})
	n.with(func() { n.slow = false })
	return n, s
}

func TestALostCheckpointFallsBack(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		n, s := r.twoThenLost(doc{Name: "hourly"})
		r.until("it goes on from the older one", func() bool {
			got := r.get("hourly")
			return got.State == StreamRunning && got.Stage == 3 && got.Checkpoints.Start == 1
		})
		if codes := r.codes(); !slices.Contains(codes, "checkpoint_damaged") {
			t.Errorf("events %v", codes)
		}
		r.until("it is told", func() bool { o := n.order(s.ID); return o.Stage == 3 && o.Restore != nil && o.Restore.Checkpoint == 1 })
	})
}

func TestALostCheckpointOfATransactionalOutputStopsTheStream(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.twoThenLost(doc{Name: "hourly", Transactional: true})
		s := r.untilState("hourly", StreamFailed)
		if s.Cause == nil || s.Cause.Code != CodeCheckpointLost {
			t.Fatalf("cause %+v", s.Cause)
		}
		if _, err := r.Recover(r.ctx, Request{}, "hourly", GoBack{1, AcceptDuplicates}); err != nil {
			t.Fatal(err)
		}
		r.until("it goes on", func() bool { got := r.get("hourly"); return got.State == StreamRunning && got.Checkpoints.Start == 1 })
	})
}
