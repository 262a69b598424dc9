package kafka_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/kafka"
)

// sample is a small JSON record, as devices send it.
const sample = `{"device":"d0000123","ts":1700000000123,"value":123.456,"status":"ok"}`

// BenchmarkFetch reads records end to end: the broker makes them up, so that its side costs little.
func BenchmarkFetch(b *testing.B) {
	bed := newBed(b, kfake.SyntheticFetch(kfake.SyntheticBatch{RecordBytes: len(sample)}))
	bed.topic("t", 4)
	f := bed.fetcher(kafka.FetcherConfig{})
	chunks := make(chan *kafka.Chunk, 16)
	for p := range ident.Partition(4) {
		if _, err := f.Subscribe(kafka.SubscribeSpec{
			Topic: "t", Partition: p, Inbox: kafka.InboxFunc(func(c *kafka.Chunk) bool {
				chunks <- c
				return false
			}),
		}); err != nil {
			b.Fatal(err)
		}
	}
	var it kafka.Iterator
	b.SetBytes(int64(len(sample)))
	b.ReportAllocs()
	b.ResetTimer()
	for n := 0; n < b.N; {
		c := <-chunks
		it.Reset(c)
		for it.Next() {
			n++
		}
		if it.Err() != nil || c.Err != nil {
			b.Fatal(it.Err(), c.Err)
		}
		c.Release()
		c.Sub.Resume()
	}
}

// BenchmarkProduce writes small records with a result each; the broker throws them away.
func BenchmarkProduce(b *testing.B) {
	bed := newBed(b, kfake.BlackholeProduce())
	bed.topic("t", 1)
	q := bed.queue("t", kafka.QueueOptions{})
	answered := 0
	done := func(kafka.Result) { answered++ }
	value := []byte(sample)
	b.SetBytes(int64(len(sample)))
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		if err := q.Send(b.Context(), kafka.Message{Value: value, TimestampMs: 1, Done: done}); err != nil {
			b.Fatal(err)
		}
	}
	bed.flush(q)
	if answered != b.N {
		b.Fatalf("%d of %d messages were answered", answered, b.N)
	}
}
