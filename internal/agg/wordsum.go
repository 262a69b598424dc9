package agg

import (
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/pondage/pondage/internal/block"
)

// power says whether a sum is of values or of their squares.
type power uint8

const (
	plain power = iota
	squared
)

// wordSum is a sum of integers (int64, unscaled decimals) or of their squares: a two's complement number of so many
// words that 2^63 values cannot overflow it.
type wordSum struct {
	arg, offset, n int
	decimal        bool
	power          power
}

func newWordSum(arg int, t block.Type, p power) *wordSum {
	const (
		intWords, intSquareWords         = 2, 3 // 63+63 and 126+63 bits, and a sign
		decimalWords, decimalSquareWords = 3, 5 // 127+63 and 254+63 bits, and a sign
	)
	a := &wordSum{arg: arg, decimal: t.Kind == block.KindDecimal, power: p}
	switch {
	case a.decimal && p == squared:
		a.n = decimalSquareWords
	case a.decimal:
		a.n = decimalWords
	case p == squared:
		a.n = intSquareWords
	default:
		a.n = intWords
	}
	return a
}

func (a *wordSum) words() int               { return a.n }
func (a *wordSum) place(offset int)         { a.offset = offset }
func (a *wordSum) init([]uint64)            {}
func (a *wordSum) pooled() bool             { return false }
func (a *wordSum) release(*Cells, []uint32) {}

func (a *wordSum) adopt(*Cells, *Cells, []uint32) {}

func (a *wordSum) of(c *Cells, cell uint32) []uint64 { return c.at(cell, a.offset)[:a.n] }

func (a *wordSum) add(c *Cells, in Rows) {
	col := in.Args[a.arg]
	for i, cell := range in.Cells {
		r := in.Sel[i]
		if col.Null != nil && col.Null[r] {
			continue
		}
		sum := a.of(c, cell)
		switch {
		case a.decimal && a.power == squared:
			square := decimalSquare(col.Dec[r])
			addWords(sum, square[:], 0)
		case a.decimal:
			v := col.Dec[r]
			addWords(sum, []uint64{v.LowBits(), uint64(v.HighBits())}, signOf(v.HighBits()))
		case a.power == squared:
			v := col.Int[r]
			u := uint64(max(v, -v)) // of the lowest int64: 2^63, as it should be
			hi, lo := bits.Mul64(u, u)
			addWords(sum, []uint64{lo, hi}, 0)
		default:
			v := col.Int[r]
			addWords(sum, []uint64{uint64(v)}, signOf(v))
		}
	}
}

// signOf returns the word that extends v: 0 or all ones.
func signOf(v int64) uint64 { return uint64(v >> 63) }

// addWords adds v, extended by the word sign (see signOf), to the number in dst.
func addWords(dst, v []uint64, sign uint64) {
	var carry uint64
	for i := range dst {
		w := sign
		if i < len(v) {
			w = v[i]
		}
		dst[i], carry = bits.Add64(dst[i], w, carry)
	}
}

// decimalSquare returns the square of an unscaled decimal, least significant word first.
func decimalSquare(v decimal128.Num) [4]uint64 {
	v = v.Abs()
	lo, hi := v.LowBits(), uint64(v.HighBits())
	h0, l0 := bits.Mul64(lo, lo)
	h1, l1 := bits.Mul64(lo, hi)
	h2, l2 := bits.Mul64(hi, hi)
	out := [4]uint64{l0, h0, l2, h2}
	addWords(out[1:], []uint64{l1, h1}, 0)
	addWords(out[1:], []uint64{l1, h1}, 0)
	return out
}

func (a *wordSum) merge(c *Cells, dst, src []uint32) {
	for i, cell := range dst {
		addWords(a.of(c, cell), a.of(c, src[i]), 0)
	}
}

func (a *wordSum) fields() []field {
	suffix := "s"
	if a.power == squared {
		suffix = "q"
	}
	return []field{
		{block.Field{Name: columnName(a.arg, suffix), Type: block.Decimal(block.MaxDecimalPrecision, 0)}, false},
		{block.Field{Name: columnName(a.arg, suffix+"x"), Type: block.String}, true},
	}
}

// compactWords is how many words the decimal column of the partial form holds.
const compactWords = 2

// compact tells whether all words above the compact ones only extend the sign.
func compact(w []uint64) bool {
	for _, v := range w[compactWords:] {
		if v != uint64(int64(w[compactWords-1])>>63) {
			return false
		}
	}
	return true
}

func (a *wordSum) appendPartials(c *Cells, cols []*block.Column, cells []uint32) {
	for i, cell := range cells {
		w := a.of(c, cell)
		if compact(w) {
			cols[0].AppendDec(decimal128.New(int64(w[1]), w[0]))
			continue
		}
		cols[0].AppendDec(decimal128.Num{})
		padNulls(cols[1], i)
		cols[1].AppendBytes(appendWords(nil, w))
	}
	endOptional(cols[1], len(cells))
}

func (a *wordSum) mergePartials(c *Cells, cols []*block.Column, cells []uint32) error {
	wide := cols[1]
	for i, cell := range cells {
		if wide != nil && !wide.IsNull(i) {
			v := make([]uint64, a.n)
			if err := parseWords(v, string(wide.Bytes(i))); err != nil {
				return err
			}
			addWords(a.of(c, cell), v, 0)
			continue
		}
		v := cols[0].Dec[i]
		addWords(a.of(c, cell), []uint64{v.LowBits(), uint64(v.HighBits())}, signOf(v.HighBits()))
	}
	return nil
}

// decimalOf returns the number in the words as a decimal128; ok is false when it has more than 38 digits.
func decimalOf(w []uint64) (v decimal128.Num, ok bool) {
	v = decimal128.New(int64(w[1]), w[0])
	limit := decimal128.GetScaleMultiplier(block.MaxDecimalPrecision)
	return v, compact(w) && v.Less(limit) && limit.Negate().Less(v)
}
