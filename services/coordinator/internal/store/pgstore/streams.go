package pgstore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/services/coordinator/internal/store"
	"github.com/pondage/pondage/services/coordinator/internal/store/pgstore/query"
)

func streamOf(r query.Stream) (store.Stream, error) {
	s := store.Stream{
		ID: ident.StreamID(r.ID), Name: r.Name, Version: r.Version, Source: ident.SourceID(r.SourceID),
		SourceSpec: r.SourceSpec, Spec: r.Spec, State: store.StreamState(r.State), Wanted: store.Wanted(r.Wanted),
		Generation: ident.Generation(r.Generation), Stage: ident.Stage(r.Stage), StageDue: r.StageDue, StageBegun: r.StageBegun,
		Ready: r.Ready, Restarts: int(r.Restarts), Progress: r.Progress, Created: r.Created, Updated: r.Updated,
		Cause: causeOf(r.CauseCode, r.CauseMessage),
		Cuts: store.Cuts{
			Next: ident.CheckpointID(r.NextCheckpoint), Complete: columnCheckpoint(r.CompleteCheckpoint), Settled: ident.CheckpointID(r.SettledCheckpoint),
			Start: columnCheckpoint(r.StartCheckpoint), Failed: int(r.FailedCheckpoints),
		},
	}
	if err := json.Unmarshal(r.Partitions, &s.Partitions); err != nil {
		return s, fmt.Errorf("stream %s: column partitions: %w", r.Name, err)
	}
	return s, nil
}

// one completes a row that was read with its targets.
func (t *tx) one(ctx context.Context, op string, r query.Stream, err error) (store.Stream, error) {
	if err != nil {
		return store.Stream{}, translate(op, err)
	}
	all, err := t.completed(ctx, []query.Stream{r})
	if err != nil {
		return store.Stream{}, err
	}
	return all[0], nil
}

func (t *tx) completed(ctx context.Context, rows []query.Stream) ([]store.Stream, error) {
	out := make([]store.Stream, len(rows))
	ids := make([]int64, len(rows))
	at := map[int64]int{}
	for i, r := range rows {
		s, err := streamOf(r)
		if err != nil {
			return nil, err
		}
		out[i], ids[i], at[r.ID] = s, r.ID, i
	}
	targets, err := t.q.Targets(ctx, ids)
	if err != nil {
		return nil, translate("list targets", err)
	}
	for _, r := range targets {
		s := &out[at[r.StreamID]]
		s.Targets = append(s.Targets, store.Target{Kind: store.TargetKind(r.Kind), Name: r.Name})
	}
	return out, nil
}

func (t *tx) Stream(ctx context.Context, name string) (store.Stream, error) {
	r, err := t.q.StreamByName(ctx, name)
	return t.one(ctx, "read stream "+name, r, err)
}

func (t *tx) LockStream(ctx context.Context, id ident.StreamID) (store.Stream, error) {
	r, err := t.q.LockStream(ctx, int64(id))
	return t.one(ctx, fmt.Sprintf("lock stream %d", id), r, err)
}

func (t *tx) LockStreamNamed(ctx context.Context, name string) (store.Stream, error) {
	r, err := t.q.LockStreamByName(ctx, name)
	return t.one(ctx, "lock stream "+name, r, err)
}

func (t *tx) Streams(ctx context.Context, after string, limit int) ([]store.Stream, error) {
	rows, err := t.q.Streams(ctx, query.StreamsParams{Name: after, Limit: int32(limit)})
	if err != nil {
		return nil, translate("list streams", err)
	}
	return t.completed(ctx, rows)
}

func (t *tx) StreamTasks(ctx context.Context, id ident.StreamID) ([]store.Task, error) {
	rows, err := t.q.Tasks(ctx, int64(id))
	if err != nil {
		return nil, translate(fmt.Sprintf("list tasks of stream %d", id), err)
	}
	out := make([]store.Task, len(rows))
	for i, r := range rows {
		level, err := ident.ParseLevel(r.Level)
		if err != nil {
			return nil, fmt.Errorf("tasks of stream %d: %w", id, err)
		}
		instance, err := ident.ParseInstance(r.Instance)
		if err != nil {
			return nil, fmt.Errorf("tasks of stream %d: %w", id, err)
		}
		out[i] = store.Task{
			Task:  ident.Task{Level: level, VGroup: ident.VGroup(r.Vgroup)},
			Place: ident.Place{Node: ident.NodeID(r.Node), Instance: instance},
		}
	}
	slices.SortFunc(out, func(a, b store.Task) int { return a.Task.Compare(b.Task) })
	return out, nil
}

func (t *tx) InsertStream(ctx context.Context, s store.Stream) (store.Stream, error) {
	t.wrote = true
	op := "insert stream " + s.Name
	partitions, err := json.Marshal(s.Partitions)
	if err != nil {
		return s, fmt.Errorf("%s: %w", op, err)
	}
	code, message := causeColumns(s.Cause)
	r, err := t.q.InsertStream(ctx, query.InsertStreamParams{
		Name: s.Name, SourceID: int64(s.Source), SourceSpec: s.SourceSpec, Spec: s.Spec, Partitions: partitions,
		State: string(s.State), Wanted: string(s.Wanted), Generation: int64(s.Generation), Stage: int64(s.Stage),
		StageDue: s.StageDue, StageBegun: s.StageBegun, Ready: s.Ready, Restarts: int32(s.Restarts),
		CauseCode: code, CauseMessage: message, Progress: s.Progress,
	})
	if err != nil {
		return s, conflict(op, err, "stream", s.Name)
	}
	for _, target := range s.Targets {
		err := t.q.InsertTarget(ctx, query.InsertTargetParams{Kind: string(target.Kind), Name: target.Name, StreamID: r.ID})
		if err != nil {
			return s, conflict(op, err, "target", string(target.Kind)+" "+target.Name)
		}
	}
	return t.one(ctx, op, r, nil)
}

func (t *tx) UpdateStream(ctx context.Context, s store.Stream) (store.Stream, error) {
	t.wrote = true
	op := "update stream " + s.Name
	partitions, err := json.Marshal(s.Partitions)
	if err != nil {
		return s, fmt.Errorf("%s: %w", op, err)
	}
	code, message := causeColumns(s.Cause)
	r, err := t.q.UpdateStream(ctx, query.UpdateStreamParams{
		ID: int64(s.ID), State: string(s.State), Wanted: string(s.Wanted), Generation: int64(s.Generation),
		Stage: int64(s.Stage), StageDue: s.StageDue, StageBegun: s.StageBegun, Ready: s.Ready, Restarts: int32(s.Restarts),
		CauseCode: code, CauseMessage: message, Progress: s.Progress, Partitions: partitions,
		NextCheckpoint: int64(s.Next), CompleteCheckpoint: checkpointColumn(s.Complete), SettledCheckpoint: int64(s.Settled),
		StartCheckpoint: checkpointColumn(s.Start), FailedCheckpoints: int32(s.Failed),
	})
	return t.one(ctx, op, r, err)
}

func causeOf(code, message *string) *store.Cause {
	if code == nil || message == nil {
		return nil
	}
	return &store.Cause{Code: *code, Message: *message}
}

func causeColumns(c *store.Cause) (code, message *string) {
	if c == nil {
		return nil, nil
	}
	return &c.Code, &c.Message
}

func (t *tx) DeleteStream(ctx context.Context, id ident.StreamID) error {
	t.wrote = true
	n, err := t.q.DeleteStream(ctx, int64(id))
	return affected(fmt.Sprintf("delete stream %d", id), n, err)
}

func (t *tx) ReplaceTasks(ctx context.Context, id ident.StreamID, stage ident.Stage, tasks []store.Task) error {
	t.wrote = true
	op := fmt.Sprintf("place stage %d of stream %d", stage, id)
	if err := t.q.DeleteTasks(ctx, int64(id)); err != nil {
		return translate(op, err)
	}
	p := query.InsertTasksParams{StreamID: int64(id), Stage: int64(stage)}
	for _, k := range tasks {
		p.Levels = append(p.Levels, k.Task.Level.String())
		p.Vgroups = append(p.Vgroups, int32(k.Task.VGroup))
		p.Nodes = append(p.Nodes, string(k.Place.Node))
		p.Instances = append(p.Instances, k.Place.Instance.String())
	}
	return translate(op, t.q.InsertTasks(ctx, p))
}
