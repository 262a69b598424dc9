package pgstore

import (
	"context"
	"fmt"
	"time"

	"github.com/pondage/pondage/internal/checkpoint"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/services/coordinator/internal/store"
	"github.com/pondage/pondage/services/coordinator/internal/store/pgstore/query"
)

func checkpointOf(r query.Checkpoint) store.Checkpoint {
	return store.Checkpoint{
		Seq: r.Seq, Stream: ident.StreamID(r.StreamID), ID: ident.CheckpointID(r.ID), Tx: ident.TxID(r.Tx),
		Kind: checkpoint.Kind(r.Kind), State: store.CheckpointState(r.State), Stage: ident.Stage(r.Stage), Deadline: duration(r.DeadlineMs),
		Asked: r.Asked, Begun: r.Begun, Ended: r.Ended, Cause: causeOf(r.CauseCode, r.CauseMessage), Abandoned: r.Abandoned,
		Cost: costOf(r.BytesFull, r.BytesIncremental, r.AlignMs, r.SyncMs, r.AsyncMs),
	}
}

func costOf(full, incremental, align, sync, async int64) store.Cost {
	return store.Cost{BytesFull: full, BytesIncremental: incremental, Align: duration(align), Sync: duration(sync), Async: duration(async)}
}

func duration(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

func (t *tx) Checkpoint(ctx context.Context, stream ident.StreamID, id ident.CheckpointID) (store.Checkpoint, error) {
	r, err := t.q.CheckpointByID(ctx, query.CheckpointByIDParams{StreamID: int64(stream), ID: int64(id)})
	return checkpointOf(r), translate(fmt.Sprintf("read checkpoint %d of stream %d", id, stream), err)
}

func (t *tx) Checkpoints(ctx context.Context, f store.CheckpointFilter) ([]store.NamedCheckpoint, error) {
	rows, err := t.q.Checkpoints(ctx, query.CheckpointsParams{Stream: int64(f.Stream), Before: f.Before, Count: int32(f.Limit)})
	return mapped(rows, func(r query.CheckpointsRow) store.NamedCheckpoint {
		return store.NamedCheckpoint{Checkpoint: checkpointOf(r.Checkpoint), Name: r.Name}
	}), translate("list checkpoints", err)
}

func (t *tx) OpenCheckpoints(ctx context.Context, stream ident.StreamID) ([]store.Checkpoint, error) {
	rows, err := t.q.OpenCheckpoints(ctx, int64(stream))
	return mapped(rows, checkpointOf), translate("list open checkpoints", err)
}

func (t *tx) CompleteCheckpoints(ctx context.Context) ([]store.CheckpointRef, error) {
	rows, err := t.q.CompleteCheckpoints(ctx)
	return mapped(rows, func(r query.CompleteCheckpointsRow) store.CheckpointRef {
		return store.CheckpointRef{Stream: ident.StreamID(r.StreamID), Checkpoint: ident.CheckpointID(r.ID)}
	}), translate("list complete checkpoints", err)
}

func (t *tx) EndedCheckpoints(ctx context.Context, stream ident.StreamID) ([]store.EndedCheckpoint, error) {
	rows, err := t.q.EndedCheckpoints(ctx, int64(stream))
	return mapped(rows, func(r query.EndedCheckpointsRow) store.EndedCheckpoint {
		complete := r.State == string(store.CheckpointComplete)
		return store.EndedCheckpoint{ID: ident.CheckpointID(r.ID), Complete: complete, Abandoned: r.Abandoned, Saved: r.Saved}
	}), translate(fmt.Sprintf("list ended checkpoints of stream %d", stream), err)
}

func (t *tx) InsertCheckpoint(ctx context.Context, c store.Checkpoint) (store.Checkpoint, error) {
	t.wrote = true
	r, err := t.q.InsertCheckpoint(ctx, query.InsertCheckpointParams{
		StreamID: int64(c.Stream), ID: int64(c.ID), Tx: int64(c.Tx), Kind: string(c.Kind), State: string(c.State),
		Stage: int64(c.Stage), DeadlineMs: c.Deadline.Milliseconds(), Begun: c.Begun,
	})
	return checkpointOf(r), translate(fmt.Sprintf("insert checkpoint %d of stream %d", c.ID, c.Stream), err)
}

func (t *tx) UpdateCheckpoint(ctx context.Context, c store.Checkpoint) (store.Checkpoint, error) {
	t.wrote = true
	code, message := causeColumns(c.Cause)
	r, err := t.q.UpdateCheckpoint(ctx, query.UpdateCheckpointParams{
		StreamID: int64(c.Stream), ID: int64(c.ID), Kind: string(c.Kind), State: string(c.State), Stage: int64(c.Stage),
		DeadlineMs: c.Deadline.Milliseconds(), Begun: c.Begun, Ended: c.Ended, CauseCode: code, CauseMessage: message,
		BytesFull: c.Cost.BytesFull, BytesIncremental: c.Cost.BytesIncremental,
		AlignMs: c.Cost.Align.Milliseconds(), SyncMs: c.Cost.Sync.Milliseconds(), AsyncMs: c.Cost.Async.Milliseconds(),
	})
	return checkpointOf(r), translate(fmt.Sprintf("update checkpoint %d of stream %d", c.ID, c.Stream), err)
}

func (t *tx) AbandonCheckpoints(ctx context.Context, stream ident.StreamID, above ident.CheckpointID) error {
	t.wrote = true
	return translate(fmt.Sprintf("abandon checkpoints of stream %d above %d", stream, above),
		t.q.AbandonCheckpoints(ctx, query.AbandonCheckpointsParams{StreamID: int64(stream), Above: int64(above)}))
}

func (t *tx) DeleteCheckpoints(ctx context.Context, stream ident.StreamID, ids []ident.CheckpointID) error {
	t.wrote = true
	return translate(fmt.Sprintf("delete checkpoints %v of stream %d", ids, stream), t.q.DeleteCheckpoints(ctx, query.DeleteCheckpointsParams{
		StreamID: int64(stream), Ids: mapped(ids, func(id ident.CheckpointID) int64 { return int64(id) }),
	}))
}

// UpdateCuts wakes nobody by itself: what it goes with does.
func (t *tx) UpdateCuts(ctx context.Context, s store.Stream) error {
	n, err := t.q.UpdateCuts(ctx, query.UpdateCutsParams{
		ID: int64(s.ID), NextCheckpoint: int64(s.Next), CompleteCheckpoint: checkpointColumn(s.Complete), SettledCheckpoint: int64(s.Settled),
		StartCheckpoint: checkpointColumn(s.Start), FailedCheckpoints: int32(s.Failed), Restarts: int32(s.Restarts),
	})
	return affected("update the checkpoints of stream "+s.Name, n, err)
}

// checkpointColumn is null for "before the first one", so that the foreign key holds for all others.
func checkpointColumn(id ident.CheckpointID) *int64 {
	if id == 0 {
		return nil
	}
	n := int64(id)
	return &n
}

func columnCheckpoint(n *int64) ident.CheckpointID {
	if n == nil {
		return 0
	}
	return ident.CheckpointID(*n)
}
