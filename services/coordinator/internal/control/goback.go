package control

import (
	"context"
	"fmt"
	"slices"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/services/coordinator/internal/control/decide"
	"github.com/pondage/pondage/services/coordinator/internal/store"
)

// Recover begins a stream anew from an older checkpoint: one that lives by a reset, one that has ended by a start.
func (s *Service) Recover(ctx context.Context, r Request, stream string, to GoBack) (Stream, error) {
	op := operation{r, "recover stream " + stream, fmt.Appendf(nil, "%d %d", to.Checkpoint, to.Accept)}
	return s.goBack(ctx, op, stream, func(context.Context, store.Tx, store.Stream) (GoBack, error) { return to, nil },
		func(row store.Stream) Action {
			if over(row.State) {
				return decide.Start
			}
			return decide.Reset
		})
}

// StartFrom starts a stream from a savepoint.
func (s *Service) StartFrom(ctx context.Context, r Request, stream, savepoint string, accept Acceptance) (Stream, error) {
	op := operation{r, "start stream " + stream, fmt.Appendf(nil, "%s %d", savepoint, accept)}
	find := func(ctx context.Context, tx store.Tx, row store.Stream) (GoBack, error) {
		if !over(row.State) {
			return GoBack{}, errorf(CodeNotAllowedInState, "stream %q is %s: it cannot be started from a savepoint", row.Name, row.State).
				hinted("stop it first, or recover it from the savepoint's checkpoint")
		}
		p, err := tx.Savepoint(ctx, row.ID, savepoint)
		if err != nil {
			return GoBack{}, savepointFailure(err, stream, savepoint)
		}
		return GoBack{p.Checkpoint.ID, accept}, nil
	}
	return s.goBack(ctx, op, stream, find, func(store.Stream) Action { return decide.Start })
}

// goBack makes another checkpoint the one that the stream restores, and begins a stage with it, in one transaction.
func (s *Service) goBack(ctx context.Context, op operation, stream string,
	find func(context.Context, store.Tx, store.Stream) (GoBack, error), by func(store.Stream) Action,
) (Stream, error) {
	out, err := once(ctx, s, op, func(ctx context.Context, tx store.Tx) (Stream, error) {
		row, err := tx.LockStreamNamed(ctx, stream)
		if err != nil {
			return Stream{}, err
		}
		if err := matches(op.Request, row.Version, "stream "+stream); err != nil {
			return Stream{}, err
		}
		to, err := find(ctx, tx, row)
		if err != nil {
			return Stream{}, err
		}
		if err := s.mayGoBack(ctx, tx, row, to); err != nil {
			return Stream{}, err
		}
		if err := store.Rewind(ctx, tx, &row, to.Checkpoint); err != nil {
			return Stream{}, err
		}
		if err := tx.UpdateCuts(ctx, row); err != nil { // an action that is wanted already writes nothing
			return Stream{}, err
		}
		if err := tx.InsertEvent(ctx, streamEvent(row, store.Warning, "stream_went_back", "it goes on from checkpoint %d", to.Checkpoint)); err != nil {
			return Stream{}, err
		}
		return act(ctx, tx, row, by(row))
	})
	return out, s.streamFailure(err, stream)
}

// mayGoBack refuses a checkpoint that cannot be restored, and one that results could be shown twice or left out after,
// unless that is accepted.
func (s *Service) mayGoBack(ctx context.Context, tx store.Tx, row store.Stream, to GoBack) error {
	if to.Checkpoint != 0 {
		c, err := tx.Checkpoint(ctx, row.ID, to.Checkpoint)
		if err != nil {
			return checkpointFailure(err, row.Name, to.Checkpoint)
		}
		if c.State != store.CheckpointComplete {
			return errorf(CodeCheckpointNotComplete, "checkpoint %d of stream %q is %s", c.ID, row.Name, c.State).hinted("choose a complete one")
		}
	}
	if to.Accept == AcceptDuplicates {
		return nil
	}
	exact, err := s.exact(ctx, tx, row, to.Checkpoint)
	if err != nil || exact {
		return err
	}
	return errorf(CodeDuplicatesPossible, "stream %q has shown results from after checkpoint %d that cannot all be taken back: some may be seen twice, or be missing",
		row.Name, to.Checkpoint).hinted("say accept_duplicates: true to go on from there all the same")
}

// exact tells whether the outputs of the stream can go back to the checkpoint without a trace. What a transactional
// output has committed stays; of an upserted row the older forms are kept (takenBack).
func (s *Service) exact(ctx context.Context, tx store.Tx, r store.Stream, to ident.CheckpointID) (bool, error) {
	if to == r.Complete {
		return true, nil
	}
	layout := s.layout(row{Stream: r})
	if layout.err != nil || layout.Transactional {
		return false, nil
	}
	ended, err := tx.EndedCheckpoints(ctx, r.ID)
	if err != nil {
		return false, err
	}
	return takenBack(ended, layout.Checkpoints.Retain, to), nil
}

// takenBack tells whether the older forms of upserted rows surely reach back to a complete checkpoint: they are kept for
// as long as the checkpoints that retention keeps (DESIGN §9), and a savepoint keeps a checkpoint, not rows.
//
// The newest ones of the line are not enough after the stream has gone back. With three retained, 1 to 7 complete and
// savepoints at 1 and 2, the sinks keep what rows were since 5. Back at 5 the line is 1, 2, 5: all three are its newest, and
// what rows were at 2 is long gone. A checkpoint that no savepoint names would be gone from the line in the moment the
// sinks may forget, so what is not below the oldest of those is there.
func takenBack(ended []store.EndedCheckpoint, retain int, to ident.CheckpointID) bool {
	line := slices.DeleteFunc(slices.Clone(ended), func(e store.EndedCheckpoint) bool { return !e.Complete || e.Abandoned })
	line = line[max(0, len(line)-max(1, retain)):]
	witness := slices.IndexFunc(line, func(e store.EndedCheckpoint) bool { return !e.Saved })
	return witness >= 0 && slices.ContainsFunc(line[witness:], func(e store.EndedCheckpoint) bool { return e.ID == to })
}

// fallBack begins the stream anew from the newest checkpoint below the one that cannot be read, where its outputs can take
// back what they have shown since; else it fails, and only a user who accepts duplicates goes on. A transactional output
// was told to show the lost one when it became complete: nothing older is exact.
func (s *Service) fallBack(ctx context.Context, tx store.Tx, r store.Stream, why *Cause, progress Progress) error {
	lost := r.Start
	older, err := s.olderExact(ctx, tx, r, lost)
	if err != nil {
		return err
	}
	if older == 0 {
		c := &Cause{Code: CodeCheckpointLost, Message: fmt.Sprintf("checkpoint %d cannot be restored, and its outputs cannot take back what they have shown since an older one: %s; "+
			"recover the stream from an older checkpoint, accepting duplicates", lost, why.Message)}
		return apply(ctx, tx, r, decide.Decision{Do: decide.Fail, Cause: c}, progress)
	}
	if err := store.Rewind(ctx, tx, &r, older); err != nil {
		return err
	}
	if err := tx.UpdateCuts(ctx, r); err != nil {
		return err
	}
	e := streamEvent(r, store.Alert, why.Code, "checkpoint %d cannot be restored, the stream goes on from %d: %s", lost, older, why.Message)
	if err := tx.InsertEvent(ctx, e); err != nil {
		return err
	}
	return apply(ctx, tx, r, decide.Decision{Do: decide.Restage, Counted: true, Cause: why}, progress)
}

// olderExact is the newest complete checkpoint below one that can be gone back to without a trace; 0: there is none.
func (s *Service) olderExact(ctx context.Context, tx store.Tx, r store.Stream, below ident.CheckpointID) (ident.CheckpointID, error) {
	ended, err := tx.EndedCheckpoints(ctx, r.ID)
	if err != nil {
		return 0, err
	}
	for _, e := range slices.Backward(ended) {
		if !e.Complete || e.Abandoned || e.ID >= below {
			continue
		}
		exact, err := s.exact(ctx, tx, r, e.ID)
		if err != nil || exact {
			return e.ID, err
		}
		return 0, nil // older ones are not either
	}
	return 0, nil
}
