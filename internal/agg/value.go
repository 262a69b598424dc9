package agg

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/pondage/pondage/internal/block"
)

// order is the direction of a comparison. Keys are compared after an exclusive or with it: the complement of a two's
// complement number reverses its order, so that max is min over complements.
type order uint64

const (
	rising  order = 0
	falling order = math.MaxUint64
)

// floatKey maps a double to an integer of the same order: −Inf … −0, +0 … +Inf, NaN. All NaNs are one.
func floatKey(x float64) int64 {
	if x != x {
		return nanKey
	}
	b := int64(math.Float64bits(x))
	return b ^ int64(uint64(b>>63)>>1)
}

// nanKey is above the key of +Inf.
const nanKey = math.MaxInt64 - 1

// floatOf is the inverse of floatKey.
func floatOf(k int64) float64 {
	if k == nanKey {
		return math.NaN()
	}
	return math.Float64frombits(uint64(k ^ int64(uint64(k>>63)>>1)))
}

// wordKey returns the value of row r as an integer of the same order. The column is of a type for which oneWord holds.
func wordKey(col *block.Column, r int) int64 {
	switch col.Type.Kind {
	case block.KindFloat64:
		return floatKey(col.Float[r])
	case block.KindBool:
		if col.Bool[r] {
			return 1
		}
		return 0
	default:
		return col.Int[r]
	}
}

// appendWordKey appends the value of a wordKey.
func appendWordKey(col *block.Column, k int64) {
	switch col.Type.Kind {
	case block.KindFloat64:
		col.AppendFloat(floatOf(k))
	case block.KindBool:
		col.AppendBool(k != 0)
	default:
		col.AppendInt(k)
	}
}

// storage is how a value of a type lies in a cell.
type storage uint8

const (
	oneWord  storage = iota // its wordKey
	twoWords                // decimal: low, high
	byHandle                // string, json: a handle of Cells.texts
)

func storageOf(t block.Type) storage {
	switch t.Kind {
	case block.KindString, block.KindJSON:
		return byHandle
	case block.KindDecimal:
		return twoWords
	default:
		return oneWord
	}
}

// wordsOf is the number of words of each storage.
var wordsOf = [...]int{oneWord: 1, twoWords: 2, byHandle: 1}

// putValue stores the value of row r in the words. A text's handle must be 0 or the cell's own.
func (c *Cells) putValue(w []uint64, s storage, col *block.Column, r int) {
	switch s {
	case oneWord:
		w[0] = uint64(wordKey(col, r))
	case twoWords:
		w[0], w[1] = col.Dec[r].LowBits(), uint64(col.Dec[r].HighBits())
	case byHandle:
		c.putText(w, col.Bytes(r))
	}
}

// putText stores a copy of b in the text whose handle is in w[0], which it takes if there is none.
func (c *Cells) putText(w []uint64, b []byte) {
	var t *text
	if w[0] == 0 {
		var h uint32
		h, t = c.texts.take()
		w[0] = uint64(h)
	} else {
		t = c.texts.get(uint32(w[0]))
	}
	t.bytes = append(t.bytes[:0], b...)
}

// copyValue stores the value in the words from.
func (c *Cells) copyValue(w []uint64, s storage, from []uint64) {
	switch s {
	case oneWord:
		w[0] = from[0]
	case twoWords:
		w[0], w[1] = from[0], from[1]
	case byHandle:
		c.putText(w, c.texts.get(uint32(from[0])).bytes)
	}
}

// appendValue appends the value in the words to the column.
func (c *Cells) appendValue(col *block.Column, s storage, w []uint64) {
	switch s {
	case oneWord:
		appendWordKey(col, int64(w[0]))
	case twoWords:
		col.AppendDec(decimal128.New(int64(w[1]), w[0]))
	case byHandle:
		col.AppendBytes(c.texts.get(uint32(w[0])).bytes)
	}
}

// releaseTexts gives back the texts whose handles are at the offset of the cells.
func (c *Cells) releaseTexts(offset int, cells []uint32) {
	for _, cell := range cells {
		if h := c.at(cell, offset)[0]; h != 0 {
			c.texts.put(uint32(h))
		}
	}
}
