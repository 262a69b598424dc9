package stage

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/pondage/pondage/internal/api/common"
	"github.com/pondage/pondage/internal/dispatch"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/invalid"
	"github.com/pondage/pondage/internal/kafka"
	"github.com/pondage/pondage/internal/plan"
	"github.com/pondage/pondage/internal/telemetry"
	"github.com/pondage/pondage/services/worker/internal/exchange"
	"github.com/pondage/pondage/services/worker/internal/task"
)

// Run is one stage of one stream on this node. It implements node.Run.
type Run struct {
	engine  *Engine
	id      ident.StreamID
	stage   ident.Stage
	name    string
	changed func()
	cancel  context.CancelFunc
	log     *slog.Logger
	mine    []ident.Task
	placed  places
	retain  chan struct{} // what is retained may have changed

	goroutines sync.WaitGroup
	closers    []func() // of what the bring-up has opened, in that order; its own until goroutines is through

	mu    sync.Mutex
	order common.Order // the newest one
	plan  *plan.Plan
	tasks map[ident.Task]running
	cause *task.Cause // why the bring-up has ended
	reset *dispatch.NeedReset
	notes map[string]error // what the bring-up waits for, by what
}

// running is a task that has been started.
type running interface {
	Run(ctx context.Context)
	Report() task.Report
}

// bringUpPause is the pause between two attempts of a step.
const bringUpPause = 500 * time.Millisecond

// bringUp starts the tasks of the stage, in the order of doc.go.
func (r *Run) bringUp(ctx context.Context) {
	err := r.start(ctx)
	if ctx.Err() != nil {
		return
	}
	var reset *exchange.ErrReset
	outcome := outcomeStarted
	r.mu.Lock()
	switch {
	case err == nil:
		r.log.Info("all tasks of the stage run here")
	case errors.As(err, &reset):
		r.reset, outcome = &reset.Reset, outcomeReset
		r.log.Warn("the stage is over", telemetry.KeyCode, resetCode(reset.Reset.Reason), "reason", reset)
	default:
		r.cause, outcome = causeOf(err), outcomeFailed
		r.log.Error("the stage cannot start", telemetry.KeyCode, r.cause.Code, telemetry.KeyError, err)
	}
	r.mu.Unlock()
	r.engine.Metrics.broughtUp(r.name, outcome)
	r.changed()
}

// The codes of a bring-up that cannot succeed.
const (
	codePlan  = "plan_invalid"
	codeStart = "start_failed"
)

// planError is a fault of the order's specs: no repeating helps.
type planError struct{ error }

func (e planError) Unwrap() error { return e.error }

func causeOf(err error) *task.Cause {
	var known coded
	var p planError
	var faults *invalid.Error
	switch code := kafka.CodeOf(err); {
	case errors.As(err, &known):
		return &task.Cause{Code: known.code, Message: err.Error()}
	case errors.As(err, &p), errors.As(err, &faults):
		return &task.Cause{Code: codePlan, Message: err.Error()}
	case code != "":
		return &task.Cause{Code: string(code), Message: err.Error()}
	}
	return &task.Cause{Code: codeStart, Message: err.Error()}
}

// retry repeats a step until it succeeds, ends in a way that no repeating cures, or the run ends.
func (r *Run) retry(ctx context.Context, what string, step func() error) error {
	defer r.waitFor(what, nil)
	for {
		err := step()
		if err == nil || ctx.Err() != nil || !transient(err) {
			return err
		}
		r.waitFor(what, err)
		if !pause(ctx, bringUpPause) {
			return ctx.Err()
		}
	}
}

// transient tells whether a step of the bring-up is worth repeating: what Kafka does not answer is; so is a topic that is
// not there yet, since the coordinator makes it before the stage and the brokers' metadata follow.
func transient(err error) bool {
	return kafka.Transient(err) || kafka.CodeOf(err) == kafka.CodeTopicUnknown
}

// pause waits; false when the context ends first.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// waitFor notes what the bring-up waits for; nil ends it.
func (r *Run) waitFor(what string, why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if why == nil {
		delete(r.notes, what)
		return
	}
	if r.notes == nil {
		r.notes = map[string]error{}
	}
	r.notes[what] = why
}

// atEnd has something closed when the run is over, the last first. For the bring-up's goroutine.
func (r *Run) atEnd(f func()) { r.closers = append(r.closers, f) }

// run starts a task.
func (r *Run) run(ctx context.Context, id ident.Task, t running) {
	r.mu.Lock()
	r.tasks[id] = t
	if m, ok := t.(participating); ok { // what has come since the bring-up began
		m.Participant().Settled(r.stage, ident.CheckpointID(r.order.Complete), ident.CheckpointID(r.order.Settled))
	}
	if s, ok := t.(*task.Source); ok {
		// What has come since the bring-up began.
		r.wanted(s, r.order.Wanted)
		r.partitions(id, s)
	}
	r.mu.Unlock()
	r.goroutines.Go(func() { t.Run(ctx) })
}

const wantedPaused = "paused"

// wanted pauses a source task, or lets it go on. All other tasks go on taking, so that edges drain (DESIGN §11).
func (r *Run) wanted(s *task.Source, wanted string) {
	if wanted == wantedPaused {
		s.Pause()
	} else {
		s.Resume()
	}
}

// partitions gives a source task its partitions in the order, under r.mu. It knows those it has (trap T26).
func (r *Run) partitions(id ident.Task, s *task.Source) {
	for _, p := range r.order.Partitions {
		if plan.SourceVGroup(r.id, ident.Partition(p.Partition), r.engine.Cluster.VGroups) != id.VGroup {
			continue
		}
		part, err := partition(p)
		if err != nil {
			r.log.Error("a source partition of the order cannot be read", "partition", p.Partition, telemetry.KeyError, err)
			continue
		}
		s.AddPartition(part)
	}
}

// Update obeys a later order of the same stage: other addresses, pause and resume, further partitions of the source.
func (r *Run) Update(o common.Order) {
	_, p := placement(o, r.engine.Place)
	r.engine.Exchange.Locate(r.id, p.addresses)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.settled(o)
	turned, grown := o.Wanted != r.order.Wanted, len(o.Partitions) > len(r.order.Partitions)
	r.order = o
	for id, t := range r.tasks {
		s, ok := t.(*task.Source)
		if ok && turned {
			r.wanted(s, o.Wanted)
		}
		if ok && grown {
			r.partitions(id, s)
		}
	}
}

// End ends all tasks and returns when nothing of the run lives any more.
func (r *Run) End() {
	r.cancel()
	r.goroutines.Wait()
	for i := len(r.closers) - 1; i >= 0; i-- {
		r.closers[i]()
	}
	r.engine.Exchange.Close(r.id, r.stage)
	r.engine.Exchange.StreamGone(r.id)
	r.engine.ended(r)
}

// reports returns the last report of every task of this node.
func (r *Run) reports() []task.Report {
	var out []task.Report
	for _, t := range r.running() {
		out = append(out, t.Report())
	}
	return out
}

// explainWithin is how long TaskReports waits for a task that is busy.
const explainWithin = time.Second

// TaskReports returns the report of every task of this node for explain-window, with the open windows of those that
// answer within explainWithin.
func (r *Run) TaskReports() []task.Report {
	ctx, cancel := context.WithTimeout(context.Background(), explainWithin)
	defer cancel()
	tasks := r.running()
	out := make([]task.Report, len(tasks))
	var asked sync.WaitGroup
	for i, t := range tasks {
		asked.Go(func() {
			if x, ok := t.(*task.Receiver); ok {
				out[i] = x.Explain(ctx)
			} else {
				out[i] = t.Report()
			}
		})
	}
	asked.Wait()
	return out
}

// running returns the tasks that have been started here.
func (r *Run) running() []running {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]running, 0, len(r.mine))
	for _, id := range r.mine {
		if t := r.tasks[id]; t != nil {
			out = append(out, t)
		}
	}
	return out
}

// Plan returns the plan of the stream; nil before it is built.
func (r *Run) Plan() *plan.Plan {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.plan
}
