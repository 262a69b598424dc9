package kafka

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/pondage/pondage/internal/ident"
)

// FetcherConfig bounds what a Fetcher holds and how long it waits. The zero value takes the defaults.
type FetcherConfig struct {
	// Budget bounds the bytes in chunks not yet released. It may be overdrawn by one answer a loop, and by one small
	// chunk a subscription that holds none, so that all stay alive. Default: NewLimit(DefaultFetchBudget).
	Budget Budget
	// RequestBytes bounds one answer of a broker. Default DefaultRequestBytes.
	RequestBytes int
	// MaxWait is how long a broker may hold a fetch that finds nothing. Default DefaultMaxWait.
	MaxWait time.Duration
	// EmptyEvery is the shortest time between two chunks without records for one subscription; a chunk with changed
	// bounds comes at once. Default DefaultEmptyEvery.
	EmptyEvery time.Duration
	// RefreshEvery is how often leaders and topic ids are looked at without a cause. Default DefaultRefreshEvery.
	RefreshEvery time.Duration
	// StallAfter is how long a subscription may be without progress before Stalls names it. Default DefaultStallAfter.
	StallAfter time.Duration
}

// Defaults of FetcherConfig.
const (
	DefaultFetchBudget  = 64 << 20 // bytes
	DefaultRequestBytes = 8 << 20  // bytes; one answer of a broker
	DefaultChunkBytes   = 1 << 20  // bytes; one partition in one answer, Kafka's own default
	DefaultMaxWait      = 100 * time.Millisecond
	DefaultEmptyEvery   = 500 * time.Millisecond
	DefaultRefreshEvery = 3 * time.Second  // a recreated topic must be named within 10 s (trap T24)
	DefaultStallAfter   = 30 * time.Second // trap T19
)

func (c FetcherConfig) withDefaults() FetcherConfig {
	if c.Budget == nil {
		c.Budget = NewLimit(DefaultFetchBudget)
	}
	if c.RequestBytes == 0 {
		c.RequestBytes = DefaultRequestBytes
	}
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&c.MaxWait, DefaultMaxWait},
		{&c.EmptyEvery, DefaultEmptyEvery},
		{&c.RefreshEvery, DefaultRefreshEvery},
		{&c.StallAfter, DefaultStallAfter},
	} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	return c
}

// Fetcher reads partitions for many subscriptions: one loop (lane) a broker and isolation level — a Fetch has one — and
// a router that follows the leaders and watches the topics' identities.
type Fetcher struct {
	client *Client
	cfg    FetcherConfig
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	loops  sync.WaitGroup
	router *router

	mu      sync.Mutex
	subs    map[*Subscription]struct{}
	lanes   map[laneKey]*lane
	brokers map[int32]string // addresses
	closed  bool
}

// NewFetcher returns a running fetcher without subscriptions.
func NewFetcher(c *Client, cfg FetcherConfig) *Fetcher {
	ctx, cancel := context.WithCancel(context.Background())
	f := &Fetcher{
		client: c, cfg: cfg.withDefaults(), ctx: ctx, cancel: cancel,
		subs: map[*Subscription]struct{}{}, lanes: map[laneKey]*lane{},
	}
	f.router = newRouter(f.cfg.RefreshEvery, f.refresh)
	f.loops.Go(func() { f.router.run(ctx) })
	return f
}

// Subscribe begins to read a partition. It does not wait for a broker: that the topic is unknown, forbidden or another
// one shows as a chunk with Err. An error is a wrong spec, or a closed fetcher.
func (f *Fetcher) Subscribe(spec SubscribeSpec) (*Subscription, error) {
	if spec.MaxBytes == 0 {
		spec.MaxBytes = DefaultChunkBytes
	}
	s := &Subscription{f: f, spec: spec, id: spec.TopicID, position: spec.From, progress: time.Now()}
	if err := s.validate(); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, &Error{Code: CodeClosed, Op: "subscribe", Topic: spec.Topic, Partition: spec.Partition}
	}
	f.subs[s] = struct{}{}
	f.router.kick()
	return s, nil
}

// Stalls returns the subscriptions without progress for StallAfter although there is something to read or their broker
// does not answer, by topic and partition.
func (f *Fetcher) Stalls() []Stall {
	now := time.Now()
	var stalls []Stall
	for _, s := range f.subscriptions() {
		if stall, ok := s.stall(now, f.cfg.StallAfter); ok {
			stalls = append(stalls, stall)
		}
	}
	return stalls
}

// Close ends all subscriptions and waits for the loops. No Offer runs after it. Chunks that were taken stay valid.
func (f *Fetcher) Close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.cancel()
	f.loops.Wait()
}

// subscriptions returns the live ones in order of topic and partition.
func (f *Fetcher) subscriptions() []*Subscription {
	f.mu.Lock()
	defer f.mu.Unlock()
	subs := make([]*Subscription, 0, len(f.subs))
	for s := range f.subs {
		subs = append(subs, s)
	}
	slices.SortFunc(subs, compareSubscriptions)
	return subs
}

// forget takes a subscription out of its loop and out of the router's sight.
func (f *Fetcher) forget(s *Subscription) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.subs, s)
	f.unroute(s)
}

// end delivers a named stop and forgets the subscription.
func (f *Fetcher) end(s *Subscription, err error) {
	f.forget(s)
	s.stop(err)
}

// wake makes the loop of a subscription look at it again.
func (f *Fetcher) wake(s *Subscription) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.lane != nil {
		s.lane.wakeUp()
	}
}

// Stall is a subscription that should make progress and does not (trap T19).
type Stall struct {
	Topic     string
	Partition ident.Partition
	Position  ident.NextOffset
	Lag       int64         // offsets readable when the broker last answered
	For       time.Duration // since the last progress
	LastError error         // what happened last on the way to its broker; nil when the broker answers
}
