package memstore

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/pondage/pondage/internal/checkpoint"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/services/coordinator/internal/store"
)

func ref(stream ident.StreamID, id ident.CheckpointID) store.CheckpointRef {
	return store.CheckpointRef{Stream: stream, Checkpoint: id}
}

func (t *tx) Checkpoint(_ context.Context, stream ident.StreamID, id ident.CheckpointID) (store.Checkpoint, error) {
	c, ok := t.state.checkpoints[ref(stream, id)]
	if !ok {
		return c, notFound("checkpoint", id)
	}
	return c, nil
}

// selected returns the checkpoints that take, by stream and id.
func (t *tx) selected(take func(store.Checkpoint) bool) []store.Checkpoint {
	var out []store.Checkpoint
	for _, c := range t.state.checkpoints {
		if take(c) {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b store.Checkpoint) int {
		return cmp.Or(cmp.Compare(a.Stream, b.Stream), cmp.Compare(a.ID, b.ID))
	})
	return out
}

func (t *tx) Checkpoints(_ context.Context, f store.CheckpointFilter) ([]store.NamedCheckpoint, error) {
	all := t.selected(func(c store.Checkpoint) bool {
		return (f.Stream == 0 || c.Stream == f.Stream) && (f.Before == 0 || c.Seq < f.Before)
	})
	slices.SortFunc(all, func(a, b store.Checkpoint) int { return cmp.Compare(b.Seq, a.Seq) })
	var out []store.NamedCheckpoint
	for _, c := range all[:min(f.Limit, len(all))] {
		out = append(out, store.NamedCheckpoint{Checkpoint: c, Name: t.state.streams[c.Stream].Name})
	}
	return out, nil
}

func (t *tx) OpenCheckpoints(_ context.Context, stream ident.StreamID) ([]store.Checkpoint, error) {
	return t.selected(func(c store.Checkpoint) bool { return open(c.State) && (stream == 0 || c.Stream == stream) }), nil
}

func open(s store.CheckpointState) bool {
	return s == store.CheckpointWaiting || s == store.CheckpointRunning
}

func (t *tx) CompleteCheckpoints(context.Context) ([]store.CheckpointRef, error) {
	var out []store.CheckpointRef
	for _, c := range t.selected(func(c store.Checkpoint) bool { return c.State == store.CheckpointComplete }) {
		out = append(out, ref(c.Stream, c.ID))
	}
	return out, nil
}

func (t *tx) EndedCheckpoints(_ context.Context, stream ident.StreamID) ([]store.EndedCheckpoint, error) {
	var out []store.EndedCheckpoint
	for _, c := range t.selected(func(c store.Checkpoint) bool { return c.Stream == stream && !open(c.State) }) {
		out = append(out, store.EndedCheckpoint{
			ID: c.ID, Complete: c.State == store.CheckpointComplete, Abandoned: c.Abandoned, Saved: t.saved(ref(stream, c.ID)),
		})
	}
	return out, nil
}

func (t *tx) InsertCheckpoint(_ context.Context, c store.Checkpoint) (store.Checkpoint, error) {
	if _, ok := t.state.streams[c.Stream]; !ok {
		return c, notFound("stream", c.Stream) // the foreign key
	}
	if _, taken := t.state.checkpoints[ref(c.Stream, c.ID)]; taken {
		return c, store.ErrExists
	}
	c.Seq, c.Asked, c.Ended, c.Cause, c.Cost, c.Abandoned = t.nextID(), time.Now(), nil, nil, store.Cost{}, false
	return c, t.put(c)
}

func (t *tx) UpdateCheckpoint(ctx context.Context, c store.Checkpoint) (store.Checkpoint, error) {
	old, err := t.Checkpoint(ctx, c.Stream, c.ID)
	if err != nil || !open(old.State) {
		return c, notFound("open checkpoint", c.ID)
	}
	c.Seq, c.Asked, c.Tx, c.Abandoned = old.Seq, old.Asked, old.Tx, old.Abandoned
	return c, t.put(c)
}

// put writes the row if the table's constraints allow it.
func (t *tx) put(c store.Checkpoint) error {
	if err := checkCheckpoint(c); err != nil {
		return err
	}
	twin := t.selected(func(o store.Checkpoint) bool { return o.Stream == c.Stream && o.ID != c.ID && o.State == c.State })
	if open(c.State) && len(twin) > 0 {
		return fmt.Errorf("checkpoint %d: %d is %s: %w", c.ID, twin[0].ID, c.State, store.ErrExists)
	}
	t.state.checkpoints[ref(c.Stream, c.ID)], t.wrote = c, true
	return nil
}

// checkCheckpoint is the CHECK constraints of the table checkpoints.
func checkCheckpoint(c store.Checkpoint) error {
	in := func(states ...store.CheckpointState) bool { return slices.Contains(states, c.State) }
	for name, holds := range map[string]bool{
		"state":     in(store.CheckpointWaiting, store.CheckpointRunning, store.CheckpointComplete, store.CheckpointFailed),
		"kind":      slices.Contains([]checkpoint.Kind{checkpoint.Interval, checkpoint.Manual, checkpoint.Savepoint, checkpoint.Last}, c.Kind),
		"number":    c.ID >= 1 && c.Tx >= 1 && c.Stage >= 0 && c.Deadline >= 0,
		"begun":     (c.Stage == 0) == (c.Begun == nil) && (c.Stage == 0) == (c.Deadline == 0),
		"waiting":   !in(store.CheckpointWaiting) || c.Stage == 0,
		"working":   !in(store.CheckpointRunning, store.CheckpointComplete) || c.Stage > 0,
		"ended":     open(c.State) == (c.Ended == nil),
		"failed":    in(store.CheckpointFailed) == (c.Cause != nil),
		"abandoned": !c.Abandoned || in(store.CheckpointComplete),
	} {
		if !holds {
			return fmt.Errorf("checkpoint %d: check constraint %s is violated by %s in stage %d", c.ID, name, c.State, c.Stage)
		}
	}
	return nil
}

func (t *tx) AbandonCheckpoints(_ context.Context, stream ident.StreamID, above ident.CheckpointID) error {
	for _, c := range t.selected(func(c store.Checkpoint) bool {
		return c.Stream == stream && c.State == store.CheckpointComplete && c.ID >= above
	}) {
		c.Abandoned = c.ID > above
		t.state.checkpoints[ref(stream, c.ID)], t.wrote = c, true
	}
	return nil
}

func (t *tx) DeleteCheckpoints(_ context.Context, stream ident.StreamID, ids []ident.CheckpointID) error {
	for _, id := range ids {
		r := ref(stream, id)
		if t.saved(r) || t.state.streams[stream].Complete == id {
			return fmt.Errorf("delete checkpoint %d: it is named by its stream or a savepoint", id) // the foreign keys
		}
		delete(t.state.checkpoints, r)
		delete(t.state.parts, r)
	}
	t.wrote = true
	return nil
}

// forgetCheckpoints goes with the stream.
func (t *tx) forgetCheckpoints(stream ident.StreamID) {
	maps.DeleteFunc(t.state.checkpoints, func(r store.CheckpointRef, _ store.Checkpoint) bool { return r.Stream == stream })
	maps.DeleteFunc(t.state.parts, func(r store.CheckpointRef, _ []store.CheckpointTask) bool { return r.Stream == stream })
	maps.DeleteFunc(t.state.savepoints, func(k savepointKey, _ savepoint) bool { return k.stream == stream })
}

func (t *tx) UpdateCuts(_ context.Context, s store.Stream) error {
	now, ok := t.state.streams[s.ID]
	if !ok {
		return notFound("stream", s.ID)
	}
	if err := t.checkCuts(s); err != nil {
		return err
	}
	now.Cuts, now.Restarts = s.Cuts, s.Restarts
	t.state.streams[s.ID] = now
	return nil
}

// checkCuts is the constraints of the columns that UpdateCuts writes.
func (t *tx) checkCuts(s store.Stream) error {
	_, known := t.state.checkpoints[ref(s.ID, s.Complete)]
	for name, holds := range map[string]bool{
		"number":   s.Next >= 1 && s.Settled >= 0 && s.Failed >= 0 && s.Restarts >= 0,
		"settled":  s.Settled < s.Next,
		"complete": s.Complete == 0 || (s.Complete > 0 && s.Complete <= s.Settled && known),
		"start":    s.Start == 0 || (s.Start > 0 && s.Start <= s.Settled),
	} {
		if !holds {
			return fmt.Errorf("stream %s: check constraint %s is violated by %+v", s.Name, name, s.Cuts)
		}
	}
	return nil
}
