package task

import (
	"sync/atomic"

	"github.com/pondage/pondage/internal/kafka"
)

// chunkDepth is how many chunks of one partition wait in a task: one being processed, one fetched meanwhile.
const chunkDepth = 2

// inbox takes the chunks of a task's partitions, a bounded number of each: a port that is full has its partition left out
// of the fetch.
type inbox struct {
	*mailbox[*kafka.Chunk]
	queue []*kafka.Chunk // taken from the mailbox, not processed yet; the task's own
}

func newInbox() *inbox { return &inbox{mailbox: newMailbox[*kafka.Chunk]()} }

// fill moves what has arrived into the queue.
func (i *inbox) fill() { i.queue = append(i.queue, i.take()...) }

// next takes the oldest chunk off the queue, nil when there is none.
func (i *inbox) next() *kafka.Chunk {
	if len(i.queue) == 0 {
		return nil
	}
	c := i.queue[0]
	i.queue = i.queue[:copy(i.queue, i.queue[1:])]
	return c
}

// drain releases everything that waits.
func (i *inbox) drain() {
	i.fill()
	for c := i.next(); c != nil; c = i.next() {
		c.Release()
	}
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
	p.inbox.put(c)
	return n < chunkDepth
}

// took gives a place back: the chunk is processed.
func (p *port) took() { p.waiting.Add(-1) }
