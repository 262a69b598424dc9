package task

import (
	"sync/atomic"
	"time"

	"github.com/pondage/pondage/internal/kafka"
)

// chunkDepth is how many chunks of one partition wait in a task: one being processed, one fetched meanwhile.
const chunkDepth = 2

// inbox takes the chunks of a task's partitions, a bounded number of each: a port that is full has its partition left out
// of the fetch.
type inbox struct {
	*mailbox[arrival]
	queue []arrival // taken from the mailbox, not processed yet; the task's own
}

// arrival is a chunk with the time at which the broker's answer came: what a partition's silence is measured by, however
// long the chunk then waits.
type arrival struct {
	*kafka.Chunk
	at time.Time
}

func newInbox() *inbox { return &inbox{mailbox: newMailbox[arrival]()} }

// fill moves what has arrived into the queue.
func (i *inbox) fill() { i.queue = append(i.queue, i.take()...) }

// next takes the oldest chunk off the queue, which is not empty.
func (i *inbox) next() arrival {
	c := i.queue[0]
	n := copy(i.queue, i.queue[1:])
	i.queue[n] = arrival{}
	i.queue = i.queue[:n]
	return c
}

// putBack puts chunks before everything that waits, in their order.
func (i *inbox) putBack(held []arrival) { i.queue = append(held[:len(held):len(held)], i.queue...) }

// end releases everything that waits, and whatever still arrives: a chunk may be offered while its subscription is
// closed.
func (i *inbox) end() {
	for _, c := range append(i.queue, i.close()...) {
		c.Release()
	}
	i.queue = nil
}

// port is the inbox of one partition.
type port struct {
	inbox   *inbox
	waiting atomic.Int32
}

func (i *inbox) port() *port { return &port{inbox: i} }

// Offer implements kafka.Inbox; it never blocks.
func (p *port) Offer(c *kafka.Chunk) bool {
	n := p.waiting.Add(1)
	if !p.inbox.put(arrival{Chunk: c, at: time.Now()}) {
		c.Release()
		return false
	}
	return n < chunkDepth
}

// took gives a place back: the chunk is processed.
func (p *port) took() { p.waiting.Add(-1) }
