package task

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/dispatch"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/kafka"
	"github.com/pondage/pondage/internal/plan"
	"github.com/pondage/pondage/internal/task"
	"github.com/pondage/pondage/internal/telemetry"
	"github.com/pondage/pondage/services/worker/internal/live"
	"github.com/pondage/pondage/services/worker/internal/memory"
	"github.com/pondage/pondage/services/worker/internal/sink"
)

// Common is what every task is made of. The task closes its Outputs and its Memory when it ends.
type Common struct {
	Self    dispatch.Self
	Plan    *plan.Plan
	Reader  Reader
	Outputs sink.Chain // empty unless sinks are chained into this task
	Live    *live.Feed // nil unless sinks are chained into this task
	Aside   Aside
	Memory  *memory.Account
	Metrics *Metrics
	Tracing *Tracing // nil: nothing is traced
	Log     *slog.Logger
	// Started is the origin of the task's monotonic clock.
	Started time.Time
	// Checkpoints is how the task takes part in checkpoints; nil: it does not.
	Checkpoints *Checkpoints
	// Changed is called, from the task's goroutine, when its report says something that the coordinator waits for.
	Changed func()
}

// Reader brings the chunks of partitions (a kafka.Fetcher, by way of From).
type Reader interface {
	Subscribe(kafka.SubscribeSpec) (Subscription, error)
}

// Subscription is a partition being read; see kafka.Subscription.
type Subscription interface {
	Resume()
	Seek(to ident.NextOffset)
	Close()
}

// From reads by a fetcher.
func From(f *kafka.Fetcher) Reader { return fetcher{f} }

type fetcher struct{ *kafka.Fetcher }

func (f fetcher) Subscribe(s kafka.SubscribeSpec) (Subscription, error) {
	return f.Fetcher.Subscribe(s)
}

// Aside is where records go that are no results: the source's dead-letter topic, the stream's late topic.
type Aside interface {
	// Dead sets a record aside; it waits while the topic's queue is full.
	Dead(ctx context.Context, topic string, p ident.Partition, r *kafka.Record, code, reason string) error
	// DeadRow sets aside a record that an expression of the stream has no value for: other streams may have taken it.
	DeadRow(ctx context.Context, topic string, p ident.Partition, r *kafka.Record, code, reason string) error
	// Late sets a late record aside, with the watermark it was judged by.
	Late(ctx context.Context, topic string, p ident.Partition, r *kafka.Record, w ident.EventMs) error
	// DeadResult sets a result aside that has no value or that a sink will never take; row names it.
	DeadResult(ctx context.Context, vg ident.VGroup, row []byte, code, reason string) error
	// Flush waits until all of it is acknowledged.
	Flush(ctx context.Context) error
}

// shell is what source and receiving tasks have in common: the state machine and the report.
type shell struct {
	common   *Common
	log      *slog.Logger
	meter    *meter
	machine  task.Machine
	reported time.Time // when the report was last made
	complete bool      // the report of the end of the input is made
	// participant is the task's side of checkpoints; nil: it takes part in none.
	participant *Participant

	mu     sync.Mutex
	latest Report
}

func newShell(c Common) shell {
	return shell{
		common: &c, log: c.Log.With(telemetry.KeyTask, c.Self.Task), meter: c.Metrics.of(c.Plan.Stream.Name, c.Self.Task),
		machine: task.NewMachine(c.Self.Stage),
		latest:  Report{Task: c.Self.Task, Stage: c.Self.Stage, State: task.Uninit, Progress: Progress{Watermark: ident.WatermarkNone}},
	}
}

// mono is the task's monotonic clock.
func (s *shell) mono() ident.MonoMs { return s.monoAt(time.Now()) }

// monoAt is a time on the task's monotonic clock.
func (s *shell) monoAt(t time.Time) ident.MonoMs {
	return ident.MonoMs(t.Sub(s.common.Started).Milliseconds())
}

// Report returns the task's latest report; how its outputs are doing is as of now, also while the task waits for one of
// them. From any goroutine.
func (s *shell) Report() Report {
	s.mu.Lock()
	r := s.latest
	s.mu.Unlock()
	r.Progress.Sinks = s.common.Outputs.Status()
	r.Progress.QueueBytes = s.common.Memory.Held()
	return r
}

// reportEvery is how often a task makes its report anew: twice a beat, so that a beat never shows an old one twice.
const reportEvery = 500 * time.Millisecond

// reportDue tells whether the report is to be made, and counts it as made.
func (s *shell) reportDue() bool {
	now := time.Now()
	if now.Sub(s.reported) < reportEvery {
		return false
	}
	s.reported = now
	return true
}

// report replaces the progress in the report.
func (s *shell) report(p Progress) {
	s.mu.Lock()
	s.latest.Progress = p
	s.mu.Unlock()
}

// Participant is the task's side of checkpoints; nil when it takes part in none.
func (s *shell) Participant() *Participant { return s.participant }

// committed notes the newest checkpoint whose consequences are done, and tells the coordinator of a newer one.
func (s *shell) committed(c ident.CheckpointID) {
	s.mu.Lock()
	newer := c > s.latest.Committed
	s.latest.Committed = c
	s.mu.Unlock()
	if newer {
		s.common.Changed()
	}
}

// apply takes an event to the state machine and tells the coordinator of a new state. An event that the state does not
// take changes nothing: orders are repeated.
func (s *shell) apply(e task.Event) {
	entered, err := s.machine.Step(task.Change{Event: e})
	if err != nil || len(entered) == 0 {
		return
	}
	s.mu.Lock()
	s.latest.State = s.machine.State()
	s.mu.Unlock()
	s.common.Changed()
}

// boundReached says that the task's input has ended; it may be said again. The progress comes before the state: who hears of a
// finished task may end the stage, and looks at no later report.
func (s *shell) boundReached(last func() Progress) {
	if !s.complete {
		s.complete = true
		s.report(last())
	}
	s.apply(task.BoundReached)
}

// end turns the error that ended the task's loop into its last state. What ends by the context was ended from outside
// and says nothing more.
func (s *shell) end(ctx context.Context, err error, last Progress) {
	s.report(last)
	if ctx.Err() != nil {
		return
	}
	if errors.Is(err, errFinished) {
		s.meter.end(outcomeFinished)
		s.apply(task.BoundReached)
		return
	}
	if errors.Is(err, errSuperseded) {
		s.meter.end(outcomeSuperseded)
		s.log.Info("the task ends", "reason", err)
		return
	}
	if reset, ok := resetOf(err, s.common.Self.Stage); ok {
		s.meter.end(outcomeReset)
		s.log.Warn("the stage is over", telemetry.KeyCode, reset.Reason, "reason", reset)
		s.mu.Lock()
		s.latest.Reset = &reset
		s.mu.Unlock()
		s.common.Changed()
		return
	}
	cause := causeOf(err)
	s.meter.end(outcomeFailed)
	s.log.Error("the task has failed", telemetry.KeyCode, cause.Code, telemetry.KeyError, err)
	s.mu.Lock()
	s.latest.Cause = cause
	s.mu.Unlock()
	s.apply(task.Fail)
}

// close gives back what every task has.
func (s *shell) close() {
	s.participant.close()
	s.common.Outputs.Close()
	s.common.Memory.Close()
}

// emit hands result rows to the chained sinks and to those who watch. The batch must not be changed afterwards.
func (s *shell) emit(ctx context.Context, rows *block.Batch) error {
	s.meter.results(ctx, rows.Rows())
	s.common.Live.Publish(s.common.Self.Task.VGroup, rows)
	return s.common.Outputs.Write(ctx, rows)
}
