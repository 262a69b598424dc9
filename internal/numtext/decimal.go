package numtext

import (
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// Decimal returns the number as the unscaled value of a decimal(precision, scale), if it is exactly one: FitFraction
// when it has more digits after the point than scale, FitOutOfRange when it has more before it than the rest. text is
// the literal that n was read from.
func (n Number) Decimal(text []byte, precision, scale uint8) (decimal128.Num, Fit) {
	d := significant(text, n.Exp)
	d.exp += int(scale)
	if d.count == 0 {
		return decimal128.Num{}, FitExact
	}
	if d.exp < 0 {
		return decimal128.Num{}, FitFraction
	}
	if d.count+d.exp > int(precision) {
		return decimal128.Num{}, FitOutOfRange
	}
	var v wide
	for _, c := range d.text {
		if c != '.' {
			v.mul10add(uint64(c - '0'))
		}
	}
	for range d.exp {
		v.mul10add(0)
	}
	num := decimal128.New(int64(v.hi), v.lo) // at most 10^38 − 1: the sign bit is free
	if n.Neg {
		num = num.Negate()
	}
	return num, FitExact
}

// wide is an unsigned 128-bit integer.
type wide struct{ hi, lo uint64 }

func (v *wide) mul10add(digit uint64) {
	hi, lo := bits.Mul64(v.lo, 10)
	lo, carry := bits.Add64(lo, digit, 0)
	v.hi, v.lo = v.hi*10+hi+carry, lo
}

// digits are the significant digits of a literal: from the first that is not zero to the last that is not, with the
// point if it stands between them. The value is these digits, read as an integer, times 10^exp.
type digits struct {
	text  []byte
	count int // of digits; 0: the number is zero
	exp   int
}

// significant finds the digits of a literal. exp is the power of ten of its last digit, as in Number. It costs one walk
// over the literal.
func significant(text []byte, exp int) digits {
	first, last, point, end := -1, -1, -1, len(text)
	for i, c := range text {
		switch {
		case c == '.':
			point = i
		case c|0x20 == 'e':
			end = i
		case c >= '1' && c <= '9':
			if first < 0 {
				first = i
			}
			last = i
		}
		if end != len(text) {
			break
		}
	}
	if first < 0 {
		return digits{}
	}
	d := digits{text: text[first : last+1], count: last + 1 - first}
	d.exp = exp + end - 1 - last // zeros cut off
	if point > last {
		d.exp-- // the point among them
	}
	if point > first && point < last {
		d.count--
	}
	return d
}

// uint64 returns the digits' value; FitOutOfRange from 10^19 on.
func (d digits) uint64() (uint64, Fit) {
	if d.count == 0 {
		return 0, FitExact
	}
	if d.exp < 0 {
		return 0, FitFraction
	}
	if d.count+d.exp > maxMantDigits {
		return 0, FitOutOfRange
	}
	var v uint64
	for _, c := range d.text {
		if c != '.' {
			v = v*10 + uint64(c-'0')
		}
	}
	return v * pow10[d.exp], FitExact
}
