package sink

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/pondage/pondage/internal/block"
)

// Bounds of the queue before an output, and of its retries.
const (
	queueBatches = 16     // batches: a few writes ahead, so that the writer never starves
	writeRows    = 10_000 // rows of one write: large enough to amortise a round trip, small enough to be retried

	retryFirst = 100 * time.Millisecond // the first pause after a failure, doubled each time
	retryMost  = 5 * time.Second        // an output that is back is noticed within this
)

// pump is the queue and the goroutine of an output. write gets batches in order and is repeated, with the same
// batches, until it succeeds, the pump is closed, or it returns a stop.
type pump struct {
	kind  string
	write func(ctx context.Context, batches []*block.Batch) error
	// stops tells whether an error of write cannot be cured by repeating.
	stops func(error) bool

	queue  chan item
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}

	mu     sync.Mutex
	status Status
	err    error // the stop; set before done is closed
}

// item is a batch, or a flush: then flushed is closed once everything before it is written.
type item struct {
	rows    *block.Batch
	flushed chan struct{}
}

func newPump(kind string, write func(context.Context, []*block.Batch) error, stops func(error) bool) *pump {
	ctx, cancel := context.WithCancel(context.Background())
	p := &pump{kind: kind, write: write, stops: stops, queue: make(chan item, queueBatches), ctx: ctx, cancel: cancel, done: make(chan struct{})}
	go p.run()
	return p
}

// Write implements Output.
func (p *pump) Write(ctx context.Context, rows *block.Batch) error {
	if rows.Rows() == 0 {
		return nil
	}
	return p.put(ctx, item{rows: rows})
}

// Flush implements Output.
func (p *pump) Flush(ctx context.Context) error {
	flushed := make(chan struct{})
	if err := p.put(ctx, item{flushed: flushed}); err != nil {
		return err
	}
	select {
	case <-flushed:
		return nil
	case <-p.done:
		return p.ended()
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *pump) put(ctx context.Context, it item) error {
	// A select takes any ready case: without this look, an ended pump with room in its queue would swallow rows.
	select {
	case <-p.done:
		return p.ended()
	default:
	}
	select {
	case p.queue <- it:
		return nil
	case <-p.done:
		return p.ended()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Status implements Output.
func (p *pump) Status() Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.status
	s.Kind, s.Pending = p.kind, len(p.queue)
	return s
}

// Close implements Output.
func (p *pump) Close() {
	p.cancel()
	<-p.done
}

func (p *pump) ended() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return p.err
	}
	return ErrClosed
}

func (p *pump) run() {
	defer close(p.done)
	for {
		select {
		case <-p.ctx.Done():
			return
		case it := <-p.queue:
			batches, flushed := p.gather(it)
			if len(batches) > 0 && !p.persist(batches) {
				return
			}
			for _, f := range flushed {
				close(f)
			}
		}
	}
}

// gather takes what already waits, up to the size of a write. A flush ends it: nothing behind it may delay it.
func (p *pump) gather(first item) (batches []*block.Batch, flushed []chan struct{}) {
	rows := 0
	for it := first; ; {
		if it.flushed != nil {
			return batches, append(flushed, it.flushed)
		}
		batches = append(batches, it.rows)
		rows += it.rows.Rows()
		if rows >= writeRows {
			return batches, flushed
		}
		select {
		case it = <-p.queue:
		default:
			return batches, flushed
		}
	}
}

// persist writes the batches, however long it takes. It returns false when the pump must end.
func (p *pump) persist(batches []*block.Batch) bool {
	pause := retryFirst
	for {
		err := p.write(p.ctx, batches)
		p.note(err)
		switch {
		case err == nil:
			return true
		case p.ctx.Err() != nil:
			return false
		case p.stops(err):
			p.mu.Lock()
			p.err = err
			p.mu.Unlock()
			return false
		}
		select {
		case <-p.ctx.Done():
			return false
		case <-time.After(jitter(pause)):
		}
		pause = min(2*pause, retryMost)
	}
}

func (p *pump) note(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err == nil:
		p.status = Status{}
	case errors.Is(err, context.Canceled):
	case p.status.Problem == "":
		p.status = Status{Problem: err.Error(), Since: time.Now()}
	default:
		p.status.Problem = err.Error()
	}
}

// jitter spreads the retries of many tasks over half the pause.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d/2+1) }
