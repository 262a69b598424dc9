package sink

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/manifest"
)

// Output takes results for one place.
type Output interface {
	// Write hands rows over and waits while the output's queue is full. The batch must not be changed afterwards.
	// An error ends the task: the context's, or a named stop.
	Write(ctx context.Context, rows *block.Batch) error
	// Flush returns when all rows handed over are durable.
	Flush(ctx context.Context) error
	// Stopped returns the named stop that has ended the output, which the next Write would return; nil while it goes on.
	// Without asking, a task that has no more rows would never know that its last ones were not written. From any goroutine.
	Stopped() error
	// Status tells how the output is doing; from any goroutine.
	Status() Status
	// Close ends the output at once; rows not yet written are gone.
	Close()
}

// Checkpointed is what an Output does beside when it takes part in checkpoints by itself (DESIGN §9). Of any other one everything
// handed over before the trigger is made durable by Flush.
type Checkpointed interface {
	// Trigger is in order with Write: what was written before it belongs to c. It does not wait for a full queue.
	Trigger(ctx context.Context, c ident.CheckpointID) error
	// Prepare returns when everything before Trigger(c) is durable where the delivery says, with the files that it is in.
	// From any goroutine.
	Prepare(ctx context.Context, c ident.CheckpointID) (manifest.Sink, []manifest.File, error)
	// Complete does what follows from a complete checkpoint, which covers all older ones, and may be repeated. A new stage
	// begins with that of the checkpoint that it has restored. From any goroutine.
	Complete(ctx context.Context, c ident.CheckpointID) error
}

// Start is what an output of a stage goes on from.
type Start struct {
	Stage    ident.Stage
	Restored ident.CheckpointID // 0: the stage begins at the start of the stream
	// Sink and Files are what the output has said at Restored; nil where it has said nothing.
	Sink  *manifest.Sink
	Files []manifest.File
	// Settled is the newest checkpoint that has ended when the stage begins, also of a line that the stream has gone back behind:
	// files are made for later ones.
	Settled ident.CheckpointID
	// Retain is how many complete checkpoints of the stream are kept.
	Retain int
}

// StartFrom returns what the output of a kind goes on from: a checkpoint, and its task's part of it; nil: the task is new.
func StartFrom(stage ident.Stage, restored ident.CheckpointID, part *manifest.Manifest, kind string) *Start {
	s := &Start{Stage: stage, Restored: restored}
	if part == nil {
		return s
	}
	for i := range part.Sinks {
		if part.Sinks[i].Kind == kind {
			s.Sink = &part.Sinks[i]
		}
	}
	for _, f := range part.Files {
		if f.Role == manifest.RoleSink && f.Of == kind {
			s.Files = append(s.Files, f)
		}
	}
	return s
}

// Stop is an error that no repeating cures and that has a code of the catalogue: the task fails with it.
type Stop struct {
	Code string
	Err  error
}

func (s *Stop) Error() string { return s.Err.Error() }

func (s *Stop) Unwrap() error { return s.Err }

// CodeWentBack is the code of a target that is older than what the stream knows to have committed there.
const CodeWentBack = "sink_went_back"

// The kinds of outputs, in statuses, metrics and manifests. In manifests a transactional one has a kind of its own: what it
// says means nothing to another delivery.
const (
	KindPostgres              = "postgres"
	KindPostgresTransactional = "postgres_transactional"
	KindKafka                 = "kafka"
	KindKafkaTransactional    = "kafka_transactional"
)

// Status is the state of an output of one task.
type Status struct {
	Kind    string
	Pending int // batches waiting or being written
	// Problem is the last error of an output that is retried at the moment; empty while all is well.
	Problem string
	Since   time.Time // when Problem began
}

// Memory is the part of the node's memory that the task has (package memory). An output takes the size of a batch from
// Write until the rows are durable where its delivery says.
type Memory interface {
	TryTake(bytes int64) bool
	Changed() <-chan struct{} // closed when memory comes back; to be asked for before TryTake
	Give(bytes int64)
}

// Env is what every output is made with.
type Env struct {
	Stream  string
	Memory  Memory
	Metrics *Metrics
	Tracer  trace.Tracer
	Gate    *Gate // of the stream; nil: none
	// Reject sets a row aside that the output will never take; its error is retried like the write.
	Reject func(Rejected) error
}

// Rejected is a row that the output will never take: it goes to the dead-letter topic.
type Rejected struct {
	Rows   *block.Batch
	Row    int
	Reason string
}

// Chain is all outputs of a task.
type Chain []Output

// Write gives the rows to every output.
func (c Chain) Write(ctx context.Context, rows *block.Batch) error {
	for _, o := range c {
		if err := o.Write(ctx, rows); err != nil {
			return err
		}
	}
	return nil
}

// Flush waits for every output.
func (c Chain) Flush(ctx context.Context) error {
	for _, o := range c {
		if err := o.Flush(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Stopped returns the stop of the first output that has one.
func (c Chain) Stopped() error {
	for _, o := range c {
		if err := o.Stopped(); err != nil {
			return err
		}
	}
	return nil
}

// Status returns the state of each output.
func (c Chain) Status() []Status {
	out := make([]Status, len(c))
	for i, o := range c {
		out[i] = o.Status()
	}
	return out
}

// Close ends every output.
func (c Chain) Close() {
	for _, o := range c {
		o.Close()
	}
}

// ErrClosed says that the output was closed while something waited for it.
var ErrClosed = errors.New("the sink is closed")
