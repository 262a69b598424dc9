package task

import (
	"math/rand/v2"
	"slices"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/plan"
	"github.com/pondage/pondage/internal/rowjson"
	"github.com/pondage/pondage/internal/spec"
	"github.com/pondage/pondage/internal/window"
)

// receiving is what a task does with the rows of its edge.
type receiving interface {
	// batch returns the batch to decode the next block into.
	batch() *block.Batch
	// take takes the rows of a block, decoded into batch.
	take(rows *block.Batch) error
	// advance closes what the watermark has passed.
	advance(w ident.EventMs, out results) error
	// settle gives out what has changed, after each chunk.
	settle(out results) error
	// describe fills in what explain-window shows.
	describe(p *Progress)
}

// results takes what a task has made.
type results interface {
	// rows takes result rows; the batch is the taker's.
	rows(b *block.Batch) error
	// reject takes a result that has no value; row names it.
	reject(row []byte, code, reason string) error
}

// pass is the operator of a level sink task: its rows are results.
type pass struct {
	rows []*block.Batch
}

func (p *pass) batch() *block.Batch { return &block.Batch{} }

func (p *pass) take(rows *block.Batch) error {
	p.rows = append(p.rows, rows)
	return nil
}

func (p *pass) advance(ident.EventMs, results) error { return nil }

func (p *pass) settle(out results) error {
	for _, b := range p.rows {
		if err := out.rows(b); err != nil {
			return err
		}
	}
	p.rows = p.rows[:0]
	return nil
}

func (p *pass) describe(*Progress) {}

// aggregate is the operator of an aggregating task.
type aggregate struct {
	state     window.Operator
	projector *plan.Projector
	scratch   block.Batch
	rejected  *rowjson.Encoder
}

func newAggregate(p *plan.Plan) (*aggregate, error) {
	w, err := window.NewWindows(*p.Window)
	if err != nil {
		return nil, err
	}
	cfg := window.StateConfig{Windows: w, Keys: p.KeySchema(), Aggs: p.Aggs, Args: p.ArgTypes(), Keep: keep(p), Seed: rand.Uint64()}
	a := &aggregate{projector: p.NewProjector(), rejected: rowjson.NewEncoder(p.StateSchema())}
	if p.Trigger == spec.TriggerAtOnce {
		cfg.Trigger = window.EmitOnChange
	}
	a.state = window.NewState(cfg)
	return a, nil
}

// keep is how long a closed window is kept for late rows (DESIGN §8).
func keep(p *plan.Plan) ident.EventMs {
	set := p.Settings
	switch {
	case set.Lateness.Unbounded:
		return window.KeepForever
	case set.LateBy == spec.LateByTable:
		return ident.EventMs(max(set.TableTTL, set.Lateness.For).Milliseconds())
	}
	return ident.EventMs(set.Lateness.For.Milliseconds())
}

func (a *aggregate) batch() *block.Batch { return &a.scratch }

func (a *aggregate) take(rows *block.Batch) error { return a.state.Merge(rows) }

func (a *aggregate) advance(w ident.EventMs, out results) error {
	var err error
	a.state.Advance(w, func(e *window.Emission) { err = a.give(e, out, err) })
	return err
}

func (a *aggregate) settle(out results) error {
	var err error
	a.state.Changed(func(e *window.Emission) { err = a.give(e, out, err) })
	return err
}

// give turns emitted windows into result rows. The state is not stopped by an error: its task ends with it.
func (a *aggregate) give(e *window.Emission, out results, failed error) error {
	if failed != nil {
		return failed
	}
	projection := a.projector.Windows(e)
	for _, bad := range projection.Errors {
		row := a.rejected.AppendRow(nil, e.Batch.Cols, int(bad.Row))
		if err := out.reject(row, bad.Code, bad.Reason); err != nil {
			return err
		}
	}
	if projection.Batch.Rows() == 0 {
		return nil
	}
	return out.rows(clone(projection.Batch))
}

// clone copies a batch that its maker uses again.
func clone(b *block.Batch) *block.Batch {
	out := &block.Batch{Schema: b.Schema, Cols: make([]*block.Column, len(b.Cols))}
	for i, c := range b.Cols {
		out.Cols[i] = &block.Column{
			Type: c.Type, Null: slices.Clone(c.Null), Bool: slices.Clone(c.Bool), Int: slices.Clone(c.Int), Float: slices.Clone(c.Float),
			Dec: slices.Clone(c.Dec), Off: slices.Clone(c.Off), Data: slices.Clone(c.Data),
		}
	}
	return out
}

// explainWindows is how many open windows a report describes: those that close first.
const explainWindows = 32

func (a *aggregate) describe(p *Progress) {
	p.Windows = a.state.OpenWindows(explainWindows)
	p.Open = a.state.Stats().Cells
}
