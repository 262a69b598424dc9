package sink

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/pondage/pondage/internal/block"
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

// Status is the state of an output of one task.
type Status struct {
	Kind    string // "postgres", "kafka"
	Pending int    // batches waiting or being written
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
