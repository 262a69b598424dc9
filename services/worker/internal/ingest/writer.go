package ingest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pondage/pondage/internal/connect"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/kafka"
)

const (
	// maxPending is what a partition's queue holds before requests wait: enough for a round trip to be filled.
	maxPending = 4 << 20
	// runLength is how many records without a key go to one partition before the next: batches stay large, partitions
	// even.
	runLength = 256
	// madePartitions is what a topic has that ingest makes: one keeps the order in which records were sent. Who wants more
	// makes the topic before.
	madePartitions = 1
	// lookEvery is how often the topic's partitions are counted: a topic may grow (trap T26).
	lookEvery = 10 * time.Second
)

// writer writes to one topic for all requests: the queues of its partitions, opened when they are needed.
type writer struct {
	kafka *connect.Kafka
	topic string
	turn  atomic.Uint32 // the run of keyless records that comes next

	mu     sync.Mutex
	looked time.Time
	id     kafka.TopicID
	queues []*kafka.Queue // by partition; nil: not opened yet
}

func newWriter(k *connect.Kafka, topic string) *writer { return &writer{kafka: k, topic: topic} }

// partitions returns how many partitions the topic has, asking now and then. Queues of a topic that was made again are
// closed: they wrote to another one.
func (w *writer) partitions(ctx context.Context) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queues) > 0 && time.Since(w.looked) < lookEvery {
		return len(w.queues), nil
	}
	t, err := w.find(ctx)
	switch {
	case err == nil:
	case kafka.Transient(err) && len(w.queues) > 0:
		return len(w.queues), nil // what is known may still be right; the queues will tell
	default:
		return 0, err
	}
	if t.ID != w.id || len(t.Partitions) < len(w.queues) {
		w.closeQueues()
		w.queues = nil
	}
	w.id, w.looked = t.ID, time.Now()
	for len(w.queues) < len(t.Partitions) {
		w.queues = append(w.queues, nil)
	}
	return len(w.queues), nil
}

// find looks the topic up, and makes it where it is missing: a source that is only fed over HTTP needs nobody to do so.
func (w *writer) find(ctx context.Context) (kafka.Topic, error) {
	t, err := w.kafka.Client.Topic(ctx, w.topic)
	if kafka.CodeOf(err) != kafka.CodeTopicUnknown {
		return t, err
	}
	t, err = w.kafka.Client.CreateTopic(ctx, kafka.TopicSpec{Name: w.topic, Partitions: madePartitions, ReplicationFactor: kafka.EdgeReplicationFactor})
	if kafka.CodeOf(err) == kafka.CodeTopicExists { // another worker was faster
		return w.kafka.Client.Topic(ctx, w.topic)
	}
	return t, err
}

// queue returns the queue of a partition. One that has stopped (the topic was deleted, credentials were taken back) is
// opened anew: what stopped it may be mended.
func (w *writer) queue(ctx context.Context, n int) (*kafka.Queue, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n >= len(w.queues) {
		return nil, &kafka.Error{Code: kafka.CodeBrokerBusy, Op: "produce", Topic: w.topic, Partition: ident.Partition(n), Detail: "the topic was made again"}
	}
	if q := w.queues[n]; q != nil {
		if err := q.Err(); err == nil || kafka.Transient(err) {
			return q, nil
		}
		q.Close()
		w.queues[n], w.looked = nil, time.Time{}
	}
	q, err := w.kafka.Producer.Open(ctx, w.topic, ident.Partition(n), kafka.QueueOptions{Mode: kafka.RetryItself, TopicID: w.id, MaxPendingBytes: maxPending})
	if err != nil {
		return nil, fmt.Errorf("ingest into %s: %w", w.topic, err)
	}
	w.queues[n] = q
	return q, nil
}

// failing returns why Kafka does not take the writer's records at the moment; nil when it does.
func (w *writer) failing() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, q := range w.queues {
		if q != nil && q.Err() != nil {
			return q.Err()
		}
	}
	return nil
}

// close ends the queues. What was not answered is not known to be written: its requests were answered so.
func (w *writer) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closeQueues()
}

func (w *writer) closeQueues() {
	for _, q := range w.queues {
		if q != nil {
			q.Close()
		}
	}
}
