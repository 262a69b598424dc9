package kafka

import (
	"context"

	"github.com/pondage/pondage/internal/ident"
)

type Fetcher struct{}

func NewFetcher(c *Client, cfg FetcherConfig) *Fetcher { return &Fetcher{} }

// Subscribe begins to read a partition. It does not wait for a broker: an unknown topic shows as a chunk with Err.
func (f *Fetcher) Subscribe(spec SubscribeSpec) (*Subscription, error) { return nil, nil }
func (f *Fetcher) Stalls() []Stall                                     { return nil }
func (f *Fetcher) Close()                                              {}

type Subscription struct{}

func (s *Subscription) Resume()                  {}
func (s *Subscription) Seek(to ident.NextOffset) {}
func (s *Subscription) Close()                   {}

type Producer struct{}

func NewProducer(c *Client) *Producer { return &Producer{} }
func (p *Producer) Open(ctx context.Context, topic string, partition ident.Partition, o QueueOptions) (*Queue, error) {
	return nil, nil
}
func (p *Producer) Close() {}

type Queue struct{}

// Push appends in any case (caller bounds it by credit); Send waits while the queue is full.
func (q *Queue) Push(m Message) error                      { return nil }
func (q *Queue) Send(ctx context.Context, m Message) error { return nil }
func (q *Queue) Full() bool                                { return false }
func (q *Queue) Pending() (messages, bytes int)            { return 0, 0 }

// Retry sends the held request again, unchanged.
func (q *Queue) Retry() {}

// Discard ends all messages that are not answered with an error (a new stage).
func (q *Queue) Discard()                        {}
func (q *Queue) Flush(ctx context.Context) error { return nil }
func (q *Queue) Close()                          {}

func (c *Client) Topic(ctx context.Context, name string) (Topic, error)          { return Topic{}, nil }
func (c *Client) CreateTopic(ctx context.Context, spec TopicSpec) (Topic, error) { return Topic{}, nil }
func (c *Client) EnsureTopic(ctx context.Context, spec TopicSpec) (Topic, error) { return Topic{}, nil }
func (c *Client) DeleteTopic(ctx context.Context, name string) error             { return nil }
func (c *Client) Settings(ctx context.Context, topic string) (map[string]string, error) {
	return nil, nil
}
func (c *Client) Starts(ctx context.Context, topic string) (Offsets, error)             { return nil, nil }
func (c *Client) Ends(ctx context.Context, topic string) (Offsets, error)               { return nil, nil }
func (c *Client) Stables(ctx context.Context, topic string) (Offsets, error)            { return nil, nil }
func (c *Client) At(ctx context.Context, topic string, ms int64) (Offsets, error)       { return nil, nil }
func (c *Client) DeleteRecords(ctx context.Context, topic string, before Offsets) error { return nil }
