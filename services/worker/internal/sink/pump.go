package sink

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/telemetry"
)

// Bounds of the queue before an output, and of its retries.
const (
	queueBatches = 16     // batches: a few writes ahead, so that the writer never starves
	writeRows    = 10_000 // rows of one write: large enough to amortise a round trip, small enough to be retried

	retryFirst = 100 * time.Millisecond // the first pause after a failure, doubled each time
	retryMost  = 5 * time.Second        // an output that is back is noticed within this
)

// pump is the queue and the goroutine of an output. open comes first, rows or not; then write gets batches in order and is repeated, with the same
// batches, until it succeeds, the pump is closed, or it returns a stop. write gives the batches' memory back. Between batches
// passed hears of triggers, repeated likewise.
type pump struct {
	kind       string
	env        Env
	attributes attributes
	// open is what comes before the first write, with or without rows; it is repeated like write. nil: nothing does.
	open  func(ctx context.Context) error
	write func(ctx context.Context, batches []*block.Batch) error
	// passed is called when everything before a trigger is written, and nothing after it. nil: nothing follows from that.
	passed func(ctx context.Context, c ident.CheckpointID) error
	// stops tells whether an error of one of them cannot be cured by repeating.
	stops func(error) bool

	queue  *queue
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}

	mu     sync.Mutex
	status Status
	err    error // the stop; set before done is closed
	opened bool
	last   ident.CheckpointID // trigger passed
	moved  chan struct{}      // closed when one of the two changes
}

func newPump(kind string, env Env, open func(context.Context) error, write func(context.Context, []*block.Batch) error, stops func(error) bool) *pump {
	ctx, cancel := context.WithCancel(context.Background())
	p := &pump{
		kind: kind, env: env, attributes: attributesOf(env.Stream, kind), open: open, write: write, stops: stops,
		queue: newQueue(queueBatches), ctx: ctx, cancel: cancel, done: make(chan struct{}), moved: make(chan struct{}),
	}
	return p
}

// start lets the pump run. The output that it writes for is complete by then: open is called at once.
func (p *pump) start() { go p.run() }

// Write implements Output.
func (p *pump) Write(ctx context.Context, rows *block.Batch) error {
	if rows.Rows() == 0 {
		return nil
	}
	bytes := int64(rows.MemBytes())
	if err := p.take(ctx, bytes); err != nil {
		return err
	}
	err := p.put(ctx, item{rows: rows, trace: trace.SpanContextFromContext(ctx)})
	if err != nil {
		p.env.Memory.Give(bytes)
	}
	return err
}

// take waits for memory.
func (p *pump) take(ctx context.Context, bytes int64) error {
	for {
		changed := p.env.Memory.Changed()
		if p.env.Memory.TryTake(bytes) {
			return nil
		}
		select {
		case <-changed:
		case <-p.done:
			return p.ended()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Flush implements Output.
func (p *pump) Flush(ctx context.Context) error {
	flushed := make(chan struct{})
	if err := p.say(item{flushed: flushed}); err != nil {
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

// Trigger implements Checkpointed.
func (p *pump) Trigger(_ context.Context, c ident.CheckpointID) error { return p.say(item{trigger: c}) }

// put queues a batch when there is a place.
func (p *pump) put(ctx context.Context, it item) error {
	// A select takes any ready case: without this look, an ended pump with room in its queue would swallow rows.
	select {
	case <-p.done:
		return p.ended()
	default:
	}
	select {
	case p.queue.places <- struct{}{}:
		p.queue.put(it)
		return nil
	case <-p.done:
		return p.ended()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// say queues a word.
func (p *pump) say(it item) error {
	select {
	case <-p.done:
		return p.ended()
	default:
		p.queue.put(it)
		return nil
	}
}

// await returns when the output is open and trigger c, or a later one, has passed it; 0 is passed by being open. From
// any goroutine.
func (p *pump) await(ctx context.Context, c ident.CheckpointID) error {
	for {
		p.mu.Lock()
		there, moved := p.opened && p.last >= c, p.moved
		p.mu.Unlock()
		if there {
			return nil
		}
		select {
		case <-moved:
		case <-p.done:
			return p.ended()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// move tells those who wait that the output is open, and which trigger has passed it; 0: none yet.
func (p *pump) move(c ident.CheckpointID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.opened, p.last = true, c
	close(p.moved)
	p.moved = make(chan struct{})
}

// Stopped implements Output.
func (p *pump) Stopped() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// Status implements Output.
func (p *pump) Status() Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.status
	s.Kind, s.Pending = p.kind, p.queue.pending()
	return s
}

// Close implements Output.
func (p *pump) Close() {
	p.cancel()
	<-p.done
}

func (p *pump) ended() error {
	if err := p.Stopped(); err != nil {
		return err
	}
	return ErrClosed
}

func (p *pump) run() {
	defer close(p.done)
	if p.open != nil && !p.repeat(p.ctx, p.open) {
		return
	}
	p.move(0)
	for p.ctx.Err() == nil {
		g := p.gather()
		if len(g.batches) > 0 && !p.persist(g) {
			return
		}
		switch word, ok := p.queue.next(isWord); {
		case ok && word.flushed != nil:
			close(word.flushed)
		case ok:
			if !p.pass(word.trigger) {
				return
			}
		case len(g.batches) == 0:
			select {
			case <-p.ctx.Done():
			case <-p.queue.notice:
			}
		}
	}
}

func isBatch(it item) bool { return it.rows != nil }

func isWord(it item) bool { return it.rows == nil }

// gathered is what one write takes.
type gathered struct {
	batches []*block.Batch
	rows    int
	traces  []trace.SpanContext
}

// gather takes the batches that wait, up to the size of a write. A word ends it: nothing behind it may delay it.
func (p *pump) gather() (g gathered) {
	for g.rows < writeRows {
		it, ok := p.queue.next(isBatch)
		if !ok {
			break
		}
		g.batches = append(g.batches, it.rows)
		g.rows += it.rows.Rows()
		if it.trace.IsSampled() {
			g.traces = append(g.traces, it.trace)
		}
	}
	return g
}

// pass lets a trigger pass: everything before it is written.
func (p *pump) pass(c ident.CheckpointID) bool {
	if p.passed != nil && !p.repeat(p.ctx, func(ctx context.Context) error { return p.passed(ctx, c) }) {
		return false
	}
	p.move(c)
	return true
}

// persist writes the batches, however long it takes. It returns false when the pump must end.
func (p *pump) persist(g gathered) bool {
	ctx, span := p.trace(g)
	defer span.End()
	return p.repeat(ctx, func(ctx context.Context) error {
		began := time.Now()
		err := p.write(ctx, g.batches)
		if p.ctx.Err() == nil {
			p.env.Metrics.wrote(ctx, p.attributes, g.rows, began, err)
		}
		return err
	})
}

// repeat does it until it succeeds, and returns false when the pump must end. The span of ctx is told of each failure.
func (p *pump) repeat(ctx context.Context, do func(context.Context) error) bool {
	span := trace.SpanFromContext(ctx)
	pause := retryFirst
	for {
		err := do(ctx)
		p.note(err)
		if err == nil {
			return true
		}
		span.RecordError(err)
		if p.ctx.Err() != nil || p.stops(err) {
			span.SetStatus(codes.Error, err.Error())
			p.stop(err)
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

// stop notes what the pump ends with; nothing when it is closed.
func (p *pump) stop(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() == nil {
		p.err = err
	}
}

// halt ends the pump with a stop that was met beside its work.
func (p *pump) halt(err error) {
	p.stop(err)
	p.cancel()
}

// trace begins the span of a write: of the trace of its first sampled rows, with links to those of the others. Without
// any it costs nothing.
func (p *pump) trace(g gathered) (context.Context, trace.Span) {
	if len(g.traces) == 0 {
		return p.ctx, trace.SpanFromContext(p.ctx) // records nothing
	}
	options := []trace.SpanStartOption{trace.WithAttributes(telemetry.Stream.String(p.env.Stream), kindKey.String(p.kind), rowsKey.Int(g.rows))}
	for _, other := range g.traces[1:] {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: other}))
	}
	return p.env.Tracer.Start(trace.ContextWithRemoteSpanContext(p.ctx, g.traces[0]), "write "+p.kind, options...)
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
