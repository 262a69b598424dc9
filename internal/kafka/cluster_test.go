package kafka_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/kafka"
)

// patience bounds what a test waits for; nothing takes that long unless it never comes.
const patience = 30 * time.Second

// bed is a broker and a client on it.
type bed struct {
	t       testing.TB
	cluster *kfake.Cluster
	client  *kafka.Client
	ctx     context.Context
}

func newBed(t testing.TB, opts ...kfake.Opt) *bed {
	t.Helper()
	cluster, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	client, err := kafka.Open(kafka.Config{Brokers: cluster.ListenAddrs()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return &bed{t: t, cluster: cluster, client: client, ctx: ctx}
}

// topic makes a topic of n partitions.
func (b *bed) topic(name string, n int) kafka.Topic {
	b.t.Helper()
	topic, err := b.client.CreateTopic(b.ctx, kafka.TopicSpec{Name: name, Partitions: n, ReplicationFactor: 1})
	if err != nil {
		b.t.Fatal(err)
	}
	return topic
}

// write appends values to a partition and waits until the broker has them.
func (b *bed) write(topic string, p ident.Partition, values ...string) {
	b.t.Helper()
	producer := kafka.NewProducer(b.client)
	defer producer.Close()
	q, err := producer.Open(b.ctx, topic, p, kafka.QueueOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	for _, v := range values {
		if err := q.Send(b.ctx, kafka.Message{Value: []byte(v)}); err != nil {
			b.t.Fatal(err)
		}
	}
	if err := q.Flush(b.ctx); err != nil {
		b.t.Fatal(err)
	}
}

// fetcher returns a fetcher that ends with the test.
func (b *bed) fetcher(cfg kafka.FetcherConfig) *kafka.Fetcher {
	f := kafka.NewFetcher(b.client, cfg)
	b.t.Cleanup(f.Close)
	return f
}

// box is an inbox of one subscription: a channel of so many chunks.
type box struct {
	bed    *bed
	chunks chan *kafka.Chunk
	sub    *kafka.Subscription
	next   ident.NextOffset // of the chunk taken next
}

func (b *bed) subscribe(f *kafka.Fetcher, spec kafka.SubscribeSpec, capacity int) *box {
	b.t.Helper()
	x := &box{bed: b, chunks: make(chan *kafka.Chunk, capacity+1), next: spec.From}
	spec.Inbox = kafka.InboxFunc(func(c *kafka.Chunk) bool {
		x.chunks <- c
		return len(x.chunks) < capacity
	})
	sub, err := f.Subscribe(spec)
	if err != nil {
		b.t.Fatal(err)
	}
	x.sub = sub
	return x
}

// take returns the next chunk, and checks that it follows the one before.
func (x *box) take() *kafka.Chunk {
	x.bed.t.Helper()
	select {
	case c := <-x.chunks:
		if c.From != x.next {
			x.bed.t.Fatalf("chunk of %s/%d begins at %d, the one before ended at %d", c.Topic, c.Partition, c.From, x.next)
		}
		x.next = c.Next
		x.sub.Resume()
		return c
	case <-x.bed.ctx.Done():
		x.bed.t.Fatalf("no chunk of %s/%d after position %d", x.sub.Topic(), x.sub.Partition(), x.next)
		return nil
	}
}

// values takes chunks until n records have come.
func (x *box) values(n int) []string {
	x.bed.t.Helper()
	var got []string
	for len(got) < n {
		c := x.take()
		if c.Err != nil {
			x.bed.t.Fatalf("after %d of %d records: %v", len(got), n, c.Err)
		}
		if err := c.Records(func(r *kafka.Record) bool {
			got = append(got, string(r.Value))
			return true
		}); err != nil {
			x.bed.t.Fatal(err)
		}
		c.Release()
	}
	return got
}

// failure takes chunks until one has an error.
func (x *box) failure() error {
	x.bed.t.Helper()
	for {
		c := x.take()
		c.Release()
		if c.Err != nil {
			return c.Err
		}
	}
}

// numbered returns from, from+1, … as text.
func numbered(from, n int) []string {
	values := make([]string, n)
	for i := range values {
		values[i] = fmt.Sprint(from + i)
	}
	return values
}
