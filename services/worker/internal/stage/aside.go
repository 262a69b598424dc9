package stage

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/kafka"
	"github.com/pondage/pondage/internal/plan"
	"github.com/pondage/pondage/internal/rowjson"
)

// Text headers of dead-letter and late records (INTERFACE §3).
const (
	HeaderSource    = "source"
	HeaderTopic     = "topic"
	HeaderPartition = "partition"
	HeaderOffset    = "offset"
	HeaderCode      = "code"
	HeaderReason    = "reason"
	HeaderStreamOf  = "stream"
	HeaderWatermark = "watermark"
)

// codeLate is the code of a late record.
const codeLate = "late"

// noPosition is the partition and offset of a dead letter that is a result: it comes from many records.
const noPosition = -1

// aside writes what is set aside by the tasks of a run. Its queues are opened when they are needed first: most streams
// never do. It implements task.Aside.
type aside struct {
	producer *kafka.Producer
	source   string
	stream   string
	dead     string // topic
	late     string // topic

	mu     sync.Mutex
	queues map[asideQueue]*kafka.Queue
}

type asideQueue struct {
	topic     string
	partition ident.Partition
}

func newAside(c ident.Cluster, p *plan.Plan, producer *kafka.Producer) *aside {
	return &aside{
		producer: producer, source: p.Source.Name, stream: p.Stream.Name,
		dead: c.DeadTopic(p.Source.Name), late: c.LateTopic(p.Stream.Name), queues: map[asideQueue]*kafka.Queue{},
	}
}

// Dead implements task.Aside.
func (a *aside) Dead(ctx context.Context, topic string, p ident.Partition, r *kafka.Record, code, reason string) error {
	return a.send(ctx, a.dead, kafka.Message{Key: r.Key, Value: r.Value, Headers: a.headers(topic, int64(p), int64(r.Offset), code, reason)})
}

// Late implements task.Aside.
func (a *aside) Late(ctx context.Context, topic string, p ident.Partition, r *kafka.Record, w ident.EventMs) error {
	headers := a.headers(topic, int64(p), int64(r.Offset), codeLate, "all windows of the row had closed")
	headers = append(headers, header(HeaderStreamOf, a.stream), header(HeaderWatermark, string(rowjson.AppendTimeText(nil, int64(w)))))
	return a.send(ctx, a.late, kafka.Message{Key: r.Key, Value: r.Value, Headers: headers})
}

// DeadResult implements task.Aside.
func (a *aside) DeadResult(ctx context.Context, _ ident.VGroup, row []byte, code, reason string) error {
	headers := append(a.headers("", noPosition, noPosition, code, reason), header(HeaderStreamOf, a.stream))
	return a.send(ctx, a.dead, kafka.Message{Key: row, Value: row, Headers: headers})
}

func (a *aside) headers(topic string, partition, offset int64, code, reason string) []kafka.Header {
	return []kafka.Header{
		header(HeaderSource, a.source), header(HeaderTopic, topic), header(HeaderPartition, strconv.FormatInt(partition, 10)),
		header(HeaderOffset, strconv.FormatInt(offset, 10)), header(HeaderCode, code), header(HeaderReason, reason),
	}
}

func header(key, value string) kafka.Header { return kafka.Header{Key: key, Value: []byte(value)} }

// send waits for room in the topic's queue. All of a run goes to one partition: there is little of it, and so it is in
// the order it was found.
func (a *aside) send(ctx context.Context, topic string, m kafka.Message) error {
	q, err := a.queue(ctx, asideQueue{topic: topic})
	if err != nil {
		return err
	}
	return q.Send(ctx, m)
}

func (a *aside) queue(ctx context.Context, k asideQueue) (*kafka.Queue, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if q := a.queues[k]; q != nil {
		return q, nil
	}
	q, err := a.producer.Open(ctx, k.topic, k.partition, kafka.QueueOptions{Mode: kafka.RetryItself})
	if err != nil {
		return nil, err
	}
	a.queues[k] = q
	return q, nil
}

// Flush implements task.Aside.
func (a *aside) Flush(ctx context.Context) error {
	var errs []error
	for _, q := range a.all() {
		errs = append(errs, q.Flush(ctx))
	}
	return errors.Join(errs...)
}

func (a *aside) all() []*kafka.Queue {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Collect(maps.Values(a.queues))
}

// close ends the queues; what is not written is found again by the stage that comes.
func (a *aside) close() {
	for _, q := range a.all() {
		q.Close()
	}
}
