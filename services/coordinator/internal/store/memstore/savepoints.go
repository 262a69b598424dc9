package memstore

import (
	"context"
	"slices"
	"time"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/services/coordinator/internal/store"
)

type savepointKey struct {
	stream ident.StreamID
	name   string
}

// savepoint is a row of savepoints.
type savepoint struct {
	checkpoint ident.CheckpointID
	created    time.Time
}

// saved tells whether a savepoint names the checkpoint.
func (t *tx) saved(r store.CheckpointRef) bool {
	for k, p := range t.state.savepoints {
		if k.stream == r.Stream && p.checkpoint == r.Checkpoint {
			return true
		}
	}
	return false
}

func (t *tx) joined(k savepointKey, p savepoint) store.Savepoint {
	return store.Savepoint{Stream: k.stream, Name: k.name, Created: p.created, Checkpoint: t.state.checkpoints[ref(k.stream, p.checkpoint)]}
}

func (t *tx) Savepoint(_ context.Context, stream ident.StreamID, name string) (store.Savepoint, error) {
	k := savepointKey{stream, name}
	p, ok := t.state.savepoints[k]
	if !ok {
		return store.Savepoint{}, notFound("savepoint", name)
	}
	return t.joined(k, p), nil
}

func (t *tx) Savepoints(_ context.Context, stream ident.StreamID, after string, limit int) ([]store.Savepoint, error) {
	byName := map[string]store.Savepoint{}
	for k, p := range t.state.savepoints {
		if k.stream == stream {
			byName[k.name] = t.joined(k, p)
		}
	}
	return page(byName, after, limit), nil
}

func (t *tx) InsertSavepoint(_ context.Context, stream ident.StreamID, name string, id ident.CheckpointID) error {
	if _, ok := t.state.checkpoints[ref(stream, id)]; !ok {
		return notFound("checkpoint", id) // the foreign key
	}
	k := savepointKey{stream, name}
	if _, taken := t.state.savepoints[k]; taken {
		return &store.ConflictError{Kind: "savepoint", Name: name}
	}
	t.state.savepoints[k], t.wrote = savepoint{id, time.Now()}, true
	return nil
}

func (t *tx) DeleteSavepoint(_ context.Context, stream ident.StreamID, name string) error {
	k := savepointKey{stream, name}
	if _, ok := t.state.savepoints[k]; !ok {
		return notFound("savepoint", name)
	}
	delete(t.state.savepoints, k)
	t.wrote = true
	return nil
}

func (t *tx) CheckpointTasks(_ context.Context, stream ident.StreamID, id ident.CheckpointID) ([]store.CheckpointTask, error) {
	return slices.Clone(t.state.parts[ref(stream, id)]), nil
}

func (t *tx) InsertCheckpointTasks(_ context.Context, stream ident.StreamID, id ident.CheckpointID, parts []store.CheckpointTask) error {
	r := ref(stream, id)
	if _, ok := t.state.checkpoints[r]; !ok {
		return notFound("checkpoint", id) // the foreign key
	}
	sorted := slices.Clone(parts)
	slices.SortFunc(sorted, func(a, b store.CheckpointTask) int { return a.Task.Compare(b.Task) })
	t.state.parts[r], t.wrote = sorted, true
	return nil
}
