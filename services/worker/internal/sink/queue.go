package sink

import (
	"sync"

	"go.opentelemetry.io/otel/trace"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/ident"
)

// item is a batch, or a word between batches: a flush or a trigger.
type item struct {
	rows    *block.Batch
	trace   trace.SpanContext  // of the block that the rows come from; invalid: it is not sampled
	flushed chan struct{}      // of a flush: closed once everything before it is written
	trigger ident.CheckpointID // of a trigger
}

// queue is what waits for an output, in order. A batch needs a place; a word needs none, so that a trigger passes a task
// whose output is slow: the checkpoint waits for the output then, and the task does not.
type queue struct {
	places chan struct{} // one is taken by each batch
	notice chan struct{} // has an element when something has come since it was last taken

	mu    sync.Mutex
	items []item
}

func newQueue(batches int) *queue {
	return &queue{places: make(chan struct{}, batches), notice: make(chan struct{}, 1)}
}

// put appends an item; who puts a batch has taken a place before.
//
// No wake-up is lost: the reader looks for items before it waits for the notice, and the notice comes after the item. If
// the reader finds the item before it takes the notice, it looks once more in vain.
func (q *queue) put(it item) {
	q.mu.Lock()
	q.items = append(q.items, it)
	q.mu.Unlock()
	select {
	case q.notice <- struct{}{}:
	default:
	}
}

// next takes the first item if accept takes it.
func (q *queue) next(accept func(item) bool) (it item, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.items) == 0 || !accept(q.items[0]) {
		return item{}, false
	}
	it, q.items[0] = q.items[0], item{}
	q.items = q.items[1:]
	if it.rows != nil {
		<-q.places
	}
	return it, true
}

// pending is how many batches wait.
func (q *queue) pending() int { return len(q.places) }
