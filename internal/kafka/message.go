package kafka

import (
	"github.com/pondage/pondage/internal/ident"
)

// Message is one record to be written. Key, Value and Headers are copied before Send and Push return.
type Message struct {
	Key         []byte // nil: null
	Value       []byte // nil: null, a tombstone
	Headers     []Header
	TimestampMs int64 // ms since the epoch; 0: when its batch was begun, which is about now
	// Tag comes back with each Result, so that one Done can serve many messages.
	Tag uint64
	// Done hears what became of the message; nil: nobody asks. It is called from a loop of the producer, in the order
	// of the messages of the queue, and must not block; it may call Push and Retry of its queue, but not Discard and Close.
	Done func(Result)
}

// Result says what became of an attempt to write a message.
//
// Err nil: the broker has appended it at Offset; the last Result of the message. Err transient (RetryByCaller only): the
// attempt failed, the message waits for Queue.Retry, another Result follows. Any other Err: a named stop, or the queue was
// discarded or closed; the last Result.
type Result struct {
	Tag    uint64
	Offset ident.LastOffset
	Err    error
}

// RetryMode says who decides when a failed request is sent again.
type RetryMode int

const (
	// RetryItself repeats with back-off until the broker answers. Done is called once a message.
	RetryItself RetryMode = iota
	// RetryByCaller holds a failed request until Queue.Retry; Done hears of each failed attempt (DESIGN §5).
	RetryByCaller
)

// QueueOptions bound a queue. The zero value takes the defaults.
type QueueOptions struct {
	Mode RetryMode
	// TopicID is the identity the topic must have; zero takes the present one.
	TopicID TopicID
	// MaxBatchBytes bounds one request of this queue. Default DefaultMaxBatchBytes; never more than half of the topic's
	// max.message.bytes (DESIGN §4), except that a single message may be as large as the topic lets it.
	MaxBatchBytes int
	// MaxPendingBytes is where Send begins to wait and Full says true. Default defaultPendingBatches requests.
	MaxPendingBytes int
	// Codec compresses the batches where that makes them smaller. Default CodecNone.
	Codec Codec
}

// Defaults of QueueOptions.
const (
	DefaultMaxBatchBytes = 4 << 20 // dispatch.max_batch, DESIGN §4
	// defaultPendingBatches is how many full requests may be pending: one is in flight, one is ready to follow it, two are
	// filled meanwhile. More would not write faster, and would take memory from everybody.
	defaultPendingBatches = 4
)

func (o QueueOptions) withDefaults(maxMessage int) QueueOptions {
	if o.MaxBatchBytes == 0 {
		o.MaxBatchBytes = DefaultMaxBatchBytes
	}
	o.MaxBatchBytes = min(o.MaxBatchBytes, maxMessage/2)
	if o.MaxPendingBytes == 0 {
		o.MaxPendingBytes = defaultPendingBatches * o.MaxBatchBytes
	}
	return o
}
