package agg

import "slices"

// touchedBit in a cell's number of rows says that the cell is listed as touched. The word is read and written by every
// merge anyway, so that tracking costs no access to memory. No cell comes to 2⁶³ rows.
const touchedBit = 1 << 63

// Track begins to list the cells that MergePartials changes, for Touched.
func (c *Cells) Track() { c.tracking = touchedBit }

// Touch lists cells as touched.
func (c *Cells) Touch(cells []uint32) {
	for _, cell := range cells {
		if w := &c.words[int(cell)*c.stride+rowsOffset]; *w&touchedBit == 0 && *w != 0 {
			*w |= touchedBit
			c.touched = append(c.touched, cell)
		}
	}
}

// Touched returns the cells that have changed since they were last taken so, each once, and takes them from the list.
// The result is valid until the next merge.
func (c *Cells) Touched() []uint32 {
	left := c.touched[:0]
	for _, cell := range c.touched {
		if w := &c.words[int(cell)*c.stride+rowsOffset]; *w&touchedBit != 0 {
			*w &^= touchedBit
			left = append(left, cell)
		}
	}
	c.touched = left[:0]
	return left
}

// Copy returns a store with copies of the cells, numbered from 0 in their order. It shares nothing with this one.
func (c *Cells) Copy(cells []uint32) *Cells {
	out := NewCells(c.layout)
	out.words = make([]uint64, 0, len(cells)*c.stride)
	for _, cell := range cells {
		base := int(cell) * c.stride
		out.words = append(out.words, c.words[base:base+c.stride]...)
		out.words[len(out.words)-c.stride+rowsOffset] &^= touchedBit
	}
	out.live = len(cells)
	if !c.layout.pooled {
		return out
	}
	all := make([]uint32, len(cells))
	for i := range all {
		all[i] = uint32(i)
	}
	for _, a := range c.layout.accs {
		if a.pooled() {
			a.adopt(out, c, all)
		}
	}
	return out
}

func (c *Cells) adoptTexts(from *Cells, offset int, cells []uint32) {
	for _, cell := range cells {
		if w := c.at(cell, offset); w[0] != 0 {
			h, t := c.texts.take()
			t.bytes = slices.Clone(from.texts.get(uint32(w[0])).bytes)
			w[0] = uint64(h)
		}
	}
}

func (c *Cells) adoptFixed(from *Cells, offset int, cells []uint32) {
	for _, cell := range cells {
		if w := c.at(cell, offset); boxed(w[0]) {
			h, f := c.fixed.take()
			was := from.fixed.get(unboxed(w[0]))
			*f = *was
			f.words = slices.Clone(was.words)
			w[0] = box(h)
		}
	}
}
