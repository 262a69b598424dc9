package task

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/dispatch"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/kafka"
	"github.com/pondage/pondage/internal/pgtable"
	"github.com/pondage/pondage/internal/plan"
	"github.com/pondage/pondage/internal/task"
	"github.com/pondage/pondage/internal/watermark"
	"github.com/pondage/pondage/internal/window"
	"github.com/pondage/pondage/services/worker/internal/live"
	"github.com/pondage/pondage/services/worker/internal/sink"
)

// Common is what every task is made of.
type Common struct {
	Self    dispatch.Self
	Plan    *plan.Plan
	Fetcher *kafka.Fetcher
	Outputs sink.Chain // empty unless sinks are chained into this task
	Live    *live.Feed // nil unless sinks are chained into this task
	Aside   Aside
	Metrics *Metrics
	// Started is the origin of the task's monotonic clock.
	Started time.Time
	// Changed is called, from the task's goroutine, when its report says something that the coordinator waits for.
	Changed func()
}

// Aside is where records go that are no results: the source's dead-letter topic, the stream's late topic.
type Aside interface {
	// Dead sets a record aside; it waits while the topic's queue is full.
	Dead(ctx context.Context, topic string, p ident.Partition, r *kafka.Record, code, reason string) error
	// Late sets a late record aside, with the watermark it was judged by.
	Late(ctx context.Context, topic string, p ident.Partition, r *kafka.Record, w ident.EventMs) error
	// DeadResult sets a result aside that has no value or that a sink will never take; row names it.
	DeadResult(ctx context.Context, vg ident.VGroup, row []byte, code, reason string) error
	// Flush waits until all of it is acknowledged.
	Flush(ctx context.Context) error
}

// Cause is why a task has failed, in the catalogue's words.
type Cause struct{ Code, Message string }

// Progress is what a task reports beside its state.
type Progress struct {
	Watermark ident.EventMs
	Idle      bool
	// RecordsPerSecond is the rate of a source task over the last report.
	RecordsPerSecond float64
	Partitions       []PartitionProgress   // of a source task
	Source           *watermark.SourceInfo // of a source task, for explain-window
	Merge            *watermark.MergeInfo  // of a receiving task, for explain-window
	Windows          []window.Open         // of an aggregating task: the open windows that close first
	Open             int                   // (group, pane) pairs of all open windows
	Position         ident.NextOffset      // of a receiving task in its edge's partition
	Sinks            []sink.Status         // of a task with chained sinks
}

// PartitionProgress is a source partition in the task that reads it, counted since the stage began.
type PartitionProgress struct {
	Topic     string
	Partition ident.Partition
	Next, End ident.NextOffset
	Watermark ident.EventMs
	Idle      bool
	Done      bool
	Counters  Counters
}

// Report is the state of a task as others see it.
type Report struct {
	Task     ident.Task
	Stage    ident.Stage
	State    task.State
	Cause    *Cause
	Reset    *dispatch.NeedReset
	Progress Progress
}

// command is what reaches a task from outside.
type command struct {
	event     task.Event       // pause or resume
	partition *SourcePartition // found while running
}

// shell is what source and receiving tasks have in common: the state machine, the report, the mailboxes.
type shell struct {
	common   *Common
	credits  *mailbox[dispatch.Credited]
	commands *mailbox[command]
	machine  task.Machine

	mu     sync.Mutex
	latest Report
}

func newShell(c Common) shell {
	return shell{
		common: &c, credits: newMailbox[dispatch.Credited](), commands: newMailbox[command](), machine: task.NewMachine(c.Self.Stage),
		latest: Report{Task: c.Self.Task, Stage: c.Self.Stage, State: task.Uninit, Progress: Progress{Watermark: ident.WatermarkNone}},
	}
}

// mono is the task's monotonic clock.
func (s *shell) mono() ident.MonoMs { return s.monoAt(time.Now()) }

// monoAt is a time on the task's monotonic clock.
func (s *shell) monoAt(t time.Time) ident.MonoMs {
	return ident.MonoMs(t.Sub(s.common.Started).Milliseconds())
}

// Credited brings what a receiving node says of the task's destinations. From any goroutine.
func (s *shell) Credited(c dispatch.Credited) { s.credits.put(c) }

// Pause and Resume change whether the task reads. From any goroutine.
func (s *shell) Pause() { s.commands.put(command{event: task.Pause}) }

// Resume ends a Pause.
func (s *shell) Resume() { s.commands.put(command{event: task.Resume}) }

// AddPartition gives a source task a partition that was found while it runs. From any goroutine.
func (s *shell) AddPartition(p SourcePartition) { s.commands.put(command{partition: &p}) }

// Report returns the task's latest report. From any goroutine.
func (s *shell) Report() Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.latest
}

// report replaces the progress in the report.
func (s *shell) report(p Progress) {
	for _, o := range s.common.Outputs {
		p.Sinks = append(p.Sinks, o.Status())
	}
	s.mu.Lock()
	s.latest.Progress = p
	s.mu.Unlock()
}

// entered says that the task is ready.
func (s *shell) entered() { s.apply(task.Init) }

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

// change obeys pause and resume.
func (s *shell) change(e task.Event) error {
	s.apply(e)
	return nil
}

func (s *shell) paused() bool { return s.machine.State() == task.Paused }

// needReset notes what keeps the stage from going on.
func (s *shell) needReset(r dispatch.NeedReset) {
	s.mu.Lock()
	s.latest.Reset = &r
	s.mu.Unlock()
	s.common.Changed()
}

// errFinished is the end of a task whose bound is reached and whose results are durable.
var errFinished = errors.New("finished")

// end turns the error that ended the task's loop into its last state.
func (s *shell) end(err error, last Progress) {
	switch {
	case errors.Is(err, errFinished):
		s.report(last)
		s.apply(task.BoundReached)
	case errors.Is(err, context.Canceled), errors.Is(err, errStageOver), errors.Is(err, pgtable.ErrFenced):
		// Ended from outside, waiting for the reset that it has asked for, or of an old stage: a new one has the fence.
	default:
		s.mu.Lock()
		s.latest.Cause = causeOf(err)
		s.mu.Unlock()
		s.apply(task.Fail)
	}
}

// The codes of failures that are found in the worker.
const (
	codeMismatch = "target_mismatch"
	codeTask     = "task_failed"
)

// causeOf names an error in the catalogue's words.
func causeOf(err error) *Cause {
	code := string(kafka.CodeOf(err))
	switch {
	case errors.Is(err, pgtable.ErrMismatch):
		code = codeMismatch
	case code == "":
		code = codeTask
	}
	return &Cause{Code: code, Message: err.Error()}
}

// emit hands result rows to the chained sinks and to those who watch. The batch must not be changed afterwards.
func (s *shell) emit(ctx context.Context, rows *block.Batch) error {
	s.common.Live.Publish(s.common.Self.Task.VGroup, rows)
	return s.common.Outputs.Write(ctx, rows)
}
