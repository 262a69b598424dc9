package agg

import (
	"bytes"
	"math"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/pondage/pondage/internal/block"
)

// newExtreme returns the accumulator of min (rising) or max (falling).
func newExtreme(arg int, t block.Type, o order, n *count) accumulator {
	b := extreme{arg: arg, typ: t, order: o, n: n}
	switch storageOf(t) {
	case twoWords:
		return &decimalExtreme{b}
	case byHandle:
		return &textExtreme{b}
	default:
		return &wordExtreme{b}
	}
}

// extreme is what the accumulators of min and max have in common. Whether there is a value is in the argument's count.
type extreme struct {
	arg, offset int
	typ         block.Type
	order       order
	n           *count
}

func (a *extreme) words() int               { return wordsOf[storageOf(a.typ)] }
func (a *extreme) place(offset int)         { a.offset = offset }
func (a *extreme) init([]uint64)            {}
func (a *extreme) pooled() bool             { return false }
func (a *extreme) release(*Cells, []uint32) {}

func (a *extreme) adopt(*Cells, *Cells, []uint32) {}

func (a *extreme) fields() []field {
	suffix := "min"
	if a.order == falling {
		suffix = "max"
	}
	return []field{{block.Field{Name: columnName(a.arg, suffix), Type: a.typ}, false}}
}

// wordExtreme keeps the extreme of values that are one word: its key, exclusive-or the order, and so always the lowest.
type wordExtreme struct{ extreme }

func (a *wordExtreme) init(cell []uint64) { cell[a.offset] = math.MaxInt64 }

func (a *wordExtreme) lower(c *Cells, cell uint32, k int64) {
	w := &c.words[int(cell)*c.stride+a.offset]
	*w = uint64(min(int64(*w), k^int64(a.order)))
}

func (a *wordExtreme) add(c *Cells, in Rows) {
	col := in.Args[a.arg]
	if col.Type.Kind == block.KindFloat64 && col.Null == nil {
		values := col.Float
		for i, cell := range in.Cells {
			a.lower(c, cell, floatKey(values[in.Sel[i]]))
		}
		return
	}
	for i, cell := range in.Cells {
		if r := int(in.Sel[i]); !col.IsNull(r) {
			a.lower(c, cell, wordKey(col, r))
		}
	}
}

func (a *wordExtreme) merge(c *Cells, dst, src []uint32) {
	for i, cell := range dst {
		w := &c.words[int(cell)*c.stride+a.offset]
		*w = uint64(min(int64(*w), int64(c.words[int(src[i])*c.stride+a.offset])))
	}
}

// of returns the key of the extreme; ok is false without a value.
func (a *wordExtreme) of(c *Cells, cell uint32) (k int64, ok bool) {
	return int64(c.words[int(cell)*c.stride+a.offset]) ^ int64(a.order), a.n.of(c, cell) > 0
}

func (a *wordExtreme) appendPartials(c *Cells, cols []*block.Column, cells []uint32) {
	for _, cell := range cells {
		if k, ok := a.of(c, cell); ok {
			appendWordKey(cols[0], k)
		} else {
			cols[0].AppendNull()
		}
	}
}

func (a *wordExtreme) mergePartials(c *Cells, cols []*block.Column, cells []uint32) error {
	for i, cell := range cells {
		if !cols[0].IsNull(i) {
			a.lower(c, cell, wordKey(cols[0], i))
		}
	}
	return nil
}

// decimalExtreme keeps the extreme of decimals, exclusive-or the order.
type decimalExtreme struct{ extreme }

func (a *decimalExtreme) init(cell []uint64) {
	cell[a.offset], cell[a.offset+1] = math.MaxUint64, math.MaxInt64
}

func (a *decimalExtreme) lower(c *Cells, cell uint32, v decimal128.Num) {
	w := c.at(cell, a.offset)
	lo, hi := v.LowBits()^uint64(a.order), v.HighBits()^int64(a.order)
	if old := int64(w[1]); hi < old || hi == old && lo < w[0] {
		w[0], w[1] = lo, uint64(hi)
	}
}

func (a *decimalExtreme) stored(c *Cells, cell uint32) decimal128.Num {
	w := c.at(cell, a.offset)
	return decimal128.New(int64(w[1]^uint64(a.order)), w[0]^uint64(a.order))
}

func (a *decimalExtreme) add(c *Cells, in Rows) {
	col := in.Args[a.arg]
	for i, cell := range in.Cells {
		if r := int(in.Sel[i]); !col.IsNull(r) {
			a.lower(c, cell, col.Dec[r])
		}
	}
}

func (a *decimalExtreme) merge(c *Cells, dst, src []uint32) {
	for i, cell := range dst {
		a.lower(c, cell, a.stored(c, src[i]))
	}
}

// of returns the extreme; ok is false without a value.
func (a *decimalExtreme) of(c *Cells, cell uint32) (v decimal128.Num, ok bool) {
	return a.stored(c, cell), a.n.of(c, cell) > 0
}

func (a *decimalExtreme) appendPartials(c *Cells, cols []*block.Column, cells []uint32) {
	for _, cell := range cells {
		if v, ok := a.of(c, cell); ok {
			cols[0].AppendDec(v)
		} else {
			cols[0].AppendNull()
		}
	}
}

func (a *decimalExtreme) mergePartials(c *Cells, cols []*block.Column, cells []uint32) error {
	for i, cell := range cells {
		if !cols[0].IsNull(i) {
			a.lower(c, cell, cols[0].Dec[i])
		}
	}
	return nil
}

// textExtreme keeps the extreme of strings by a handle; 0 without a value.
type textExtreme struct{ extreme }

func (a *textExtreme) pooled() bool                     { return true }
func (a *textExtreme) release(c *Cells, cells []uint32) { c.releaseTexts(a.offset, cells) }

func (a *textExtreme) adopt(c, from *Cells, cells []uint32) { c.adoptTexts(from, a.offset, cells) }

func (a *textExtreme) offer(c *Cells, cell uint32, b []byte) {
	w := c.at(cell, a.offset)
	if w[0] != 0 {
		cmp := bytes.Compare(b, c.texts.get(uint32(w[0])).bytes)
		if cmp == 0 || (cmp < 0) != (a.order == rising) {
			return
		}
	}
	c.putText(w, b)
}

func (a *textExtreme) add(c *Cells, in Rows) {
	col := in.Args[a.arg]
	for i, cell := range in.Cells {
		if r := int(in.Sel[i]); !col.IsNull(r) {
			a.offer(c, cell, col.Bytes(r))
		}
	}
}

func (a *textExtreme) merge(c *Cells, dst, src []uint32) {
	for i, cell := range dst {
		if h := c.at(src[i], a.offset)[0]; h != 0 {
			a.offer(c, cell, c.texts.get(uint32(h)).bytes)
		}
	}
}

func (a *textExtreme) appendPartials(c *Cells, cols []*block.Column, cells []uint32) {
	for _, cell := range cells {
		if w := c.at(cell, a.offset); w[0] != 0 {
			c.appendValue(cols[0], byHandle, w)
		} else {
			cols[0].AppendNull()
		}
	}
}

func (a *textExtreme) mergePartials(c *Cells, cols []*block.Column, cells []uint32) error {
	for i, cell := range cells {
		if !cols[0].IsNull(i) {
			a.offer(c, cell, cols[0].Bytes(i))
		}
	}
	return nil
}
