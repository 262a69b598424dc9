package rowjson

import (
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/pondage/pondage/internal/block"
)

// AppendValue appends the value of row i of the column.
func AppendValue(dst []byte, col *block.Column, i int) []byte {
	if col.IsNull(i) {
		return append(dst, "null"...)
	}
	switch col.Type.Kind {
	case block.KindBool:
		return strconv.AppendBool(dst, col.Bool[i])
	case block.KindInt64:
		dst = append(dst, '"')
		dst = strconv.AppendInt(dst, col.Int[i], 10)
		return append(dst, '"')
	case block.KindTimestamp:
		return AppendTime(dst, col.Int[i])
	case block.KindFloat64:
		return appendFloat(dst, col.Float[i])
	case block.KindDecimal:
		dst = append(dst, '"')
		dst = AppendDecimal(dst, col.Dec[i], col.Type.Scale)
		return append(dst, '"')
	case block.KindString:
		return appendString(dst, col.Bytes(i))
	case block.KindJSON:
		return append(dst, col.Bytes(i)...)
	case block.KindInvalid:
	}
	panic("rowjson: column without a type")
}

// The bounds between which a float is written without an exponent, as encoding/json and ECMAScript do.
const (
	minPlain = 1e-6
	maxPlain = 1e21
)

func appendFloat(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(dst, `"-Infinity"`...)
	}
	return AppendFloat(dst, f)
}

// AppendFloat appends the shortest decimal that reads back to the same finite double.
func AppendFloat(dst []byte, f float64) []byte {
	if out, ok := appendShort(dst, f); ok {
		return out
	}
	if abs := math.Abs(f); abs != 0 && (abs < minPlain || abs >= maxPlain) {
		return strconv.AppendFloat(dst, f, 'e', -1, 64)
	}
	return strconv.AppendFloat(dst, f, 'f', -1, 64)
}

// appendShort writes a double that is a decimal with at most two places and 15 digits: readings mostly are. Decimals of
// at most 15 digits are all different as doubles, so when n/100 is f, no other decimal as short is.
func appendShort(dst []byte, f float64) ([]byte, bool) {
	const (
		places   = 100
		max15    = 1e15 // n must stay below: 15 digits
		decimal  = 10
		negative = '-'
	)
	scaled := f * places
	if !(scaled > -max15 && scaled < max15) { // also NaN
		return dst, false
	}
	n := int64(scaled + math.Copysign(0.5, scaled))
	if float64(n)/places != f || (n == 0 && math.Signbit(f)) {
		return dst, false
	}
	if n < 0 {
		dst = append(dst, negative)
		n = -n
	}
	dst = strconv.AppendInt(dst, n/places, decimal)
	if cents := n % places; cents != 0 {
		dst = append(dst, '.', byte('0'+cents/decimal))
		if cents%decimal != 0 {
			dst = append(dst, byte('0'+cents%decimal))
		}
	}
	return dst, true
}

// plain marks the bytes that a JSON string holds as they are.
var plain = func() (t [utf8.RuneSelf]bool) {
	for c := range t {
		t[c] = c >= ' ' && c != '"' && c != '\\'
	}
	return t
}()

// appendString appends s, valid UTF-8, as a JSON string.
func appendString[S []byte | string](dst []byte, s S) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= utf8.RuneSelf || plain[c] {
			continue
		}
		dst = append(dst, s[start:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
		}
		start = i + 1
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}
