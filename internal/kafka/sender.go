package kafka

import (
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/produce"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/pondage/pondage/internal/ident"
)

const (
	// sendersPerBroker is how many requests to one broker may be under way: one partition that waits for its replicas
	// must not hold the others up. Within a partition there is one.
	sendersPerBroker = 4
	// gatherBytes is how much of many queues one request takes together, bytes. A single batch may be larger.
	gatherBytes = 8 << 20
	// acksAll, −1, asks the broker to answer when all in-sync replicas have the batch.
	acksAll = ^uint16(0)
)

// sender is the way to one broker: a list of queues that have something to send, and the connections that take from it.
type sender struct {
	p      *Producer
	broker int32
	wake   chan struct{} // one place a connection

	// Guarded by p.mu.
	ready   []*Queue
	running int
	idle    int
}

func newSender(p *Producer, broker int32) *sender {
	return &sender{p: p, broker: broker, wake: make(chan struct{}, sendersPerBroker)}
}

// add lists a queue and finds a connection for it, under p.mu.
func (s *sender) add(q *Queue) {
	s.ready = append(s.ready, q)
	if s.idle == 0 && s.running < sendersPerBroker {
		s.running++
		s.p.loops.Go(s.run)
		return
	}
	select {
	case s.wake <- struct{}{}:
	default: // as many wake-ups as connections are on their way: one of them finds the queue
	}
}

// attempt is one queue's part of a request.
type attempt struct {
	queue *Queue
	batch *batch
}

func (a attempt) topic() string { return a.queue.topic.Name }

// run is one connection: it gathers, sends, tells the results, until the producer is closed.
func (s *sender) run() {
	var cn *conn
	defer func() {
		if cn != nil {
			cn.close()
		}
	}()
	var attempts []attempt
	var frame produceFrame
	for {
		attempts = s.gather(attempts[:0])
		if len(attempts) == 0 {
			if !s.sleep() {
				return
			}
			continue
		}
		var err error
		if cn == nil {
			cn, err = s.connect()
		}
		if err == nil {
			err = s.send(cn, &frame, attempts)
		}
		if err != nil {
			if cn != nil {
				cn.close()
				cn = nil
			}
			for _, a := range attempts {
				a.queue.fail(a.batch, locate(err, a.queue.topic.Name, a.queue.partition))
			}
			s.p.router.kick()
		}
	}
}

// gather takes queues off the list and their requests, up to gatherBytes.
func (s *sender) gather(attempts []attempt) []attempt {
	for size := 0; size < gatherBytes; {
		s.p.mu.Lock()
		if len(s.ready) == 0 {
			s.p.mu.Unlock()
			break
		}
		q := s.ready[0]
		s.ready = s.ready[1:]
		s.p.mu.Unlock()
		if b := q.begin(); b != nil {
			attempts = append(attempts, attempt{q, b})
			size += len(b.buf)
		}
	}
	return attempts
}

// sleep waits for a queue; false when the producer is closed.
func (s *sender) sleep() bool {
	s.p.mu.Lock()
	if len(s.ready) > 0 {
		s.p.mu.Unlock()
		return s.p.ctx.Err() == nil
	}
	s.idle++
	s.p.mu.Unlock()
	defer func() {
		s.p.mu.Lock()
		s.idle--
		s.p.mu.Unlock()
	}()
	select {
	case <-s.p.ctx.Done():
		return false
	case <-s.wake:
		return true
	}
}

func (s *sender) connect() (*conn, error) {
	s.p.mu.Lock()
	address := s.p.brokers[s.broker]
	s.p.mu.Unlock()
	return s.p.client.cfg.dialBroker(s.p.ctx, address)
}

// send makes one request of the attempts and tells each its result. An error is the connection's: nobody was told.
func (s *sender) send(cn *conn, f *produceFrame, attempts []attempt) error {
	answer, err := cn.exchange(protocol.Produce, versionProduce, func(correlation int32) error {
		pieces := f.build(correlation, cn.clientID, s.p.client.cfg.RequestTimeout, attempts)
		_, err := pieces.WriteTo(cn.net)
		return err
	})
	if err != nil {
		return classify("produce", "", NoPartition, err)
	}
	results := map[string]map[int32]produce.ResponsePartition{}
	for _, t := range answer.(*produce.Response).Topics {
		byPartition := make(map[int32]produce.ResponsePartition, len(t.Partitions))
		for _, p := range t.Partitions {
			byPartition[p.Partition] = p
		}
		results[t.Topic] = byPartition
	}
	for _, a := range attempts {
		result, ok := results[a.queue.topic.Name][int32(a.queue.partition)]
		s.settle(a, result, ok)
	}
	return nil
}

// settle gives one queue the broker's answer.
func (s *sender) settle(a attempt, r produce.ResponsePartition, answered bool) {
	q := a.queue
	if !answered {
		q.fail(a.batch, q.failure(CodeBrokerBusy, "the broker's answer leaves the partition out"))
		return
	}
	cause := kerr.ErrorForCode(r.ErrorCode)
	if cause == nil {
		q.succeed(a.batch, ident.LastOffset(r.BaseOffset))
		return
	}
	s.p.router.kick()
	err := &Error{
		Code: codeOfCause(cause), Op: "produce", Topic: q.topic.Name, Partition: q.partition, Detail: r.ErrorMessage, Err: cause,
	}
	if err.Code == CodeTopicUnknown {
		// Perhaps this broker has not heard of the topic yet: the router finds out.
		err.Code = CodeBrokerBusy
	}
	q.fail(a.batch, err)
}
