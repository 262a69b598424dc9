package expr

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/numtext"
	"github.com/pondage/pondage/internal/rowjson"
)

// castLoop returns the loop of a cast, or nil where there is none.
func castLoop(from, to block.Type) loop {
	switch to.Kind {
	case block.KindString:
		return eachText(func(c *call, dst []byte, i int32) ([]byte, fault) {
			a := c.args[0]
			return appendValue(dst, a.col, i&a.mask), faultNone
		})
	case block.KindBool:
		return castToBool(from.Kind)
	case block.KindInt64:
		return castToInt(from)
	case block.KindFloat64:
		return castToFloat(from)
	case block.KindDecimal:
		return castToDecimal(from, to)
	case block.KindTimestamp:
		return castToTimestamp(from.Kind)
	case block.KindJSON:
		return castToJSON(from.Kind)
	case block.KindInvalid:
	}
	return nil
}

// exact makes the loop of a cast that writes the value of row i, or cannot.
func exact(write func(c *call, a vec, i int32) bool) loop {
	return each(func(c *call, i int32) fault {
		if write(c, c.args[0], i) {
			return faultNone
		}
		return faultCast
	})
}

func castToBool(from block.Kind) loop {
	switch from {
	case block.KindInt64:
		return exact(func(c *call, a vec, i int32) bool {
			v := a.col.Int[i&a.mask]
			c.out.col.Bool[i] = v == 1
			return v == 0 || v == 1
		})
	case block.KindString, block.KindJSON:
		return exact(func(c *call, a vec, i int32) bool {
			text := a.bytes(i)
			c.out.col.Bool[i] = string(text) == "true"
			return string(text) == "true" || string(text) == "false"
		})
	default:
		return nil
	}
}

func decimalToInt(d decimal128.Num) (int64, bool) {
	v := int64(d.LowBits())
	return v, d.HighBits() == v>>63
}

func castToInt(from block.Type) loop {
	switch from.Kind {
	case block.KindBool:
		return each(func(c *call, i int32) fault {
			c.out.col.Int[i] = int64(boolInt(c.args[0].col.Bool[i&c.args[0].mask]))
			return faultNone
		})
	case block.KindFloat64:
		return exact(func(c *call, a vec, i int32) bool {
			const limit = 1 << 63 // the first float64 beyond int64
			f := a.col.Float[i&a.mask]
			if !(f >= -limit && f < limit) || f != math.Trunc(f) {
				return false
			}
			c.out.col.Int[i] = int64(f)
			return true
		})
	case block.KindDecimal:
		return exact(func(c *call, a vec, i int32) bool {
			d, exact, ok := rescaleDecimal(a.col.Dec[i&a.mask], from.Scale, 0)
			v, fits := decimalToInt(d)
			c.out.col.Int[i] = v
			return exact && ok && fits
		})
	case block.KindTimestamp:
		return copyInts
	case block.KindString, block.KindJSON:
		return exact(func(c *call, a vec, i int32) (ok bool) {
			c.out.col.Int[i], ok = parseInt(a.bytes(i))
			return ok
		})
	default:
		return nil
	}
}

func copyInts(c *call) {
	a, out := c.args[0], c.out.col.Int
	for _, i := range c.sel {
		out[i] = a.col.Int[i&a.mask]
	}
}

// castToFloat takes the nearest float64.
func castToFloat(from block.Type) loop {
	switch from.Kind {
	case block.KindInt64:
		return func(c *call) {
			a, out := c.args[0], c.out.col.Float
			for _, i := range c.sel {
				out[i] = float64(a.col.Int[i&a.mask])
			}
		}
	case block.KindDecimal:
		return each(func(c *call, i int32) fault {
			a := c.args[0]
			c.out.col.Float[i] = decimalToFloat(a.col.Dec[i&a.mask], from.Scale)
			return faultNone
		})
	case block.KindString, block.KindJSON:
		return exact(func(c *call, a vec, i int32) (ok bool) {
			c.out.col.Float[i], ok = parseFloat(a.bytes(i))
			return ok
		})
	default:
		return nil
	}
}

// decimalToFloat rounds once. Below 2^53 and 10^22 both parts are exact, and so is the one rounding of the quotient;
// beyond that the digits are read as text.
func decimalToFloat(d decimal128.Num, scale uint8) float64 {
	const exactInt, exactPower = 1 << 53, 22
	negative, m := split(d)
	if m.hi == 0 && m.lo <= exactInt && scale <= exactPower {
		f := float64(m.lo) / float64Powers[scale]
		if negative {
			return -f
		}
		return f
	}
	var buf [64]byte
	f, _ := parseFloat(rowjson.AppendDecimal(buf[:0], d, scale)) // at most 38 digits: always in range
	return f
}

// float64Powers has 10^0 … 10^22, the powers of ten that are float64s.
var float64Powers = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

func castToDecimal(from, to block.Type) loop {
	switch from.Kind {
	case block.KindInt64:
		return decimalFrom(to, func(a vec, i int32) (decimal128.Num, uint8) { return decimal128.FromI64(a.col.Int[i]), 0 })
	case block.KindDecimal:
		return decimalFrom(to, func(a vec, i int32) (decimal128.Num, uint8) { return a.col.Dec[i], from.Scale })
	case block.KindFloat64:
		return exact(func(c *call, a vec, i int32) (ok bool) { // the shortest digits that mean this float64
			var buf [32]byte
			c.out.col.Dec[i], ok = parseDecimal(strconv.AppendFloat(buf[:0], a.col.Float[i&a.mask], 'e', -1, 64), to)
			return ok
		})
	case block.KindString, block.KindJSON:
		return exact(func(c *call, a vec, i int32) (ok bool) {
			c.out.col.Dec[i], ok = parseDecimal(a.bytes(i), to)
			return ok
		})
	default:
		return nil
	}
}

// decimalFrom makes the loop of a cast from a value with a scale; read gets the masked row.
func decimalFrom(to block.Type, read func(a vec, i int32) (d decimal128.Num, scale uint8)) loop {
	return exact(func(c *call, a vec, i int32) bool {
		from, scale := read(a, i&a.mask)
		d, exact, fits := rescaleDecimal(from, scale, to.Scale)
		_, m := split(d)
		c.out.col.Dec[i] = d
		return exact && fits && m.compare(pow10[to.Precision]) < 0
	})
}

// parseDecimal reads a number that the type holds exactly.
func parseDecimal(text []byte, t block.Type) (decimal128.Num, bool) {
	n, digits, ok := scanNumber(text)
	if !ok {
		return zeroDecimal, false
	}
	d, fit := n.Decimal(digits, t.Precision, t.Scale)
	return d, fit == numtext.FitExact
}

func castToTimestamp(from block.Kind) loop {
	switch from {
	case block.KindInt64:
		return exact(func(c *call, a vec, i int32) (ok bool) {
			c.out.col.Int[i], ok = inRange(a.col.Int[i&a.mask])
			return ok
		})
	case block.KindString:
		return exact(func(c *call, a vec, i int32) (ok bool) {
			c.out.col.Int[i], ok = parseTimestamp(a.bytes(i))
			return ok
		})
	default:
		return nil
	}
}

func castToJSON(from block.Kind) loop {
	switch from {
	case block.KindString:
		return eachText(func(c *call, dst []byte, i int32) ([]byte, fault) {
			text := c.args[0].bytes(i)
			if !json.Valid(text) {
				return dst, faultCast
			}
			return append(dst, text...), faultNone
		})
	case block.KindBool, block.KindInt64, block.KindDecimal:
		return castLoop(block.Type{Kind: from}, block.String)
	default:
		return nil
	}
}

// textColumn is a string column of one row.
func textColumn(text string) *block.Column {
	c := block.NewColumn(block.String, 1)
	c.AppendString(text)
	return c
}

// nullColumn is a column of one null.
func nullColumn(t block.Type) *block.Column {
	c := block.NewColumn(t, 1)
	c.AppendNull()
	return c
}
