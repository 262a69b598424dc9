package dispatch

import (
	"github.com/pondage/pondage/internal/ident"
)

// Budget is the node's memory pool (worker.memory): queues, held blocks, fetch and produce buffers and Arrow of all
// tasks take their bytes from it.
//
// A holder that holds nothing is always granted one block, so that a full pool leaves every task alive; the pool may
// exceed its limit by that one block a holder, and by nothing else.
type Budget struct {
	limit   int
	used    int
	paused  bool
	holders map[Holder]*holder
}

// Holder is who takes memory: a task of a stream.
type Holder struct {
	Stream ident.StreamID
	Task   ident.Task
}

type holder struct{ items, bytes int }

// Grant is the answer to Take.
type Grant uint8

// The answers to Take.
const (
	Granted  Grant = 1 + iota
	TaskFull       // the task is at its cap: its partitions are left out of the fetch until it gives back
	PoolFull       // the node's pool is full: sources are paused
)

// PoolChange is what a change of the pool asks of the node's sources.
type PoolChange uint8

// The changes of the pool.
const (
	PoolSteady PoolChange = iota
	PauseSources
	ResumeSources
)

// NewBudget returns a pool of the given bytes.
func NewBudget(limit int) *Budget { return &Budget{limit: limit, holders: map[Holder]*holder{}} }

// Take asks for memory of some items. Only Granted takes it.
func (b *Budget) Take(h Holder, items, bytes int) (Grant, PoolChange) {
	t := b.holders[h]
	if t == nil {
		t = &holder{}
		b.holders[h] = t
	}
	if t.bytes > 0 || t.items > 0 {
		if t.items+items > TaskItems || t.bytes+bytes > TaskBytes {
			return TaskFull, PoolSteady
		}
		if b.used+bytes > b.limit {
			return PoolFull, b.pause()
		}
	}
	t.items += items
	t.bytes += bytes
	b.used += bytes
	if b.used >= b.limit {
		return Granted, b.pause()
	}
	return Granted, PoolSteady
}

// Force takes memory that is in use already, whatever the limits say: a chunk whose size nobody knew before it came, the
// open flush of a task. Whoever forces asks Take, Paused or Used first whether to begin at all.
func (b *Budget) Force(h Holder, items, bytes int) PoolChange {
	t := b.holders[h]
	if t == nil {
		t = &holder{}
		b.holders[h] = t
	}
	t.items += items
	t.bytes += bytes
	b.used += bytes
	if b.used >= b.limit {
		return b.pause()
	}
	return PoolSteady
}

// Give returns memory that Take granted or Force took.
func (b *Budget) Give(h Holder, items, bytes int) PoolChange {
	t := b.holders[h]
	if t == nil {
		return PoolSteady
	}
	items, bytes = min(items, t.items), min(bytes, t.bytes)
	t.items -= items
	t.bytes -= bytes
	b.used -= bytes
	return b.maybeResume()
}

// End returns everything that a task holds, and forgets it.
func (b *Budget) End(h Holder) PoolChange {
	if t := b.holders[h]; t != nil {
		b.used -= t.bytes
		delete(b.holders, h)
	}
	return b.maybeResume()
}

// Used returns the bytes granted and not given back.
func (b *Budget) Used() int { return b.used }

// Paused tells whether sources are paused.
func (b *Budget) Paused() bool { return b.paused }

func (b *Budget) pause() PoolChange {
	if b.paused {
		return PoolSteady
	}
	b.paused = true
	return PauseSources
}

func (b *Budget) maybeResume() PoolChange {
	const hundred = 100
	if !b.paused || b.used > b.limit/hundred*ResumePercent {
		return PoolSteady
	}
	b.paused = false
	return ResumeSources
}
