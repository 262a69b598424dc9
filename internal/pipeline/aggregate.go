package pipeline

import (
	"errors"
	"slices"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/plan"
	"github.com/pondage/pondage/internal/rowjson"
	"github.com/pondage/pondage/internal/spec"
	"github.com/pondage/pondage/internal/window"
)

// aggregate is the operator of an aggregating task.
type aggregate struct {
	state     window.Operator
	projector *plan.Projector
	scratch   block.Batch
	rejected  *rowjson.Encoder
	events    *events // nil: nobody is told
}

func newAggregate(p *plan.Plan, seed uint64) (*aggregate, error) {
	w, err := window.NewWindows(*p.Window)
	if err != nil {
		return nil, err
	}
	cfg := window.StateConfig{Windows: w, Keys: p.KeySchema(), Aggs: p.Aggs, Args: p.ArgTypes(), Keep: keep(p), Seed: seed}
	if p.Trigger == spec.TriggerAtOnce {
		cfg.Trigger = window.EmitOnChange
	}
	a := &aggregate{projector: p.NewProjector(), rejected: rowjson.NewEncoder(p.StateSchema())}
	if w := p.Webhook; w != nil {
		cfg.Tell = window.Events{Opened: w.Open, Closed: w.Close}
		a.events = newEvents(p)
	}
	a.state = window.NewState(cfg)
	return a, nil
}

func (a *aggregate) Batch() *block.Batch { return &a.scratch }

func (a *aggregate) Take(rows *block.Batch) error { return a.state.Merge(rows) }

func (a *aggregate) Advance(w ident.EventMs, out Results) error {
	var err error
	a.state.Advance(w, func(e *window.Emission) { err = a.give(e, out, err) })
	return errors.Join(err, a.state.Relieve())
}

func (a *aggregate) Settle(out Results) error {
	var err error
	a.state.Changed(func(e *window.Emission) { err = a.give(e, out, err) })
	return errors.Join(err, a.state.Relieve())
}

func (a *aggregate) Open(limit int) ([]window.Open, int) {
	return a.state.OpenWindows(limit), a.state.Stats().Cells
}

func (a *aggregate) State() window.Checkpointed { return a.state }

func (a *aggregate) Bound(memory int, open func() (window.Spill, error)) { a.state.Bound(memory, open) }

// give turns emitted windows into result rows. The state is not stopped by an error: its task ends with it.
func (a *aggregate) give(e *window.Emission, out Results, failed error) error {
	if failed != nil {
		return failed
	}
	if e.Event == window.EventOpened {
		return a.tell(e, nil, out)
	}
	projection := a.projector.Windows(e)
	if e.Event == window.EventClosed {
		if err := a.tell(e, &projection, out); err != nil {
			return err
		}
	}
	if e.EventOnly {
		return nil
	}
	for _, bad := range projection.Errors {
		row := a.rejected.AppendRow(nil, e.Batch.Cols, int(bad.Row))
		if err := out.Reject(row, bad.Code, bad.Reason); err != nil {
			return err
		}
	}
	if projection.Batch.Rows() == 0 {
		return nil
	}
	return out.Rows(clone(projection.Batch))
}

// tell gives out what has happened to windows, to who listens.
func (a *aggregate) tell(e *window.Emission, of *plan.Projection, out Results) error {
	if to, ok := out.(EventTaker); ok {
		return to.Events(a.events.batch(e, of))
	}
	return nil
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
