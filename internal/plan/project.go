package plan

import (
	"cmp"
	"slices"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/expr"
	"github.com/pondage/pondage/internal/window"
)

// Projector computes result rows: from the rows of a source, or from the windows that the state emits. It belongs to
// one task.
type Projector struct {
	programs []*expr.Program
	results  []expr.Result
	schema   block.Schema
	view     block.Batch  // the programs' own columns
	copied   *block.Batch // the rows that are left when some are not taken
	keep     []int32
	errors   []expr.RowError
}

// Projection is a batch of results. All of it is valid until the next call of the Projector.
type Projection struct {
	Batch *block.Batch // columns as Plan.Result
	// Rows is the input row of each result row; nil when they are the same.
	Rows []int32
	// Errors are the input rows that have no result, ascending: data errors, for the dead-letter topic.
	Errors []expr.RowError
}

// Has tells whether row n of the results is that of the input row.
func (p Projection) Has(n, input int) bool {
	if p.Rows == nil {
		return n == input
	}
	return n < len(p.Rows) && int(p.Rows[n]) == input
}

// NewProjector returns a projector of the stream.
func (p *Plan) NewProjector() *Projector {
	pr := &Projector{schema: p.Result.Fields(), results: make([]expr.Result, len(p.Select))}
	for _, t := range p.Select {
		pr.programs = append(pr.programs, expr.Compile(t))
	}
	pr.view = block.Batch{Schema: pr.schema, Cols: make([]*block.Column, len(pr.programs))}
	pr.copied = block.NewBatch(pr.schema, 0)
	return pr
}

// Rows computes the results of the rows of a source batch (columns as Input.Schema) that sel lists, ascending.
func (pr *Projector) Rows(in *block.Batch, sel []int32) Projection {
	pr.errors = pr.errors[:0]
	pr.evaluate(in, sel)
	return pr.finish(in.Rows(), sel)
}

// Windows computes the results of emitted windows. A window one of whose aggregates has no value is an error.
func (pr *Projector) Windows(e *window.Emission) Projection {
	pr.errors = pr.errors[:0]
	for _, bad := range e.Errors {
		pr.errors = append(pr.errors, expr.RowError{Row: bad.Row, Code: bad.Code, Reason: bad.Reason})
	}
	rows := e.Batch.Rows()
	all := pr.allRows(rows)
	pr.evaluate(e.Batch, all)
	return pr.finish(rows, all)
}

// allRows is the selection of every row.
func (pr *Projector) allRows(rows int) []int32 {
	sel := pr.keep[:0]
	for i := range rows {
		sel = append(sel, int32(i))
	}
	pr.keep = sel
	return sel
}

func (pr *Projector) evaluate(in *block.Batch, sel []int32) {
	for i, program := range pr.programs {
		program.EvalRows(in.Cols, in.Rows(), sel, &pr.results[i])
		pr.view.Cols[i] = pr.results[i].Col
		pr.errors = append(pr.errors, pr.results[i].Errors...)
	}
	slices.SortStableFunc(pr.errors, func(a, b expr.RowError) int { return cmp.Compare(a.Row, b.Row) })
	pr.errors = slices.CompactFunc(pr.errors, func(a, b expr.RowError) bool { return a.Row == b.Row })
}

// finish leaves out the rows that were not selected or have an error. When none is left out, nothing is copied.
func (pr *Projector) finish(rows int, sel []int32) Projection {
	if len(sel) == rows && len(pr.errors) == 0 {
		return Projection{Batch: &pr.view}
	}
	bad := pr.errors
	keep := pr.keep[:0] // never ahead of sel, also when sel is pr.keep itself
	for _, row := range sel {
		if len(bad) > 0 && bad[0].Row == row {
			bad = bad[1:]
			continue
		}
		keep = append(keep, row)
	}
	pr.keep = keep
	pr.copied.Reset()
	for i, c := range pr.view.Cols {
		for _, row := range keep {
			pr.copied.Cols[i].AppendFrom(c, int(row))
		}
	}
	return Projection{Batch: pr.copied, Rows: keep, Errors: pr.errors}
}
