package rowjson

import (
	"math/bits"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// AppendDecimal appends an unscaled 128-bit value with the given number of digits after the point.
func AppendDecimal(dst []byte, v decimal128.Num, scale uint8) []byte {
	hi, lo := uint64(v.HighBits()), v.LowBits()
	if v.HighBits() < 0 {
		dst = append(dst, '-')
		var borrow uint64
		lo, borrow = bits.Sub64(0, lo, 0)
		hi, _ = bits.Sub64(0, hi, borrow)
	}
	digits := appendUint128(make([]byte, 0, maxDigits), hi, lo)
	point := len(digits) - int(scale)
	if scale == 0 {
		return append(dst, digits...)
	}
	if point <= 0 {
		dst = append(dst, '0', '.')
		for ; point < 0; point++ {
			dst = append(dst, '0')
		}
		return append(dst, digits...)
	}
	dst = append(dst, digits[:point]...)
	dst = append(dst, '.')
	return append(dst, digits[point:]...)
}

const (
	maxDigits = 39   // of a 128-bit integer
	chunk     = 1e19 // the largest power of ten in 64 bits
	chunkLen  = 19
)

func appendUint128(dst []byte, hi, lo uint64) []byte {
	if hi == 0 {
		return strconv.AppendUint(dst, lo, 10)
	}
	// hi:lo = q·10^19 + r; q itself may need two words.
	qHi, rest := hi/chunk, hi%chunk
	qLo, r := bits.Div64(rest, lo, chunk)
	dst = appendUint128(dst, qHi, qLo)
	return appendPadded(dst, r)
}

func appendPadded(dst []byte, n uint64) []byte {
	var buf [chunkLen]byte
	for i := chunkLen - 1; i >= 0; i-- {
		buf[i] = byte('0' + n%10)
		n /= 10
	}
	return append(dst, buf[:]...)
}
