package task

import (
	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/expr"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/plan"
	"github.com/pondage/pondage/internal/watermark"
	"github.com/pondage/pondage/internal/window"
)

// Counters count the records of a source partition by what became of them (I3): accepted is the sum.
type Counters struct {
	Counted, Filtered, NoWindow, Late, DeadLettered int64
}

// Accepted is the number of records taken from the partition: each is in exactly one of the counters.
func (c Counters) Accepted() int64 {
	return c.Counted + c.Filtered + c.NoWindow + c.Late + c.DeadLettered
}

// rejected is a row that is set aside because an expression has no value for it.
type rejected struct {
	offset ident.LastOffset
	code   string
	reason string
}

// late is a row that comes after all its windows have closed, and what it was judged by.
type late struct {
	offset    ident.LastOffset
	watermark ident.EventMs
}

// rows takes decoded rows through everything that is decided row by row: the watermark, WHERE, lateness, keys and
// arguments, and gives those that count to the operator. It does no I/O; what has to be set aside is listed.
type rows struct {
	plan     *plan.Plan
	where    *expr.Program // nil: none
	keys     []*expr.Program
	args     []*expr.Program // of the aggregates
	windows  *window.Windows // nil: none
	operator operator

	// Of the batch at hand.
	openFrom []ident.EventMs
	sel      []int32
	result   expr.Result
	keyCols  []*block.Column
	argCols  []*block.Column
	rejected []rejected
	late     []late
}

// operator is what rows do to become the input of the next task or of a sink.
type operator interface {
	// add takes the selected rows, whose columns are not kept, and returns those that it has no result for.
	add(in selected) []expr.RowError
	// pending tells whether rows are held back.
	pending() bool
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

func newRows(p *plan.Plan, windows *window.Windows, op operator) *rows {
	r := &rows{plan: p, windows: windows, operator: op}
	if p.Where != nil {
		r.where = expr.Compile(p.Where)
	}
	for _, k := range p.Keys {
		r.keys = append(r.keys, expr.Compile(k.Expr))
	}
	for _, a := range p.Args {
		r.args = append(r.args, expr.Compile(a))
	}
	r.keyCols = make([]*block.Column, len(r.keys))
	r.argCols = make([]*block.Column, len(r.args))
	return r
}

// take processes a batch of one partition, in the order of its offsets. The columns of the batch are those of
// plan.Input.Schema.
func (r *rows) take(b *block.Batch, tracker *watermark.Tracker, c *Counters) {
	r.rejected, r.late = r.rejected[:0], r.late[:0]
	n := b.Rows()
	if n == 0 {
		return
	}
	ts := b.Cols[len(b.Cols)-timeFromEnd].Int
	if cap(r.openFrom) < n {
		r.openFrom = make([]ident.EventMs, n)
	}
	r.openFrom = r.openFrom[:n]
	// Every accepted row moves the watermark, whatever becomes of it.
	tracker.Observe(ts, b.Cols[len(b.Cols)-tableFromEnd], r.openFrom)

	r.sel = r.sel[:0]
	for i := range n {
		r.sel = append(r.sel, int32(i))
	}
	r.filter(b, c)
	if r.windows != nil {
		r.judge(b, ts, c)
	}
	r.evaluate(b, r.keys, r.keyCols)
	r.evaluate(b, r.args, r.argCols)
	c.Counted += int64(len(r.sel))
	if len(r.sel) > 0 {
		errs := r.operator.add(selected{batch: b, keys: r.keyCols, args: r.argCols, openFrom: r.openFrom, sel: r.sel})
		r.reject(b, errs)
		c.Counted -= int64(len(errs))
	}
	c.DeadLettered += int64(len(r.rejected))
}

// The places of the columns that every source has, counted from the end of plan.Input.Schema: tbname, ts, _partition,
// _offset.
const (
	tableFromEnd     = 4
	timeFromEnd      = 3
	partitionFromEnd = 2
	offsetFromEnd    = 1
)

func offsetOf(b *block.Batch, row int32) ident.LastOffset {
	return ident.LastOffset(b.Cols[len(b.Cols)-offsetFromEnd].Int[row])
}

// filter keeps the rows for which WHERE is true. It is asked before lateness: a filtered row is filtered, late or not.
func (r *rows) filter(b *block.Batch, c *Counters) {
	if r.where == nil {
		return
	}
	n := len(r.sel)
	r.sel = r.where.Filter(b.Cols, b.Rows(), r.sel, &r.result)
	r.reject(b, r.result.Errors)
	c.Filtered += int64(n - len(r.sel) - len(r.result.Errors))
}

// judge takes out the rows that are late, and those that no window holds.
func (r *rows) judge(b *block.Batch, ts []int64, c *Counters) {
	kept := r.sel[:0]
	for _, i := range r.sel {
		t := ident.EventMs(ts[i])
		if !r.windows.Holds(t) {
			c.NoWindow++
			continue
		}
		// The last window of a row ends behind the row: only one that is itself behind can be late.
		if t < r.openFrom[i] && r.windows.LastEnd(t) < r.openFrom[i] {
			r.late = append(r.late, late{offset: offsetOf(b, i), watermark: r.openFrom[i] - 1})
			continue
		}
		kept = append(kept, i)
	}
	r.sel = kept
	c.Late += int64(len(r.late))
}

// evaluate computes the programs for the selected rows and takes out those that have an error.
func (r *rows) evaluate(b *block.Batch, programs []*expr.Program, into []*block.Column) {
	for i, p := range programs {
		p.EvalRows(b.Cols, b.Rows(), r.sel, &r.result)
		into[i] = r.result.Col
		if len(r.result.Errors) > 0 {
			r.reject(b, r.result.Errors)
			r.drop(r.result.Errors)
		}
	}
}

func (r *rows) reject(b *block.Batch, errs []expr.RowError) {
	for _, e := range errs {
		r.rejected = append(r.rejected, rejected{offset: offsetOf(b, e.Row), code: e.Code, reason: e.Reason})
	}
}

// drop takes the rows with errors out of the selection; both ascend.
func (r *rows) drop(errs []expr.RowError) {
	kept := r.sel[:0]
	for _, i := range r.sel {
		if len(errs) > 0 && errs[0].Row == i {
			errs = errs[1:]
			continue
		}
		kept = append(kept, i)
	}
	r.sel = kept
}
