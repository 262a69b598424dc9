package kafka

import (
	"time"

	"github.com/pondage/pondage/internal/ident"
)

// This file is the life of a request: begin, then succeed, fail or drop.

// begin returns the request for an attempt; nil when there is none any more. At its first attempt it is sealed: from then
// on its bytes stay as they are.
func (q *Queue) begin() *batch {
	q.mu.Lock()
	q.listed = false
	if q.head == nil && len(q.waiting) > 0 {
		q.head, q.waiting = q.waiting[0], q.waiting[1:]
	}
	b := q.head
	if b != nil && !b.sealed {
		q.size = len(b.buf)
	}
	q.mu.Unlock()
	if b == nil || b.sealed {
		return b
	}
	if err := b.seal(q.opts.Codec); err != nil {
		q.fail(b, &Error{
			Code: CodeInvalidRequest, Op: "compress", Topic: q.topic.Name, Partition: q.partition, Err: err,
		})
		return nil
	}
	b.sealed = true
	return b
}

// succeed tells the results of an answered request, then lets the next one go: results keep the order of the messages.
func (q *Queue) succeed(b *batch, base ident.LastOffset) {
	q.turn.Lock()
	if !b.discarded {
		b.tell(func(i int) Result { return Result{Offset: base + ident.LastOffset(i)} })
	}
	q.turn.Unlock()
	q.mu.Lock()
	q.lastErr = nil
	q.wait.reset()
	q.mu.Unlock()
	q.finish(b)
}

// fail takes a failed attempt: a named stop ends the queue, any other failure holds the request.
func (q *Queue) fail(b *batch, err error) {
	if !Transient(err) {
		q.drop(err, err)
		q.finish(b)
		return
	}
	q.turn.Lock()
	discarded := b.discarded
	if !discarded && q.opts.Mode == RetryByCaller {
		b.tell(func(int) Result { return Result{Err: err} })
	}
	// Held only now: a Retry from one of these results would else send the request while the others are told.
	q.mu.Lock()
	q.lastErr, q.held = err, !discarded
	delay := q.wait.next()
	q.mu.Unlock()
	q.turn.Unlock()
	switch {
	case discarded:
		q.finish(b)
	case q.opts.Mode == RetryItself:
		time.AfterFunc(delay, q.Retry)
	}
}

// finish takes an answered or discarded request off the queue and lets the next one go.
func (q *Queue) finish(b *batch) {
	q.mu.Lock()
	q.head = nil
	if !b.discarded {
		q.messages -= len(b.entries)
		q.bytes -= b.payload
	}
	ready := q.list()
	q.announce()
	q.mu.Unlock()
	b.recycle()
	if ready {
		q.p.ready(q)
	}
}

// announce wakes those who wait for room or for the end, under q.mu.
func (q *Queue) announce() {
	close(q.changed)
	q.changed = make(chan struct{})
}

// drop ends all messages with err. stop, where not nil, ends the queue too.
func (q *Queue) drop(stop, err error) {
	q.turn.Lock()
	defer q.turn.Unlock()
	for _, b := range q.takeAll(stop) {
		b.tell(func(int) Result { return Result{Err: err} })
	}
}

// takeAll empties the queue. A request that a sender has is marked: its answer will count for nothing, but the next one
// waits for it.
func (q *Queue) takeAll(stop error) []*batch {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.stopped == nil {
		q.stopped = stop
	}
	taken := q.waiting
	if q.head != nil && !q.head.discarded {
		q.head.discarded = true
		taken = append([]*batch{q.head}, taken...)
		if q.held || q.listed {
			q.head, q.held = nil, false // no sender has it
		}
	}
	q.waiting, q.messages, q.bytes = nil, 0, 0
	q.announce()
	return taken
}
