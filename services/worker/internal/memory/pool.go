package memory

import (
	"sync"

	"github.com/pondage/pondage/internal/dispatch"
)

// Pool is the memory of a node. It implements kafka.Budget for the node's fetchers.
type Pool struct {
	limit int64

	mu      sync.Mutex
	budget  *dispatch.Budget
	changed chan struct{} // closed when memory comes back; nil while nobody has asked
}

// fetchers is the holder of all chunks: they are bounded partition by partition, and have no task's cap.
var fetchers dispatch.Holder

// New returns a pool of limit bytes.
func New(limit int64) *Pool { return &Pool{limit: limit, budget: dispatch.NewBudget(int(limit))} }

// TryTake takes bytes for a fetch if the pool has them.
func (p *Pool) TryTake(bytes int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if int64(p.budget.Used())+bytes > p.limit {
		return false
	}
	p.budget.Force(fetchers, 0, int(bytes))
	return true
}

// Take takes bytes of a chunk that is there.
func (p *Pool) Take(bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.budget.Force(fetchers, 0, int(bytes))
}

// Give returns bytes of a chunk.
func (p *Pool) Give(bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.budget.Give(fetchers, 0, int(bytes))
	p.announce()
}

// Used returns the bytes in use.
func (p *Pool) Used() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return int64(p.budget.Used())
}

// Limit returns the size of the pool in bytes.
func (p *Pool) Limit() int64 { return p.limit }

// announce wakes those who wait for memory, under p.mu.
func (p *Pool) announce() {
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
}

// Open returns the account of a task, which holds nothing. A holder has one at a time.
func (p *Pool) Open(h dispatch.Holder) *Account { return &Account{pool: p, holder: h} }
