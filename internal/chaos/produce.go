package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Records are written and read by a client that the product does not use for its records: what both misread would be equal.

// makeTopic makes the topic of the records.
func makeTopic(ctx context.Context, adm *kadm.Client, brokers int) error {
	const most = 3
	replicas := int16(min(brokers, most))
	_, err := adm.CreateTopic(ctx, partitions, replicas, map[string]*string{"retention.ms": new("-1")}, sourceName)
	if err != nil && err != kerr.TopicAlreadyExists { //nolint:errorlint // the client returns it as it is
		return fmt.Errorf("make topic %s: %w", sourceName, err)
	}
	return nil
}

// writer writes records at a pace and knows how many are acknowledged.
type writer struct {
	client  *kgo.Client
	written atomic.Int64
}

func newWriter(brokers []string) (*writer, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.RequiredAcks(kgo.AllISRAcks()), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.DefaultProduceTopic(sourceName), kgo.ProducerLinger(0), kgo.MetadataMinAge(100*time.Millisecond))
	if err != nil {
		return nil, err
	}
	return &writer{client: client}, nil
}

// tick is how often records are written.
const tick = 50 * time.Millisecond

// write writes all records, so many a second, and returns once all are acknowledged. A broker that is away delays them.
func (w *writer) write(ctx context.Context, records []Record, perSecond int) error {
	begun := time.Now()
	var failed atomic.Pointer[error]
	clock := time.NewTicker(tick)
	defer clock.Stop()
	for next := 0; next < len(records); {
		due := min(len(records), int(time.Since(begun).Seconds()*float64(perSecond)))
		for ; next < due; next++ {
			r := records[next]
			w.client.Produce(ctx, &kgo.Record{Partition: r.Partition, Key: []byte(r.Key), Value: r.Value}, func(_ *kgo.Record, err error) {
				if err != nil {
					failed.CompareAndSwap(nil, &err)
					return
				}
				w.written.Add(1)
			})
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-clock.C:
		}
	}
	err := w.client.Flush(ctx)
	if first := failed.Load(); first != nil {
		err = *first
	}
	if err != nil {
		return fmt.Errorf("write the records: %w", err)
	}
	return nil
}

// readTopic reads a topic from its start to its present end, as one sees it who reads committed records only.
func readTopic(ctx context.Context, brokers []string, topic string) ([]Landed, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords())
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ends, err := kadm.NewClient(client).ListCommittedOffsets(ctx, topic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("read topic %s: %w", topic, err)
	}
	left := map[int32]int64{}
	from := map[int32]kgo.Offset{}
	ends.Each(func(o kadm.ListedOffset) {
		if o.Offset > 0 {
			left[o.Partition], from[o.Partition] = o.Offset, kgo.NewOffset().AtStart()
		}
	})
	client.AddConsumePartitions(map[string]map[int32]kgo.Offset{topic: from})
	var out []Landed
	for len(left) > 0 {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err0(); err != nil {
			return nil, fmt.Errorf("read topic %s: %w", topic, err)
		}
		// Before the end lies a record, or the mark of a transaction's end: the mark is how the end is seen.
		fetches.EachRecord(func(r *kgo.Record) {
			end, reading := left[r.Partition]
			if reading && r.Offset < end && !r.Attrs.IsControl() {
				out = append(out, Landed{Partition: r.Partition, Offset: r.Offset, Key: string(r.Key), Value: r.Value})
			}
			if reading && r.Offset+1 >= end {
				delete(left, r.Partition)
			}
		})
	}
	return out, nil
}

// Landed is a record of a topic.
type Landed struct {
	Partition int32
	Offset    int64
	Key       string
	Value     []byte // nil: a tombstone
}

// lostInput counts the written records that are not in the topic: a fault of the broker, or of this program.
func lostInput(records []Record, found []Read) int {
	there := map[int64]bool{}
	for _, r := range found {
		if id, ok := idOf(r.Value); ok {
			there[id] = true
		}
	}
	lost := 0
	for _, r := range records {
		if id, ok := idOf(r.Value); ok && !there[id] {
			lost++
		}
	}
	return lost
}

// idOf is the number of a record that can be read as JSON.
func idOf(value []byte) (int64, bool) {
	var r struct{ ID *int64 }
	if json.Unmarshal(value, &r) != nil || r.ID == nil {
		return 0, false
	}
	return *r.ID, true
}
