package agg

import (
	"math"
	"math/big"

	"github.com/pondage/pondage/internal/block"
)

// exact is the number mantissa · 2^exponent.
type exact struct {
	mantissa *big.Int
	exponent int
}

func exactFixed(f *fixed, s span) exact { return exact{signedInt(f.words), s.unit} }

// exactDoubles returns the exact sum of finite doubles.
func exactDoubles(values ...float64) exact {
	sum := exact{mantissa: new(big.Int)}
	for _, x := range values {
		if x == 0 {
			continue
		}
		m, e, negative := split(x)
		v := exact{new(big.Int).SetUint64(m), e}
		if negative {
			v.mantissa.Neg(v.mantissa)
		}
		sum = sum.plus(v)
	}
	return sum
}

// lowered returns the number with the exponent e, which is not above its own.
func (x exact) lowered(e int) *big.Int {
	return new(big.Int).Lsh(x.mantissa, uint(x.exponent-e))
}

func (x exact) plus(y exact) exact {
	if x.mantissa.Sign() == 0 {
		return y
	}
	if y.mantissa.Sign() == 0 {
		return x
	}
	e := min(x.exponent, y.exponent)
	return exact{new(big.Int).Add(x.lowered(e), y.lowered(e)), e}
}

func (x exact) times(y *big.Int) exact {
	return exact{new(big.Int).Mul(x.mantissa, y), x.exponent}
}

// tenTo returns 10^n.
func tenTo(n int) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
}

// ratio returns x / (n · 10^scale), rounded once to nearest, ties to even; infinite only when it rounds out of range.
func (x exact) ratio(n int64, scale int) float64 {
	return x.over(new(big.Int).Mul(big.NewInt(n), tenTo(scale)))
}

// over returns x / d, rounded once.
func (x exact) over(d *big.Int) float64 {
	num, den := x.mantissa, d
	if x.exponent >= 0 {
		num = new(big.Int).Lsh(num, uint(x.exponent))
	} else {
		den = new(big.Int).Lsh(d, uint(-x.exponent))
	}
	v, _ := new(big.Rat).SetFrac(num, den).Float64()
	return v
}

// moments is n²·variance·10^(2·scale), and what it is to be divided by: n² and 10^(2·scale).
type moments struct {
	dividend exact
	divisor  *big.Int
}

// newMoments returns the moments of n values with the sum and the sum of squares, in units of 10^−scale. The dividend
// n·Σx² − (Σx)² is exact, so it is never negative (Cauchy and Schwarz), and zero when all values are equal.
func newMoments(n int64, sum, squares exact, scale int) moments {
	count := big.NewInt(n)
	square := exact{new(big.Int).Mul(sum.mantissa, sum.mantissa), 2 * sum.exponent}
	square.mantissa.Neg(square.mantissa)
	divisor := new(big.Int).Mul(count, count)
	return moments{squares.times(count).plus(square), divisor.Mul(divisor, tenTo(2*scale))}
}

func (m moments) variance() float64 { return m.dividend.over(m.divisor) }

// stddev is the root of the exact variance: it may be finite where the variance is out of range.
func (m moments) stddev() float64 {
	if m.dividend.mantissa.Sign() == 0 {
		return 0
	}
	// Far more digits than a double has, so that the two roundings before the last do not show.
	const digits = 256
	v := new(big.Float).SetPrec(digits).SetInt(m.dividend.mantissa)
	v.SetMantExp(v, m.dividend.exponent)
	v.Quo(v, new(big.Float).SetPrec(digits).SetInt(m.divisor))
	root, _ := v.Sqrt(v).Float64()
	return root
}

// variances appends a function of the moments.
func (r *results) variances(sum, squares accumulator, n *count, arg block.Type, of func(moments) float64, cells []uint32) {
	for _, cell := range cells {
		values := n.of(r.cells, cell)
		if values == 0 {
			r.col.AppendNull()
			continue
		}
		switch sum := sum.(type) {
		case *floatSum:
			s, finite := sum.exact(r.cells, cell)
			if !finite {
				r.col.AppendFloat(math.NaN())
				continue
			}
			q := squares.(*floatSquares).exact(r.cells, cell)
			r.col.AppendFloat(of(newMoments(values, s, q, 0)))
		case *wordSum:
			s := exact{mantissa: signedInt(sum.of(r.cells, cell))}
			q := exact{mantissa: signedInt(squares.(*wordSum).of(r.cells, cell))}
			r.col.AppendFloat(of(newMoments(values, s, q, int(arg.Scale))))
		}
	}
}

// exact returns the sum; finite is false when a value was NaN or infinite.
func (a *floatSum) exact(c *Cells, cell uint32) (sum exact, finite bool) {
	w := c.at(cell, a.offset)
	if boxed(w[0]) {
		f := c.fixed.get(unboxed(w[0]))
		_, special := f.special()
		return exactFixed(f, sumSpan), !special
	}
	return exactDoubles(math.Float64frombits(w[0]), math.Float64frombits(w[1])), true
}

func (a *floatSquares) exact(c *Cells, cell uint32) exact {
	w := c.at(cell, a.offset)
	if boxed(w[0]) {
		return exactFixed(c.fixed.get(unboxed(w[0])), squareSpan)
	}
	return exactDoubles(math.Float64frombits(w[0]), math.Float64frombits(w[1]), math.Float64frombits(w[2]))
}
