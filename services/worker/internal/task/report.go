package task

import (
	"github.com/pondage/pondage/internal/dispatch"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/pipeline"
	"github.com/pondage/pondage/internal/task"
	"github.com/pondage/pondage/internal/watermark"
	"github.com/pondage/pondage/internal/window"
	"github.com/pondage/pondage/services/worker/internal/sink"
)

// Report is the state of a task as others see it.
type Report struct {
	Task     ident.Task
	Stage    ident.Stage
	State    task.State
	Cause    *Cause
	Reset    *dispatch.NeedReset
	Progress Progress
	// Committed is the newest complete checkpoint whose consequences are done here: the acknowledgement of complete.
	Committed ident.CheckpointID
}

// Progress is what a task reports beside its state.
type Progress struct {
	Watermark ident.EventMs
	Idle      bool
	// RecordsPerSecond is the rate of a source task over the last report.
	RecordsPerSecond float64
	Partitions       []PartitionProgress   // of a source task
	Source           *watermark.SourceInfo // of a source task, for explain-window
	Merge            *watermark.MergeInfo  // of a receiving task, for explain-window
	Windows          []window.Open         // of Receiver.Explain: the open windows that close first
	Open             int                   // (group, pane) pairs of all open windows
	Position         ident.NextOffset      // of a receiving task in its edge's partition
	Silent           []ident.Place         // receiving nodes that have not spoken for dispatch.CreditSilence: nothing goes there
	QueueBytes       int64                 // what the task holds of the node's memory
	Sinks            []sink.Status         // of a task with chained sinks
}

// Counters count the records of a source partition by what became of them (I3): accepted is the sum.
type Counters = pipeline.Counters

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
