package expr

import (
	"math"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/sql"
)

func (c *checker) unary(e *sql.Unary) *node {
	x := c.expr(e.X)
	if x == nil {
		return nil
	}
	if e.Op == sql.UnaryNot {
		x = c.boolean(x, "NOT")
		if x == nil {
			return nil
		}
		return strict(e, block.Bool, notLoop, x)
	}
	switch x.typ.Kind {
	case block.KindInt64:
		return strict(e, x.typ, each(negInt), x)
	case block.KindFloat64:
		return strict(e, x.typ, eachFloat(func(f float64) float64 { return -f }), x)
	case block.KindDecimal:
		return strict(e, x.typ, each(negDecimal), x)
	}
	if x.isNull() {
		return x
	}
	return c.fail(e, CodeTypeClash, "", "− needs a number, not %s", typeName(x))
}

// typeName names the type of a node for a message.
func typeName(n *node) string {
	switch {
	case n.isNull():
		return "NULL"
	case n.isDuration():
		return "a duration"
	}
	return n.typ.String()
}

// boolean makes n a bool or reports that what needs one.
func (c *checker) boolean(n *node, what string) *node {
	out, ok := c.coerce(n, block.Bool)
	if !ok {
		return c.fail(n.src, CodeTypeClash, "compare it with something", "%s needs a bool, not %s", what, typeName(n))
	}
	return out
}

func (c *checker) binary(e *sql.Binary) *node {
	l, r := c.expr(e.L), c.expr(e.R)
	if l == nil || r == nil {
		return nil
	}
	switch e.Op {
	case sql.BinaryAnd, sql.BinaryOr:
		return c.logic(e, e.Op, l, r)
	case sql.BinaryConcat:
		return c.concatOperator(e, l, r)
	case sql.BinaryAdd, sql.BinarySub, sql.BinaryMul, sql.BinaryDiv, sql.BinaryMod:
		return c.arithmetic(e, e.Op, l, r)
	default:
		return c.compare(e, e.Op, l, r)
	}
}

func (c *checker) logic(src sql.Expr, op sql.BinaryOp, l, r *node) *node {
	l, r = c.boolean(l, op.String()), c.boolean(r, op.String())
	if l == nil || r == nil {
		return nil
	}
	return lazy(src, block.Bool, func(args []kernel) kernel {
		return &logicKernel{l: args[0], r: args[1], decided: op == sql.BinaryOr}
	}, l, r)
}

// arithmetic types + − * / %, also for function mod.
func (c *checker) arithmetic(src sql.Expr, op sql.BinaryOp, l, r *node) *node {
	if l.typ.Kind == block.KindTimestamp || r.typ.Kind == block.KindTimestamp {
		return c.timeArithmetic(src, op, l, r)
	}
	t, ok := common(l, r)
	if !ok || !t.Numeric() || l.isDuration() || r.isDuration() {
		hint := ""
		if op == sql.BinaryAdd && l.typ.Kind == block.KindString && r.typ.Kind == block.KindString {
			hint = "strings are joined with ||"
		}
		return c.fail(src, CodeTypeClash, hint, "%s %s %s is not defined", typeName(l), op, typeName(r))
	}
	switch t.Kind {
	case block.KindDecimal:
		return c.decimalArithmetic(src, op, l, r)
	case block.KindFloat64:
		l, _ = c.coerce(l, t)
		r, _ = c.coerce(r, t)
		return strict(src, t, floatLoops[op], l, r)
	default: // block.KindInt64
		l, _ = c.coerce(l, t)
		r, _ = c.coerce(r, t)
		return strict(src, t, intLoops[op], l, r)
	}
}

// minDivisionScale is how many digits after the point a quotient has at least.
const minDivisionScale = 6

// decimalArithmetic types an operation of which at least one side is a decimal.
func (c *checker) decimalArithmetic(src sql.Expr, op sql.BinaryOp, l, r *node) *node {
	l, r = c.decimalOperand(l, r.typ), c.decimalOperand(r, l.typ)
	lt, rt := l.typ, r.typ
	whole := func(t block.Type) int { return int(t.Precision - t.Scale) }
	var scale, digits int // of the result
	switch op {
	case sql.BinaryMul:
		scale = int(lt.Scale + rt.Scale)
		digits = int(lt.Precision + rt.Precision)
	case sql.BinaryDiv:
		scale = max(int(lt.Scale), int(rt.Scale), minDivisionScale)
		digits = whole(lt) + int(rt.Scale) + scale
	case sql.BinaryMod:
		scale = max(int(lt.Scale), int(rt.Scale))
		digits = max(whole(lt), whole(rt)) + scale
	default: // sql.BinaryAdd, sql.BinarySub
		scale = max(int(lt.Scale), int(rt.Scale))
		digits = max(whole(lt), whole(rt)) + 1 + scale
	}
	tooFine := op == sql.BinaryDiv && scale+int(rt.Scale)-int(lt.Scale) > block.MaxDecimalPrecision
	if scale > block.MaxDecimalPrecision || tooFine {
		return c.fail(src, CodeTypeClash, "cast one side to a decimal with fewer digits after the point, or to float64",
			"%s %s %s has more than %d digits after the point", lt, op, rt, block.MaxDecimalPrecision)
	}
	out := block.Decimal(uint8(min(digits, block.MaxDecimalPrecision)), uint8(scale))
	return strict(src, out, decimalLoop(op, lt, rt, out), l, r)
}

// decimalOperand makes a decimal of an int64, and of NULL the other side's type.
func (c *checker) decimalOperand(n *node, other block.Type) *node {
	t := asDecimal(n.typ)
	if n.isNull() {
		t = other
	}
	out, _ := c.coerce(n, t)
	return out
}

// timeArithmetic types timestamp ± duration and timestamp − timestamp.
func (c *checker) timeArithmetic(src sql.Expr, op sql.BinaryOp, l, r *node) *node {
	switch {
	case r.isDuration() && (op == sql.BinaryAdd || op == sql.BinarySub):
		return c.shift(src, l, r.literal.Duration, op)
	case l.isDuration() && op == sql.BinaryAdd:
		return c.shift(src, r, l.literal.Duration, op)
	case op == sql.BinarySub:
		lc, okL := c.coerce(l, block.Timestamp)
		rc, okR := c.coerce(r, block.Timestamp)
		if okL && okR {
			if lc == nil || rc == nil {
				return nil
			}
			return strict(src, block.Int64, subInts, lc, rc)
		}
	}
	hint := "add or subtract a duration such as 15m"
	return c.fail(src, CodeTypeClash, hint, "%s %s %s is not defined", typeName(l), op, typeName(r))
}

func (c *checker) shift(src sql.Expr, t *node, d sql.Duration, op sql.BinaryOp) *node {
	if op == sql.BinarySub {
		if d.N == math.MinInt64 {
			return c.fail(src, CodeBadLiteral, "", "duration %s is out of range", d)
		}
		d.N = -d.N
	}
	zone := c.zone
	return strict(src, block.Timestamp, each(func(c *call, i int32) fault {
		a := c.args[0]
		ms, ok := addDuration(a.col.Int[i&a.mask], d, zone)
		if !ok {
			return faultOverflow
		}
		c.out.col.Int[i] = ms
		return faultNone
	}), t)
}

// compare types a comparison.
func (c *checker) compare(src sql.Expr, op sql.BinaryOp, l, r *node) *node {
	if l.isDuration() || r.isDuration() {
		return c.fail(src, CodeTypeClash, "the difference of two timestamps is in milliseconds: compare with a number", "%s %s %s is not defined", typeName(l), op, typeName(r))
	}
	if l.isNull() && r.isNull() {
		return constant(src, nullColumn(block.Bool))
	}
	t, ok := common(l, r)
	if !ok || t.Kind == block.KindJSON {
		return c.fail(src, CodeTypeClash, castHint(l.typ, r.typ), "%s %s %s is not defined", typeName(l), op, typeName(r))
	}
	if t.Kind == block.KindDecimal { // compared across scales: widening could overflow
		l, r = c.decimalOperand(l, r.typ), c.decimalOperand(r, l.typ)
	} else {
		l, _ = c.coerce(l, t)
		r, _ = c.coerce(r, t)
	}
	if l == nil || r == nil {
		return nil
	}
	return strict(src, block.Bool, compareLoop(op, t.Kind), l, r)
}

func (c *checker) cast(e *sql.Cast) *node {
	x := c.expr(e.X)
	if x == nil {
		return nil
	}
	return c.castTo(e, x, e.Type)
}

func (c *checker) castTo(src sql.Expr, x *node, t block.Type) *node {
	switch {
	case x.isNull():
		return constant(src, nullColumn(t))
	case x.typ == t:
		return x
	}
	run := castLoop(x.typ, t)
	if run == nil || x.isDuration() {
		return c.fail(src, CodeTypeClash, "", "%s cannot be cast to %s", typeName(x), t)
	}
	return strict(src, t, run, x)
}
