package pipeline

import (
	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/expr"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/plan"
	"github.com/pondage/pondage/internal/watermark"
	"github.com/pondage/pondage/internal/window"
)

// Rejected is a row that is set aside because an expression has no value for it.
type Rejected struct {
	Offset ident.LastOffset
	Code   string
	Reason string
}

// Late is a row that comes after all its windows have closed, and what it was judged by.
type Late struct {
	Offset    ident.LastOffset
	Watermark ident.EventMs
}

// Source takes decoded rows through everything that is decided row by row: the watermark, WHERE, lateness, keys and
// arguments, and gives those that count to the operator. It does no I/O; what has to be set aside is listed.
type Source struct {
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
	rejected []Rejected
	late     []Late
}

// SourceOptions are what a source task knows beside its plan.
type SourceOptions struct {
	// Chained says that the sinks are chained into the task: results of a stream without window stay with it.
	Chained bool
	VGroup  ident.VGroup // of the task
	// Seed of the hash tables: random in production, so that no input can aim at one bucket.
	Seed uint64
}

// NewSource returns the source side of a stream.
func NewSource(p *plan.Plan, o SourceOptions) (*Source, error) {
	s := &Source{plan: p, keyCols: make([]*block.Column, len(p.Keys)), argCols: make([]*block.Column, len(p.Args))}
	if p.Where != nil {
		s.where = expr.Compile(p.Where)
	}
	for _, k := range p.Keys {
		s.keys = append(s.keys, expr.Compile(k.Expr))
	}
	for _, a := range p.Args {
		s.args = append(s.args, expr.Compile(a))
	}
	route := p.NewRouter().VGroup
	if o.Chained {
		route = func([]*block.Column, int) ident.VGroup { return o.VGroup }
	}
	if !p.Windowed() {
		s.operator = newProject(p, route)
		return s, nil
	}
	var err error
	if s.windows, err = window.NewWindows(*p.Window); err != nil {
		return nil, err
	}
	s.operator, err = newPreAggregate(p, route, o.Seed)
	return s, err
}

// Rejected lists the rows of the last Take that have no value; valid until the next.
func (s *Source) Rejected() []Rejected { return s.rejected }

// Late lists the late rows of the last Take; valid until the next.
func (s *Source) Late() []Late { return s.late }

// Pending tells whether rows are held back for the flush.
func (s *Source) Pending() bool { return s.operator.pending() }

// Full tells that what is held back should be flushed now: to gather more would cost memory and gain little.
func (s *Source) Full() bool { return s.operator.full() }

// Flush hands out everything held back, by destination, in the order of first use.
func (s *Source) Flush(emit func(to ident.VGroup, rows *block.Batch)) { s.operator.flush(emit) }

// Take processes a batch of one partition, in the order of its offsets. The columns of the batch are those of
// plan.Input.Schema.
func (s *Source) Take(b *block.Batch, tracker *watermark.Tracker, c *Counters) {
	s.rejected, s.late = s.rejected[:0], s.late[:0]
	n := b.Rows()
	if n == 0 {
		return
	}
	ts := b.Cols[len(b.Cols)-timeFromEnd].Int
	if cap(s.openFrom) < n {
		s.openFrom = make([]ident.EventMs, n)
	}
	s.openFrom = s.openFrom[:n]
	// Every accepted row moves the watermark, whatever becomes of it.
	tracker.Observe(ts, b.Cols[len(b.Cols)-tableFromEnd], s.openFrom)

	s.sel = s.sel[:0]
	for i := range n {
		s.sel = append(s.sel, int32(i))
	}
	s.filter(b, c)
	if s.windows != nil {
		s.judge(b, ts, c)
	}
	s.evaluate(b, s.keys, s.keyCols)
	s.evaluate(b, s.args, s.argCols)
	c.Counted += int64(len(s.sel))
	if len(s.sel) > 0 {
		errs := s.operator.add(selected{batch: b, keys: s.keyCols, args: s.argCols, openFrom: s.openFrom, sel: s.sel})
		s.reject(b, errs)
		c.Counted -= int64(len(errs))
	}
	c.DeadLettered += int64(len(s.rejected))
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
func (s *Source) filter(b *block.Batch, c *Counters) {
	if s.where == nil {
		return
	}
	n := len(s.sel)
	s.sel = s.where.Filter(b.Cols, b.Rows(), s.sel, &s.result)
	s.reject(b, s.result.Errors)
	c.Filtered += int64(n - len(s.sel) - len(s.result.Errors))
}

// judge takes out the rows that are late, and those that no window holds.
func (s *Source) judge(b *block.Batch, ts []int64, c *Counters) {
	kept := s.sel[:0]
	for _, i := range s.sel {
		t := ident.EventMs(ts[i])
		if !s.windows.Holds(t) {
			c.NoWindow++
			continue
		}
		// The last window of a row ends behind the row: only one that is itself behind can be late.
		if t < s.openFrom[i] && s.windows.LastEnd(t) < s.openFrom[i] {
			s.late = append(s.late, Late{Offset: offsetOf(b, i), Watermark: s.openFrom[i] - 1})
			continue
		}
		kept = append(kept, i)
	}
	s.sel = kept
	c.Late += int64(len(s.late))
}

// evaluate computes the programs for the selected rows and takes out those that have an error.
func (s *Source) evaluate(b *block.Batch, programs []*expr.Program, into []*block.Column) {
	for i, p := range programs {
		p.EvalRows(b.Cols, b.Rows(), s.sel, &s.result)
		into[i] = s.result.Col
		if len(s.result.Errors) > 0 {
			s.reject(b, s.result.Errors)
			s.drop(s.result.Errors)
		}
	}
}

func (s *Source) reject(b *block.Batch, errs []expr.RowError) {
	for _, e := range errs {
		s.rejected = append(s.rejected, Rejected{Offset: offsetOf(b, e.Row), Code: e.Code, Reason: e.Reason})
	}
}

// drop takes the rows with errors out of the selection; both ascend.
func (s *Source) drop(errs []expr.RowError) {
	kept := s.sel[:0]
	for _, i := range s.sel {
		if len(errs) > 0 && errs[0].Row == i {
			errs = errs[1:]
			continue
		}
		kept = append(kept, i)
	}
	s.sel = kept
}
