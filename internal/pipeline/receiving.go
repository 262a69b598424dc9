package pipeline

import (
	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/plan"
	"github.com/pondage/pondage/internal/window"
)

// Receiving is what a task does with the rows of its edge.
type Receiving interface {
	// Batch returns the batch to decode the next block into.
	Batch() *block.Batch
	// Take takes the rows of a block, decoded into Batch. An error is corruption.
	Take(rows *block.Batch) error
	// Advance closes what the watermark has passed.
	Advance(w ident.EventMs, out Results) error
	// Settle gives out what has changed, after each chunk.
	Settle(out Results) error
	// Open describes the open windows, those that close first, at most limit of them, and says how many (group, pane)
	// pairs all of them hold.
	Open(limit int) (first []window.Open, cells int)
	// State is what checkpoints keep of it; nil: it has none.
	State() window.Checkpointed
	// Bound bounds the memory of its state, in bytes, before the first Take or restore. What is more goes where open says,
	// which is called when it is needed first.
	Bound(memory int, open func() (window.Spill, error))
}

// Results takes what a task has made. Its errors end the task. One that is an EventTaker hears of windows, too.
type Results interface {
	// Rows takes result rows; the batch is the taker's.
	Rows(b *block.Batch) error
	// Reject takes a result that has no value; row names it, as JSON.
	Reject(row []byte, code, reason string) error
}

// NewReceiving returns the receiving side of a stream. The seed is that of SourceOptions.
func NewReceiving(p *plan.Plan, seed uint64) (Receiving, error) {
	if p.Windowed() {
		return newAggregate(p, seed)
	}
	return &pass{}, nil
}

// pass is the operator of a level sink task: its rows are results.
type pass struct {
	rows []*block.Batch
}

func (p *pass) Batch() *block.Batch { return &block.Batch{} }

func (p *pass) Take(rows *block.Batch) error {
	p.rows = append(p.rows, rows)
	return nil
}

func (p *pass) Advance(ident.EventMs, Results) error { return nil }

func (p *pass) Settle(out Results) error {
	for _, b := range p.rows {
		if err := out.Rows(b); err != nil {
			return err
		}
	}
	p.rows = p.rows[:0]
	return nil
}

func (p *pass) Open(int) ([]window.Open, int) { return nil, 0 }

func (p *pass) State() window.Checkpointed { return nil }

func (p *pass) Bound(int, func() (window.Spill, error)) {}
