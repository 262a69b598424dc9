package kafka

import (
	"fmt"
	"sync"
	"time"

	"github.com/pondage/pondage/internal/ident"
)

// Isolation says which records of transactions are read.
type Isolation int8

// The isolation levels; the numbers are Kafka's.
const (
	// ReadUncommitted reads everything up to the high watermark. Edge topics are read so: nothing on them is in a
	// transaction.
	ReadUncommitted Isolation = 0
	// ReadCommitted reads up to the last stable offset and leaves aborted records out. Sources are read so (trap T27).
	ReadCommitted Isolation = 1
)

// Inbox takes the chunks of a subscription.
type Inbox interface {
	// Offer hands a chunk over; the inbox has it in either case, and releases it. It returns whether there is room for
	// another: after false the partition is left out of the fetch until Subscription.Resume. It is called from a fetch
	// loop and must not block; it may call Resume, Seek and Close.
	Offer(c *Chunk) (more bool)
}

// InboxFunc makes an Inbox of a function.
type InboxFunc func(c *Chunk) (more bool)

// Offer calls f.
func (f InboxFunc) Offer(c *Chunk) bool { return f(c) }

// SubscribeSpec says what to read, and where it goes.
type SubscribeSpec struct {
	Topic     string
	Partition ident.Partition
	// TopicID is the identity the position belongs to; zero takes the topic's present one.
	TopicID TopicID
	// From is the first offset wanted.
	From      ident.NextOffset
	Isolation Isolation
	// MaxBytes bounds the batches of one chunk; a single batch may be larger. Default DefaultChunkBytes.
	MaxBytes int
	Inbox    Inbox
}

// Subscription is one partition being read for one inbox.
type Subscription struct {
	f    *Fetcher
	spec SubscribeSpec

	// turn is held while a chunk is delivered, so that chunks arrive one after the other. It is taken before mu.
	turn sync.Mutex

	mu         sync.Mutex
	id         TopicID          // zero until the first metadata
	position   ident.NextOffset // of the next fetch
	paused     bool             // the inbox is full
	done       bool             // closed, or ended by an error
	held       int              // chunks with memory that are not released
	lag        int64            // when the broker last answered
	progress   time.Time        // last time there was progress, or nothing to read
	lastErr    error            // on the way to the broker; nil after an answer
	lastEmpty  time.Time        // last chunk without records
	lastBounds [3]ident.NextOffset

	// Guarded by f.mu.
	lane       *lane     // nil while there is no leader to read from
	epoch      int32     // leader epoch
	missing    time.Time // since when the brokers do not know the topic or partition; zero: they do
	outOfRange bool      // the position was refused: the router asks for the log's bounds
}

// Topic returns the topic's name.
func (s *Subscription) Topic() string { return s.spec.Topic }

// Partition returns the partition's number.
func (s *Subscription) Partition() ident.Partition { return s.spec.Partition }

// Position returns the offset of the next fetch. It is ahead of what the inbox's owner has processed.
func (s *Subscription) Position() ident.NextOffset {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.position
}

// Resume says that the inbox has room again.
func (s *Subscription) Resume() {
	s.mu.Lock()
	resumed := s.paused && !s.done
	s.paused = false
	if resumed {
		s.progress = time.Now()
	}
	s.mu.Unlock()
	if resumed {
		s.f.wake(s)
	}
}

// Seek goes on from another offset of the same log. What is under way from another one is no longer delivered; chunks
// already in the inbox are its owner's to drop (Chunk.From tells).
func (s *Subscription) Seek(to ident.NextOffset) {
	s.mu.Lock()
	s.position = to
	s.progress = time.Now()
	s.mu.Unlock()
	s.f.wake(s)
}

// Close ends the subscription. A chunk that is being offered at the same time may still arrive; chunks that were taken
// must be released all the same.
func (s *Subscription) Close() {
	s.mu.Lock()
	s.done = true
	s.mu.Unlock()
	s.f.forget(s)
}

// want returns the offset to ask for, false while nothing is wanted.
func (s *Subscription) want() (position ident.NextOffset, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.position, !s.paused && !s.done
}

// deliver offers the chunk, unless it is not the next one: the subscription has ended, was moved by Seek, or has its data
// from elsewhere. (Interleaving: the leader moves while the old one's answer is under way; the new loop asks from the same
// position; both answers arrive. The second begins below the position and is dropped.)
func (s *Subscription) deliver(c *Chunk) {
	s.turn.Lock()
	defer s.turn.Unlock()
	s.mu.Lock()
	if s.done || s.position != c.From {
		s.mu.Unlock()
		c.Release()
		return
	}
	s.position = c.Next
	s.paused = true // until Offer says otherwise: a Resume from within Offer must not be lost
	s.mu.Unlock()
	if s.spec.Inbox.Offer(c) {
		s.mu.Lock()
		s.paused = false
		s.mu.Unlock()
	}
}

// stop delivers the error that ends the subscription.
func (s *Subscription) stop(err error) {
	s.turn.Lock()
	defer s.turn.Unlock()
	s.mu.Lock()
	ended := s.done
	s.done = true
	position := s.position
	s.mu.Unlock()
	if !ended {
		s.spec.Inbox.Offer(&Chunk{
			Sub: s, Topic: s.spec.Topic, Partition: s.spec.Partition, From: position, Next: position, Err: err,
		})
	}
}

// answered notes an answer of the broker, and tells whether a chunk without records is due.
func (s *Subscription) answered(c *Chunk, now time.Time) (emptyDue bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastErr = nil
	s.lag = c.Lag()
	if c.Next > c.From || s.lag == 0 {
		s.progress = now
	}
	bounds := [3]ident.NextOffset{c.HighWatermark, c.LastStable, c.LogStart}
	if c.Size() == 0 && bounds == s.lastBounds && now.Sub(s.lastEmpty) < s.f.cfg.EmptyEvery {
		return false
	}
	s.lastEmpty, s.lastBounds = now, bounds
	return true
}

// failed notes what went wrong on the way to the broker.
func (s *Subscription) failed(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastErr = err
}

// hold counts the chunks whose memory is out.
func (s *Subscription) hold(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held += n
}

// holds returns how many chunks with memory are out.
func (s *Subscription) holds() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held
}

// stall tells whether the subscription should have made progress for d and has not (trap T19). A full inbox is its
// owner's business: slow is not stuck.
func (s *Subscription) stall(now time.Time, d time.Duration) (Stall, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	silent := now.Sub(s.progress)
	if s.done || s.paused || silent < d {
		return Stall{}, false
	}
	return Stall{
		Topic: s.spec.Topic, Partition: s.spec.Partition, Position: s.position,
		Lag: s.lag, For: silent, LastError: s.lastErr,
	}, true
}

func (s *Subscription) validate() error {
	if s.spec.Topic == "" || s.spec.Partition < 0 || s.spec.From < 0 || s.spec.MaxBytes < 0 || s.spec.Inbox == nil {
		return &Error{
			Code: CodeInvalidRequest, Op: "subscribe", Topic: s.spec.Topic, Partition: s.spec.Partition,
			Detail: fmt.Sprintf("from offset %d, at most %d bytes: topic and inbox are needed, numbers are not negative",
				s.spec.From, s.spec.MaxBytes),
		}
	}
	return nil
}
