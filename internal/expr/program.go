package expr

import (
	"slices"

	"github.com/pondage/pondage/internal/block"
)

// RowError is the error of one row. It leaves the other rows alone (trap T17).
type RowError struct {
	Row    int32
	Code   string // one of the Code constants
	Reason string // what and in which expression; does not name the row's values
}

// Result is what an evaluation gives. Both members belong to the Program and are valid until its next evaluation.
type Result struct {
	// Col has one value for each row. A row with an error is null. It may be an input column itself: do not change it.
	Col *block.Column
	// Errors has at most one error a row, in the order of the rows.
	Errors []RowError
}

// Program is a compiled expression with the scratch memory of one evaluator. It is not for concurrent use; see Fork.
type Program struct {
	typed  *Typed
	root   kernel
	batch  batch
	result vec
	spread *block.Column // a constant result, repeated for each row
}

// Compile makes an evaluator for t.
func Compile(t *Typed) *Program {
	return &Program{typed: t, root: t.root.kernel()}
}

// Fork returns another evaluator of the same expression, for another goroutine.
func (p *Program) Fork() *Program { return Compile(p.typed) }

// Type is the type of the result column.
func (p *Program) Type() block.Type { return p.typed.Type() }

// Typed is the expression that was compiled.
func (p *Program) Typed() *Typed { return p.typed }

// Eval computes the expression for every row. in has the columns of the scope, each with at least rows rows; columns
// that the expression does not use may be nil.
func (p *Program) Eval(in []*block.Column, rows int, out *Result) {
	p.EvalRows(in, rows, p.batch.allRows(rows), out)
}

// EvalRows is Eval for the rows in sel, which ascend; only they can have errors. Col has rows rows, but the values of the
// others mean nothing.
func (p *Program) EvalRows(in []*block.Column, rows int, sel []int32, out *Result) {
	b := &p.batch
	b.begin(in, rows)
	b.release(p.result)
	p.result = p.root.eval(b, sel)
	out.Col = p.result.col
	if p.result.constant() {
		out.Col = p.repeat(p.result.col, rows)
	}
	out.Errors = b.finishErrors()
	if len(out.Errors) > 0 {
		p.result.own.fail(rows, out.Errors) // an error needs a strict kernel, and above one every column is scratch
	}
}

// Filter evaluates a bool expression and appends the rows for which it is true (not null, no error) to dst[:0]. It
// panics when the expression is not a bool: Check's caller asks for one.
func (p *Program) Filter(in []*block.Column, rows int, dst []int32, out *Result) []int32 {
	if p.Type() != block.Bool {
		panic("expr: Filter on an expression of type " + p.Type().String())
	}
	p.Eval(in, rows, out)
	dst = slices.Grow(dst[:0], rows)
	for i := range rows {
		if out.Col.Bool[i] && !out.Col.IsNull(i) {
			dst = append(dst, int32(i))
		}
	}
	return dst
}
