package sink

import (
	"context"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/kafka"
	"github.com/pondage/pondage/internal/rowjson"
)

// kafkaOutput is the at-least-once output: keyed by the natural key, JSON values (INTERFACE §3).
type kafkaOutput struct {
	*pump
	queue      *kafka.Queue
	encoder    *rowjson.Encoder
	keys       []int
	key, value []byte
}

// NewKafka returns an output that writes to the queue's partition; keys are the columns of the natural key. The queue
// repeats by itself and is closed with the output.
func NewKafka(q *kafka.Queue, columns block.Schema, keys []int) Output {
	o := &kafkaOutput{queue: q, encoder: rowjson.NewEncoder(columns), keys: keys}
	// The queue repeats whatever repeating can cure: an error that comes out of it is a stop.
	o.pump = newPump("kafka", o.send, func(error) bool { return true })
	return o
}

// send hands rows to the queue, which bounds what is not acknowledged.
func (o *kafkaOutput) send(ctx context.Context, batches []*block.Batch) error {
	for _, b := range batches {
		for i := range b.Rows() {
			o.key = o.encoder.AppendKey(o.key[:0], b.Cols, o.keys, i)
			o.value = o.encoder.AppendRow(o.value[:0], b.Cols, i)
			if err := o.queue.Send(ctx, kafka.Message{Key: o.key, Value: o.value}); err != nil {
				return err
			}
		}
	}
	return nil
}

// Flush returns when the brokers have acknowledged everything handed over before.
func (o *kafkaOutput) Flush(ctx context.Context) error {
	if err := o.pump.Flush(ctx); err != nil {
		return err
	}
	return o.queue.Flush(ctx)
}

// Status shows why the queue's last attempt failed, while it is repeated.
func (o *kafkaOutput) Status() Status {
	s := o.pump.Status()
	if err := o.queue.Err(); err != nil && s.Problem == "" {
		s.Problem = err.Error()
	}
	return s
}

// Close ends the output and its queue.
func (o *kafkaOutput) Close() {
	o.pump.Close()
	o.queue.Close()
}
