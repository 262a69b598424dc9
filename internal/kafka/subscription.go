package kafka

import "github.com/pondage/pondage/internal/ident"

// Isolation says which records of transactions are read.
type Isolation int8

// The isolation levels; the numbers are Kafka's.
const (
	// ReadUncommitted reads everything up to the high watermark. Edge topics are read so: nothing on them is in a
	// transaction.
	ReadUncommitted Isolation = 0
	// ReadCommitted reads up to the last stable offset and leaves aborted records out. Sources are read so.
	ReadCommitted Isolation = 1
)

// Inbox takes the chunks of a subscription.
type Inbox interface {
	// Offer hands a chunk over; the inbox has it in either case. It returns whether there is room for another: after
	// false the partition is left out of the fetch until Subscription.Resume. It is called from a fetch loop and must
	// not block.
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
