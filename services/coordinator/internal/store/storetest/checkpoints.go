package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/pondage/pondage/internal/checkpoint"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/manifest"
	"github.com/pondage/pondage/internal/task"
	"github.com/pondage/pondage/services/coordinator/internal/store"
)

const deadline = time.Minute

// why is a reason to fail for.
var why = store.Cause{Code: "disk_full", Message: "agg-3: no space"}

// parts are the placement that working makes, as parts of a checkpoint.
var parts = []store.CheckpointTask{
	{
		Task: ident.Task{Level: ident.LevelSource, VGroup: 2}, Node: "a", Manifest: manifest.Hash{1},
		Cost: store.Cost{BytesFull: 10, BytesIncremental: 4, Sync: 3 * time.Millisecond, Async: 70 * time.Millisecond},
	},
	{
		Task: ident.Task{Level: ident.LevelAgg, VGroup: 7}, Node: "b", Manifest: manifest.Hash{2},
		Cost:  store.Cost{BytesFull: 1 << 40, BytesIncremental: 5, Align: 9 * time.Millisecond, Sync: time.Millisecond, Async: 30 * time.Millisecond},
		Sinks: []store.SinkMarker{{Kind: "postgres", Marker: 6}},
	},
}

// working makes a stream with the placement of stage 1.
func working(t *testing.T, m Metastore, name string) store.Stream {
	t.Helper()
	s := insert(t, m, name)
	raise(t, m, &s)
	return s
}

// placement is the tasks whose parts the checkpoints have.
func placement() (tasks []store.Task) {
	for _, p := range parts {
		tasks = append(tasks, store.Task{Task: p.Task, Place: ident.Place{Node: p.Node}})
	}
	return tasks
}

// raise begins the next stage.
func raise(t *testing.T, m Metastore, s *store.Stream) {
	t.Helper()
	update(t, m, func(ctx context.Context, tx store.Tx) error {
		now, err := tx.LockStream(ctx, s.ID)
		if err != nil {
			return err
		}
		*s, err = store.RaiseStage(ctx, tx, now, label, placement(), store.Cause{Code: "stream_reset", Message: "the stage is over"})
		return err
	})
}

func begin(t *testing.T, m Metastore, s store.Stream) (c store.Checkpoint) {
	t.Helper()
	update(t, m, func(ctx context.Context, tx store.Tx) (err error) {
		c, err = store.BeginCheckpoint(ctx, tx, store.Begin{Stream: s.ID, Stage: s.Stage, Kind: checkpoint.Interval, Deadline: deadline})
		return err
	})
	return c
}

func completes(m Metastore, t *testing.T, a store.Attempt, of []store.CheckpointTask) (c store.Checkpoint, err error) {
	err = try(t, m, func(ctx context.Context, tx store.Tx) (err error) {
		c, err = store.CompleteCheckpoint(ctx, tx, a, of)
		return err
	})
	return c, err
}

func fails(m Metastore, t *testing.T, a store.Attempt) error {
	return try(t, m, func(ctx context.Context, tx store.Tx) error {
		_, err := store.FailCheckpoint(ctx, tx, a, why)
		return err
	})
}

// take makes a complete checkpoint.
func take(t *testing.T, m Metastore, s store.Stream) ident.CheckpointID {
	t.Helper()
	c, err := completes(m, t, begin(t, m, s).Attempt(), parts)
	if err != nil {
		t.Fatal(err)
	}
	return c.ID
}

func cutsOf(t *testing.T, m Metastore, s store.Stream) (out store.Cuts) {
	t.Helper()
	view(t, m, func(ctx context.Context, r store.Reader) error {
		now, err := r.Stream(ctx, s.Name)
		out = now.Cuts
		return err
	})
	return out
}

func stateOf(t *testing.T, m Metastore, s store.Stream, id ident.CheckpointID) (out store.Checkpoint) {
	t.Helper()
	view(t, m, func(ctx context.Context, r store.Reader) (err error) {
		out, err = r.Checkpoint(ctx, s.ID, id)
		return err
	})
	return out
}

func checkpointLife(t *testing.T, m Metastore) {
	s := working(t, m, "hourly")
	equal(t, s.Cuts, store.Cuts{Next: 1})
	version := s.Version
	update(t, m, func(ctx context.Context, tx store.Tx) error { // two restarts, then a checkpoint: they are forgotten
		now, err := tx.LockStream(ctx, s.ID)
		now.Restarts = 2
		return errors.Join(err, tx.UpdateCuts(ctx, now))
	})

	first := begin(t, m, s)
	begun := label
	equal(t, first, store.Checkpoint{
		Seq: first.Seq, Stream: s.ID, ID: 1, Tx: first.Tx, Kind: checkpoint.Interval, State: store.CheckpointRunning,
		Stage: 1, Deadline: deadline, Asked: label, Begun: &begun,
	})
	if err := fails(m, t, first.Attempt()); err != nil {
		t.Fatal(err)
	}
	equal(t, cutsOf(t, m, s), store.Cuts{Next: 2, Settled: 1, Failed: 1})
	equal(t, *stateOf(t, m, s, 1).Cause, why)

	second := begin(t, m, s)
	if second.ID != 2 || second.Tx == first.Tx {
		t.Fatalf("the second is %d with transaction %d, the first had %d", second.ID, second.Tx, first.Tx)
	}
	done, err := completes(m, t, second.Attempt(), parts)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, done.State, store.CheckpointComplete)
	equal(t, done.Cost, store.Cost{
		BytesFull: 1<<40 + 10, BytesIncremental: 9, Align: 9 * time.Millisecond, Sync: 3 * time.Millisecond, Async: 70 * time.Millisecond,
	})
	equal(t, cutsOf(t, m, s), store.Cuts{Next: 3, Complete: 2, Settled: 2})
	view(t, m, func(ctx context.Context, r store.Reader) error {
		got, err := r.CheckpointTasks(ctx, s.ID, 2)
		equal(t, got, parts)
		row, _ := r.Stream(ctx, "hourly")
		equal(t, row.Version, version) // no user's change is refused for a checkpoint
		equal(t, row.Restarts, 0)
		return err
	})
}

// verdicts: each verdict is given once, and only to what runs, in its stage and transaction.
func verdicts(t *testing.T, m Metastore) {
	s := working(t, m, "hourly")
	c := begin(t, m, s)
	err := try(t, m, func(ctx context.Context, tx store.Tx) error {
		_, err := store.BeginCheckpoint(ctx, tx, store.Begin{Stream: s.ID, Stage: s.Stage, Kind: checkpoint.Interval, Deadline: deadline})
		return err
	})
	wantErr(t, err, store.ErrExists)
	err = try(t, m, func(ctx context.Context, tx store.Tx) error {
		_, err := store.BeginCheckpoint(ctx, tx, store.Begin{Stream: s.ID, Stage: s.Stage + 1, Kind: checkpoint.Interval, Deadline: deadline})
		return err
	})
	wantErr(t, err, store.ErrVoid)

	for name, a := range map[string]store.Attempt{
		"stage":       {Stream: s.ID, Stage: 2, Checkpoint: c.ID, Tx: c.Tx},
		"transaction": {Stream: s.ID, Stage: 1, Checkpoint: c.ID, Tx: c.Tx ^ 1},
	} {
		_, err := completes(m, t, a, parts)
		if !errors.Is(err, store.ErrVoid) || !errors.Is(fails(m, t, a), store.ErrVoid) {
			t.Errorf("a verdict of another %s was taken: %v", name, err)
		}
	}
	_, err = completes(m, t, store.Attempt{Stream: s.ID, Stage: 1, Checkpoint: 9, Tx: c.Tx}, parts)
	wantErr(t, err, store.ErrNotFound)

	moved := []store.CheckpointTask{parts[0], parts[1]}
	moved[1].Node = "c"
	for what, of := range map[string][]store.CheckpointTask{"a part is missing": parts[:1], "a part is of another node": moved, "a part is doubled": append(parts[:2:2], parts[0])} {
		if _, err := completes(m, t, c.Attempt(), of); err == nil {
			t.Errorf("%s, and the checkpoint is complete", what)
		}
	}
	equal(t, stateOf(t, m, s, c.ID).State, store.CheckpointRunning)

	// The answer to COMMIT was lost: the same once more finds it done.
	for range 2 {
		if _, err := completes(m, t, c.Attempt(), parts); err != nil {
			t.Fatal(err)
		}
	}
	wantErr(t, fails(m, t, c.Attempt()), store.ErrVoid)
	equal(t, cutsOf(t, m, s), store.Cuts{Next: 2, Complete: 1, Settled: 1})

	c = begin(t, m, s)
	for range 2 {
		if err := fails(m, t, c.Attempt()); err != nil {
			t.Fatal(err)
		}
	}
	_, err = completes(m, t, c.Attempt(), parts)
	wantErr(t, err, store.ErrVoid)
	equal(t, cutsOf(t, m, s), store.Cuts{Next: 3, Complete: 1, Settled: 2, Failed: 1}) // counted once
}

// asked: one that was asked for waits for the one that runs, and is the next.
func asked(t *testing.T, m Metastore) {
	s := working(t, m, "hourly")
	running := begin(t, m, s)
	ask := func(kind checkpoint.Kind) (c store.Checkpoint) {
		update(t, m, func(ctx context.Context, tx store.Tx) error {
			now, err := tx.LockStream(ctx, s.ID)
			if err != nil {
				return err
			}
			c, err = store.AskCheckpoint(ctx, tx, &now, kind)
			return err
		})
		return c
	}
	waiting := ask(checkpoint.Manual)
	equal(t, waiting, store.Checkpoint{
		Seq: waiting.Seq, Stream: s.ID, ID: 2, Tx: waiting.Tx, Kind: checkpoint.Manual, State: store.CheckpointWaiting, Asked: label,
	})
	equal(t, ask(checkpoint.Manual), waiting) // who asks again shares it
	equal(t, ask(checkpoint.Savepoint).Kind, checkpoint.Savepoint)
	equal(t, ask(checkpoint.Manual).Kind, checkpoint.Savepoint)
	_, err := completes(m, t, waiting.Attempt(), parts)
	wantErr(t, err, store.ErrVoid) // it has not begun
	view(t, m, func(ctx context.Context, r store.Reader) error {
		all, err := r.OpenCheckpoints(ctx, 0)
		equal(t, []ident.CheckpointID{all[0].ID, all[1].ID}, []ident.CheckpointID{1, 2})
		none, _ := r.OpenCheckpoints(ctx, s.ID+1)
		equal(t, len(none), 0)
		return err
	})

	if err := fails(m, t, running.Attempt()); err != nil {
		t.Fatal(err)
	}
	next := begin(t, m, s)
	equal(t, []any{next.ID, next.Kind, next.Tx, next.Stage}, []any{waiting.ID, checkpoint.Savepoint, waiting.Tx, s.Stage})
	if _, err := completes(m, t, next.Attempt(), parts); err != nil {
		t.Fatal(err)
	}
	equal(t, cutsOf(t, m, s), store.Cuts{Next: 3, Complete: 2, Settled: 2})
}

// reset: a checkpoint is complete before the reset and used by it, or never.
func reset(t *testing.T, m Metastore) {
	s := working(t, m, "hourly")
	take(t, m, s)
	late := begin(t, m, s)
	update(t, m, func(ctx context.Context, tx store.Tx) error {
		now, err := tx.LockStream(ctx, s.ID)
		if err != nil {
			return err
		}
		_, err = store.AskCheckpoint(ctx, tx, &now, checkpoint.Manual)
		return err
	})
	raise(t, m, &s)
	equal(t, s.Stage, ident.Stage(2))
	equal(t, cutsOf(t, m, s), store.Cuts{Next: 4, Complete: 1, Settled: 3, Start: 1})
	_, err := completes(m, t, late.Attempt(), parts)
	wantErr(t, err, store.ErrVoid)
	for _, id := range []ident.CheckpointID{2, 3} {
		equal(t, stateOf(t, m, s, id).Cause.Code, "stream_reset")
	}
	used := take(t, m, s)
	raise(t, m, &s)
	equal(t, s.Start, used)

	// While a stage is due and not placed nothing begins: it would be of a stage that is over.
	update(t, m, func(ctx context.Context, tx store.Tx) error {
		s.State, s.StageDue = task.StreamRecovering, true
		_, err := tx.UpdateStream(ctx, s)
		return err
	})
	err = try(t, m, func(ctx context.Context, tx store.Tx) error {
		_, err := store.BeginCheckpoint(ctx, tx, store.Begin{Stream: s.ID, Stage: s.Stage, Kind: checkpoint.Interval, Deadline: deadline})
		return err
	})
	wantErr(t, err, store.ErrVoid)
}

func checkpointLists(t *testing.T, m Metastore) {
	a, b := working(t, m, "a"), working(t, m, "b")
	for range 2 {
		take(t, m, a)
		take(t, m, b)
	}
	list := func(f store.CheckpointFilter) (out []string, last int64) {
		view(t, m, func(ctx context.Context, r store.Reader) error {
			all, err := r.Checkpoints(ctx, f)
			for _, c := range all {
				out, last = append(out, c.Name+string(rune('0'+c.ID))), c.Seq
			}
			return err
		})
		return out, last
	}
	got, last := list(store.CheckpointFilter{Limit: 3})
	equal(t, got, []string{"b2", "a2", "b1"})
	got, _ = list(store.CheckpointFilter{Limit: 3, Before: last})
	equal(t, got, []string{"a1"})
	got, _ = list(store.CheckpointFilter{Limit: 9, Stream: a.ID})
	equal(t, got, []string{"a2", "a1"})
	update(t, m, func(ctx context.Context, tx store.Tx) error { return tx.DeleteStream(ctx, b.ID) })
	view(t, m, func(ctx context.Context, r store.Reader) error {
		refs, err := r.CompleteCheckpoints(ctx)
		equal(t, refs, []store.CheckpointRef{{Stream: a.ID, Checkpoint: 1}, {Stream: a.ID, Checkpoint: 2}})
		return err
	})
}
