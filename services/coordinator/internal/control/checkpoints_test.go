package control

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pondage/pondage/internal/checkpoint"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/manifest"
	"github.com/pondage/pondage/services/coordinator/internal/control/decide"
	"github.com/pondage/pondage/services/coordinator/internal/store"
)

// write runs one step in the metastore, as the loop does.
func (r *rig) write(fn func(context.Context, store.Tx) error) {
	r.t.Helper()
	if err := r.db.Update(r.ctx, store.AnyTerm, func(tx store.Tx) error { return fn(r.ctx, tx) }); err != nil {
		r.t.Fatal(err)
	}
}

// begins makes the stream's waiting checkpoint, or a new one, the running one.
func (r *rig) begins(s Stream) (c store.Checkpoint) {
	r.t.Helper()
	r.write(func(ctx context.Context, tx store.Tx) (err error) {
		c, err = store.BeginCheckpoint(ctx, tx, store.Begin{Stream: s.ID, Stage: s.Stage, Kind: checkpoint.Interval, Deadline: time.Minute})
		return err
	})
	return c
}

// completes makes a checkpoint of the stream complete.
func (r *rig) completes(s Stream) ident.CheckpointID {
	r.t.Helper()
	c := r.begins(s)
	r.write(func(ctx context.Context, tx store.Tx) error {
		placed, err := tx.StreamTasks(ctx, s.ID)
		if err != nil {
			return err
		}
		var parts []store.CheckpointTask
		for _, t := range placed {
			parts = append(parts, store.CheckpointTask{Task: t.Task, Node: t.Place.Node, Manifest: manifest.Hash{byte(c.ID)}})
		}
		_, err = store.CompleteCheckpoint(ctx, tx, c.Attempt(), parts)
		return err
	})
	return c.ID
}

func (r *rig) fails(c store.Checkpoint) {
	r.t.Helper()
	r.write(func(ctx context.Context, tx store.Tx) error {
		_, err := store.FailCheckpoint(ctx, tx, c.Attempt(), store.Cause{Code: "disk_full", Message: "no space"})
		return err
	})
}

// order is the last order of the stream that the node was given.
func (n *fakeNode) order(id ident.StreamID) (out Order) {
	n.with(func() {
		for _, o := range n.last.Orders {
			if o.Stream == id {
				out = o
			}
		}
	})
	return out
}

func TestACheckpointIsAskedFor(t *testing.T) {
	byHand(t, func(t *testing.T, r *rig) {
		n := r.node("a", 1)
		n.with(func() { n.slow = true })
		r.source()
		r.stream(doc{Name: "hourly"})
		_, err := r.TakeCheckpoint(r.ctx, Request{}, "hourly")
		wantCode(t, err, CodeNotAllowedInState)
		n.with(func() { n.slow = false })
		s := r.untilState("hourly", StreamRunning)

		running := r.begins(s)
		keyed := Request{IdempotencyKey: "k"}
		asked, err := r.TakeCheckpoint(r.ctx, keyed, "hourly")
		if err != nil || asked.ID != running.ID+1 || asked.State != store.CheckpointWaiting || asked.Kind != checkpoint.Manual || asked.Name != "hourly" {
			t.Fatalf("%+v, %v", asked, err)
		}
		r.fails(running)
		r.fails(r.begins(s))
		again, err := r.TakeCheckpoint(r.ctx, keyed, "hourly") // after its end: the first answer
		if err != nil || again.ID != asked.ID {
			t.Fatalf("%+v, %v", again, err)
		}
		got, err := r.GetCheckpoint(r.ctx, "hourly", asked.ID)
		if err != nil || got.State != store.CheckpointFailed || got.Cause.Code != "disk_full" || len(got.Tasks) > 0 {
			t.Fatalf("%+v, %v", got, err)
		}
		done := r.completes(s)
		if got, err = r.GetCheckpoint(r.ctx, "hourly", done); err != nil || len(got.Tasks) != 2+vgroups {
			t.Fatalf("%+v, %v", got, err)
		}
		_, err = r.GetCheckpoint(r.ctx, "hourly", 99)
		wantCode(t, err, CodeCheckpointUnknown)
		_, err = r.GetCheckpoint(r.ctx, "daily", 1)
		wantCode(t, err, CodeStreamUnknown)
	})
}

func TestCheckpointsAreListedInPages(t *testing.T) {
	byHand(t, func(t *testing.T, r *rig) {
		r.node("a", 1)
		r.source()
		for _, name := range []string{"x", "y"} {
			r.stream(doc{Name: name})
			s := r.untilState(name, StreamRunning)
			r.completes(s)
			r.completes(s)
		}
		var got []string
		for p := (Page{Limit: 3}); ; {
			l, err := r.ListCheckpoints(r.ctx, "", p)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range l.Items {
				got = append(got, c.Name+string(rune('0'+c.ID)))
			}
			if p.Cursor = l.Next; l.Next == "" {
				break
			}
		}
		if want := []string{"y2", "y1", "x2", "x1"}; !slices.Equal(got, want) {
			t.Fatalf("got %v", got)
		}
		l, err := r.ListCheckpoints(r.ctx, "x", Page{})
		if err != nil || len(l.Items) != 2 || l.Items[0].Name != "x" {
			t.Fatalf("%+v, %v", l, err)
		}
		_, err = r.ListCheckpoints(r.ctx, "z", Page{})
		wantCode(t, err, CodeStreamUnknown)
		_, err = r.ListCheckpoints(r.ctx, "", Page{Cursor: cursor(eventCursor, "1")})
		wantCode(t, err, CodeBadCursor)
	})
}

func TestSavepoints(t *testing.T) {
	byHand(t, func(t *testing.T, r *rig) {
		r.node("a", 1)
		r.source()
		r.stream(doc{Name: "hourly"})
		s := r.untilState("hourly", StreamRunning)
		create := func(name string) (Savepoint, error) { return r.CreateSavepoint(r.ctx, Request{}, "hourly", name) }

		first, err := create("one")
		if err != nil || first.Checkpoint.State != store.CheckpointWaiting || first.Checkpoint.Kind != checkpoint.Savepoint {
			t.Fatalf("%+v, %v", first, err)
		}
		_, err = create("one")
		wantCode(t, err, CodeSavepointExists)
		r.fails(r.begins(s))
		second, err := create("one") // what has failed is made anew
		if err != nil || second.Checkpoint.ID == first.Checkpoint.ID {
			t.Fatalf("%+v, %v", second, err)
		}
		r.completes(s)
		if got, err := r.GetSavepoint(r.ctx, "hourly", "one"); err != nil || got.Checkpoint.State != store.CheckpointComplete {
			t.Fatalf("%+v, %v", got, err)
		}

		newest := r.completes(s)
		r.act("hourly", decide.Stop)
		r.untilState("hourly", StreamStopped)
		if got, err := create("two"); err != nil || got.Checkpoint.ID != newest {
			t.Fatalf("of a stopped stream: %+v, %v", got, err)
		}
		l, err := r.ListSavepoints(r.ctx, "hourly", Page{})
		if err != nil || len(l.Items) != 2 || l.Items[1].Name != "two" {
			t.Fatalf("%+v, %v", l, err)
		}
		if err := r.DeleteSavepoint(r.ctx, Request{}, "hourly", "two"); err != nil {
			t.Fatal(err)
		}
		wantCode(t, r.DeleteSavepoint(r.ctx, Request{}, "hourly", "two"), CodeSavepointUnknown)
		_, err = r.GetSavepoint(r.ctx, "hourly", "two")
		wantCode(t, err, CodeSavepointUnknown)

		r.stream(doc{Name: "young"})
		r.untilState("young", StreamRunning)
		r.act("young", decide.Stop)
		r.untilState("young", StreamStopped)
		_, err = r.CreateSavepoint(r.ctx, Request{}, "young", "none")
		wantCode(t, err, CodeNotAllowedInState)
	})
}

func TestAStageGoesOnFromTheNewestCompleteCheckpoint(t *testing.T) {
	byHand(t, func(t *testing.T, r *rig) {
		n := r.node("a", 1)
		r.source()
		r.stream(doc{Name: "hourly"})
		s := r.untilState("hourly", StreamRunning)
		if o := n.order(s.ID); o.Restore != nil {
			t.Fatalf("restores %+v", o.Restore)
		}
		r.completes(s)
		done := r.completes(s)
		late := r.begins(s)
		r.until("the verdict is told", func() bool {
			o := n.order(s.ID)
			return o.Complete == done && o.Settled == done && len(o.Retained) == 2
		})

		r.act("hourly", decide.Reset)
		s = r.untilState("hourly", StreamRunning)
		r.until("the new stage is told", func() bool { return n.order(s.ID).Stage == s.Stage })
		o := n.order(s.ID)
		if s.Stage != 2 || o.Restore == nil || o.Restore.Checkpoint != done || len(o.Restore.Tasks) != 2+vgroups || o.Settled != late.ID {
			t.Fatalf("stage %d: %+v", s.Stage, o)
		}
		if got := o.Restore.Tasks[0]; got.Node != "a" || got.Manifest != (manifest.Hash{byte(done)}) {
			t.Fatalf("%+v", got)
		}
		got, err := r.GetCheckpoint(r.ctx, "hourly", late.ID)
		if err != nil || got.State != store.CheckpointFailed || got.Cause.Code != CodeStageEnded {
			t.Fatalf("%+v, %v", got, err)
		}
		if want := (store.Cuts{Next: 4, Complete: 2, Settled: 3, Start: 2}); r.get("hourly").Checkpoints != want {
			t.Fatalf("%+v", r.get("hourly").Checkpoints)
		}
	})
}

func TestGoingBack(t *testing.T) {
	byHand(t, func(t *testing.T, r *rig) {
		n := r.node("a", 1)
		r.source()
		r.stream(doc{Name: "hourly"})
		s := r.untilState("hourly", StreamRunning)
		for range 3 {
			r.completes(s)
		}
		back := func(to ident.CheckpointID, accept Acceptance) error {
			_, err := r.Recover(r.ctx, Request{}, "hourly", GoBack{to, accept})
			return err
		}
		wantCode(t, back(9, AcceptDuplicates), CodeCheckpointUnknown)
		failed := r.begins(s)
		r.fails(failed)
		wantCode(t, back(failed.ID, AcceptDuplicates), CodeCheckpointNotComplete)
		wantCode(t, back(1, AcceptNothing), CodeDuplicatesPossible) // its rows' older forms are not kept any more
		wantCode(t, back(0, AcceptNothing), CodeDuplicatesPossible)
		if err := back(2, AcceptNothing); err != nil {
			t.Fatal(err)
		}
		restores := func(stage ident.Stage, from ident.CheckpointID) {
			t.Helper()
			r.until("the stage has begun", func() bool {
				got := r.get("hourly")
				return got.State == StreamRunning && got.Stage == stage && got.Checkpoints.Start == from && n.order(s.ID).Stage == stage
			})
		}
		restores(2, 2)
		r.act("hourly", decide.Reset) // no checkpoint between: not from the one that was left behind
		restores(3, 2)

		// From a savepoint, when it was stopped.
		p, err := r.CreateSavepoint(r.ctx, Request{}, "hourly", "keep")
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.StartFrom(r.ctx, Request{}, "hourly", "keep", AcceptNothing)
		wantCode(t, err, CodeNotAllowedInState)
		s = r.get("hourly")
		r.completes(s)
		r.act("hourly", decide.Stop)
		r.untilState("hourly", StreamStopped)
		_, err = r.StartFrom(r.ctx, Request{}, "hourly", "none", AcceptNothing)
		wantCode(t, err, CodeSavepointUnknown)
		if _, err := r.StartFrom(r.ctx, Request{IfMatch: 1}, "hourly", "keep", AcceptNothing); err == nil {
			t.Fatal("an older version was changed")
		}
		if _, err := r.StartFrom(r.ctx, Request{}, "hourly", "keep", AcceptNothing); err != nil {
			t.Fatal(err)
		}
		restores(4, p.Checkpoint.ID)
		if err := back(0, AcceptDuplicates); err != nil {
			t.Fatal(err)
		}
		restores(5, 0)
		if o := n.order(s.ID); o.Restore != nil {
			t.Fatalf("from the start, it restores %+v", o.Restore)
		}
		r.act("hourly", decide.Stop)
		r.untilState("hourly", StreamStopped)
		if err := back(2, AcceptDuplicates); err != nil { // to what was left behind
			t.Fatal(err)
		}
		restores(6, 2)
	})
}

func TestATransactionalOutputTakesNothingBack(t *testing.T) {
	byHand(t, func(t *testing.T, r *rig) {
		r.node("a", 1)
		r.source()
		r.stream(doc{Name: "hourly", Transactional: true})
		s := r.untilState("hourly", StreamRunning)
		r.completes(s)
		newest := r.completes(s)
		_, err := r.Recover(r.ctx, Request{}, "hourly", GoBack{Checkpoint: newest - 1})
		wantCode(t, err, CodeDuplicatesPossible)
		if _, err := r.Recover(r.ctx, Request{}, "hourly", GoBack{Checkpoint: newest}); err != nil {
			t.Fatal(err)
		}
	})
}

func TestReportsOfParts(t *testing.T) {
	byHand(t, func(t *testing.T, r *rig) {
		n := r.node("a", 2)
		r.source()
		r.stream(doc{Name: "hourly"})
		s := r.untilState("hourly", StreamRunning)
		c := r.begins(s)
		task := ident.Task{Level: ident.LevelAgg, VGroup: 1}
		report := PartReport{Attempt: c.Attempt(), Task: task, Manifest: manifest.Hash{1}, Cost: Cost{BytesFull: 5}}
		send := func(instance ident.Instance, reports ...PartReport) error {
			_, err := r.ReportCheckpoints(r.ctx, PartReports{Node: "a", Instance: instance, Reports: reports})
			return err
		}
		heard := func() (out []PartReport) {
			var placed []store.Task
			r.write(func(ctx context.Context, tx store.Tx) (err error) {
				placed, err = tx.StreamTasks(ctx, s.ID)
				return err
			})
			for _, h := range r.parts.of(c.Attempt(), placed) {
				out = append(out, h.PartReport)
			}
			return out
		}
		dead := n.instance
		dead.Counter--
		wantCode(t, send(dead, report), CodeSuperseded)
		other, earlier := report, report
		other.Attempt.Tx++
		earlier.Attempt.Checkpoint--
		if err := send(n.instance, other); err != nil || len(heard()) != 0 {
			t.Fatalf("another transaction: %v, %v", err, heard())
		}
		for range 2 {
			if err := send(n.instance, report); err != nil {
				t.Fatal(err)
			}
		}
		if err := send(n.instance, earlier); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]PartReport{report}, heard()); diff != "" {
			t.Fatal(diff)
		}
		r.crash() // a new coordinator knows nothing, and is told again
		_, err := r.ReportCheckpoints(r.ctx, PartReports{Node: "a", Instance: n.instance, Reports: []PartReport{report}})
		wantCode(t, err, CodeNotLeader)
		r.startCoordinator("c2")
		if len(heard()) != 0 {
			t.Fatal("a new coordinator has heard")
		}
		if err := send(n.instance, report); err != nil || len(heard()) != 1 {
			t.Fatalf("%v, %v", err, heard())
		}
	})
}
