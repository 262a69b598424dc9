package agg

import (
	"cmp"
	"math"

	"github.com/pondage/pondage/internal/block"
)

// edge keeps the first (rising) or last (falling) value by (event time, partition, offset). Its words are the three,
// exclusive-or the order, so that it always keeps the lowest, then the value.
type edge struct {
	arg, offset int
	typ         block.Type
	order       order
}

// edgePositionWords is the number of words in front of the value: event time, partition, offset.
const edgePositionWords = 3

func (a *edge) storage() storage   { return storageOf(a.typ) }
func (a *edge) words() int         { return edgePositionWords + wordsOf[a.storage()] }
func (a *edge) place(offset int)   { a.offset = offset }
func (a *edge) init(cell []uint64) { cell[a.offset] = math.MaxInt64 } // no row has this time
func (a *edge) pooled() bool       { return a.storage() == byHandle }

func (a *edge) release(c *Cells, cells []uint32) {
	c.releaseTexts(a.offset+edgePositionWords, cells)
}

func (a *edge) adopt(c, from *Cells, cells []uint32) {
	c.adoptTexts(from, a.offset+edgePositionWords, cells)
}

// position is (event time, partition, offset), exclusive-or the order.
type position [edgePositionWords]int64

func (a *edge) positionOf(ts, partition, offset int64) position {
	o := int64(a.order)
	return position{ts ^ o, partition ^ o, offset ^ o}
}

func (p position) less(w []uint64) bool {
	return cmp.Or(cmp.Compare(p[0], int64(w[0])), cmp.Compare(p[1], int64(w[1])), cmp.Compare(p[2], int64(w[2]))) < 0
}

// offer stores the value of row r when its position is lower.
func (a *edge) offer(c *Cells, cell uint32, p position, col *block.Column, r int) {
	w := c.at(cell, a.offset)
	if !p.less(w) {
		return
	}
	w[0], w[1], w[2] = uint64(p[0]), uint64(p[1]), uint64(p[2])
	c.putValue(w[edgePositionWords:], a.storage(), col, r)
}

func (a *edge) add(c *Cells, in Rows) {
	col := in.Args[a.arg]
	for i, cell := range in.Cells {
		if r := int(in.Sel[i]); !col.IsNull(r) {
			a.offer(c, cell, a.positionOf(in.Ts[r], in.Partition[r], in.Offset[r]), col, r)
		}
	}
}

func (a *edge) merge(c *Cells, dst, src []uint32) {
	for i, cell := range dst {
		w, from := c.at(cell, a.offset), c.at(src[i], a.offset)
		p := position{int64(from[0]), int64(from[1]), int64(from[2])}
		if from[0] != math.MaxInt64 && p.less(w) {
			copy(w[:edgePositionWords], from)
			c.copyValue(w[edgePositionWords:], a.storage(), from[edgePositionWords:])
		}
	}
}

func (a *edge) fields() []field {
	prefix := "f"
	if a.order == falling {
		prefix = "z"
	}
	name := func(suffix string) string { return columnName(a.arg, prefix+suffix) }
	return []field{
		{block.Field{Name: name(""), Type: a.typ}, false},
		{block.Field{Name: name("t"), Type: block.Timestamp}, false},
		{block.Field{Name: name("p"), Type: block.Int64}, false},
		{block.Field{Name: name("o"), Type: block.Int64}, false},
	}
}

func (a *edge) appendResult(c *Cells, col *block.Column, cell uint32) bool {
	w := c.at(cell, a.offset)
	if w[0] == math.MaxInt64 {
		col.AppendNull()
		return false
	}
	c.appendValue(col, a.storage(), w[edgePositionWords:])
	return true
}

func (a *edge) appendPartials(c *Cells, cols []*block.Column, cells []uint32) {
	for _, cell := range cells {
		a.appendResult(c, cols[0], cell)
		w := c.at(cell, a.offset)
		for j := range edgePositionWords {
			cols[1+j].AppendInt(int64(w[j] ^ uint64(a.order)))
		}
	}
}

func (a *edge) mergePartials(c *Cells, cols []*block.Column, cells []uint32) error {
	for i, cell := range cells {
		if !cols[0].IsNull(i) {
			a.offer(c, cell, a.positionOf(cols[1].Int[i], cols[2].Int[i], cols[3].Int[i]), cols[0], i)
		}
	}
	return nil
}
