package agg

import (
	"fmt"
	"slices"

	"github.com/pondage/pondage/internal/block"
)

// Cells stores cells: each holds all accumulators of one group and pane. A cell is named by a number; numbers of freed
// cells are used again. The words of a cell lie side by side in one slab.
type Cells struct {
	layout *Layout
	stride int
	words  []uint64
	free   []uint32
	live   int
	fixed  pool[fixed]
	texts  pool[text]

	tracking uint64   // touchedBit while touched cells are listed (freeze.go), else 0
	touched  []uint32 // that MergePartials has changed; may list cells that are freed by now, or twice
}

// NewCells returns an empty store.
func NewCells(l *Layout) *Cells { return &Cells{layout: l, stride: l.stride} }

// Alloc returns a new cell, without rows.
func (c *Cells) Alloc() uint32 {
	c.live++
	if n := len(c.free); n > 0 {
		cell := c.free[n-1]
		c.free = c.free[:n-1]
		copy(c.words[int(cell)*c.stride:], c.layout.initial)
		return cell
	}
	cell := uint32(len(c.words) / c.stride)
	if len(c.words)+c.stride > cap(c.words) {
		c.grow()
	}
	c.words = append(c.words, c.layout.initial...)
	return cell
}

// maxDoubling is up to where the slab doubles, in words: 8 MiB. append would grow it by a quarter, and copy each cell five
// times; beyond, that is the better bargain for the memory that stays unused.
const maxDoubling = 1 << 20

func (c *Cells) grow() {
	c.words = slices.Grow(c.words, max(c.stride, min(len(c.words), maxDoubling)))
}

// Free gives the cells back.
func (c *Cells) Free(cells []uint32) {
	if c.layout.pooled {
		for _, a := range c.layout.accs {
			if a.pooled() {
				a.release(c, cells)
			}
		}
	}
	if c.tracking != 0 {
		for _, cell := range cells {
			c.words[int(cell)*c.stride+rowsOffset] = 0 // not touched: the number may be used again
		}
	}
	c.live -= len(cells)
	c.free = append(c.free, cells...)
}

// Reset frees all cells and keeps the memory.
func (c *Cells) Reset() {
	c.words, c.free, c.live, c.touched = c.words[:0], c.free[:0], 0, c.touched[:0]
	c.fixed.reset()
	c.texts.reset()
}

// Len returns the number of cells in use.
func (c *Cells) Len() int { return c.live }

// MemBytes is the memory held, used or not.
func (c *Cells) MemBytes() int {
	const wordBytes, numberBytes = 8, 4
	n := wordBytes*cap(c.words) + numberBytes*(cap(c.free)+cap(c.touched))
	for _, f := range c.fixed.items {
		n += wordBytes * cap(f.words)
	}
	for _, t := range c.texts.items {
		n += cap(t.bytes)
	}
	return n
}

// UsedBytes is about the memory of the cells in use, without their texts.
func (c *Cells) UsedBytes() int {
	const wordBytes = 8
	return c.live * c.stride * wordBytes
}

// Count returns the rows of a cell.
func (c *Cells) Count(cell uint32) int64 {
	return int64(c.words[int(cell)*c.stride+rowsOffset] &^ touchedBit)
}

// TextBytes is about the memory that the texts of the cell take in columns.
func (c *Cells) TextBytes(cell uint32) int {
	n := 0
	for _, offset := range c.layout.texts {
		if h := c.at(cell, offset)[0]; h != 0 {
			n += len(c.texts.get(uint32(h)).bytes)
		}
	}
	return n
}

// at returns the words of a cell from the offset on.
func (c *Cells) at(cell uint32, offset int) []uint64 {
	base := int(cell) * c.stride
	return c.words[base+offset : base+c.stride]
}

// Rows are rows to be added to cells: row Sel[i] of the columns goes into Cells[i].
type Rows struct {
	Cells []uint32
	Sel   []int32
	Args  []*block.Column
	// Event times, partitions and offsets, for a layout that is Ordered.
	Ts, Partition, Offset []int64
}

// Add adds rows.
func (c *Cells) Add(in Rows) {
	for _, cell := range in.Cells {
		c.words[int(cell)*c.stride+rowsOffset]++
	}
	for _, a := range c.layout.accs {
		a.add(c, in)
	}
}

// Merge merges src[i] into dst[i], for each i in order. A cell of dst is none of src.
func (c *Cells) Merge(dst, src []uint32) {
	for i, cell := range dst {
		c.words[int(cell)*c.stride+rowsOffset] += uint64(c.Count(src[i]))
	}
	for _, a := range c.layout.accs {
		a.merge(c, dst, src)
	}
}

// AppendPartials appends the partial form of the cells to the columns, which are those of PartialFields and empty. A
// column that is empty afterwards is to be left out.
func (c *Cells) AppendPartials(cols []*block.Column, cells []uint32) {
	for _, cell := range cells {
		cols[0].AppendInt(c.Count(cell))
	}
	at := 1
	for _, a := range c.layout.accs {
		n := len(a.fields())
		a.appendPartials(c, cols[at:at+n], cells)
		at += n
	}
}

// MergePartials merges row i of the columns into cells[i]. The columns are those of PartialFields; one that was left out
// is nil, and so are all of an accumulator that the partials do not have (BindForeign). An error means that the columns were
// not made by AppendPartials.
func (c *Cells) MergePartials(cols []*block.Column, cells []uint32) error {
	rows := cols[0].Int
	for i, cell := range cells {
		if rows[i] < 1 {
			return fmt.Errorf("partial %d has %d rows", i, rows[i])
		}
		w := &c.words[int(cell)*c.stride+rowsOffset]
		if *w&touchedBit != c.tracking {
			*w |= touchedBit
			c.touched = append(c.touched, cell)
		}
		*w += uint64(rows[i])
	}
	at := 1
	for _, a := range c.layout.accs {
		n := len(a.fields())
		part := cols[at : at+n]
		if _, ok := a.(*count); ok && part[0] == nil {
			part = cols[:1] // equal to _rows
		}
		at += n
		if part[0] == nil {
			continue
		}
		if err := a.mergePartials(c, part, cells); err != nil {
			return err
		}
	}
	return nil
}
