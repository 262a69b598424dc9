package sink

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/kafka"
	"github.com/pondage/pondage/internal/rowjson"
)

// kafkaOutput is the at-least-once output: keyed by the natural key, JSON values (INTERFACE §3).
type kafkaOutput struct {
	*pump
	open       func(context.Context) (*kafka.Queue, error)
	queue      atomic.Pointer[kafka.Queue] // nil until the first write
	encoder    *rowjson.Encoder
	keys       []int
	key, value []byte
}

// NewKafka returns an output that writes to the queue that open brings; keys are the columns of the natural key. The
// queue is opened for the first row, so that an output whose brokers are away does not keep a task from starting; it
// repeats by itself and is closed with the output.
func NewKafka(open func(context.Context) (*kafka.Queue, error), columns block.Schema, keys []int, env Env) Output {
	o := &kafkaOutput{open: open, encoder: rowjson.NewEncoder(columns), keys: keys}
	o.pump = newPump(KindKafka, env, nil, o.send, func(err error) bool {
		// An open queue repeats whatever repeating can cure: an error that comes out of it is a stop. A topic that is not
		// there yet when the queue is opened may be on its way.
		var o openError
		return !errors.As(err, &o) || !kafka.Transient(err) && kafka.CodeOf(err) != kafka.CodeTopicUnknown
	})
	o.start()
	return o
}

// openError is met before there is a queue.
type openError struct{ error }

func (e openError) Unwrap() error { return e.error }

// send hands rows to the queue, which bounds what is not acknowledged. A batch's memory comes back when its last row is.
func (o *kafkaOutput) send(ctx context.Context, batches []*block.Batch) error {
	q := o.queue.Load()
	if q == nil {
		var err error
		if q, err = o.open(ctx); err != nil {
			return openError{err}
		}
		o.queue.Store(q)
	}
	for _, b := range batches {
		if err := o.sendBatch(ctx, q, b); err != nil {
			return err
		}
	}
	return nil
}

func (o *kafkaOutput) sendBatch(ctx context.Context, q *kafka.Queue, b *block.Batch) error {
	bytes, last := int64(b.MemBytes()), b.Rows()-1
	for i := range b.Rows() {
		o.key = o.encoder.AppendKey(o.key[:0], b.Cols, o.keys, i)
		o.value = o.encoder.AppendRow(o.value[:0], b.Cols, i)
		m := kafka.Message{Key: o.key, Value: o.value}
		if i == last {
			// Results come in the order of the messages, and once each: also when the queue is closed.
			m.Done = func(kafka.Result) { o.env.Memory.Give(bytes) }
		}
		err := q.Send(ctx, m)
		if kafka.CodeOf(err) == kafka.CodeRecordTooLarge && !errors.Is(q.Err(), err) { // not what has stopped the queue: this row
			err = o.env.Reject(Rejected{Rows: b, Row: i, Reason: err.Error()})
			if i == last {
				o.env.Memory.Give(bytes)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Flush returns when the brokers have acknowledged everything handed over before.
func (o *kafkaOutput) Flush(ctx context.Context) error {
	if err := o.pump.Flush(ctx); err != nil {
		return err
	}
	if q := o.queue.Load(); q != nil {
		return q.Flush(ctx)
	}
	return nil
}

// Stopped is the pump's stop, or the queue's: its messages are answered long after they were handed over.
func (o *kafkaOutput) Stopped() error {
	if err := o.pump.Stopped(); err != nil {
		return err
	}
	if q := o.queue.Load(); q != nil {
		return q.Stopped()
	}
	return nil
}

// Status shows why the queue's last attempt failed, while it is repeated.
func (o *kafkaOutput) Status() Status {
	s := o.pump.Status()
	if q := o.queue.Load(); q != nil && s.Problem == "" {
		if err := q.Err(); err != nil {
			s.Problem = err.Error()
		}
	}
	return s
}

// Close ends the output and its queue.
func (o *kafkaOutput) Close() {
	o.pump.Close()
	if q := o.queue.Load(); q != nil {
		q.Close()
	}
}
