package pipeline

import (
	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/expr"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/plan"
	"github.com/pondage/pondage/internal/window"
)

// operator is what rows do to become the input of the next task or of a sink.
type operator interface {
	// add takes the selected rows, whose columns are not kept, and returns those that it has no result for.
	add(in selected) []expr.RowError
	// pending tells whether rows are held back.
	pending() bool
	// full tells that they should be flushed now.
	full() bool
	// flush hands out everything held back, by destination. A batch is valid until emit returns.
	flush(emit func(to ident.VGroup, rows *block.Batch))
}

// selected is a batch of rows with their evaluated expressions; the columns are indexed by row number.
type selected struct {
	batch    *block.Batch
	keys     []*block.Column
	args     []*block.Column
	openFrom []ident.EventMs
	sel      []int32
}

// preAggregate is the operator of a windowed stream: partials by group and pane until the flush.
type preAggregate struct {
	pre *window.PreAgg
}

func newPreAggregate(p *plan.Plan, route func([]*block.Column, int) ident.VGroup, seed uint64) (*preAggregate, error) {
	w, err := window.NewWindows(*p.Window) // its own: it caches
	if err != nil {
		return nil, err
	}
	return &preAggregate{window.NewPreAgg(window.PreAggConfig{
		Windows: w, Keys: p.KeySchema(), Aggs: p.Aggs, Args: p.ArgTypes(), Route: route, Seed: seed,
	})}, nil
}

func (p *preAggregate) add(in selected) []expr.RowError {
	b := in.batch
	p.pre.Add(window.Rows{
		Keys: in.keys, Args: in.args, Ts: b.Cols[len(b.Cols)-timeFromEnd].Int,
		Partition: b.Cols[len(b.Cols)-partitionFromEnd].Int, Offset: b.Cols[len(b.Cols)-offsetFromEnd].Int,
		OpenFrom: in.openFrom, Sel: in.sel,
	})
	return nil
}

func (p *preAggregate) pending() bool { return p.pre.Cells() > 0 }

func (p *preAggregate) full() bool { return p.pre.Full() }

func (p *preAggregate) flush(emit func(ident.VGroup, *block.Batch)) { p.pre.Flush(emit) }

// project is the operator of a stream without window: result rows, by the vgroup of their group.
type project struct {
	projector *plan.Projector
	route     func(keys []*block.Column, row int) ident.VGroup
	out       map[ident.VGroup]*block.Batch
	order     []ident.VGroup // of first use, so that a flush is the same every time
}

func newProject(p *plan.Plan, route func([]*block.Column, int) ident.VGroup) *project {
	return &project{projector: p.NewProjector(), route: route, out: map[ident.VGroup]*block.Batch{}}
}

func (p *project) add(in selected) []expr.RowError {
	results := p.projector.Rows(in.batch, in.sel)
	n := results.Batch.Rows()
	for i := range n {
		row := i
		if results.Rows != nil {
			row = int(results.Rows[i])
		}
		to := p.route(in.keys, row)
		b := p.out[to]
		if b == nil {
			b = block.NewBatch(results.Batch.Schema, n)
			p.out[to] = b
			p.order = append(p.order, to)
		}
		for c, col := range b.Cols {
			col.AppendFrom(results.Batch.Cols[c], i)
		}
	}
	return results.Errors
}

func (p *project) pending() bool { return len(p.order) > 0 }

// full says never: what is held back is bounded by the input of a flush.
func (p *project) full() bool { return false }

// flush hands the batches out for good: a sink may keep them.
func (p *project) flush(emit func(ident.VGroup, *block.Batch)) {
	for _, to := range p.order {
		emit(to, p.out[to])
		delete(p.out, to)
	}
	p.order = p.order[:0]
}
