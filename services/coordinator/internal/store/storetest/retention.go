package storetest

import (
	"context"
	"testing"

	"github.com/pondage/pondage/internal/checkpoint"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/services/coordinator/internal/store"
)

func drop(t *testing.T, m Metastore, s store.Stream, retain int) (gone []ident.CheckpointID) {
	t.Helper()
	update(t, m, func(ctx context.Context, tx store.Tx) (err error) {
		gone, err = store.DropCheckpoints(ctx, tx, s.ID, retain)
		return err
	})
	return gone
}

func rewind(t *testing.T, m Metastore, s store.Stream, to ident.CheckpointID) error {
	return try(t, m, func(ctx context.Context, tx store.Tx) error {
		now, err := tx.LockStream(ctx, s.ID)
		if err != nil {
			return err
		}
		if err := store.Rewind(ctx, tx, &now, to); err != nil {
			return err
		}
		_, err = tx.UpdateStream(ctx, now)
		return err
	})
}

func save(m Metastore, t *testing.T, s store.Stream, name string, id ident.CheckpointID) error {
	return try(t, m, func(ctx context.Context, tx store.Tx) error { return tx.InsertSavepoint(ctx, s.ID, name, id) })
}

func kept(t *testing.T, m Metastore) (out []ident.CheckpointID) {
	t.Helper()
	view(t, m, func(ctx context.Context, r store.Reader) error {
		all, err := r.CompleteCheckpoints(ctx)
		for _, c := range all {
			out = append(out, c.Checkpoint)
		}
		return err
	})
	return out
}

func retention(t *testing.T, m Metastore) {
	s := working(t, m, "hourly")
	for range 3 {
		take(t, m, s)
	}
	if err := save(m, t, s, "before_upgrade", 2); err != nil {
		t.Fatal(err)
	}
	const tries = 25 // more than are kept of the failed ones
	for range tries {
		if err := fails(m, t, begin(t, m, s).Attempt()); err != nil {
			t.Fatal(err)
		}
	}
	take(t, m, s)
	equal(t, drop(t, m, s, 2), []ident.CheckpointID{1})
	equal(t, kept(t, m), []ident.CheckpointID{2, 3, 29})
	view(t, m, func(ctx context.Context, r store.Reader) error {
		all, err := r.EndedCheckpoints(ctx, s.ID)
		equal(t, len(all), 3+20)
		equal(t, all[:3], []store.EndedCheckpoint{{ID: 2, Complete: true, Saved: true}, {ID: 3, Complete: true}, {ID: 9}})
		gone, _ := r.CheckpointTasks(ctx, s.ID, 1)
		equal(t, len(gone), 0)
		return err
	})
	equal(t, len(drop(t, m, s, 0)), 1) // the newest one is never dropped
	equal(t, kept(t, m), []ident.CheckpointID{2, 29})
	for _, id := range []ident.CheckpointID{2, 29} { // named by a savepoint, by the stream
		if err := try(t, m, func(ctx context.Context, tx store.Tx) error {
			return tx.DeleteCheckpoints(ctx, s.ID, []ident.CheckpointID{id})
		}); err == nil {
			t.Errorf("checkpoint %d was deleted", id)
		}
	}
	update(t, m, func(ctx context.Context, tx store.Tx) error { return tx.DeleteSavepoint(ctx, s.ID, "before_upgrade") })
	equal(t, drop(t, m, s, 1), []ident.CheckpointID{2})
}

// goingBack: after a stream went back, no reset finds what it left behind.
func goingBack(t *testing.T, m Metastore) {
	s := working(t, m, "hourly")
	for range 4 {
		take(t, m, s)
	}
	if err := save(m, t, s, "keep", 3); err != nil {
		t.Fatal(err)
	}
	wantErr(t, rewind(t, m, s, 9), store.ErrNotFound)
	if err := rewind(t, m, s, 2); err != nil {
		t.Fatal(err)
	}
	raise(t, m, &s)
	equal(t, cutsOf(t, m, s), store.Cuts{Next: 5, Complete: 2, Settled: 4, Start: 2})
	raise(t, m, &s) // without a new checkpoint between
	equal(t, s.Start, ident.CheckpointID(2))

	take(t, m, s)                                          // 5
	equal(t, drop(t, m, s, 3), []ident.CheckpointID{4})    // abandoned, though it is among the newest
	equal(t, kept(t, m), []ident.CheckpointID{1, 2, 3, 5}) // 3 is a savepoint's
	equal(t, stateOf(t, m, s, 3).Abandoned, true)          //
	if err := rewind(t, m, s, 3); err != nil {             // back to what was abandoned
		t.Fatal(err)
	}
	raise(t, m, &s)
	equal(t, s.Start, ident.CheckpointID(3))
	equal(t, []bool{stateOf(t, m, s, 3).Abandoned, stateOf(t, m, s, 5).Abandoned}, []bool{false, true})

	if err := rewind(t, m, s, 0); err != nil {
		t.Fatal(err)
	}
	raise(t, m, &s)
	equal(t, cutsOf(t, m, s), store.Cuts{Next: 6, Settled: 5})
	failing := begin(t, m, s)
	if err := fails(m, t, failing.Attempt()); err != nil {
		t.Fatal(err)
	}
	wantErr(t, rewind(t, m, s, failing.ID), store.ErrNotFound)
}

func savepoints(t *testing.T, m Metastore) {
	s := working(t, m, "hourly")
	wantErr(t, save(m, t, s, "early", 1), store.ErrNotFound)
	var waiting store.Checkpoint
	update(t, m, func(ctx context.Context, tx store.Tx) error {
		now, err := tx.LockStream(ctx, s.ID)
		if err != nil {
			return err
		}
		if waiting, err = store.AskCheckpoint(ctx, tx, &now, checkpoint.Savepoint); err != nil {
			return err
		}
		for _, name := range []string{"b", "a"} {
			if err := tx.InsertSavepoint(ctx, s.ID, name, waiting.ID); err != nil {
				return err
			}
		}
		return nil
	})
	wantErr(t, save(m, t, s, "a", waiting.ID), store.ErrExists)
	take(t, m, s)
	view(t, m, func(ctx context.Context, r store.Reader) error {
		p, err := r.Savepoint(ctx, s.ID, "a")
		equal(t, p, store.Savepoint{Stream: s.ID, Name: "a", Created: label, Checkpoint: stateOf(t, m, s, waiting.ID)})
		equal(t, p.Checkpoint.State, store.CheckpointComplete)
		_, missing := r.Savepoint(ctx, s.ID, "c")
		wantErr(t, missing, store.ErrNotFound)
		all, _ := r.Savepoints(ctx, s.ID, "", 9)
		equal(t, []string{all[0].Name, all[1].Name}, []string{"a", "b"})
		page, _ := r.Savepoints(ctx, s.ID, "a", 1)
		equal(t, page[0].Name, "b")
		return err
	})
	wantErr(t, try(t, m, func(ctx context.Context, tx store.Tx) error { return tx.DeleteSavepoint(ctx, s.ID, "c") }), store.ErrNotFound)
	update(t, m, func(ctx context.Context, tx store.Tx) error { return tx.DeleteStream(ctx, s.ID) })
}

// checkpointConstraints: what no version of the coordinator can write.
func checkpointConstraints(t *testing.T, m Metastore) {
	s := working(t, m, "hourly")
	c := begin(t, m, s)
	now := label
	for what, change := range map[string]func(*store.Checkpoint){
		"no such state":              func(c *store.Checkpoint) { c.State = "asleep" },
		"no such kind":               func(c *store.Checkpoint) { c.Kind = "whim" },
		"running, never begun":       func(c *store.Checkpoint) { c.Stage, c.Begun, c.Deadline = 0, nil, 0 },
		"running without a deadline": func(c *store.Checkpoint) { c.Deadline = 0 },
		"waiting, begun":             func(c *store.Checkpoint) { c.State = store.CheckpointWaiting },
		"complete, not ended":        func(c *store.Checkpoint) { c.State = store.CheckpointComplete },
		"running, ended":             func(c *store.Checkpoint) { c.Ended = &now },
		"failed without a cause":     func(c *store.Checkpoint) { c.State, c.Ended = store.CheckpointFailed, &now },
		"complete with a cause":      func(c *store.Checkpoint) { c.State, c.Ended, c.Cause = store.CheckpointComplete, &now, &why },
	} {
		changed := c
		change(&changed)
		if err := try(t, m, func(ctx context.Context, tx store.Tx) error {
			_, err := tx.UpdateCheckpoint(ctx, changed)
			return err
		}); err == nil {
			t.Errorf("%s was written", what)
		}
	}
	for what, change := range map[string]func(*store.Stream){
		"the next id is taken":             func(s *store.Stream) { s.Settled = s.Next },
		"complete, but not settled":        func(s *store.Stream) { s.Complete = 1 },
		"a complete one that is not there": func(s *store.Stream) { s.Next, s.Complete, s.Settled = 9, 5, 6 },
		"begun with what never was":        func(s *store.Stream) { s.Start = 3 },
		"fewer failures than none":         func(s *store.Stream) { s.Failed = -1 },
	} {
		if err := try(t, m, func(ctx context.Context, tx store.Tx) error {
			now, err := tx.LockStream(ctx, s.ID)
			if err != nil {
				return err
			}
			change(&now)
			return tx.UpdateCuts(ctx, now)
		}); err == nil {
			t.Errorf("%s was written", what)
		}
	}
	second := c
	second.ID = 2
	wantErr(t, try(t, m, func(ctx context.Context, tx store.Tx) error {
		_, err := tx.InsertCheckpoint(ctx, second)
		return err
	}), store.ErrExists) // one runs
	if err := fails(m, t, c.Attempt()); err != nil {
		t.Fatal(err)
	}
	wantErr(t, try(t, m, func(ctx context.Context, tx store.Tx) error {
		_, err := tx.UpdateCheckpoint(ctx, c)
		return err
	}), store.ErrNotFound) // what has ended changes no more
}
