package memstore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/task"
	"github.com/pondage/pondage/services/coordinator/internal/store"
)

func (t *tx) named(name string) (store.Stream, bool) {
	for _, s := range t.state.streams {
		if s.Name == name {
			return s, true
		}
	}
	return store.Stream{}, false
}

func (t *tx) Stream(_ context.Context, name string) (store.Stream, error) {
	s, ok := t.named(name)
	if !ok {
		return s, notFound("stream", name)
	}
	return s, nil
}

func (t *tx) LockStreamNamed(ctx context.Context, name string) (store.Stream, error) {
	return t.Stream(ctx, name)
}

func (t *tx) LockStream(_ context.Context, id ident.StreamID) (store.Stream, error) {
	s, ok := t.state.streams[id]
	if !ok {
		return s, notFound("stream", id)
	}
	return s, nil
}

func (t *tx) Streams(_ context.Context, after string, limit int) ([]store.Stream, error) {
	byName := map[string]store.Stream{}
	for _, s := range t.state.streams {
		byName[s.Name] = s
	}
	return page(byName, after, limit), nil
}

func (t *tx) StreamTasks(_ context.Context, id ident.StreamID) ([]store.Task, error) {
	return slices.Clone(t.state.tasks[id]), nil
}

func (t *tx) InsertStream(_ context.Context, s store.Stream) (store.Stream, error) {
	if _, taken := t.named(s.Name); taken {
		return s, &store.ConflictError{Kind: "stream", Name: s.Name}
	}
	if !t.hasSource(s.Source) {
		return s, notFound("source", s.Source) // the foreign key
	}
	for _, other := range t.state.streams {
		for _, target := range other.Targets {
			if slices.Contains(s.Targets, target) {
				return s, &store.ConflictError{Kind: "target", Name: string(target.Kind) + " " + target.Name}
			}
		}
	}
	if err := check(s); err != nil {
		return s, err
	}
	s.ID, s.Version, s.Created, s.Cuts = ident.StreamID(t.nextID()), 1, time.Now(), store.Cuts{Next: 1}
	s.Updated = s.Created
	s.Targets = slices.Clone(s.Targets)
	slices.SortFunc(s.Targets, func(a, b store.Target) int { return strings.Compare(string(a.Kind)+a.Name, string(b.Kind)+b.Name) })
	t.state.streams[s.ID] = s
	return s, nil
}

func (t *tx) hasSource(id ident.SourceID) bool {
	for _, s := range t.state.sources {
		if s.ID == id {
			return true
		}
	}
	return false
}

func (t *tx) UpdateStream(_ context.Context, s store.Stream) (store.Stream, error) {
	old, ok := t.state.streams[s.ID]
	if !ok {
		return s, notFound("stream", s.Name)
	}
	if err := t.checkCuts(s); err != nil {
		return s, err
	}
	if err := check(s); err != nil {
		return s, err
	}
	s.Name, s.Source, s.SourceSpec, s.Spec = old.Name, old.Source, old.SourceSpec, old.Spec
	s.Targets, s.Created = old.Targets, old.Created
	s.Version, s.Updated = old.Version+1, time.Now()
	t.state.streams[s.ID], t.wrote = s, true
	return s, nil
}

func (t *tx) DeleteStream(_ context.Context, id ident.StreamID) error {
	if _, ok := t.state.streams[id]; !ok {
		return notFound("stream", id)
	}
	delete(t.state.streams, id)
	delete(t.state.tasks, id)
	t.forgetCheckpoints(id)
	t.wrote = true
	return nil
}

func (t *tx) ReplaceTasks(_ context.Context, id ident.StreamID, _ ident.Stage, tasks []store.Task) error {
	if _, ok := t.state.streams[id]; !ok {
		return notFound("stream", id)
	}
	sorted := slices.Clone(tasks)
	slices.SortFunc(sorted, func(a, b store.Task) int { return a.Task.Compare(b.Task) })
	t.state.tasks[id], t.wrote = sorted, true
	return nil
}

// check is the CHECK constraints of the table streams.
func check(s store.Stream) error {
	in := func(states ...task.StreamState) bool { return slices.Contains(states, s.State) }
	for name, holds := range map[string]bool{
		"state":    slices.Contains(task.StreamStates(), s.State),
		"wanted":   slices.Contains([]task.Wanted{task.WantRunning, task.WantPaused, task.WantStopped}, s.Wanted),
		"number":   s.Generation >= 1 && s.Stage >= 0 && s.Restarts >= 0,
		"stopped":  !in(task.StreamStopping, task.StreamStopped) || s.Wanted == task.WantStopped,
		"starting": !in(task.StreamCreating, task.StreamRecovering) || s.Wanted != task.WantStopped,
		"running":  s.State != task.StreamRunning || s.Wanted == task.WantRunning,
		"paused":   !in(task.StreamPausing, task.StreamPaused) || s.Wanted == task.WantPaused,
		"placed":   !in(task.StreamRunning, task.StreamPausing, task.StreamPaused, task.StreamFinished) || (s.Stage > 0 && s.Ready),
		"due":      !s.StageDue || in(task.StreamCreating, task.StreamRecovering),
		"begun":    (s.Stage == 0) == (s.StageBegun == nil),
		"failed":   s.State != task.StreamFailed || s.Cause != nil,
	} {
		if !holds {
			return fmt.Errorf("stream %s: check constraint %s is violated by %s/%s at stage %d", s.Name, name, s.State, s.Wanted, s.Stage)
		}
	}
	return nil
}
