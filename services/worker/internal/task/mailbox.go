package task

import "sync"

// mailbox carries values from many goroutines to the one of a task. Putting never blocks; what may be in it is bounded by
// the protocols that use it (answers by what is unanswered; of credits only the newest of a destination is kept).
//
// The wake-up cannot be lost (trap T40): a value is appended before the notice is given, the notice is a channel of one
// place, and the taker takes everything after it has taken the notice. A put between the two leaves a notice behind for
// a mailbox that is empty by then; that costs one idle turn of the loop.
type mailbox[T any] struct {
	notice chan struct{}
	mu     sync.Mutex
	values []T
	spare  []T // the slice taken before the last one: its memory is used again
	closed bool
	// replaces tells whether a value makes an older one void; nil: none does.
	replaces func(value, older T) bool
}

func newMailbox[T any]() *mailbox[T] { return &mailbox[T]{notice: make(chan struct{}, 1)} }

// put appends a value and wakes the taker. It returns false when the mailbox is closed: nobody takes the value any more.
func (m *mailbox[T]) put(v T) bool {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return false
	}
	m.add(v)
	m.mu.Unlock()
	select {
	case m.notice <- struct{}{}:
	default:
	}
	return true
}

// add appends a value, or puts it in the place of the one that it replaces, under m.mu.
func (m *mailbox[T]) add(v T) {
	if m.replaces != nil {
		for i := range m.values {
			if m.replaces(v, m.values[i]) {
				m.values[i] = v
				return
			}
		}
	}
	m.values = append(m.values, v)
}

// take returns everything in the mailbox. The slice is valid until the next take.
func (m *mailbox[T]) take() []T {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := m.values
	clear(m.spare) // what it held may be garbage now
	m.values, m.spare = m.spare[:0], out
	return out
}

// close returns what is left. Later values are refused.
func (m *mailbox[T]) close() []T {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return m.values
}
