package setaside

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/pondage/pondage/internal/connect"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/kafka"
)

// maxScan is how many of a topic's newest records a listing reads: a second or two.
const maxScan = 100_000

// scan calls visit for the newest records of a topic, partition by partition, up to where it ends now. A topic that does
// not exist has none. A record is valid during the call only; an error of visit ends the scan.
func scan(ctx context.Context, k *connect.Kafka, topic string, visit func(*kafka.Record) error) error {
	starts, err := k.Client.Starts(ctx, topic)
	if kafka.CodeOf(err) == kafka.CodeTopicUnknown {
		return nil
	}
	if err != nil {
		return err
	}
	ends, err := k.Client.Stables(ctx, topic)
	if err != nil {
		return err
	}
	busy := 0
	for p, end := range ends {
		if end > starts[p] {
			busy++
		}
	}
	for _, p := range slices.Sorted(maps.Keys(ends)) {
		from := max(starts[p], ends[p]-ident.NextOffset(maxScan/max(busy, 1)))
		if from >= ends[p] {
			continue
		}
		if err := read(ctx, k.Fetcher, kafka.SubscribeSpec{Topic: topic, Partition: p, From: from, Isolation: kafka.ReadCommitted}, ends[p], visit); err != nil {
			return err
		}
	}
	return nil
}

// read reads one partition up to an offset.
func read(ctx context.Context, f *kafka.Fetcher, spec kafka.SubscribeSpec, end ident.NextOffset, visit func(*kafka.Record) error) error {
	in := &inbox{chunks: make(chan *kafka.Chunk, inboxDepth)}
	spec.Inbox = in
	sub, err := f.Subscribe(spec)
	if err != nil {
		return err
	}
	defer in.close()
	defer sub.Close()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case c := <-in.chunks:
			err := visitChunk(c, end, visit)
			next := c.Next
			c.Release()
			if err != nil || next >= end {
				return err
			}
			sub.Resume()
		}
	}
}

func visitChunk(c *kafka.Chunk, end ident.NextOffset, visit func(*kafka.Record) error) error {
	if c.Err != nil {
		return c.Err
	}
	var failed error
	err := c.Records(func(r *kafka.Record) bool {
		if r.Offset.Next() > end {
			return false
		}
		failed = visit(r)
		return failed == nil
	})
	if failed != nil {
		return failed
	}
	return err
}

// inboxDepth is one chunk, and the error that may follow it unasked.
const inboxDepth = 2

// inbox takes one chunk at a time. A chunk that comes while it closes is released: a chunk may be offered at the same
// moment as its subscription is closed.
type inbox struct {
	chunks chan *kafka.Chunk

	mu     sync.Mutex
	closed bool
}

// Offer implements kafka.Inbox.
func (i *inbox) Offer(c *kafka.Chunk) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed {
		c.Release()
	} else {
		i.chunks <- c // has room: see inboxDepth
	}
	return false
}

func (i *inbox) close() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.closed = true
	for {
		select {
		case c := <-i.chunks:
			c.Release()
		default:
			return
		}
	}
}
