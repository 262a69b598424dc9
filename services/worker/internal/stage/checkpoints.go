package stage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pondage/pondage/internal/align"
	"github.com/pondage/pondage/internal/api/common"
	"github.com/pondage/pondage/internal/dispatch"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/manifest"
	"github.com/pondage/pondage/internal/problem"
	"github.com/pondage/pondage/internal/storage"
	"github.com/pondage/pondage/internal/telemetry"
	"github.com/pondage/pondage/services/worker/internal/exchange"
	"github.com/pondage/pondage/services/worker/internal/task"
)

// answerWithin is how long a request waits for tasks that are busy: less than the coordinator waits for the answer. Who
// has not answered by then is asked again.
const answerWithin = 3 * time.Second

// participating is a task that takes part in checkpoints.
type participating interface{ Participant() *task.Participant }

// participant returns the side of a task that takes part in checkpoints; nil: it does not run here.
func (r *Run) participant(id ident.Task) *task.Participant {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m, ok := r.tasks[id].(participating); ok {
		return m.Participant()
	}
	return nil
}

// run returns the stream's run in the stage; nil: there is none. higher tells whether the stream is in a higher stage here.
func (e *Engine) run(id ident.StreamID, stage ident.Stage) (r *Run, higher bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch r := e.runs[id]; {
	case r == nil || r.stage < stage:
		return nil, false
	case r.stage > stage:
		return nil, true
	default:
		return r, false
	}
}

// Request asks source tasks here for their parts of a checkpoint. A stage whose order has not been obeyed yet has no tasks:
// they are asked again.
func (e *Engine) Request(ctx context.Context, q common.CheckpointRequest) (common.CheckpointTaken, error) {
	out := common.CheckpointTaken{Taken: []string{}, Refused: []common.CheckpointRefusal{}}
	if q.Node != string(e.Place.Node) || q.Instance != e.Place.Instance.String() {
		return out, problem.New(problem.CodeOrdersRefused, "a checkpoint of %s/%s, this is %s", q.Node, q.Instance, e.Place)
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	r, higher := e.run(ident.StreamID(q.StreamID), ident.Stage(q.Stage))
	answers := make(chan func(), len(q.Tasks))
	for _, name := range q.Tasks {
		go func() { answers <- e.request(ctx, r, higher, name, q, &out) }()
	}
	for range q.Tasks {
		if note := <-answers; note != nil {
			note()
		}
	}
	return out, nil
}

// request asks one task. What it returns notes the answer; nil: there is none.
func (e *Engine) request(ctx context.Context, r *Run, higher bool, name string, q common.CheckpointRequest, out *common.CheckpointTaken) func() {
	refuse := func(f align.Failure) func() {
		return func() {
			out.Refused = append(out.Refused, common.CheckpointRefusal{Task: name, Cause: common.Cause{Code: string(f.Code), Message: f.Detail}})
		}
	}
	if higher {
		return refuse(align.Failure{Code: align.CodeOtherStage, Detail: "a higher stage runs here"})
	}
	id, err := ident.ParseTask(name)
	if err != nil || r == nil {
		return nil
	}
	p := r.participant(id)
	if p == nil {
		return nil
	}
	answer, err := p.Request(ctx, ident.Stage(q.Stage), ident.CheckpointID(q.Checkpoint), ident.TxID(q.Tx), ident.MonoMs(q.LeftMs))
	switch {
	case errors.Is(err, task.ErrEnded):
		return refuse(align.Failure{Code: align.CodeNotReady, Detail: "the task has ended"})
	case err != nil:
		return nil
	case answer.Refused != nil:
		return refuse(*answer.Refused)
	}
	return func() { out.Taken = append(out.Taken, name) }
}

// Triggers answers the questions of other nodes' tasks for the triggers of tasks here.
func (e *Engine) Triggers(ctx context.Context, q common.TriggerQuestions) (common.TriggerAnswers, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	out := common.TriggerAnswers{Answers: make([]common.TriggerAnswer, len(q.Questions))}
	errs := make(chan error, len(q.Questions))
	for i, one := range q.Questions {
		go func() {
			a, err := e.trigger(ctx, one)
			out.Answers[i] = triggerDoc(a)
			errs <- err
		}()
	}
	var all []error
	for range q.Questions {
		all = append(all, <-errs)
	}
	return out, errors.Join(all...) // the askers ask again
}

func (e *Engine) trigger(ctx context.Context, q common.TriggerQuestion) (align.Answer, error) {
	none := align.Answer{Status: align.StatusNotRunning}
	r, _ := e.run(ident.StreamID(q.StreamID), ident.Stage(q.Stage))
	upstream, errUp := ident.ParseTask(q.Upstream)
	asker, errAsk := ident.ParseTask(q.Asker)
	if r == nil || errUp != nil || errAsk != nil {
		return none, nil
	}
	a, err := r.participant(upstream).Trigger(ctx, asker, ident.CheckpointID(q.Checkpoint), ident.TxID(q.Tx))
	if errors.Is(err, task.ErrEnded) {
		return none, nil
	}
	return a, err
}

func triggerDoc(a align.Answer) common.TriggerAnswer {
	out := common.TriggerAnswer{Status: string(a.Status), Offset: common.Int64(a.At.Offset), Message: common.Int64(a.At.Msg), WaitingFor: []string{}}
	for _, t := range a.Waiting {
		out.WaitingFor = append(out.WaitingFor, t.String())
	}
	return out
}

// closingLook is how often a node that closes looks whether its checkpoints are through.
const closingLook = 50 * time.Millisecond

// Settle returns when no checkpoint of the node's tasks is under way, or when the context ends.
func (e *Engine) Settle(ctx context.Context) {
	for slices.ContainsFunc(e.live(), (*Run).underway) && pause(ctx, closingLook) {
	}
}

// underway tells whether a task of the run has a part of a checkpoint without a verdict.
func (r *Run) underway() bool {
	return slices.ContainsFunc(r.running(), func(t running) bool {
		m, ok := t.(participating)
		return ok && m.Participant().Underway()
	})
}

// Upstream returns where a task of a stage runs, and the address of its node; false: it is not known here.
func (e *Engine) Upstream(id ident.StreamID, stage ident.Stage, t ident.Task) (place ident.Place, address string, ok bool) {
	r, _ := e.run(id, stage)
	if r == nil {
		return place, "", false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.placed.peers, func(p dispatch.Peer) bool { return p.Task == t })
	if i < 0 {
		return place, "", false
	}
	place = r.placed.peers[i].Place
	return place, r.placed.addresses[place.Node], true
}

// The codes of a checkpoint that cannot be restored. The coordinator falls back to an older one where that is exact.
const (
	codeCheckpointMissing = "checkpoint_missing"
	codeCheckpointDamaged = "checkpoint_damaged"
)

// coded is an error of a bring-up with a code of the catalogue.
type coded struct {
	code string
	error
}

func (c coded) Unwrap() error { return c.error }

// fence makes sure that no older stage commits a manifest here any more. A disk that is full or broken is waited for.
func (s *starting) fence(ctx context.Context) error {
	r := s.r
	if r.engine.Store == nil {
		return nil
	}
	const what = "checkpoint store"
	defer r.waitFor(what, nil)
	for {
		err := r.engine.Store.Fence(ctx, r.id, r.stage)
		switch {
		case err == nil || ctx.Err() != nil:
			return err
		case errors.Is(err, storage.ErrFenced):
			self := dispatch.Peer{Place: r.engine.Place}
			return &exchange.ErrReset{Reset: dispatch.NeedReset{Stage: r.stage, Peer: self, Reason: dispatch.ReasonNewStage, Detail: err.Error()}}
		}
		r.waitFor(what, err)
		if !pause(ctx, bringUpPause) {
			return ctx.Err()
		}
	}
}

// checkpoints is how a task takes part in the checkpoints of its stream, and what it goes on from.
func (s *starting) checkpoints(ctx context.Context, id ident.Task) (*task.Checkpoints, error) {
	e := s.r.engine
	if e.Store == nil {
		return nil, nil
	}
	out := &task.Checkpoints{
		Cluster: e.Cluster.Name, Complete: ident.CheckpointID(s.order.Complete), Settled: ident.CheckpointID(s.order.Settled), Store: e.Store, Node: e.Checkpoints,
	}
	if s.order.Restore != nil {
		out.From = ident.CheckpointID(s.order.Restore.Checkpoint)
	}
	var err error
	out.Restored, err = s.restored(ctx, id)
	return out, err
}

// restored is the task's part of the checkpoint that the stage goes on from; nil: there is none, since the stage begins at
// the start of the stream, or the task is new.
func (s *starting) restored(ctx context.Context, id ident.Task) (*manifest.Manifest, error) {
	if s.order.Restore == nil {
		return nil, nil
	}
	i := slices.IndexFunc(s.order.Restore.Tasks, func(t common.RestoredTask) bool { return t.Task == id.String() })
	if i < 0 {
		return nil, nil
	}
	c, want := ident.CheckpointID(s.order.Restore.Checkpoint), s.order.Restore.Tasks[i]
	m, hash, err := s.r.engine.Store.Load(ctx, s.r.id, id, c)
	switch {
	case errors.Is(err, storage.ErrMissing):
		return nil, coded{codeCheckpointMissing, fmt.Errorf("the manifest of %s, which node %s wrote: %w", id, want.Node, err)}
	case errors.Is(err, storage.ErrDamaged), errors.Is(err, manifest.ErrInvalid):
		return nil, coded{codeCheckpointDamaged, fmt.Errorf("the manifest of %s: %w", id, err)}
	case err != nil:
		// A disk that hiccups, or a binary that is too old: no proof that the checkpoint is lost. The stage is tried again.
		return nil, fmt.Errorf("the manifest of %s of checkpoint %d: %w", id, c, err)
	case hash.String() != want.Manifest:
		return nil, coded{codeCheckpointDamaged, fmt.Errorf("the manifest of %s of checkpoint %d is %s, the one that was reported is %s", id, c, hash, want.Manifest)}
	}
	return m, nil
}

// settled tells the tasks what an order says of verdicts, under r.mu.
func (r *Run) settled(o common.Order) {
	for _, t := range r.tasks {
		if m, ok := t.(participating); ok {
			m.Participant().Settled(r.stage, ident.CheckpointID(o.Complete), ident.CheckpointID(o.Settled))
			if o.Term > r.order.Term {
				m.Participant().ReportAgain() // another coordinator leads, who has heard nothing yet
			}
		}
	}
	if !slices.Equal(o.Retained, r.order.Retained) {
		select {
		case r.retain <- struct{}{}:
		default: // it looks at the newest order when it comes to it
		}
	}
}

// keepRetained deletes the files of checkpoints that are not retained any more, whenever an order says so, until the run
// ends. What fails is done with the next one.
func (r *Run) keepRetained(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.retain:
		}
		r.mu.Lock()
		o := r.order
		r.mu.Unlock()
		keep := []ident.CheckpointID{}
		for _, c := range o.Retained {
			keep = append(keep, ident.CheckpointID(c))
		}
		if len(keep) == 0 {
			continue
		}
		if o.Restore != nil {
			keep = append(keep, ident.CheckpointID(o.Restore.Checkpoint)) // what the stage stands on
		}
		if err := r.engine.Store.Retain(ctx, r.id, keep); err != nil && ctx.Err() == nil {
			r.log.Warn("files of checkpoints that are not needed any more were not deleted", telemetry.KeyError, err)
		}
	}
}
