package kafka

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/pondage/pondage/internal/ident"
)

// Producer writes to partitions, through one Queue each. Its senders, a few connections a broker, gather what many queues
// have ready into one request.
type Producer struct {
	client *Client
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	loops  sync.WaitGroup
	router *router

	mu      sync.Mutex
	queues  map[*Queue]struct{}
	senders map[int32]*sender
	brokers map[int32]string // addresses
	closed  bool
}

// NewProducer returns a running producer without queues.
func NewProducer(c *Client) *Producer {
	ctx, cancel := context.WithCancel(context.Background())
	p := &Producer{
		client: c, ctx: ctx, cancel: cancel, queues: map[*Queue]struct{}{}, senders: map[int32]*sender{},
	}
	p.router = newRouter(DefaultRefreshEvery, p.refresh)
	p.loops.Go(func() { p.router.run(ctx) })
	return p
}

// Open returns a queue for a partition. All queues of one partition are independent: open it once. An error is one of
// Client.Topic, or CodeTopicRecreated where the topic is not the one of o.TopicID.
func (p *Producer) Open(ctx context.Context, topic string, partition ident.Partition, o QueueOptions) (*Queue, error) {
	t, err := p.client.Topic(ctx, topic)
	if err != nil {
		return nil, err
	}
	if partition < 0 || int(partition) >= len(t.Partitions) {
		return nil, &Error{
			Code: CodeTopicUnknown, Op: "produce", Topic: topic, Partition: partition,
			Detail: fmt.Sprintf("the topic has %d partitions", len(t.Partitions)),
		}
	}
	if !o.TopicID.IsZero() && o.TopicID != t.ID {
		return nil, recreated("produce", topic, partition, o.TopicID, t.ID)
	}
	maxMessage, err := p.client.maxMessageBytes(ctx, t)
	if err != nil {
		return nil, err
	}
	q := &Queue{
		p: p, topic: t, partition: partition, opts: o.withDefaults(maxMessage), maxMessage: maxMessage,
		changed: make(chan struct{}), leader: noLeader,
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, q.failure(CodeClosed, "the producer is closed")
	}
	p.queues[q] = struct{}{}
	p.router.kick()
	return q, nil
}

const noLeader int32 = -1

// recreated is the error of a topic that is not the one it was.
func recreated(op, topic string, partition ident.Partition, was, is TopicID) error {
	return &Error{
		Code: CodeTopicRecreated, Op: op, Topic: topic, Partition: partition,
		Detail: fmt.Sprintf("the topic had id %s, the topic of this name now has id %s: it was deleted and made again", was, is),
	}
}

// Close closes all queues, which discards what is not answered (Flush them before), and waits for the loops.
func (p *Producer) Close() {
	p.mu.Lock()
	p.closed = true
	queues := p.list()
	p.mu.Unlock()
	for _, q := range queues {
		q.Close()
	}
	p.cancel()
	p.loops.Wait()
}

// list returns the queues, under p.mu.
func (p *Producer) list() []*Queue {
	queues := make([]*Queue, 0, len(p.queues))
	for q := range p.queues {
		queues = append(queues, q)
	}
	return queues
}

func (p *Producer) forget(q *Queue) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.queues, q)
}

// ready gives a queue with something to send to a sender of its leader, or to the router.
func (p *Producer) ready(q *Queue) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dispatch(q)
}

// dispatch is ready under p.mu.
func (p *Producer) dispatch(q *Queue) {
	if p.closed {
		return
	}
	if q.leader == noLeader {
		q.unrouted = true
		p.router.kick()
		return
	}
	s, ok := p.senders[q.leader]
	if !ok {
		s = newSender(p, q.leader)
		p.senders[q.leader] = s
	}
	s.add(q)
}

// refresh looks where the leaders are, and whether the topics are still the same.
func (p *Producer) refresh(ctx context.Context) (settled bool, err error) {
	p.mu.Lock()
	queues := p.list()
	p.mu.Unlock()
	if len(queues) == 0 {
		return true, nil
	}
	names := map[string]struct{}{}
	for _, q := range queues {
		names[q.topic.Name] = struct{}{}
	}
	topics := make([]string, 0, len(names))
	for name := range names {
		topics = append(topics, name)
	}
	meta, err := p.client.metadata(ctx, topics)
	if err != nil {
		return false, err
	}
	settled = true
	for _, q := range queues {
		leader, err := q.look(meta.topics[q.topic.Name])
		if err != nil {
			q.drop(err, err)
			continue
		}
		settled = settled && leader != noLeader
		p.lead(q, leader, meta.brokers)
	}
	return settled, nil
}

// look judges what the brokers say about the queue's topic: its leader, noLeader for the moment, or a named stop.
func (q *Queue) look(t topicMeta) (leader int32, err error) {
	switch {
	case t.err != nil && Transient(classify("produce", q.topic.Name, q.partition, t.err)):
		return noLeader, nil
	case t.err != nil && codeOfCause(t.err) != CodeTopicUnknown:
		return noLeader, classify("produce", q.topic.Name, q.partition, t.err)
	case t.err != nil || int(q.partition) >= len(t.Partitions):
		if !q.stillMissing() {
			return noLeader, nil
		}
		return noLeader, q.failure(CodeTopicUnknown, "the topic or partition is gone")
	case t.ID != q.topic.ID:
		return noLeader, recreated("produce", q.topic.Name, q.partition, q.topic.ID, t.ID)
	}
	return t.Partitions[q.partition].Leader, nil
}

// stillMissing notes that the brokers do not know the partition, and tells whether that is to be believed.
func (q *Queue) stillMissing() bool {
	q.p.mu.Lock()
	defer q.p.mu.Unlock()
	if q.missing.IsZero() {
		q.missing = time.Now()
	}
	return time.Since(q.missing) >= missingGrace
}

// lead notes the leader of a queue; one that waited for it goes on.
func (p *Producer) lead(q *Queue, leader int32, brokers map[int32]string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.brokers = brokers
	q.leader = leader
	if leader == noLeader {
		return
	}
	q.missing = time.Time{}
	if q.unrouted {
		q.unrouted = false
		p.dispatch(q)
	}
}
