package expr

import (
	"math"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/numtext"
	"github.com/pondage/pondage/internal/sql"
)

func numberFunctions() []function {
	f64 := block.Float64
	float := func(name, doc string, f func(float64) float64) function {
		return plain(name+"(number) → float64", doc, f64, eachFloat(f), 1, f64)
	}
	power := each(func(c *call, i int32) fault {
		x, y := c.args[0], c.args[1]
		c.out.col.Float[i] = math.Pow(x.col.Float[i&x.mask], y.col.Float[i&y.mask])
		return faultNone
	})
	return []function{
		float("sqrt", "the square root; NaN below 0", math.Sqrt),
		float("exp", "e to the power of the argument", math.Exp),
		float("ln", "the natural logarithm", math.Log),
		float("log10", "the logarithm to base 10", math.Log10),
		plain("power(number, number) → float64", "the first argument to the power of the second", f64, power, 2, f64, f64),
		{Function: Function{Signature: "abs(number) → number", Doc: "the absolute value, of the same type"}, least: 1, most: 1, check: sameType(absInt, math.Abs, absDecimal)},
		{Function: Function{Signature: "sign(number) → number", Doc: "−1, 0 or 1, of the same type; NaN for NaN"}, least: 1, most: 1, check: sameType(signInt, signFloat, signDecimal)},
		{Function: Function{Signature: "floor(number) → number", Doc: "the largest whole number not above the argument"}, least: 1, most: 1, check: whole(math.Floor, roundDown)},
		{Function: Function{Signature: "ceil(number) → number", Doc: "the smallest whole number not below the argument"}, least: 1, most: 1, check: whole(math.Ceil, roundUp)},
		{Function: Function{Signature: "round(number[, digits]) → number", Doc: "rounded to digits after the point (a literal, default 0), halves away from zero"}, least: 1, most: 2, check: checkRound},
		{Function: Function{Signature: "mod(number, number) → number", Doc: "the remainder, as operator %"}, least: 2, most: 2, check: func(c *checker, e *sql.Call, args []*node) *node {
			return c.arithmetic(e, sql.BinaryMod, args[0], args[1])
		}},
	}
}

// number makes sure of a numeric argument.
func (c *checker) number(e *sql.Call, n *node) bool {
	if !n.typ.Numeric() {
		c.fail(n.src, CodeTypeClash, registry[e.Name].Signature, "%s needs a number, not %s", e.Name, typeName(n))
		return false
	}
	return true
}

// sameType types a function that keeps its argument's type.
func sameType(ints func(int64) (int64, bool), floats func(float64) float64, decimals func(decimal128.Num, uint8) decimal128.Num) func(*checker, *sql.Call, []*node) *node {
	return func(c *checker, e *sql.Call, args []*node) *node {
		x := args[0]
		if !c.number(e, x) {
			return nil
		}
		switch x.typ.Kind {
		case block.KindFloat64:
			return strict(e, x.typ, eachFloat(floats), x)
		case block.KindDecimal:
			scale := x.typ.Scale
			return strict(e, x.typ, each(func(c *call, i int32) fault {
				a := c.args[0]
				c.out.col.Dec[i] = decimals(a.col.Dec[i&a.mask], scale)
				return faultNone
			}), x)
		}
		return strict(e, x.typ, each(func(c *call, i int32) fault {
			a := c.args[0]
			v, ok := ints(a.col.Int[i&a.mask])
			if !ok {
				return faultOverflow
			}
			c.out.col.Int[i] = v
			return faultNone
		}), x)
	}
}

func absInt(v int64) (int64, bool) {
	if v < 0 {
		v = -v
	}
	return v, v >= 0 // −2^63 has no absolute value
}

func signInt(v int64) (int64, bool) { return int64(boolInt(v > 0) - boolInt(v < 0)), true }

func signFloat(f float64) float64 {
	if math.IsNaN(f) {
		return f
	}
	return float64(boolInt(f > 0) - boolInt(f < 0))
}

func absDecimal(d decimal128.Num, _ uint8) decimal128.Num {
	if d.Sign() < 0 {
		return d.Negate()
	}
	return d
}

// signDecimal is ±1 at the scale; at scale 38, where 1 does not fit into 38 digits, it is the largest value there is.
func signDecimal(d decimal128.Num, scale uint8) decimal128.Num {
	negative, m := split(d)
	if m == (u128{}) {
		return zeroDecimal
	}
	one := pow10[scale]
	if one.compare(maxMagnitude) > 0 {
		one = maxMagnitude
	}
	unit, _ := join(negative, one)
	return unit
}

// whole types floor and ceil. A decimal result has one digit more, for 9.5 → 10.
func whole(floats func(float64) float64, r rounding) func(*checker, *sql.Call, []*node) *node {
	return func(c *checker, e *sql.Call, args []*node) *node {
		x := args[0]
		if !c.number(e, x) {
			return nil
		}
		switch x.typ.Kind {
		case block.KindFloat64:
			return strict(e, x.typ, eachFloat(floats), x)
		case block.KindDecimal:
			return roundTo(e, x, 0, r)
		}
		return x
	}
}

// rounding says which way the digits cut off turn the rest.
type rounding uint8

const (
	roundHalf rounding = iota // halves away from zero
	roundDown                 // toward −∞
	roundUp                   // toward +∞
)

// roundTo makes a decimal of a lower scale.
func roundTo(src sql.Expr, x *node, scale uint8, r rounding) *node {
	from := x.typ
	if scale >= from.Scale {
		return x
	}
	digits := min(from.Precision-from.Scale+1+scale, block.MaxDecimalPrecision)
	return strict(src, block.Decimal(digits, scale), each(func(c *call, i int32) fault {
		a := c.args[0]
		c.out.col.Dec[i] = roundDecimal(a.col.Dec[i&a.mask], from.Scale-scale, r)
		return faultNone
	}), x)
}

// roundDecimal cuts off digits (at least one). The result cannot be out of range.
func roundDecimal(d decimal128.Num, cut uint8, r rounding) decimal128.Num {
	negative, m := split(d)
	q, rem := u256{m.lo, m.hi}.div(pow10[cut])
	kept, _ := q.narrow()
	away := false
	switch r {
	case roundHalf:
		away = rem.compare(pow10[cut].sub(rem)) >= 0
	case roundDown:
		away = negative && rem != u128{}
	case roundUp:
		away = !negative && rem != u128{}
	}
	if away {
		kept = kept.add(u128{lo: 1})
	}
	out, _ := join(negative, kept)
	return out
}

func checkRound(c *checker, e *sql.Call, args []*node) *node {
	x := args[0]
	if !c.number(e, x) {
		return nil
	}
	digits := int64(0)
	if len(args) == 2 {
		n := args[1]
		if n.typ != block.Int64 || n.constant == nil || n.constant.IsNull(0) || n.constant.Int[0] < 0 || n.constant.Int[0] > block.MaxDecimalPrecision {
			return c.fail(n.src, CodeBadLiteral, registry[e.Name].Signature, "round needs the digits as a literal from 0 to %d", block.MaxDecimalPrecision)
		}
		digits = n.constant.Int[0]
	}
	switch x.typ.Kind {
	case block.KindDecimal:
		return roundTo(e, x, uint8(digits), roundHalf)
	case block.KindFloat64:
		if digits == 0 {
			return strict(e, x.typ, eachFloat(math.Round), x)
		}
		return strict(e, x.typ, eachFloat(func(f float64) float64 { return roundFloat(f, uint8(digits)) }), x)
	}
	return x
}

// roundFloat rounds the shortest decimal digits of f, halves away from zero: what a person sees is what is rounded, so
// that 2.675 to two digits is 2.68, although the float64 lies below it. f keeps its sign when nothing is left of it.
func roundFloat(f float64, digits uint8) float64 {
	const mostDigits = 19 // of an uint64; the shortest text of a float64 has 17
	var buf [32]byte
	n, _, ok := numtext.Scan(strconv.AppendFloat(buf[:0], f, 'e', -1, 64), 0)
	cut := -n.Exp - int(digits)
	if !ok || cut <= 0 {
		return f // not finite, or nothing to cut off
	}
	kept := u128{}
	if cut <= mostDigits {
		power := pow10[cut].lo
		kept.lo = n.Mant / power
		if rest := n.Mant % power; rest >= power-rest {
			kept.lo++
		}
	}
	d, _ := join(false, kept)
	return math.Copysign(decimalToFloat(d, digits), f)
}
