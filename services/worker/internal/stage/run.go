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

	goroutines sync.WaitGroup

	mu    sync.Mutex
	order common.Order
	plan  *plan.Plan
	tasks map[ident.Task]running
	cause *task.Cause // why the bring-up has ended
	reset *dispatch.NeedReset
	note  string // what the bring-up waits for
}

// running is a task that has been started.
type running interface {
	Report() task.Report
	Pause()
	Resume()
}

// bringUpPause is the pause between two attempts of a step.
const bringUpPause = 500 * time.Millisecond

// bringUp starts the tasks of the stage, in the order of doc.go.
func (r *Run) bringUp(ctx context.Context) {
	err := r.start(ctx)
	var reset *exchange.ErrReset
	r.mu.Lock()
	switch {
	case err == nil, ctx.Err() != nil:
	case errors.As(err, &reset):
		r.reset = &reset.Reset
	default:
		r.cause = causeOf(err)
		r.log.Error("the stage cannot start", "code", r.cause.Code, "error", err)
	}
	r.mu.Unlock()
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
	var p planError
	var faults *invalid.Error
	switch code := kafka.CodeOf(err); {
	case errors.As(err, &p), errors.As(err, &faults):
		return &task.Cause{Code: codePlan, Message: err.Error()}
	case code != "":
		return &task.Cause{Code: string(code), Message: err.Error()}
	}
	return &task.Cause{Code: codeStart, Message: err.Error()}
}

// retry repeats a step until it succeeds, ends in a way that no repeating cures, or the run ends.
func (r *Run) retry(ctx context.Context, what string, step func() error) error {
	for {
		err := step()
		if err == nil || ctx.Err() != nil || !r.transient(err) {
			r.waitFor("")
			return err
		}
		r.waitFor(what + ": " + err.Error())
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(bringUpPause):
		}
	}
}

// transient tells whether a step of the bring-up is worth repeating: what the outside does not answer is; so is an edge
// topic that is not there yet, since the coordinator makes it before the stage and the brokers' metadata follow.
func (r *Run) transient(err error) bool {
	var p planError
	if errors.As(err, &p) {
		return false
	}
	code := kafka.CodeOf(err)
	return code == "" || kafka.Transient(err) || code == kafka.CodeTopicUnknown
}

func (r *Run) waitFor(note string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.note = note
}

// run starts a task.
func (r *Run) run(ctx context.Context, id ident.Task, t interface {
	running
	Run(ctx context.Context)
}) {
	r.mu.Lock()
	if r.tasks == nil {
		r.tasks = map[ident.Task]running{}
	}
	r.tasks[id] = t
	paused := r.order.Wanted == wantedPaused
	r.mu.Unlock()
	if paused {
		t.Pause()
	}
	r.goroutines.Go(func() { t.Run(ctx) })
}

const wantedPaused = "paused"

// Update obeys a later order of the same stage.
func (r *Run) Update(o common.Order) {
	_, p := placement(o, r.engine.place)
	for node, address := range p.addresses {
		r.engine.exchange.Locate(node, address)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if o.Wanted != r.order.Wanted {
		for _, t := range r.tasks {
			if o.Wanted == wantedPaused {
				t.Pause()
			} else {
				t.Resume()
			}
		}
	}
	r.order = o
}

// End ends all tasks and returns when nothing of the run lives any more.
func (r *Run) End() {
	r.cancel()
	r.goroutines.Wait()
	r.engine.exchange.Close(r.id, r.stage)
}

// TaskReports returns the report of every task of this node, for explain-window.
func (r *Run) TaskReports() []task.Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]task.Report, 0, len(r.mine))
	for _, id := range r.mine {
		if t := r.tasks[id]; t != nil {
			out = append(out, t.Report())
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
