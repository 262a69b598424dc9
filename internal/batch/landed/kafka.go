package landed

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/pondage/pondage/internal/batch"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/kafka"
)

// Record is a record of a topic.
type Record struct {
	Partition ident.Partition
	Offset    ident.LastOffset
	Key       string
	Value     []byte // nil: a tombstone
	Headers   map[string]string
}

// Kafka reads an output topic to its present end: the latest value of each key, none where that is a tombstone.
func Kafka(ctx context.Context, brokers []string, topic string, columns []batch.Column) (*batch.Rows, error) {
	records, err := Topic(ctx, brokers, topic)
	if err != nil {
		return nil, err
	}
	latest := map[string][]byte{}
	for _, r := range records {
		latest[r.Key] = r.Value
	}
	rows := batch.NewRows(columns)
	for _, key := range slices.Sorted(maps.Keys(latest)) {
		if latest[key] == nil {
			continue
		}
		if err := rows.AddJSON(latest[key]); err != nil {
			return nil, fmt.Errorf("topic %s, key %s: %w", topic, key, err)
		}
	}
	return rows, nil
}

// Topic reads all records of a topic to its present end, partition by partition.
func Topic(ctx context.Context, brokers []string, topic string) ([]Record, error) {
	client, err := kafka.Open(kafka.Config{Brokers: brokers})
	if err != nil {
		return nil, fmt.Errorf("read topic %s: %w", topic, err)
	}
	defer client.Close()
	starts, err := client.Starts(ctx, topic)
	if err != nil {
		return nil, fmt.Errorf("read topic %s: %w", topic, err)
	}
	ends, err := client.Stables(ctx, topic)
	if err != nil {
		return nil, fmt.Errorf("read topic %s: %w", topic, err)
	}
	fetcher := kafka.NewFetcher(client, kafka.FetcherConfig{})
	defer fetcher.Close()
	var all []Record
	for _, p := range slices.Sorted(maps.Keys(ends)) {
		if ends[p] <= starts[p] {
			continue
		}
		if all, err = readTo(ctx, fetcher, topic, p, starts[p], ends[p], all); err != nil {
			return nil, fmt.Errorf("read topic %s, partition %d: %w", topic, p, err)
		}
	}
	return all, nil
}

// readTo appends the records of a partition from a position to another.
func readTo(ctx context.Context, f *kafka.Fetcher, topic string, p ident.Partition, from, to ident.NextOffset, all []Record) ([]Record, error) {
	chunks := make(chan *kafka.Chunk, 1)
	sub, err := f.Subscribe(kafka.SubscribeSpec{
		Topic: topic, Partition: p, From: from, Isolation: kafka.ReadCommitted,
		Inbox: kafka.InboxFunc(func(c *kafka.Chunk) bool { chunks <- c; return false }), // one at a time
	})
	if err != nil {
		return nil, err
	}
	defer sub.Close()
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case c := <-chunks:
			if c.Err != nil {
				return nil, c.Err
			}
			next := c.Next
			err := c.Records(func(r *kafka.Record) bool {
				if r.Offset.Next() <= to {
					all = append(all, copied(p, r))
				}
				return true
			})
			c.Release()
			if err != nil || next >= to {
				return all, err
			}
			sub.Resume()
		}
	}
}

func copied(p ident.Partition, r *kafka.Record) Record {
	out := Record{Partition: p, Offset: r.Offset, Key: string(r.Key), Value: slices.Clone(r.Value), Headers: map[string]string{}}
	// Headers that cannot be read are none that a reader here asks for.
	_ = r.Headers(func(key, value []byte) bool {
		out.Headers[string(key)] = string(value)
		return true
	})
	return out
}
