package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pondage/pondage/internal/failpoint"
	"github.com/pondage/pondage/internal/task"
	"github.com/pondage/pondage/services/coordinator/internal/control/decide"
	"github.com/pondage/pondage/services/coordinator/internal/placement"
	"github.com/pondage/pondage/services/coordinator/internal/store"
)

// stepStream does the next thing for a stream, and tells whether it wrote.
func (s *Service) stepStream(ctx context.Context, p *picture, r row, wg *sync.WaitGroup) (wrote bool, err error) {
	d := s.decision(p, r)
	switch d.Do {
	case decide.Wait:
		return false, nil
	case decide.EnsureTopics:
		s.runTopics(ctx, wg, p, r, ensureTopics)
		return false, nil
	case decide.DeleteTopics:
		s.runTopics(ctx, wg, p, r, deleteTopics)
		return false, nil
	case decide.DeleteRow:
		err = s.ifUnchanged(ctx, p, r, s.deleteRow)
	case decide.Place:
		placed, _, _ := s.place(p, r)
		if err = s.ifUnchanged(ctx, p, r, placing(placed, s.Clock.Now())); err == nil {
			err = failpoint.Hit(failpoint.ControlPlaced)
		}
	case decide.FallBack:
		err = s.ifUnchanged(ctx, p, r, func(ctx context.Context, tx store.Tx, row store.Stream) error {
			return s.fallBack(ctx, tx, row, d.Cause, s.progress(r))
		})
	case decide.Advance, decide.Restage, decide.Fail:
		progress := s.progress(r)
		err = s.ifUnchanged(ctx, p, r, func(ctx context.Context, tx store.Tx, row store.Stream) error {
			return apply(ctx, tx, row, d, progress)
		})
		if err == nil && d.Do == decide.Restage {
			s.Metrics.reset(r.Name, d.Cause)
			err = failpoint.Hit(failpoint.ControlReset)
		}
	default:
		err = fmt.Errorf("unknown decision %s", d.Do)
	}
	return err == nil, err // what fails is done again with the next look, not at once
}

// ifUnchanged runs act on the locked row when it is still the one that was decided on; otherwise nothing happens and the
// loop looks again (trap T41).
func (s *Service) ifUnchanged(ctx context.Context, p *picture, r row, act func(context.Context, store.Tx, store.Stream) error) error {
	return s.guarded(ctx, p.term, func(ctx context.Context, tx store.Tx) error {
		now, err := tx.LockStream(ctx, r.ID)
		if errors.Is(err, store.ErrNotFound) || (err == nil && now.Version != r.Version) {
			return nil
		}
		if err != nil {
			return err
		}
		return act(ctx, tx, now)
	})
}

// deleteRow ends a dropped stream.
func (s *Service) deleteRow(ctx context.Context, tx store.Tx, r store.Stream) error {
	if err := tx.DeleteStream(ctx, r.ID); err != nil {
		return err
	}
	return tx.InsertEvent(ctx, streamEvent(r, store.Info, "stream_dropped", "the stream, its tasks and its topics are gone"))
}

// placing raises the stage and writes its placement.
func placing(placed []placement.Placed, begun time.Time) func(context.Context, store.Tx, store.Stream) error {
	return func(ctx context.Context, tx store.Tx, r store.Stream) error {
		tasks := make([]store.Task, len(placed))
		for i, k := range placed {
			tasks[i] = store.Task{Task: k.Task, Place: k.Place}
		}
		r, err := store.RaiseStage(ctx, tx, r, begun, tasks, stageEnded("another one begins"))
		if err != nil {
			return err
		}
		return tx.InsertEvent(ctx, streamEvent(r, store.Info, "stage_begun", "stage %d: %s placed", r.Stage, counted(len(tasks), "task")))
	}
}

// apply writes a decision that changes the row alone.
func apply(ctx context.Context, tx store.Tx, r store.Stream, d decide.Decision, progress Progress) error {
	event := d.Event
	var e store.Event
	switch d.Do {
	case decide.Advance:
		if event == task.StreamAllReady {
			r.Ready, r.Cause = true, nil
		}
	case decide.Restage:
		event = task.StreamReset
		r.StageDue, r.Ready, r.Cause = true, false, d.Cause
		if d.Counted {
			r.Restarts++
		}
		e = streamEvent(r, store.Warning, "stream_reset", "stage %d is over: %s", r.Stage, d.Cause.Message)
	case decide.Fail:
		event = task.StreamFail
		r.StageDue, r.Cause = false, d.Cause
		e = streamEvent(r, store.Alert, d.Cause.Code, "the stream has failed: %s", d.Cause.Message)
	default:
		return fmt.Errorf("decision %s does not change a row", d.Do)
	}
	status, err := task.StreamStatus{State: r.State, Wanted: r.Wanted}.Step(event)
	if err != nil {
		return fmt.Errorf("stream %s: %w", r.Name, err)
	}
	if e.Code == "" {
		e = streamEvent(r, store.Info, "stream_"+string(status.State), "stage %d: from %s to %s", r.Stage, r.State, status.State)
	}
	r.State, r.Wanted = status.State, status.Wanted
	if over(r.State) || r.StageDue {
		if err := store.EndCheckpoints(ctx, tx, &r, stageEnded("the stream is "+string(r.State))); err != nil {
			return err
		}
	}
	if over(r.State) && r.Stage > 0 {
		if r.Progress, err = json.Marshal(progress); err != nil {
			return fmt.Errorf("stream %s: keep its progress: %w", r.Name, err)
		}
	}
	if _, err := tx.UpdateStream(ctx, r); err != nil {
		return err
	}
	return tx.InsertEvent(ctx, e)
}

// stageEnded is why a checkpoint fails that its stage does not outlive.
func stageEnded(why string) store.Cause {
	return store.Cause{Code: CodeStageEnded, Message: "its stage has ended: " + why}
}

// working tells whether the tasks of a stream in the state are ready and meant to live.
func working(s StreamState) bool {
	return s == StreamRunning || s == StreamPausing || s == StreamPaused
}

// over tells whether the tasks of a stream in the state report nothing any more.
func over(s StreamState) bool {
	return s == StreamStopped || s == StreamFinished || s == StreamFailed
}

func streamEvent(r store.Stream, severity store.Severity, code, format string, args ...any) store.Event {
	return store.Event{Severity: severity, Code: code, Stream: r.Name, Message: fmt.Sprintf(format, args...)}
}
