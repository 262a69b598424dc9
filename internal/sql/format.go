package sql

import (
	"strconv"
	"strings"
)

// Format returns the canonical text of an expression: it parses to the same tree, and two expressions have the same
// text if and only if they are the same tree. Keywords are upper case, names and functions lower case or quoted.
func Format(e Expr) string {
	var f formatter
	f.expr(e, bindNone)
	return f.String()
}

type formatter struct{ strings.Builder }

// expr writes e; in parentheses when it does not bind tighter than least.
func (f *formatter) expr(e Expr, least int) {
	if binding(e) <= least {
		f.WriteByte('(')
		f.bare(e)
		f.WriteByte(')')
		return
	}
	f.bare(e)
}

// binding is the power of the outermost operator of e.
func binding(e Expr) int {
	switch e := e.(type) {
	case *Unary:
		if e.Op == UnaryNot {
			return bindNot
		}
		return bindMinus
	case *Binary:
		return e.Op.binding()
	case *In, *Between, *Like, *IsNull:
		return bindCompare
	}
	return bindAtom
}

func (f *formatter) bare(e Expr) {
	switch e := e.(type) {
	case *Column:
		f.WriteString(quoteName(e.Name))
	case *Literal:
		f.WriteString(formatLiteral(e))
	case *Unary:
		f.unary(e)
	case *Binary:
		f.binary(e)
	case *Call:
		f.call(e)
	case *Case:
		f.caseExpr(e)
	case *Cast:
		f.WriteString("CAST(")
		f.expr(e.X, bindNone)
		f.WriteString(" AS " + e.Type.String() + ")")
	default:
		f.predicate(e)
	}
}

// predicate writes the comparisons that are words.
func (f *formatter) predicate(e Expr) {
	switch e := e.(type) {
	case *In:
		f.left(e.X, e.Not, "IN (")
		f.list(e.List)
		f.WriteByte(')')
	case *Between:
		f.left(e.X, e.Not, "BETWEEN ")
		f.expr(e.Low, bindCompare)
		f.WriteString(" AND ")
		f.expr(e.High, bindCompare)
	case *Like:
		f.left(e.X, e.Not, "LIKE ")
		f.expr(e.Pattern, bindCompare)
		if e.Escape != nil {
			f.WriteString(" ESCAPE ")
			f.expr(e.Escape, bindCompare)
		}
	case *IsNull:
		f.expr(e.X, bindCompare)
		f.WriteString(" IS ")
		if e.Not {
			f.WriteString("NOT ")
		}
		f.WriteString("NULL")
	}
}

func (f *formatter) left(x Expr, not bool, word string) {
	f.expr(x, bindCompare)
	if not {
		f.WriteString(" NOT")
	}
	f.WriteString(" " + word)
}

func (f *formatter) unary(e *Unary) {
	if e.Op == UnaryNot {
		f.WriteString("NOT ")
		f.expr(e.X, bindNot-1) // NOT NOT x needs no parentheses
		return
	}
	f.WriteByte('-')
	least := bindMinus
	if l, ok := e.X.(*Literal); ok && isNumeric(l.Kind) {
		least = bindAtom // -(1) is an operator, -1 a literal
	}
	f.expr(e.X, least)
}

func isNumeric(k LiteralKind) bool {
	return k == LiteralInt || k == LiteralDecimal || k == LiteralFloat || k == LiteralDuration
}

func (f *formatter) binary(e *Binary) {
	power := e.Op.binding()
	left := power - 1 // all but the comparisons associate to the left
	if power == bindCompare {
		left = power
	}
	f.expr(e.L, left)
	f.WriteString(" " + e.Op.String() + " ")
	f.expr(e.R, power)
}

func (f *formatter) call(e *Call) {
	f.WriteString(quoteName(e.Name) + "(")
	if e.Star {
		f.WriteByte('*')
	}
	if e.Distinct {
		f.WriteString("DISTINCT ")
	}
	f.list(e.Args)
	f.WriteByte(')')
}

func (f *formatter) list(items []Expr) {
	for i, x := range items {
		if i > 0 {
			f.WriteString(", ")
		}
		f.expr(x, bindNone)
	}
}

func (f *formatter) caseExpr(e *Case) {
	f.WriteString("CASE")
	if e.Operand != nil {
		f.WriteByte(' ')
		f.expr(e.Operand, bindNone)
	}
	for _, w := range e.Whens {
		f.WriteString(" WHEN ")
		f.expr(w.Cond, bindNone)
		f.WriteString(" THEN ")
		f.expr(w.Then, bindNone)
	}
	if e.Else != nil {
		f.WriteString(" ELSE ")
		f.expr(e.Else, bindNone)
	}
	f.WriteString(" END")
}

func formatLiteral(l *Literal) string {
	switch l.Kind {
	case LiteralNull:
		return "NULL"
	case LiteralBool:
		return strings.ToUpper(strconv.FormatBool(l.Bool))
	case LiteralInt:
		return strconv.FormatInt(l.Int, 10)
	case LiteralDecimal:
		return l.Text
	case LiteralFloat:
		return strconv.FormatFloat(l.Float, 'e', -1, 64)
	case LiteralString:
		return quoteString(l.Text)
	case LiteralDuration:
		return l.Duration.String()
	}
	return ""
}
