package kafka

import (
	"time"

	"github.com/pondage/pondage/internal/ident"
)

// FetcherConfig bounds what a Fetcher holds and how long it waits. The zero value takes the defaults.
type FetcherConfig struct {
	// Budget bounds the bytes in chunks not yet released. Default: NewLimit(DefaultFetchBudget).
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
	DefaultRefreshEvery = 5 * time.Second  // half of the 10 s within which a recreated topic must be named (T24)
	DefaultStallAfter   = 30 * time.Second // trap T19
)

// Stall is a subscription that should make progress and does not (trap T19).
type Stall struct {
	Topic     string
	Partition ident.Partition
	Position  ident.NextOffset
	Lag       int64         // offsets readable when the broker last answered
	For       time.Duration // since the last progress
	LastError error         // what happened last on the way to its broker; nil when the broker answers
}
