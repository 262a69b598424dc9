package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/pondage/pondage/internal/checkpoint"
	"github.com/pondage/pondage/internal/failpoint"
	"github.com/pondage/pondage/internal/ident"
)

// ErrVoid says that a word about a checkpoint comes too late: it does not run, or its stage is over.
var ErrVoid = errors.New("not the running checkpoint")

// keepFailed is how many failed checkpoints of a stream are kept, to see why.
const keepFailed = 20

// Begin says which checkpoint begins.
type Begin struct {
	Stream   ident.StreamID
	Stage    ident.Stage // it was decided for
	Kind     checkpoint.Kind
	Deadline time.Duration // above 0
}

// AskCheckpoint notes that one is wanted: it waits, and is the next of the stream that begins. One that waits already is
// shared; for a savepoint it becomes one of that kind. s is locked, and is changed.
func AskCheckpoint(ctx context.Context, tx Tx, s *Stream, kind checkpoint.Kind) (Checkpoint, error) {
	open, err := openOf(ctx, tx, s.ID)
	if err != nil {
		return Checkpoint{}, err
	}
	w, waits := open[CheckpointWaiting]
	switch {
	case !waits:
		return newCheckpoint(ctx, tx, s, Checkpoint{Kind: kind, State: CheckpointWaiting})
	case kind == checkpoint.Savepoint && w.Kind != kind:
		w.Kind = kind
		return tx.UpdateCheckpoint(ctx, w)
	}
	return w, nil
}

// BeginCheckpoint makes the waiting checkpoint of the stream, or else a new one, the running one. ErrVoid: the stage is
// another or over; ErrExists: one runs.
func BeginCheckpoint(ctx context.Context, tx Tx, b Begin) (Checkpoint, error) {
	s, err := tx.LockStream(ctx, b.Stream)
	if err != nil {
		return Checkpoint{}, err
	}
	if s.Stage != b.Stage || s.StageDue {
		return Checkpoint{}, fmt.Errorf("begin a checkpoint of %s in stage %d: it is at %d: %w", s.Name, b.Stage, s.Stage, ErrVoid)
	}
	open, err := openOf(ctx, tx, s.ID)
	if err != nil {
		return Checkpoint{}, err
	}
	if r, runs := open[CheckpointRunning]; runs {
		return r, fmt.Errorf("begin a checkpoint of %s: %d runs: %w", s.Name, r.ID, ErrExists)
	}
	now := time.Now()
	c, waits := open[CheckpointWaiting]
	if !waits {
		return newCheckpoint(ctx, tx, &s, Checkpoint{Kind: b.Kind, State: CheckpointRunning, Stage: b.Stage, Deadline: b.Deadline, Begun: &now})
	}
	c.State, c.Stage, c.Deadline, c.Begun = CheckpointRunning, b.Stage, b.Deadline, &now
	return tx.UpdateCheckpoint(ctx, c)
}

// CompleteCheckpoint makes a running checkpoint complete (DESIGN §7.6): the lease's term row is shared by the
// transaction, the stream's row locked, its stage the checkpoint's, and there is a part of every task that is placed.
// Where it is complete already nothing is written: so who did not hear the answer to COMMIT does the same again.
// ErrVoid: it does not run any more, and is not complete.
func CompleteCheckpoint(ctx context.Context, tx Tx, a Attempt, parts []CheckpointTask) (Checkpoint, error) {
	s, c, err := lockAttempt(ctx, tx, a, CheckpointComplete)
	if err != nil || c.State == CheckpointComplete {
		return c, err
	}
	if err := wantPlaced(ctx, tx, s, parts); err != nil {
		return Checkpoint{}, err
	}
	if err := tx.InsertCheckpointTasks(ctx, a.Stream, a.Checkpoint, parts); err != nil {
		return Checkpoint{}, err
	}
	now := time.Now()
	c.State, c.Ended, c.Cost = CheckpointComplete, &now, Cost{}
	for _, p := range parts {
		c.Cost = c.Cost.Add(p.Cost)
	}
	if c, err = tx.UpdateCheckpoint(ctx, c); err != nil {
		return Checkpoint{}, err
	}
	s.Complete, s.Settled, s.Failed, s.Restarts = c.ID, max(s.Settled, c.ID), 0, 0
	return c, tx.UpdateCuts(ctx, s)
}

// FailCheckpoint makes a running checkpoint failed; where it is already nothing is written. ErrVoid as for
// CompleteCheckpoint.
func FailCheckpoint(ctx context.Context, tx Tx, a Attempt, why Cause) (Checkpoint, error) {
	s, c, err := lockAttempt(ctx, tx, a, CheckpointFailed)
	if err != nil || c.State == CheckpointFailed {
		return c, err
	}
	if c, err = failed(ctx, tx, c, why); err != nil {
		return Checkpoint{}, err
	}
	s.Settled = max(s.Settled, c.ID)
	s.Failed++
	return c, tx.UpdateCuts(ctx, s)
}

// EndCheckpoints fails what waits and runs of a stream that is stopped, dropped or begun anew, under the lock that
// CompleteCheckpoint takes: so a checkpoint is complete before it, or never. They do not count as failures in a row.
// s is locked; it is changed, not written.
func EndCheckpoints(ctx context.Context, tx Tx, s *Stream, why Cause) error {
	open, err := openOf(ctx, tx, s.ID)
	if err != nil {
		return err
	}
	for _, c := range open {
		if failpoint.On(failpoint.LateComplete) {
			continue
		}
		if _, err := failed(ctx, tx, c, why); err != nil {
			return err
		}
		s.Settled = max(s.Settled, c.ID)
	}
	return nil
}

// RaiseStage begins the next stage of a stream in one step (DESIGN §7, Recovery): what runs of its checkpoints fails, the
// stage rises, it restores the newest complete checkpoint, and its tasks are placed. s is locked.
func RaiseStage(ctx context.Context, tx Tx, s Stream, begun time.Time, tasks []Task, why Cause) (Stream, error) {
	if err := EndCheckpoints(ctx, tx, &s, why); err != nil {
		return s, err
	}
	if s.Stage == 0 || !failpoint.On(failpoint.ReuseStage) {
		s.Stage++
	}
	s.StageDue, s.Ready, s.StageBegun, s.Start = false, false, &begun, s.Complete
	s, err := tx.UpdateStream(ctx, s)
	if err != nil {
		return s, err
	}
	return s, tx.ReplaceTasks(ctx, s.ID, s.Stage, tasks)
}

// Rewind makes an older complete checkpoint, or 0 for the stream's start, what the next stage restores. Later ones are
// abandoned: no reset finds them, and they go with the next retention unless a savepoint names them. ErrNotFound: there
// is no such complete checkpoint. s is locked; it is changed, not written.
func Rewind(ctx context.Context, tx Tx, s *Stream, to ident.CheckpointID) error {
	if to != 0 {
		c, err := tx.Checkpoint(ctx, s.ID, to)
		if err != nil {
			return err
		}
		if c.State != CheckpointComplete {
			return fmt.Errorf("checkpoint %d of %s is %s: %w", to, s.Name, c.State, ErrNotFound)
		}
	}
	s.Complete = to
	return tx.AbandonCheckpoints(ctx, s.ID, to)
}

// DropCheckpoints removes what retention does not keep: of the complete ones all but the newest retain, all that were
// abandoned, of the failed ones all but the newest few; never one that a savepoint names. It returns which complete ones
// are gone, so that their files can go.
func DropCheckpoints(ctx context.Context, tx Tx, id ident.StreamID, retain int) ([]ident.CheckpointID, error) {
	if _, err := tx.LockStream(ctx, id); err != nil {
		return nil, err
	}
	ended, err := tx.EndedCheckpoints(ctx, id)
	if err != nil {
		return nil, err
	}
	var line []checkpoint.Kept
	var gone, failures []ident.CheckpointID
	for _, e := range ended {
		switch {
		case e.Complete && !e.Abandoned:
			line = append(line, checkpoint.Kept{ID: e.ID, Saved: e.Saved})
		case e.Saved:
		case e.Complete:
			gone = append(gone, e.ID)
		default:
			failures = append(failures, e.ID)
		}
	}
	gone = append(gone, checkpoint.Drop(line, retain)...)
	slices.Sort(gone)
	all := slices.Concat(gone, failures[:max(0, len(failures)-keepFailed)])
	if len(all) == 0 {
		return nil, nil
	}
	return gone, tx.DeleteCheckpoints(ctx, id, all)
}

// openOf returns what waits and what runs of a stream.
func openOf(ctx context.Context, tx Tx, id ident.StreamID) (map[CheckpointState]Checkpoint, error) {
	all, err := tx.OpenCheckpoints(ctx, id)
	if err != nil {
		return nil, err
	}
	out := map[CheckpointState]Checkpoint{}
	for _, c := range all {
		out[c.State] = c
	}
	return out, nil
}

// newCheckpoint inserts a checkpoint under the stream's next id and with a transaction of its own.
func newCheckpoint(ctx context.Context, tx Tx, s *Stream, c Checkpoint) (Checkpoint, error) {
	c.Stream, c.ID, c.Tx = s.ID, s.Next, ident.TxID(1+rand.Int64N(math.MaxInt64))
	s.Next++
	if err := tx.UpdateCuts(ctx, *s); err != nil {
		return Checkpoint{}, err
	}
	return tx.InsertCheckpoint(ctx, c)
}

// lockAttempt locks the stream and reads the attempt under the lock. It runs in the stream's stage, or has ended as the
// caller wants it to.
func lockAttempt(ctx context.Context, tx Tx, a Attempt, wanted CheckpointState) (Stream, Checkpoint, error) {
	s, err := tx.LockStream(ctx, a.Stream)
	if err != nil {
		return Stream{}, Checkpoint{}, err
	}
	c, err := tx.Checkpoint(ctx, a.Stream, a.Checkpoint)
	if err != nil {
		return Stream{}, Checkpoint{}, err
	}
	runs := c.State == CheckpointRunning && (s.Stage == a.Stage || failpoint.On(failpoint.LateComplete))
	if c.Attempt() != a || (!runs && c.State != wanted) {
		return Stream{}, Checkpoint{}, fmt.Errorf("checkpoint %d of %s, stage %d, transaction %d: %w", a.Checkpoint, s.Name, a.Stage, a.Tx, ErrVoid)
	}
	return s, c, nil
}

func failed(ctx context.Context, tx Tx, c Checkpoint, why Cause) (Checkpoint, error) {
	now := time.Now()
	c.State, c.Ended, c.Cause = CheckpointFailed, &now, &why
	return tx.UpdateCheckpoint(ctx, c)
}

// wantPlaced makes sure that the parts are those of the placement, each once.
func wantPlaced(ctx context.Context, tx Tx, s Stream, parts []CheckpointTask) error {
	placed, err := tx.StreamTasks(ctx, s.ID)
	if err != nil {
		return err
	}
	have := map[ident.Task]ident.NodeID{}
	for _, p := range parts {
		have[p.Task] = p.Node
	}
	for _, t := range placed {
		if have[t.Task] != t.Place.Node {
			return fmt.Errorf("checkpoint of %s, stage %d: there is no part of %s on %s", s.Name, s.Stage, t.Task, t.Place.Node)
		}
	}
	if len(parts) != len(placed) || len(placed) == 0 {
		return fmt.Errorf("checkpoint of %s, stage %d: %d parts of %d tasks", s.Name, s.Stage, len(parts), len(placed))
	}
	return nil
}
