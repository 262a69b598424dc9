package pgstore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/manifest"
	"github.com/pondage/pondage/services/coordinator/internal/store"
	"github.com/pondage/pondage/services/coordinator/internal/store/pgstore/query"
)

func (t *tx) CheckpointTasks(ctx context.Context, stream ident.StreamID, id ident.CheckpointID) ([]store.CheckpointTask, error) {
	op := fmt.Sprintf("list the parts of checkpoint %d of stream %d", id, stream)
	rows, err := t.q.CheckpointTasks(ctx, query.CheckpointTasksParams{StreamID: int64(stream), Checkpoint: int64(id)})
	if err != nil {
		return nil, translate(op, err)
	}
	out := make([]store.CheckpointTask, len(rows))
	for i, r := range rows {
		if out[i], err = partOf(r); err != nil {
			return nil, fmt.Errorf("%s: %w", op, err)
		}
	}
	slices.SortFunc(out, func(a, b store.CheckpointTask) int { return a.Task.Compare(b.Task) })
	return out, nil
}

func partOf(r query.CheckpointTask) (store.CheckpointTask, error) {
	level, err := ident.ParseLevel(r.Level)
	if err != nil {
		return store.CheckpointTask{}, err
	}
	p := store.CheckpointTask{
		Task: ident.Task{Level: level, VGroup: ident.VGroup(r.Vgroup)}, Node: ident.NodeID(r.Node), Manifest: manifest.Hash(r.Manifest),
		Cost: costOf(r.BytesFull, r.BytesIncremental, r.AlignMs, r.SyncMs, r.AsyncMs),
	}
	if err := json.Unmarshal(r.Sinks, &p.Sinks); err != nil {
		return p, fmt.Errorf("column sinks of %s: %w", p.Task, err)
	}
	return p, nil
}

func (t *tx) InsertCheckpointTasks(ctx context.Context, stream ident.StreamID, id ident.CheckpointID, parts []store.CheckpointTask) error {
	t.wrote = true
	op := fmt.Sprintf("insert the parts of checkpoint %d of stream %d", id, stream)
	q := query.InsertCheckpointTasksParams{StreamID: int64(stream), Checkpoint: int64(id)}
	for _, p := range parts {
		sinks, err := json.Marshal(p.Sinks)
		if err != nil {
			return fmt.Errorf("%s: %w", op, err)
		}
		q.Levels, q.Vgroups = append(q.Levels, p.Task.Level.String()), append(q.Vgroups, int32(p.Task.VGroup))
		q.Nodes, q.Manifests = append(q.Nodes, string(p.Node)), append(q.Manifests, p.Manifest[:])
		q.BytesFull, q.BytesIncremental = append(q.BytesFull, p.Cost.BytesFull), append(q.BytesIncremental, p.Cost.BytesIncremental)
		q.AlignMs, q.SyncMs = append(q.AlignMs, p.Cost.Align.Milliseconds()), append(q.SyncMs, p.Cost.Sync.Milliseconds())
		q.AsyncMs, q.Sinks = append(q.AsyncMs, p.Cost.Async.Milliseconds()), append(q.Sinks, sinks)
	}
	return translate(op, t.q.InsertCheckpointTasks(ctx, q))
}

func savepointOf(p query.Savepoint, c query.Checkpoint) store.Savepoint {
	return store.Savepoint{Stream: ident.StreamID(p.StreamID), Name: p.Name, Created: p.Created, Checkpoint: checkpointOf(c)}
}

func (t *tx) Savepoint(ctx context.Context, stream ident.StreamID, name string) (store.Savepoint, error) {
	r, err := t.q.SavepointByName(ctx, query.SavepointByNameParams{StreamID: int64(stream), Name: name})
	return savepointOf(r.Savepoint, r.Checkpoint), translate(fmt.Sprintf("read savepoint %s of stream %d", name, stream), err)
}

func (t *tx) Savepoints(ctx context.Context, stream ident.StreamID, after string, limit int) ([]store.Savepoint, error) {
	rows, err := t.q.Savepoints(ctx, query.SavepointsParams{StreamID: int64(stream), Name: after, Limit: int32(limit)})
	return mapped(rows, func(r query.SavepointsRow) store.Savepoint { return savepointOf(r.Savepoint, r.Checkpoint) }),
		translate(fmt.Sprintf("list savepoints of stream %d", stream), err)
}

func (t *tx) InsertSavepoint(ctx context.Context, stream ident.StreamID, name string, id ident.CheckpointID) error {
	t.wrote = true
	op := fmt.Sprintf("insert savepoint %s of stream %d", name, stream)
	return conflict(op, t.q.InsertSavepoint(ctx, query.InsertSavepointParams{StreamID: int64(stream), Name: name, Checkpoint: int64(id)}), "savepoint", name)
}

func (t *tx) DeleteSavepoint(ctx context.Context, stream ident.StreamID, name string) error {
	t.wrote = true
	n, err := t.q.DeleteSavepoint(ctx, query.DeleteSavepointParams{StreamID: int64(stream), Name: name})
	return affected(fmt.Sprintf("delete savepoint %s of stream %d", name, stream), n, err)
}
