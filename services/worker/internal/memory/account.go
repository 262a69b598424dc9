package memory

import "github.com/pondage/pondage/internal/dispatch"

// Account is what one task holds of the pool.
type Account struct {
	pool   *Pool
	holder dispatch.Holder

	// Guarded by pool.mu.
	bytes, items int64
	closed       bool
}

// Room tells whether the task may begin work that will take memory: it holds nothing, or neither it nor the pool is full.
// A pool that was full has no room until a good part of it is free (dispatch.ResumePercent), so that sources do not
// stutter at its edge.
func (a *Account) Room() bool {
	a.pool.mu.Lock()
	defer a.pool.mu.Unlock()
	if a.items == 0 {
		return true
	}
	return !a.pool.budget.Paused() && a.bytes < dispatch.TaskBytes && a.items < dispatch.TaskItems
}

// TryTake takes an item of some bytes if the task and the pool have room for it.
func (a *Account) TryTake(bytes int64) bool {
	a.pool.mu.Lock()
	defer a.pool.mu.Unlock()
	if a.closed {
		return true
	}
	if grant, _ := a.pool.budget.Take(a.holder, 1, int(bytes)); grant != dispatch.Granted {
		return false
	}
	a.items, a.bytes = a.items+1, a.bytes+bytes
	return true
}

// Take counts an item of some bytes that is there in any case.
func (a *Account) Take(bytes int64) {
	a.pool.mu.Lock()
	defer a.pool.mu.Unlock()
	if a.closed {
		return
	}
	a.pool.budget.Force(a.holder, 1, int(bytes))
	a.items, a.bytes = a.items+1, a.bytes+bytes
}

// Give returns an item.
func (a *Account) Give(bytes int64) {
	a.pool.mu.Lock()
	defer a.pool.mu.Unlock()
	if a.closed {
		return
	}
	a.pool.budget.Give(a.holder, 1, int(bytes))
	a.items, a.bytes = a.items-1, a.bytes-bytes
	a.pool.announce()
}

// Changed returns a channel that is closed when memory comes back to the pool. Ask for it before TryTake:
//
//	for changed := a.Changed(); !a.TryTake(n); changed = a.Changed() {
//		<-changed
//	}
func (a *Account) Changed() <-chan struct{} {
	a.pool.mu.Lock()
	defer a.pool.mu.Unlock()
	if a.pool.changed == nil {
		a.pool.changed = make(chan struct{})
	}
	return a.pool.changed
}

// Held returns the bytes that the task holds.
func (a *Account) Held() int64 {
	a.pool.mu.Lock()
	defer a.pool.mu.Unlock()
	return a.bytes
}

// Close returns everything. What is taken and given afterwards counts for nothing: its owner is gone.
func (a *Account) Close() {
	a.pool.mu.Lock()
	defer a.pool.mu.Unlock()
	if a.closed {
		return
	}
	a.closed = true
	a.pool.budget.End(a.holder)
	a.items, a.bytes = 0, 0
	a.pool.announce()
}
