package expr

import (
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/sql"
)

// A decimal is an unscaled 128-bit integer of at most 38 digits. The arithmetic here works on sign and magnitude with
// intermediates of 256 bits, so that only results can be out of range, and allocates nothing (math/big would).

var zeroDecimal decimal128.Num

// u128 and u256 are magnitudes.
type u128 struct{ hi, lo uint64 }

// u256 has its least significant word first.
type u256 [4]uint64

// pow10 has 10^0 … 10^38.
var pow10 = powers()

// maxMagnitude is 10^38 − 1.
var maxMagnitude = func() u128 {
	p := pow10[block.MaxDecimalPrecision]
	return u128{hi: p.hi, lo: p.lo - 1}
}()

func powers() (p [block.MaxDecimalPrecision + 1]u128) {
	p[0] = u128{lo: 1}
	for i := 1; i < len(p); i++ {
		w := mul128(p[i-1], u128{lo: 10})
		p[i] = u128{hi: w[1], lo: w[0]}
	}
	return p
}

func (a u128) compare(b u128) int {
	if a.hi != b.hi {
		return 2*boolInt(a.hi > b.hi) - 1
	}
	return boolInt(a.lo > b.lo) - boolInt(a.lo < b.lo)
}

func (a u128) add(b u128) u128 {
	lo, carry := bits.Add64(a.lo, b.lo, 0)
	hi, _ := bits.Add64(a.hi, b.hi, carry)
	return u128{hi: hi, lo: lo}
}

func (a u128) sub(b u128) u128 {
	lo, borrow := bits.Sub64(a.lo, b.lo, 0)
	hi, _ := bits.Sub64(a.hi, b.hi, borrow)
	return u128{hi: hi, lo: lo}
}

// split returns sign and magnitude.
func split(d decimal128.Num) (negative bool, m u128) {
	m = u128{hi: uint64(d.HighBits()), lo: d.LowBits()}
	if d.HighBits() < 0 {
		return true, u128{}.sub(m)
	}
	return false, m
}

// join is the inverse of split; ok is false beyond 38 digits.
func join(negative bool, m u128) (d decimal128.Num, ok bool) {
	if m.compare(maxMagnitude) > 0 {
		return zeroDecimal, false
	}
	if negative {
		m = u128{}.sub(m)
	}
	return decimal128.New(int64(m.hi), m.lo), true
}

// narrow returns w as 128 bits if it fits.
func (w u256) narrow() (u128, bool) { return u128{hi: w[1], lo: w[0]}, w[2]|w[3] == 0 }

func (w u256) compare(v u256) int {
	for i := len(w) - 1; i >= 0; i-- {
		if w[i] != v[i] {
			return 2*boolInt(w[i] > v[i]) - 1
		}
	}
	return 0
}

// mul128 is the full product.
func mul128(a, b u128) (w u256) {
	var carry uint64
	w[1], w[0] = bits.Mul64(a.lo, b.lo)
	h1, l1 := bits.Mul64(a.lo, b.hi)
	h2, l2 := bits.Mul64(a.hi, b.lo)
	h3, l3 := bits.Mul64(a.hi, b.hi)
	w[1], carry = bits.Add64(w[1], l1, 0)
	w[2], carry = bits.Add64(h1, l3, carry)
	w[3], _ = bits.Add64(h3, 0, carry)
	w[1], carry = bits.Add64(w[1], l2, 0)
	w[2], carry = bits.Add64(w[2], h2, carry)
	w[3] += carry
	return w
}

// div divides w by d, which is not zero.
func (w u256) div(d u128) (q u256, r u128) {
	if d.hi == 0 {
		var rem uint64
		for i := len(w) - 1; i >= 0; i-- {
			q[i], rem = bits.Div64(rem, w[i], d.lo)
		}
		return q, u128{lo: rem}
	}
	// Bit by bit: divisors above 2^64 are rare, and this is easy to trust. r stays below d < 2^127, so it cannot overflow.
	const wordBits = 64
	for i := len(w)*wordBits - 1; i >= 0; i-- {
		r = u128{hi: r.hi<<1 | r.lo>>(wordBits-1), lo: r.lo<<1 | w[i/wordBits]>>(i%wordBits)&1}
		if r.compare(d) >= 0 {
			r = r.sub(d)
			q[i/wordBits] |= 1 << (i % wordBits)
		}
	}
	return q, r
}

// rescaleDecimal changes the scale. exact is false when digits other than 0 would go, ok when more than 38 are needed.
func rescaleDecimal(d decimal128.Num, from, to uint8) (out decimal128.Num, exact, ok bool) {
	negative, m := split(d)
	if to >= from {
		up, fits := mul128(m, pow10[to-from]).narrow()
		out, ok = join(negative, up)
		return out, true, ok && fits
	}
	q, r := u256{m.lo, m.hi}.div(pow10[from-to])
	down, _ := q.narrow()
	out, ok = join(negative, down)
	return out, r == u128{}, ok
}

// compareDecimals compares values of different scales; it never overflows.
func compareDecimals(a decimal128.Num, as uint8, b decimal128.Num, bs uint8) int {
	if as == bs {
		return a.Cmp(b)
	}
	an, am := split(a)
	bn, bm := split(b)
	if an != bn {
		return boolInt(bn) - boolInt(an)
	}
	scale := max(as, bs)
	order := mul128(am, pow10[scale-as]).compare(mul128(bm, pow10[scale-bs]))
	if an {
		return -order
	}
	return order
}

// addDecimal adds two decimals of one scale.
func addDecimal(a, b decimal128.Num) (decimal128.Num, bool) {
	an, am := split(a)
	bn, bm := split(b)
	switch {
	case an == bn:
		return join(an, am.add(bm)) // below 2·10^38 < 2^128
	case am.compare(bm) >= 0:
		return join(an, am.sub(bm))
	default:
		return join(bn, bm.sub(am))
	}
}

func mulDecimal(a, b decimal128.Num) (decimal128.Num, bool) {
	an, am := split(a)
	bn, bm := split(b)
	m, fits := mul128(am, bm).narrow()
	d, ok := join(an != bn, m)
	return d, ok && fits
}

// quoDecimal returns a·10^up / b rounded half away from zero; b is not zero.
func quoDecimal(a decimal128.Num, up uint8, b decimal128.Num) (decimal128.Num, bool) {
	an, am := split(a)
	bn, bm := split(b)
	q, r := mul128(am, pow10[up]).div(bm)
	m, fits := q.narrow()
	if r.compare(bm.sub(r)) >= 0 {
		m = m.add(u128{lo: 1})
	}
	d, ok := join(an != bn, m)
	return d, ok && fits
}

// remDecimal returns the remainder of a·10^au by b·10^bu, with the sign of a; b is not zero.
func remDecimal(a decimal128.Num, au uint8, b decimal128.Num, bu uint8) (decimal128.Num, bool) {
	an, am := split(a)
	_, bm := split(b)
	divisor, fits := mul128(bm, pow10[bu]).narrow()
	dividend := mul128(am, pow10[au])
	if !fits || divisor.hi>>63 != 0 {
		m, small := dividend.narrow() // a below b is its own remainder; both this large is out of range
		d, ok := join(an, m)
		return d, ok && small && dividend.compare(mul128(bm, pow10[bu])) < 0
	}
	_, r := dividend.div(divisor)
	return join(an, r)
}

// decimalLoop returns the loop of an arithmetic operator; out is the result's type.
func decimalLoop(op sql.BinaryOp, l, r, out block.Type) loop {
	apply := decimalOp(op, l, r, out)
	divides := op == sql.BinaryDiv || op == sql.BinaryMod
	return each(func(c *call, i int32) fault {
		a, b := c.args[0], c.args[1]
		y := b.col.Dec[i&b.mask]
		if divides && y == zeroDecimal {
			return faultDivisionByZero
		}
		d, ok := apply(a.col.Dec[i&a.mask], y)
		if !ok {
			return faultOverflow
		}
		c.out.col.Dec[i] = d
		return faultNone
	})
}

func decimalOp(op sql.BinaryOp, l, r, out block.Type) func(a, b decimal128.Num) (decimal128.Num, bool) {
	switch op {
	case sql.BinaryMul:
		return mulDecimal
	case sql.BinaryDiv:
		up := out.Scale + r.Scale - l.Scale
		return func(a, b decimal128.Num) (decimal128.Num, bool) { return quoDecimal(a, up, b) }
	case sql.BinaryMod:
		return func(a, b decimal128.Num) (decimal128.Num, bool) {
			return remDecimal(a, out.Scale-l.Scale, b, out.Scale-r.Scale)
		}
	default: // sql.BinaryAdd, sql.BinarySub
		return func(a, b decimal128.Num) (decimal128.Num, bool) {
			x, _, okX := rescaleDecimal(a, l.Scale, out.Scale)
			y, _, okY := rescaleDecimal(b, r.Scale, out.Scale)
			if op == sql.BinarySub {
				y = y.Negate()
			}
			sum, ok := addDecimal(x, y)
			return sum, ok && okX && okY
		}
	}
}

func negDecimal(c *call, i int32) fault {
	c.out.col.Dec[i] = c.args[0].col.Dec[i&c.args[0].mask].Negate()
	return faultNone
}
