package control

import (
	"context"
	"errors"
	"strconv"

	"github.com/pondage/pondage/internal/checkpoint"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/task"
	"github.com/pondage/pondage/services/coordinator/internal/store"
)

const checkpointCursor = "c:"

// ListCheckpoints lists checkpoints, newest first.
func (s *Service) ListCheckpoints(ctx context.Context, stream string, p Page) (List[Checkpoint], error) {
	limit, err := p.size()
	if err != nil {
		return List[Checkpoint]{}, err
	}
	f := store.CheckpointFilter{Limit: limit + 1}
	if key, err := parseCursor(checkpointCursor, p.Cursor); err != nil {
		return List[Checkpoint]{}, err
	} else if key != "" {
		if f.Before, err = strconv.ParseInt(key, 10, 64); err != nil {
			return List[Checkpoint]{}, errorf(CodeBadCursor, "the cursor is not one of this list")
		}
	}
	out := List[Checkpoint]{Items: []Checkpoint{}}
	err = s.Store.View(ctx, func(r store.Reader) error {
		if stream != "" {
			row, err := r.Stream(ctx, stream)
			if err != nil {
				return err
			}
			f.Stream = row.ID
		}
		items, err := r.Checkpoints(ctx, f)
		if len(items) > limit {
			items = items[:limit]
			out.Next = cursor(checkpointCursor, strconv.FormatInt(items[limit-1].Seq, 10))
		}
		out.Items = append(out.Items, items...)
		return err
	})
	return out, s.streamFailure(err, stream)
}

// GetCheckpoint returns one checkpoint.
func (s *Service) GetCheckpoint(ctx context.Context, stream string, id ident.CheckpointID) (CheckpointDetail, error) {
	out := CheckpointDetail{Checkpoint: Checkpoint{Name: stream}}
	err := s.Store.View(ctx, func(r store.Reader) error {
		row, err := r.Stream(ctx, stream)
		if err != nil {
			return err
		}
		out.Checkpoint.Checkpoint, err = r.Checkpoint(ctx, row.ID, id)
		if err != nil {
			return checkpointFailure(err, stream, id)
		}
		out.Tasks, err = r.CheckpointTasks(ctx, row.ID, id)
		return err
	})
	return out, s.streamFailure(err, stream)
}

// checkpointFailure names a checkpoint that is not there.
func checkpointFailure(err error, stream string, id ident.CheckpointID) error {
	if errors.Is(err, store.ErrNotFound) {
		return errorf(CodeCheckpointUnknown, "stream %q has no checkpoint %d", stream, id).
			hinted("it may have been dropped for newer ones; list them, and keep one as a savepoint")
	}
	return err
}

// TakeCheckpoint asks for a checkpoint.
func (s *Service) TakeCheckpoint(ctx context.Context, r Request, stream string) (Checkpoint, error) {
	out, err := once(ctx, s, operation{r, "take a checkpoint of " + stream, nil}, func(ctx context.Context, tx store.Tx) (Checkpoint, error) {
		row, err := tx.LockStreamNamed(ctx, stream)
		if err != nil {
			return Checkpoint{}, err
		}
		if !working(row.State) {
			return Checkpoint{}, takesNone(row)
		}
		c, err := store.AskCheckpoint(ctx, tx, &row, checkpoint.Manual)
		return Checkpoint{Checkpoint: c, Name: stream}, err
	})
	return out, s.streamFailure(err, stream)
}

// takesNone is the refusal of a checkpoint of a stream whose tasks are not ready.
func takesNone(row store.Stream) error {
	e := errorf(CodeNotAllowedInState, "stream %q is %s: it takes no checkpoint", row.Name, row.State)
	if row.State == task.StreamCreating || row.State == task.StreamRecovering {
		return e.retryable().hinted("wait until it runs")
	}
	return e.hinted("a checkpoint is possible when a stream is running, pausing or paused")
}

// ListSavepoints lists a stream's savepoints by name.
func (s *Service) ListSavepoints(ctx context.Context, stream string, p Page) (List[Savepoint], error) {
	out, err := listByName(ctx, s, p, func(ctx context.Context, read store.Reader, after string, limit int) ([]Savepoint, error) {
		row, err := read.Stream(ctx, stream)
		if err != nil {
			return nil, err
		}
		return read.Savepoints(ctx, row.ID, after, limit)
	}, func(p Savepoint) string { return p.Name })
	return out, s.streamFailure(err, stream)
}

// GetSavepoint returns a savepoint.
func (s *Service) GetSavepoint(ctx context.Context, stream, name string) (out Savepoint, err error) {
	err = s.Store.View(ctx, func(r store.Reader) error {
		row, err := r.Stream(ctx, stream)
		if err != nil {
			return err
		}
		out, err = r.Savepoint(ctx, row.ID, name)
		return savepointFailure(err, stream, name)
	})
	return out, s.streamFailure(err, stream)
}

// savepointFailure names a savepoint that is not there.
func savepointFailure(err error, stream, name string) error {
	if errors.Is(err, store.ErrNotFound) {
		return errorf(CodeSavepointUnknown, "stream %q has no savepoint named %q", stream, name).hinted("list them")
	}
	return err
}

// CreateSavepoint keeps a checkpoint under a name.
func (s *Service) CreateSavepoint(ctx context.Context, r Request, stream, name string) (Savepoint, error) {
	op := operation{r, "create savepoint of " + stream, []byte(name)}
	out, err := once(ctx, s, op, func(ctx context.Context, tx store.Tx) (Savepoint, error) {
		row, err := tx.LockStreamNamed(ctx, stream)
		if err != nil {
			return Savepoint{}, err
		}
		if err := makeRoom(ctx, tx, row, name); err != nil {
			return Savepoint{}, err
		}
		id, err := toSave(ctx, tx, row)
		if err != nil {
			return Savepoint{}, err
		}
		if err := tx.InsertSavepoint(ctx, row.ID, name, id); err != nil {
			return Savepoint{}, err
		}
		if err := tx.InsertEvent(ctx, streamEvent(row, store.Info, "savepoint_asked", "savepoint %s will be checkpoint %d", name, id)); err != nil {
			return Savepoint{}, err
		}
		return tx.Savepoint(ctx, row.ID, name)
	})
	return out, s.streamFailure(err, stream)
}

// makeRoom removes a savepoint of the name whose checkpoint has failed; any other is in the way.
func makeRoom(ctx context.Context, tx store.Tx, row store.Stream, name string) error {
	old, err := tx.Savepoint(ctx, row.ID, name)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case err != nil:
		return err
	case old.Checkpoint.State != store.CheckpointFailed:
		return &store.ConflictError{Kind: "savepoint", Name: name}
	}
	return tx.DeleteSavepoint(ctx, row.ID, name)
}

// toSave is the checkpoint that a savepoint made now keeps.
func toSave(ctx context.Context, tx store.Tx, row store.Stream) (ident.CheckpointID, error) {
	switch {
	case working(row.State):
		c, err := store.AskCheckpoint(ctx, tx, &row, checkpoint.Savepoint)
		return c.ID, err
	case over(row.State) && row.Complete > 0: // nothing has moved since
		return row.Complete, nil
	}
	return 0, takesNone(row)
}

// DeleteSavepoint forgets a savepoint; its checkpoint goes with the next retention unless it is among the newest.
func (s *Service) DeleteSavepoint(ctx context.Context, r Request, stream, name string) error {
	_, err := once(ctx, s, operation{r, "delete savepoint of " + stream, []byte(name)}, func(ctx context.Context, tx store.Tx) (struct{}, error) {
		row, err := tx.LockStreamNamed(ctx, stream)
		if err != nil {
			return struct{}{}, err
		}
		return struct{}{}, savepointFailure(tx.DeleteSavepoint(ctx, row.ID, name), stream, name)
	})
	return s.streamFailure(err, stream)
}
