package stage

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/pondage/pondage/internal/devstack"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/kafka"
)

// TestRecordTooLargeToSetAside: a source's compressed batch may hold a record that no topic of ours takes. It is set aside
// by name, and does not stop the stream.
func TestRecordTooLargeToSetAside(t *testing.T) {
	t.Parallel()
	b, err := devstack.StartBroker(t.Context(), "", devstack.BrokerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Stop() })
	client, err := kafka.Open(kafka.Config{Brokers: b.Addrs()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	const dead, limit = "c.src.dead", "2000"
	spec := kafka.TopicSpec{Name: dead, Partitions: 1, ReplicationFactor: 1, Settings: map[string]string{kafka.SettingMaxMessageBytes: limit}}
	if _, err := client.CreateTopic(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	producer := kafka.NewProducer(client)
	t.Cleanup(producer.Close)
	a := &aside{producer: producer, source: "src", stream: "st", dead: dead, queues: map[string]*kafka.Queue{}}
	t.Cleanup(a.close)

	small, large := []byte("not json"), bytes.Repeat([]byte("x"), 3000)
	for i, value := range [][]byte{small, large, small} {
		r := kafka.Record{Offset: ident.LastOffset(40 + i), Key: []byte("k"), Value: value}
		if err := a.Dead(t.Context(), "topic", 1, &r, "invalid_json", "no object"); err != nil {
			t.Fatalf("record %d: %v", i, err)
		}
	}
	if err := a.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}

	got := read(t, client, dead, 3)
	for i, want := range []string{"k not json", " ", "k not json"} {
		if text := got[i].key + " " + got[i].value; text != want {
			t.Errorf("dead letter %d is %q, want %q", i, text, want)
		}
	}
	h := got[1].headers
	if h[HeaderOffset] != "41" || h[HeaderCode] != "invalid_json" || !strings.HasPrefix(h[HeaderReason], "no object; the record's bytes are not kept: ") {
		t.Errorf("headers of the large one: %v", h)
	}
	if h := got[2].headers; h[HeaderOffset] != "42" || h[HeaderReason] != "no object" {
		t.Errorf("headers of the next one: %v", h)
	}
}

type deadLetter struct {
	key, value string
	headers    map[string]string
}

// read returns the first n records of a topic's only partition.
func read(t *testing.T, client *kafka.Client, topic string, n int) (out []deadLetter) {
	t.Helper()
	fetcher := kafka.NewFetcher(client, kafka.FetcherConfig{})
	t.Cleanup(fetcher.Close)
	chunks := make(chan *kafka.Chunk, n)
	sub, err := fetcher.Subscribe(kafka.SubscribeSpec{Topic: topic, Inbox: kafka.InboxFunc(func(c *kafka.Chunk) bool { chunks <- c; return false })})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	for len(out) < n {
		var c *kafka.Chunk
		select {
		case c = <-chunks:
		case <-time.After(10 * time.Second):
			t.Fatalf("%d of %d records after 10 s", len(out), n)
		}
		if c.Err != nil {
			t.Fatal(c.Err)
		}
		var it kafka.Iterator
		for it.Reset(c); it.Next(); {
			d := deadLetter{key: string(it.Record.Key), value: string(it.Record.Value), headers: map[string]string{}}
			if err := it.Record.Headers(func(k, v []byte) bool { d.headers[string(k)] = string(v); return true }); err != nil {
				t.Fatal(err)
			}
			out = append(out, d)
		}
		c.Release()
		sub.Resume()
	}
	return out
}
