package agg

import "slices"

// touchedBit in a cell's number of rows says that the cell is listed as touched. The word is read and written by every
// merge anyway, so that tracking costs no access to memory. No cell comes to 2⁶³ rows.
const touchedBit = 1 << 63

// Track begins to list the cells that MergePartials changes, for TakeTouched.
func (c *Cells) Track() { c.tracking = touchedBit }

// Untracked merges partials without listing the cells as changed.
func (c *Cells) Untracked(merge func() error) error {
	defer func(was uint64) { c.tracking = was }(c.tracking)
	c.tracking = 0
	return merge()
}

// IsTouched tells whether the cell is listed.
func (c *Cells) IsTouched(cell uint32) bool {
	return c.words[int(cell)*c.stride+rowsOffset]&touchedBit != 0
}

// Touch lists cells as touched.
func (c *Cells) Touch(cells []uint32) {
	for _, cell := range cells {
		if w := &c.words[int(cell)*c.stride+rowsOffset]; *w&touchedBit == 0 && *w != 0 {
			*w |= touchedBit
			c.touched = append(c.touched, cell)
		}
	}
}

// TakeTouched returns copies of the cells that have changed since they were last taken, and their numbers here; there they are
// numbered from 0 in this order. It shares nothing with this store.
func (c *Cells) TakeTouched() (copies *Cells, taken []uint32) {
	copies, taken = c.empty(len(c.touched)), make([]uint32, 0, len(c.touched))
	for _, cell := range c.touched {
		// Freed ones are not touched any more; one that is listed twice is taken once.
		if c.words[int(cell)*c.stride+rowsOffset]&touchedBit != 0 {
			c.take(copies, cell)
			taken = append(taken, cell)
		}
	}
	c.touched = c.touched[:0]
	return c.filled(copies, taken), taken
}

// Take is TakeTouched for the cells, whether they have changed or not. No other one counts as changed afterwards.
func (c *Cells) Take(cells []uint32) (copies *Cells) {
	copies = c.empty(len(cells))
	for _, cell := range cells {
		c.take(copies, cell)
	}
	c.touched = c.touched[:0]
	return c.filled(copies, cells)
}

// Copy returns copies of the cells, as Take does, and leaves what is listed as it is.
func (c *Cells) Copy(cells []uint32) (copies *Cells) {
	copies = c.empty(len(cells))
	for _, cell := range cells {
		copies.words = append(copies.words, c.words[int(cell)*c.stride:][:c.stride]...)
		copies.words[len(copies.words)-c.stride+rowsOffset] &^= touchedBit
	}
	return c.filled(copies, cells)
}

func (c *Cells) empty(cells int) *Cells {
	out := NewCells(c.layout)
	out.words = make([]uint64, 0, cells*c.stride)
	return out
}

// take copies the words of a cell: one look at its memory.
func (c *Cells) take(to *Cells, cell uint32) {
	words := c.words[int(cell)*c.stride:][:c.stride]
	words[rowsOffset] &^= touchedBit
	to.words = append(to.words, words...)
}

// filled gives the copies what their words refer to.
func (c *Cells) filled(copies *Cells, cells []uint32) *Cells {
	copies.live = len(cells)
	if !c.layout.pooled {
		return copies
	}
	all := make([]uint32, len(cells))
	for i := range all {
		all[i] = uint32(i)
	}
	for _, a := range c.layout.accs {
		if a.pooled() {
			a.adopt(copies, c, all)
		}
	}
	return copies
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
