package expr

import (
	"math"
	"math/bits"

	"github.com/pondage/pondage/internal/sql"
)

var intLoops = map[sql.BinaryOp]loop{
	sql.BinaryAdd: addInts, sql.BinarySub: subInts, sql.BinaryMul: mulInts, sql.BinaryDiv: each(divInt), sql.BinaryMod: each(modInt),
}

var floatLoops = map[sql.BinaryOp]loop{
	sql.BinaryAdd: addFloats, sql.BinarySub: subFloats, sql.BinaryMul: mulFloats, sql.BinaryDiv: divFloats, sql.BinaryMod: modFloats,
}

// intArgs and floatArgs return the values and masks of two operands; held in variables they stay in registers.
func intArgs(c *call) (x, y []int64, xm, ym int32) {
	return c.args[0].col.Int, c.args[1].col.Int, c.args[0].mask, c.args[1].mask
}

func floatArgs(c *call) (x, y []float64, xm, ym int32) {
	return c.args[0].col.Float, c.args[1].col.Float, c.args[0].mask, c.args[1].mask
}

func addInts(c *call) {
	xs, ys, xm, ym := intArgs(c)
	out := c.out.col.Int
	for _, i := range c.sel {
		x, y := xs[i&xm], ys[i&ym]
		sum := x + y
		out[i] = sum
		if (x^sum)&(y^sum) < 0 { // both operands differ from the sum in sign
			c.fail(i, faultOverflow)
		}
	}
}

func subInts(c *call) {
	xs, ys, xm, ym := intArgs(c)
	out := c.out.col.Int
	for _, i := range c.sel {
		x, y := xs[i&xm], ys[i&ym]
		difference := x - y
		out[i] = difference
		if (x^y)&(x^difference) < 0 {
			c.fail(i, faultOverflow)
		}
	}
}

func mulInts(c *call) {
	xs, ys, xm, ym := intArgs(c)
	out := c.out.col.Int
	for _, i := range c.sel {
		product, ok := mulInt(xs[i&xm], ys[i&ym])
		out[i] = product
		if !ok {
			c.fail(i, faultOverflow)
		}
	}
}

// mulInt multiplies; ok is false when the product is beyond int64.
func mulInt(x, y int64) (product int64, ok bool) {
	high, low := bits.Mul64(uint64(x), uint64(y))
	signedHigh := int64(high) - x>>63&y - y>>63&x // from the unsigned to the signed product
	return int64(low), signedHigh == int64(low)>>63
}

func divInt(c *call, i int32) fault {
	a, b := c.args[0], c.args[1]
	x, y := a.col.Int[i&a.mask], b.col.Int[i&b.mask]
	switch {
	case y == 0:
		return faultDivisionByZero
	case x == math.MinInt64 && y == -1:
		return faultOverflow
	}
	c.out.col.Int[i] = x / y
	return faultNone
}

func modInt(c *call, i int32) fault {
	a, b := c.args[0], c.args[1]
	y := b.col.Int[i&b.mask]
	if y == 0 {
		return faultDivisionByZero
	}
	c.out.col.Int[i] = a.col.Int[i&a.mask] % y
	return faultNone
}

func negInt(c *call, i int32) fault {
	x := c.args[0].col.Int[i&c.args[0].mask]
	if x == math.MinInt64 {
		return faultOverflow
	}
	c.out.col.Int[i] = -x
	return faultNone
}

func addFloats(c *call) {
	xs, ys, xm, ym := floatArgs(c)
	out := c.out.col.Float
	for _, i := range c.sel {
		out[i] = xs[i&xm] + ys[i&ym]
	}
}

func subFloats(c *call) {
	xs, ys, xm, ym := floatArgs(c)
	out := c.out.col.Float
	for _, i := range c.sel {
		out[i] = xs[i&xm] - ys[i&ym]
	}
}

func mulFloats(c *call) {
	xs, ys, xm, ym := floatArgs(c)
	out := c.out.col.Float
	for _, i := range c.sel {
		out[i] = xs[i&xm] * ys[i&ym]
	}
}

func divFloats(c *call) {
	xs, ys, xm, ym := floatArgs(c)
	out := c.out.col.Float
	for _, i := range c.sel {
		out[i] = xs[i&xm] / ys[i&ym]
	}
}

func modFloats(c *call) {
	xs, ys, xm, ym := floatArgs(c)
	out := c.out.col.Float
	for _, i := range c.sel {
		out[i] = math.Mod(xs[i&xm], ys[i&ym])
	}
}

// eachFloat makes the loop of a function from float64 to float64.
func eachFloat(f func(float64) float64) loop {
	return func(c *call) {
		a, out := c.args[0], c.out.col.Float
		for _, i := range c.sel {
			out[i] = f(a.col.Float[i&a.mask])
		}
	}
}
