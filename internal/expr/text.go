package expr

import (
	"math"
	"strconv"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/numtext"
	"github.com/pondage/pondage/internal/rowjson"
)

// The text of values: what CAST AS string writes and what CAST of a string reads. Reading is strict (no white space
// around, nothing rounded) and whatever is written reads back as the same value. Numbers are read as package decode reads
// them in a string; only leading zeros are let through, since identifiers have them.

// appendValue appends the text of row i of a column, which is not null.
func appendValue(dst []byte, c *block.Column, i int32) []byte {
	switch c.Type.Kind {
	case block.KindBool:
		return strconv.AppendBool(dst, c.Bool[i])
	case block.KindInt64:
		return strconv.AppendInt(dst, c.Int[i], 10)
	case block.KindFloat64:
		return appendFloat(dst, c.Float[i])
	case block.KindDecimal:
		return rowjson.AppendDecimal(dst, c.Dec[i], c.Type.Scale)
	case block.KindTimestamp:
		return rowjson.AppendTimeText(dst, c.Int[i])
	default:
		return append(dst, c.Bytes(int(i))...)
	}
}

// The texts of the floats that are no numbers (INTERFACE §3).
const (
	textNaN         = "NaN"
	textInfinity    = "Infinity"
	textNegInfinity = "-Infinity"
)

func appendFloat(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, textNaN...)
	case math.IsInf(f, 1):
		return append(dst, textInfinity...)
	case math.IsInf(f, -1):
		return append(dst, textNegInfinity...)
	}
	return rowjson.AppendFloat(dst, f)
}

// scanNumber reads a text that is a number and nothing else. The text returned belongs to the number.
func scanNumber(text []byte) (numtext.Number, []byte, bool) {
	negative := len(text) > 0 && text[0] == '-'
	at := boolInt(negative)
	for at+1 < len(text) && text[at] == '0' && text[at+1] >= '0' && text[at+1] <= '9' {
		at++
	}
	n, end, ok := numtext.Scan(text[at:], 0)
	n.Neg = n.Neg || negative
	return n, text[at:], ok && end == len(text)-at
}

func parseInt(text []byte) (int64, bool) {
	n, digits, ok := scanNumber(text)
	if !ok {
		return 0, false
	}
	v, fit := n.Int64(digits)
	return v, fit == numtext.FitExact
}

// parseFloat takes the nearest float64; a number beyond them is refused.
func parseFloat(text []byte) (float64, bool) {
	switch string(text) {
	case textNaN:
		return math.NaN(), true
	case textInfinity:
		return math.Inf(1), true
	case textNegInfinity:
		return math.Inf(-1), true
	}
	n, digits, ok := scanNumber(text)
	if !ok {
		return 0, false
	}
	negative := n.Neg
	n.Neg = false // digits have no sign
	f, ok := n.Float64(digits)
	if negative {
		f = -f
	}
	return f, ok
}

// inRange tells whether a time lies in the years 0001 to 9999, and returns it.
func inRange(ms int64) (int64, bool) {
	return ms, ms >= numtext.MinTimeMs && ms <= numtext.MaxTimeMs
}

func parseTimestamp(text []byte) (ms int64, ok bool) {
	ms, fit := numtext.ParseTime(text)
	return ms, fit == numtext.TimeExact
}
