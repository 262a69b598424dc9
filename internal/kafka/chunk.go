package kafka

import "github.com/pondage/pondage/internal/ident"

// Chunk is what one fetch brought for one subscription: raw record batches, or nothing, or the error that ended it.
type Chunk struct {
	Sub       *Subscription
	Topic     string
	Partition ident.Partition
	// From is the position this chunk begins at, Next the position behind it: also behind control records, aborted
	// records and offsets that compaction took. The next chunk's From is this one's Next.
	From, Next ident.NextOffset
	// HighWatermark, LastStable and LogStart are the partition's bounds when the broker answered.
	HighWatermark, LastStable, LogStart ident.NextOffset
	// Filled tells that more was readable when the broker answered than this chunk holds: no flush yet (DESIGN §5).
	Filled bool
	// Err ends the subscription: an *Error with a named stop. Such a chunk has no records.
	Err error

	batches   []byte
	aborted   []abortedTxn // sorted by first offset; nil unless read_committed met some
	committed bool         // isolation: drop aborted transactions
	release   func()
}

// abortedTxn says that the transactional records of a producer from an offset on, up to its next abort marker, count
// for nothing.
type abortedTxn struct {
	producer int64
	first    int64
}

// Lag returns how many offsets are readable behind this chunk.
func (c *Chunk) Lag() int64 { return max(0, int64(c.bound()-c.Next)) }

// bound is the end of what the subscription's isolation level lets through.
func (c *Chunk) bound() ident.NextOffset {
	if c.committed {
		return c.LastStable
	}
	return c.HighWatermark
}

// Size returns the bytes of the raw batches: what the chunk holds of the budget.
func (c *Chunk) Size() int { return len(c.batches) }

// Records calls yield for each record from From on, in order, until it returns false. Aborted and control records are
// left out. An error is corruption or an old message format, by name; the records before it have been yielded.
func (c *Chunk) Records(yield func(*Record) bool) error {
	var it Iterator
	it.Reset(c)
	for it.Next() {
		if !yield(&it.Record) {
			return nil
		}
	}
	return it.Err()
}

// Release gives the chunk's memory back; no record of it may be used any more. Only the first call counts.
func (c *Chunk) Release() {
	if release := c.release; release != nil {
		c.release, c.batches = nil, nil
		release()
	}
}
