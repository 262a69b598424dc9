package memory

import (
	"sync"
	"sync/atomic"
)

// Shares divides the memory for window state (state.memory) among the tasks of a node that keep windows. The rule is as
// simple as can be: all have the same share, also those that need less. It shrinks when a task comes and grows when one
// goes, so that all together stay within the whole.
type Shares struct {
	whole   int64
	holders atomic.Int64
}

// leastShare is what a task has in any case, bytes: with less it would do nothing but write and read its windows.
const leastShare = 1 << 20

// NewShares returns shares of some bytes.
func NewShares(whole int64) *Shares { return &Shares{whole: whole} }

// Join returns the share of a further task.
func (s *Shares) Join() *Share {
	s.holders.Add(1)
	return &Share{of: s}
}

// Share is that of one task. It ends with Close.
type Share struct {
	of    *Shares
	close sync.Once
}

// Bytes is how much the task may use at this moment.
func (s *Share) Bytes() int64 {
	return max(s.of.whole/max(s.of.holders.Load(), 1), leastShare)
}

// Close leaves the share to the others.
func (s *Share) Close() { s.close.Do(func() { s.of.holders.Add(-1) }) }
