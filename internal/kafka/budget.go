package kafka

import "sync/atomic"

// Budget bounds the bytes held in chunks. The node's memory pool is one; Limit is a simple one.
type Budget interface {
	// TryTake takes n bytes if they are free.
	TryTake(n int64) bool
	// Take takes n bytes in any case: the floor that keeps each subscription alive, or a batch larger than asked for.
	Take(n int64)
	// Give returns n bytes.
	Give(n int64)
}

// Limit is a Budget of a fixed number of bytes.
type Limit struct {
	limit int64
	taken atomic.Int64
}

// NewLimit returns a budget of limit bytes.
func NewLimit(limit int64) *Limit { return &Limit{limit: limit} }

// TryTake takes n bytes if they are free.
func (l *Limit) TryTake(n int64) bool {
	for {
		taken := l.taken.Load()
		if taken+n > l.limit {
			return false
		}
		if l.taken.CompareAndSwap(taken, taken+n) {
			return true
		}
	}
}

// Take takes n bytes in any case.
func (l *Limit) Take(n int64) { l.taken.Add(n) }

// Give returns n bytes.
func (l *Limit) Give(n int64) { l.taken.Add(-n) }

// Taken returns the bytes in use.
func (l *Limit) Taken() int64 { return l.taken.Load() }
