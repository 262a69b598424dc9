package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pondage/pondage/internal/ident"
)

// Queue writes to one partition. Messages are appended to an open batch; a batch is closed when it is full or when it is
// its turn to be sent. At most one is in flight, and it is repeated unchanged until answered: nothing overtakes.
type Queue struct {
	p          *Producer
	topic      Topic
	partition  ident.Partition
	opts       QueueOptions
	maxMessage int // bytes of a batch that the topic takes

	// turn is held while results are told, so that they come one after the other. It is taken before mu.
	turn sync.Mutex

	mu       sync.Mutex
	head     *batch        // the request: waits for its sender, is in flight, or is held
	held     bool          // head failed and waits for Retry
	waiting  []*batch      // behind head, oldest first; the last one takes messages
	listed   bool          // a sender has the queue on its list, or the router looks for its leader
	size     int           // bytes of the last batch that was begun to be sent: the next one's will be like it
	messages int           // not answered
	bytes    int           // of their records
	changed  chan struct{} // closed and replaced when messages leave
	stopped  error         // a named stop; nothing is taken any more
	lastErr  error         // of the last attempt; nil after an answer
	wait     backoff

	// Guarded by p.mu.
	leader   int32     // −1: none known
	unrouted bool      // has something to send and no leader
	missing  time.Time // since when the brokers do not know the topic; zero: they do
}

// batch is a request of one partition: the same bytes at each attempt.
type batch struct {
	batchWriter
	openedMs  int64 // ms since the epoch: the timestamp of messages without one
	entries   []entry
	payload   int  // bytes of the records before compression
	sealed    bool // nothing is added any more
	discarded bool // its results were told before its answer came
}

type entry struct {
	tag  uint64
	done func(Result)
}

var batchPool = sync.Pool{New: func() any { return new(batch) }}

// newBatch returns an open batch that is expected to take about size bytes.
func newBatch(size int) *batch {
	b := batchPool.Get().(*batch)
	b.reset(size)
	b.openedMs = time.Now().UnixMilli()
	b.entries, b.payload, b.sealed, b.discarded = b.entries[:0], 0, false, false
	return b
}

// recycle gives the memory of a batch back.
func (b *batch) recycle() {
	clear(b.entries)
	b.free()
	batchPool.Put(b)
}

// tell gives each message of the batch its result.
func (b *batch) tell(result func(i int) Result) {
	for i, e := range b.entries {
		if e.done != nil {
			r := result(i)
			r.Tag = e.tag
			e.done(r)
		}
	}
}

// Topic returns the topic as it was when the queue was opened.
func (q *Queue) Topic() Topic { return q.topic }

// Partition returns the partition's number.
func (q *Queue) Partition() ident.Partition { return q.partition }

// Push appends a message in any case: the caller bounds what it pushes (dispatch does, by credit). It does not wait. An
// error means that nothing was taken: the message is too large for the topic (CodeRecordTooLarge), or the queue has
// stopped.
func (q *Queue) Push(m Message) error {
	q.mu.Lock()
	ready, err := q.add(&m)
	q.mu.Unlock()
	if ready {
		q.p.ready(q)
	}
	return err
}

// Send appends a message, waiting while the queue is full.
func (q *Queue) Send(ctx context.Context, m Message) error {
	for {
		q.mu.Lock()
		if q.stopped != nil || q.bytes < q.opts.MaxPendingBytes {
			ready, err := q.add(&m)
			q.mu.Unlock()
			if ready {
				q.p.ready(q)
			}
			return err
		}
		changed := q.changed
		q.mu.Unlock()
		select {
		case <-ctx.Done():
			return fmt.Errorf("kafka produce %s/%d: queue full: %w", q.topic.Name, q.partition, ctx.Err())
		case <-changed:
		}
	}
}

// add appends under q.mu. ready tells that a sender must hear of it.
func (q *Queue) add(m *Message) (ready bool, err error) {
	if q.stopped != nil {
		return false, q.stopped
	}
	size := recordBound(m)
	if size+batchRecords > q.maxMessage {
		return false, &Error{
			Code: CodeRecordTooLarge, Op: "produce", Topic: q.topic.Name, Partition: q.partition,
			Detail: fmt.Sprintf("a record of %d bytes; %s is %d", size, SettingMaxMessageBytes, q.maxMessage),
		}
	}
	b := q.openBatch(size)
	timeMs := m.TimestampMs
	if timeMs == 0 {
		timeMs = b.openedMs
	}
	before := len(b.buf)
	b.add(m, timeMs)
	b.payload += len(b.buf) - before
	b.entries = append(b.entries, entry{tag: m.Tag, done: m.Done})
	q.messages++
	q.bytes += len(b.buf) - before
	return q.list(), nil
}

// openBatch returns the batch that takes a message of that size, under q.mu.
func (q *Queue) openBatch(size int) *batch {
	if n := len(q.waiting); n > 0 && len(q.waiting[n-1].buf)+size <= q.opts.MaxBatchBytes {
		return q.waiting[n-1]
	}
	b := newBatch(q.size)
	q.waiting = append(q.waiting, b)
	return b
}

// list tells whether a sender must be told that there is something to send, under q.mu.
func (q *Queue) list() bool {
	if q.listed || q.head != nil || len(q.waiting) == 0 {
		return false
	}
	q.listed = true
	return true
}

// Full tells whether the queue is at its limit: the pressure signal for those who Push.
func (q *Queue) Full() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.bytes >= q.opts.MaxPendingBytes
}

// Pending returns what is not yet answered: messages, and their bytes in the batches.
func (q *Queue) Pending() (messages, bytes int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.messages, q.bytes
}

// Stopped returns the named stop of the queue; nil while it takes messages.
func (q *Queue) Stopped() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.stopped
}

// Err returns why the queue has stopped or why its last attempt failed; nil when all is well.
func (q *Queue) Err() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.stopped != nil {
		return q.stopped
	}
	return q.lastErr
}

// Retry sends the request that failed again, unchanged. Without one it does nothing.
func (q *Queue) Retry() {
	q.mu.Lock()
	ready := q.held
	if ready {
		q.held, q.listed = false, true
	}
	q.mu.Unlock()
	if ready {
		q.p.ready(q)
	}
}

// Flush waits until everything appended so far is answered. It returns a named stop of the queue.
func (q *Queue) Flush(ctx context.Context) error {
	for {
		q.mu.Lock()
		changed, messages, stopped := q.changed, q.messages, q.stopped
		q.mu.Unlock()
		if stopped != nil || messages == 0 {
			return stopped
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("kafka produce %s/%d: %d messages unanswered: %w", q.topic.Name, q.partition, messages,
				errors.Join(ctx.Err(), q.Err()))
		case <-changed:
		}
	}
}

// Discard ends every message that is not answered, with CodeDiscarded: the task was reset. What is in flight may still be
// appended; the stage in its header fences it. The queue goes on with what comes next. Not to be called from a Done.
func (q *Queue) Discard() { q.drop(nil, q.failure(CodeDiscarded, "the queue was discarded")) }

// Close discards what is left and ends the queue. Not to be called from a Done.
func (q *Queue) Close() {
	closed := q.failure(CodeClosed, "the queue is closed")
	q.drop(closed, closed)
	q.p.forget(q)
}

func (q *Queue) failure(code Code, detail string) *Error {
	return &Error{Code: code, Op: "produce", Topic: q.topic.Name, Partition: q.partition, Detail: detail}
}
