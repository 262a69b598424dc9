package bench

import (
	"context"
	"errors"
	"fmt"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/kafka"
)

// keepAll is the setting of topics whose records' times lie long ago.
var keepAll = map[string]string{kafka.SettingRetentionMs: "-1"}

// topicOf names the topic of the records: one that is there with all of them is used again.
func topicOf(r Records, partitions int) string {
	return fmt.Sprintf("bench-in-%d-%d-%dus-p%d", r.Count, r.Devices, r.Step.Microseconds(), partitions)
}

// ensureRecords makes sure that the topic holds the records. What an interrupted run has left is made anew.
func ensureRecords(ctx context.Context, client *kafka.Client, r Records, partitions int) (topic string, err error) {
	topic = topicOf(r, partitions)
	_, err = client.CreateTopic(ctx, kafka.TopicSpec{Name: topic, Partitions: partitions, Settings: keepAll})
	switch kafka.CodeOf(err) {
	case "":
		return topic, produce(ctx, client, topic, r, partitions)
	case kafka.CodeTopicExists:
	default:
		return "", err
	}
	ends, err := client.Ends(ctx, topic)
	if err != nil {
		return "", err
	}
	if size(ends) == r.Count {
		return topic, nil
	}
	if err := client.DeleteTopic(ctx, topic); err != nil {
		return "", err
	}
	return ensureRecords(ctx, client, r, partitions)
}

// size is the number of records of a topic that has lost none.
func size(ends kafka.Offsets) int64 {
	n := int64(0)
	for _, end := range ends {
		n += int64(end)
	}
	return n
}

// produce writes the records in order.
func produce(ctx context.Context, client *kafka.Client, topic string, r Records, partitions int) error {
	return send(ctx, client, topic, partitions, func(write func(record) error) error {
		for i := range r.Count {
			if err := write(r.at(i)); err != nil {
				return err
			}
		}
		return nil
	})
}

// send writes records, keyed by device, without compression, and returns when all are acknowledged.
func send(ctx context.Context, kc *kafka.Client, topic string, partitions int, all func(write func(record) error) error) error {
	producer := kafka.NewProducer(kc)
	defer producer.Close()
	queues := make([]*kafka.Queue, partitions)
	for n := range queues {
		q, err := producer.Open(ctx, topic, ident.Partition(n), kafka.QueueOptions{})
		if err != nil {
			return err
		}
		queues[n] = q
	}
	var key, value []byte
	err := all(func(x record) error {
		key, value = appendDevice(key[:0], x.device), x.appendValue(value[:0])
		return queues[partitionOf(key, partitions)].Send(ctx, kafka.Message{Key: key, Value: value})
	})
	for _, q := range queues {
		err = errors.Join(err, q.Flush(ctx))
	}
	return err
}

// readAll calls take with the value of every record of a topic.
func readAll(ctx context.Context, client *kafka.Client, topic string, take func(value []byte) error) error {
	ends, err := client.Ends(ctx, topic)
	if err != nil {
		return err
	}
	fetcher := kafka.NewFetcher(client, kafka.FetcherConfig{})
	defer fetcher.Close()
	for p, end := range ends {
		if err := readPartition(ctx, fetcher, topic, p, end, take); err != nil {
			return err
		}
	}
	return nil
}

func readPartition(ctx context.Context, f *kafka.Fetcher, topic string, p ident.Partition, end ident.NextOffset, take func([]byte) error) error {
	if end == 0 {
		return nil
	}
	// One chunk waits, one is taken: an Offer never blocks.
	chunks := make(chan *kafka.Chunk, 1)
	sub, err := f.Subscribe(kafka.SubscribeSpec{
		Topic: topic, Partition: p, Isolation: kafka.ReadCommitted,
		Inbox: kafka.InboxFunc(func(c *kafka.Chunk) bool { chunks <- c; return false }),
	})
	if err != nil {
		return err
	}
	defer sub.Close()
	for next := ident.NextOffset(0); next < end; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case c := <-chunks:
			next = c.Next
			if err := takeChunk(c, take); err != nil {
				return fmt.Errorf("read %s/%d: %w", topic, p, err)
			}
			sub.Resume()
		}
	}
	return nil
}

func takeChunk(c *kafka.Chunk, take func([]byte) error) error {
	defer c.Release()
	if c.Err != nil {
		return c.Err
	}
	var failed error
	err := c.Records(func(r *kafka.Record) bool {
		failed = take(r.Value)
		return failed == nil
	})
	if failed != nil {
		return failed
	}
	return err
}
