package stage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

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
	queues map[string]*kafka.Queue // by topic
}

func newAside(c ident.Cluster, p *plan.Plan, producer *kafka.Producer) *aside {
	return &aside{
		producer: producer, source: p.Source.Name, stream: p.Stream.Name,
		dead: c.DeadTopic(p.Source.Name), late: c.LateTopic(p.Stream.Name), queues: map[string]*kafka.Queue{},
	}
}

// Dead implements task.Aside.
func (a *aside) Dead(ctx context.Context, topic string, p ident.Partition, r *kafka.Record, code, reason string) error {
	return a.send(ctx, a.dead, kafka.Message{Key: r.Key, Value: r.Value, Headers: a.headers(topic, int64(p), int64(r.Offset), code, reason)})
}

// DeadRow implements task.Aside. The header says whose dead letter it is: a replay is for that stream only (package setaside).
func (a *aside) DeadRow(ctx context.Context, topic string, p ident.Partition, r *kafka.Record, code, reason string) error {
	headers := append(a.headers(topic, int64(p), int64(r.Offset), code, reason), header(HeaderStreamOf, a.stream))
	return a.send(ctx, a.dead, kafka.Message{Key: r.Key, Value: r.Value, Headers: headers})
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

const (
	// asidePending is how much of a topic may be unanswered before a task waits, bytes.
	asidePending = 1 << 20
	// asideGrace is how long a topic may be unknown: the coordinator has made it before the stage, metadata follow.
	asideGrace = 10 * time.Second
)

// send waits for room in the topic's queue. A record that the topic does not take is set aside without its bytes: its
// headers say where the original is. (A compressed batch of a source may hold records that are larger than any batch
// here; they must not stop the stream.)
func (a *aside) send(ctx context.Context, topic string, m kafka.Message) error {
	q, err := a.queue(ctx, topic)
	if err != nil {
		return err
	}
	err = q.Send(ctx, m)
	if kafka.CodeOf(err) != kafka.CodeRecordTooLarge || errors.Is(q.Err(), err) { // what has stopped the queue is not this record
		return err
	}
	return q.Send(ctx, withoutBytes(m, err))
}

// withoutBytes is what is kept of a record that is too large to be set aside; why is added to its reason.
func withoutBytes(m kafka.Message, why error) kafka.Message {
	headers := slices.Clone(m.Headers)
	for i, h := range headers {
		if h.Key == HeaderReason {
			headers[i] = header(h.Key, fmt.Sprintf("%s; the record's bytes are not kept: %v", h.Value, why))
		}
	}
	return kafka.Message{Headers: headers}
}

// queue returns the topic's queue, opened however long the brokers are away: that is no failure of the task. All of a run
// goes to partition 0: there is little of it, and so it is in the order it was found.
func (a *aside) queue(ctx context.Context, topic string) (*kafka.Queue, error) {
	began := time.Now()
	for {
		a.mu.Lock()
		q := a.queues[topic]
		a.mu.Unlock()
		if q != nil {
			return q, nil
		}
		q, err := a.producer.Open(ctx, topic, 0, kafka.QueueOptions{Mode: kafka.RetryItself, MaxPendingBytes: asidePending})
		unknown := kafka.CodeOf(err) == kafka.CodeTopicUnknown && time.Since(began) < asideGrace
		switch {
		case err == nil:
			return a.keep(topic, q), nil
		case !kafka.Transient(err) && !unknown:
			return nil, err
		case !pause(ctx, bringUpPause):
			return nil, ctx.Err()
		}
	}
}

// keep keeps the queue, unless another task was first: two would mix up the order.
func (a *aside) keep(topic string, q *kafka.Queue) *kafka.Queue {
	a.mu.Lock()
	first := a.queues[topic]
	if first == nil {
		a.queues[topic] = q
	}
	a.mu.Unlock()
	if first != nil {
		q.Close()
		return first
	}
	return q
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
