package task

import (
	"slices"
	"sync"
	"time"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/kafka"
	"github.com/pondage/pondage/services/worker/internal/memory"
)

// cluster is Kafka in memory: logs, subscriptions that fetch from them, and produce queues. It implements Reader. Its
// times are those of the real fetcher and a local broker.
type cluster struct {
	pool *memory.Pool

	mu   sync.Mutex
	logs map[string][][]kafka.Message
	subs []*subscription
	// chunk is how many records one fetch brings.
	chunk int
	// broken, where set, decides what becomes of an attempt to produce.
	broken func(topic string, p ident.Partition, m kafka.Message) error
	polls  int // non-empty fetches of the source
}

const (
	fetchEmptyEvery = 500 * time.Millisecond
	fetchFullEvery  = 5 * time.Millisecond // while the memory is used up
	ackAfter        = 2 * time.Millisecond
)

func newCluster(p *memory.Pool) *cluster {
	const chunk = 1000
	return &cluster{pool: p, logs: map[string][][]kafka.Message{}, chunk: chunk}
}

func (c *cluster) create(topic string, partitions int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.logs[topic]) < partitions {
		c.logs[topic] = append(c.logs[topic], nil)
	}
}

func (c *cluster) append(topic string, p ident.Partition, m kafka.Message) ident.LastOffset {
	for i := range m.Headers { // the caller's memory is used again
		m.Headers[i].Value = slices.Clone(m.Headers[i].Value)
	}
	m.Headers, m.Value, m.Key = slices.Clone(m.Headers), slices.Clone(m.Value), slices.Clone(m.Key)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.logs[topic][p] = append(c.logs[topic][p], m)
	for _, s := range c.subs {
		if s.spec.Topic == topic && s.spec.Partition == p {
			s.wakeUp()
		}
	}
	return ident.LastOffset(len(c.logs[topic][p]) - 1)
}

func (c *cluster) end(topic string, p ident.Partition) ident.NextOffset {
	c.mu.Lock()
	defer c.mu.Unlock()
	return ident.NextOffset(len(c.logs[topic][p]))
}

// read returns what a partition holds.
func (c *cluster) read(topic string, p ident.Partition) []kafka.Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.logs[topic][p])
}

// open tells whether any partition of the topic is read.
func (c *cluster) open(topic string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.subs, func(s *subscription) bool { return s.spec.Topic == topic && !s.closed })
}

// fetches returns how often the source was fetched and brought something.
func (c *cluster) fetches() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.polls
}

func (c *cluster) set(change func(*cluster)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(c)
}

func (c *cluster) close() {
	c.mu.Lock()
	subs := slices.Clone(c.subs)
	c.mu.Unlock()
	for _, s := range subs {
		s.Close()
		<-s.ended
	}
}

// subscription fetches one partition for one inbox.
type subscription struct {
	c     *cluster
	spec  kafka.SubscribeSpec
	wake  chan struct{}
	ended chan struct{}

	// Guarded by c.mu.
	position ident.NextOffset
	paused   bool
	closed   bool
	held     int
	fail     error
	empty    time.Time // when the last chunk without records came
}

// Subscribe implements Reader.
func (c *cluster) Subscribe(spec kafka.SubscribeSpec) (Subscription, error) {
	s := &subscription{c: c, spec: spec, wake: make(chan struct{}, 1), ended: make(chan struct{}), position: spec.From}
	c.mu.Lock()
	c.subs = append(c.subs, s)
	c.mu.Unlock()
	go s.run()
	return s, nil
}

func (s *subscription) wakeUp() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *subscription) change(f func()) {
	s.c.mu.Lock()
	f()
	s.c.mu.Unlock()
	s.wakeUp()
}

// Resume implements Subscription.
func (s *subscription) Resume() { s.change(func() { s.paused = false }) }

// Seek implements Subscription.
func (s *subscription) Seek(to ident.NextOffset) { s.change(func() { s.position = to }) }

// Close implements Subscription.
func (s *subscription) Close() { s.change(func() { s.closed = true }) }

// stop ends a subscription as a fetcher does that meets a named stop.
func (c *cluster) stop(topic string, p ident.Partition, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.subs {
		if s.spec.Topic == topic && s.spec.Partition == p {
			s.fail = err
			s.wakeUp()
		}
	}
}

func (s *subscription) run() {
	defer close(s.ended)
	for {
		c, wait, over := s.next()
		if over {
			return
		}
		if c != nil {
			last, more := c.Err != nil, c.Size() > 0 // it is the inbox's afterwards
			if s.spec.Inbox.Offer(c) {
				s.c.mu.Lock()
				s.paused = false
				s.c.mu.Unlock()
			}
			if last {
				return
			}
			if more {
				continue
			}
		}
		select {
		case <-s.wake:
		case <-time.After(wait):
		}
	}
}

// next makes the next chunk: of what is there, or an empty one where the inbox takes it.
func (s *subscription) next() (c *kafka.Chunk, wait time.Duration, over bool) {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	log := s.c.logs[s.spec.Topic][s.spec.Partition]
	end := ident.NextOffset(len(log))
	of := kafka.ChunkSpec{
		Topic: s.spec.Topic, Partition: s.spec.Partition, From: s.position, HighWatermark: end, LastStable: end, Isolation: s.spec.Isolation,
	}
	switch {
	case s.closed:
		return nil, 0, true
	case s.fail != nil:
		of.Err = s.fail
		return kafka.NewChunk(of), 0, false
	case s.paused:
		return nil, fetchEmptyEvery, false
	}
	n := min(int(end-s.position), s.c.chunk)
	if n == 0 {
		if due := fetchEmptyEvery - time.Since(s.empty); due > 0 {
			return nil, due, false
		}
		s.empty = time.Now()
	}
	of.Messages = log[s.position:][:n]
	size := 0
	for i, m := range of.Messages {
		if size += len(m.Key) + len(m.Value); size > kafka.DefaultChunkBytes {
			n = i + 1
			of.Messages = of.Messages[:n]
			break
		}
	}
	if n > 0 && !s.c.pool.TryTake(int64(size)) {
		if s.held > 0 {
			return nil, fetchFullEvery, false
		}
		s.c.pool.Take(int64(size))
	}
	if n > 0 {
		s.held++
		if s.spec.Topic == sourceTopic {
			s.c.polls++
		}
	}
	of.Release = func() {
		if n == 0 {
			return
		}
		s.c.pool.Give(int64(size))
		s.c.mu.Lock()
		s.held--
		s.c.mu.Unlock()
	}
	s.position += ident.NextOffset(n)
	s.paused = true // until Offer says otherwise
	return kafka.NewChunk(of), fetchEmptyEvery, false
}

// queue returns a produce queue: one attempt at a time, repeated when its caller says so.
func (c *cluster) queue(topic string, p ident.Partition) *queue {
	return &queue{c: c, topic: topic, partition: p}
}

type queue struct {
	c         *cluster
	topic     string
	partition ident.Partition

	mu      sync.Mutex
	waiting []kafka.Message
	busy    bool // an attempt is under way
	held    bool // it failed
}

// Push implements Queue.
func (q *queue) Push(m kafka.Message) error {
	m.Headers, m.Value = slices.Clone(m.Headers), slices.Clone(m.Value)
	for i := range m.Headers {
		m.Headers[i].Value = slices.Clone(m.Headers[i].Value)
	}
	q.mu.Lock()
	q.waiting = append(q.waiting, m)
	q.mu.Unlock()
	q.attempt(false)
	return nil
}

// Retry implements Queue.
func (q *queue) Retry() { q.attempt(true) }

func (q *queue) attempt(again bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.busy || len(q.waiting) == 0 || q.held && !again {
		return
	}
	q.busy, q.held = true, false
	time.AfterFunc(ackAfter, q.arrive)
}

// arrive is the end of an attempt with the first message that waits.
func (q *queue) arrive() {
	q.mu.Lock()
	m := q.waiting[0]
	q.mu.Unlock()
	var err error
	q.c.mu.Lock()
	broken := q.c.broken
	q.c.mu.Unlock()
	if broken != nil {
		err = broken(q.topic, q.partition, m)
	}
	r := kafka.Result{Tag: m.Tag, Err: err}
	if err == nil {
		r.Offset = q.c.append(q.topic, q.partition, m)
	}
	q.mu.Lock()
	q.busy = false
	if err == nil {
		q.waiting = q.waiting[1:]
	} else {
		q.held = true
	}
	q.mu.Unlock()
	m.Done(r)
	q.attempt(false)
}
