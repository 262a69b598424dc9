package numtext

import (
	"encoding/binary"
	"math"
	"strconv"
	"unsafe"
)

// Number is a number literal taken apart: ±Mant·10^Exp, unless it is Long.
type Number struct {
	Mant uint64
	Exp  int  // saturated at ±expLimit
	Neg  bool // also for −0
	Long bool // more digits than Mant can hold: only the text has the value
}

const (
	maxMantDigits = 19 // 10^19 − 1 < 2^64
	// expLimit saturates exponents: far beyond what any type holds, and far from overflowing an int when the length of
	// the literal is added.
	expLimit = 1 << 30
)

// Scan reads the JSON number that begins at text[at] and returns the position after it. It is not ok where RFC 8259 has
// no number: leading zeros, a bare point, a plus sign.
func Scan(text []byte, at int) (n Number, end int, ok bool) {
	i := at
	if i < len(text) && text[i] == '-' {
		n.Neg = true
		i++
	}
	first := i
	n.Mant, i = scanDigits(text, i, 0)
	digits := i - first
	if digits == 0 || (digits > 1 && text[first] == '0') {
		return n, i, false
	}
	if i < len(text) && text[i] == '.' {
		point := i + 1
		n.Mant, i = scanDigits(text, point, n.Mant)
		if i == point {
			return n, i, false
		}
		n.Exp = point - i
		digits += i - point
	}
	n.Long = digits > maxMantDigits
	if i < len(text) && text[i]|0x20 == 'e' {
		var exp int
		if exp, i, ok = scanExponent(text, i+1); !ok {
			return n, i, false
		}
		n.Exp += exp
	}
	return n, i, true
}

// scanDigits continues the number mant with the digits from at on. It wraps beyond 64 bits.
func scanDigits(text []byte, at int, mant uint64) (uint64, int) {
	i := at
	for i+8 <= len(text) {
		word := binary.LittleEndian.Uint64(text[i:]) ^ zeros
		if (word+aboveNine|word)&highBits != 0 {
			break
		}
		mant = mant*1e8 + eightDigits(word)
		i += 8
	}
	for ; i < len(text); i++ {
		d := text[i] - '0'
		if d > 9 {
			break
		}
		mant = mant*10 + uint64(d)
	}
	return mant, i
}

const (
	zeros     = 0x3030303030303030 // eight times '0'
	aboveNine = 0x7676767676767676 // lifts a byte above 9 to its high bit
	highBits  = 0x8080808080808080
)

// eightDigits returns the number that eight digits make, the first in the lowest byte: it adds up pairs, then fours,
// then all eight.
func eightDigits(x uint64) uint64 {
	x = x * (10<<8 + 1) >> 8
	x = (x & 0x00ff00ff00ff00ff) * (100<<16 + 1) >> 16
	return (x & 0x0000ffff0000ffff) * (10000<<32 + 1) >> 32
}

// scanExponent reads what follows an e.
func scanExponent(text []byte, at int) (exp, end int, ok bool) {
	i, neg := at, false
	if i < len(text) && (text[i] == '+' || text[i] == '-') {
		neg = text[i] == '-'
		i++
	}
	first := i
	for ; i < len(text); i++ {
		d := text[i] - '0'
		if d > 9 {
			break
		}
		exp = min(exp*10+int(d), expLimit)
	}
	if neg {
		exp = -exp
	}
	return exp, i, i > first
}

// pow10 are the powers of ten in 64 bits.
var pow10 = [maxMantDigits + 1]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19}

// Fit says whether a type holds a number.
type Fit uint8

// The ways to fit.
const (
	FitExact      Fit = iota
	FitFraction       // digits after the point that the type has no place for
	FitOutOfRange     // too large
)

// Int64 returns the number as an int64, if it is exactly one. text is the literal that n was read from.
func (n Number) Int64(text []byte) (int64, Fit) {
	mant := n.Mant
	if n.Exp != 0 || n.Long {
		d := significant(text, n.Exp)
		var fit Fit
		if mant, fit = d.uint64(); fit != FitExact {
			return 0, fit
		}
	}
	const limit = 1 << 63
	switch {
	case n.Neg && mant <= limit:
		return -int64(mant), FitExact // −2^63 wraps to itself
	case mant < limit:
		return int64(mant), FitExact
	}
	return 0, FitOutOfRange
}

// Below 2^53 a mantissa, and up to 10^22 a power of ten are exact doubles, so that their product or quotient is rounded
// once: it is the nearest double.
const (
	maxExactMant = 1 << 53
	maxExactExp  = 22
)

var floatPow10 = [maxExactExp + 1]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// Float64 returns the double nearest to the number, and false if that is infinite. −0 stays −0. text is the literal
// that n was read from.
func (n Number) Float64(text []byte) (float64, bool) {
	if n.Long || n.Mant > maxExactMant || n.Exp > maxExactExp || n.Exp < -maxExactExp {
		// The literal is a JSON number, so of ParseFloat's errors only the range is left.
		x, err := strconv.ParseFloat(unsafe.String(unsafe.SliceData(text), len(text)), 64)
		return x, err == nil && !math.IsInf(x, 0)
	}
	x := float64(n.Mant)
	if n.Exp < 0 {
		x /= floatPow10[-n.Exp]
	} else {
		x *= floatPow10[n.Exp]
	}
	if n.Neg {
		x = -x
	}
	return x, true
}
