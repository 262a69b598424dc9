package pgtable

import (
	"fmt"
	"strings"
	"time"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/invalid"
	"github.com/pondage/pondage/internal/numtext"
	"github.com/pondage/pondage/internal/sql"
)

// CodeFilter is the code of a filter that is valid as an expression but cannot be asked of Postgres.
const CodeFilter = "unsupported_filter"

// where builds conditions. Values are always parameters, names always quoted.
type where struct {
	table *Table
	args  []any
	conds []string
}

func (w *where) param(v any, pgTypeName string) string {
	w.args = append(w.args, v)
	return fmt.Sprintf("$%d::%s", len(w.args), pgTypeName)
}

var comparisons = map[sql.BinaryOp]string{
	sql.BinaryEq: "=", sql.BinaryNe: "<>", sql.BinaryLt: "<", sql.BinaryLe: "<=", sql.BinaryGt: ">", sql.BinaryGe: ">=",
	sql.BinaryAnd: "AND", sql.BinaryOr: "OR", sql.BinaryAdd: "+", sql.BinarySub: "-", sql.BinaryMul: "*",
}

// expr translates the part of the expression language that means the same in Postgres: comparisons, AND, OR, NOT, IN,
// BETWEEN, LIKE, IS NULL, + − ×. Anything else is refused by name.
func (w *where) expr(e sql.Expr) (string, error) {
	switch e := e.(type) {
	case *sql.Column:
		return w.table.sortable(e.Name), nil
	case *sql.Literal:
		return w.literal(e, nil)
	case *sql.Unary:
		op := "NOT"
		if e.Op == sql.UnaryMinus {
			op = "-"
		}
		return w.join(op+" ", "", e.X)
	case *sql.Binary:
		op, ok := comparisons[e.Op]
		if !ok {
			return "", refuse(e)
		}
		return w.sides(e, op)
	case *sql.Between:
		return w.between(e)
	case *sql.In:
		return w.in(e)
	case *sql.IsNull:
		if e.Not {
			return w.join("", " IS NOT NULL", e.X)
		}
		return w.join("", " IS NULL", e.X)
	case *sql.Like:
		return w.like(e)
	}
	return "", refuse(e)
}

func refuse(e sql.Expr) error {
	span := e.Span()
	return &invalid.Error{Details: []invalid.Detail{{Code: CodeFilter, Pointer: "", Span: &span,
		Message: "this cannot be used in a filter",
		Hint:    "use comparisons, AND, OR, NOT, IN, BETWEEN, LIKE, IS NULL and + - * over the result columns"}}}
}

func (w *where) join(before, after string, x sql.Expr) (string, error) {
	s, err := w.expr(x)
	return "(" + before + s + after + ")", err
}

// sides translates both operands; a literal takes the type of the column beside it, so that a time is a time.
func (w *where) sides(e *sql.Binary, op string) (string, error) {
	l, err := w.beside(e.L, e.R)
	if err != nil {
		return "", err
	}
	r, err := w.beside(e.R, e.L)
	return "(" + l + " " + op + " " + r + ")", err
}

func (w *where) beside(e, other sql.Expr) (string, error) {
	lit, isLiteral := e.(*sql.Literal)
	col, isColumn := other.(*sql.Column)
	if isLiteral && isColumn {
		return w.literal(lit, &w.table.Columns[w.table.Columns.Index(col.Name)].Type)
	}
	return w.expr(e)
}

func (w *where) literal(e *sql.Literal, as *block.Type) (string, error) {
	if as != nil && as.Kind == block.KindTimestamp && e.Kind == sql.LiteralString {
		ms, fit := numtext.ParseTime([]byte(e.Text)) // as every other reader of a time: cut to milliseconds
		if fit != numtext.TimeExact {
			span := e.Span()
			return "", &invalid.Error{Details: []invalid.Detail{{Code: "bad_time", Span: &span,
				Message: fmt.Sprintf("%q is no time", e.Text), Hint: "write RFC 3339 with a zone: 2026-07-28T08:00:00Z"}}}
		}
		return w.param(time.UnixMilli(ms).UTC(), "timestamptz"), nil
	}
	switch e.Kind {
	case sql.LiteralNull:
		return "NULL", nil
	case sql.LiteralBool:
		return w.param(e.Bool, "boolean"), nil
	case sql.LiteralInt:
		return w.param(e.Int, "bigint"), nil
	case sql.LiteralDecimal:
		return w.param(e.Text, "text") + "::numeric", nil
	case sql.LiteralFloat:
		return w.param(e.Float, "double precision"), nil
	case sql.LiteralString:
		return w.param(e.Text, "text"), nil
	case sql.LiteralDuration:
	}
	return "", refuse(e)
}

func (w *where) between(e *sql.Between) (string, error) {
	x, err := w.expr(e.X)
	if err != nil {
		return "", err
	}
	low, err := w.beside(e.Low, e.X)
	if err != nil {
		return "", err
	}
	high, err := w.beside(e.High, e.X)
	return "(" + x + not(e.Not) + " BETWEEN " + low + " AND " + high + ")", err
}

func (w *where) in(e *sql.In) (string, error) {
	x, err := w.expr(e.X)
	if err != nil {
		return "", err
	}
	items := make([]string, len(e.List))
	for i, item := range e.List {
		if items[i], err = w.beside(item, e.X); err != nil {
			return "", err
		}
	}
	return "(" + x + not(e.Not) + " IN (" + strings.Join(items, ", ") + "))", nil
}

func (w *where) like(e *sql.Like) (string, error) {
	x, err := w.expr(e.X)
	if err != nil {
		return "", err
	}
	pattern, err := w.expr(e.Pattern)
	if err != nil {
		return "", err
	}
	s := x + not(e.Not) + " LIKE " + pattern
	if e.Escape != nil {
		escape, err := w.expr(e.Escape)
		if err != nil {
			return "", err
		}
		s += " ESCAPE " + escape
	}
	return "(" + s + ")", nil
}

func not(is bool) string {
	if is {
		return " NOT"
	}
	return ""
}
