package agg

import (
	"math"

	"github.com/pondage/pondage/internal/block"
)

// floatSum is the exact sum of doubles: hi + lo, unevaluated. When an addition does not fit the two without error, the
// sum moves to a fixed of the pool, and the word of hi becomes a NaN that carries the handle (hi itself is never NaN or
// infinite: such values are counted in a fixed).
type floatSum struct {
	arg, offset int
}

// Boxed handles: quiet NaNs with the handle in the low 32 bits.
const (
	boxTag  = 0x7ff8_b0c5_0000_0000
	boxMask = 0xffff_ffff_0000_0000
)

func boxed(word uint64) bool     { return word&boxMask == boxTag }
func box(handle uint32) uint64   { return boxTag | uint64(handle) }
func unboxed(word uint64) uint32 { return uint32(word) }

// twoSum returns s = fl(a+b) and e with s + e = a + b exactly (Knuth, TAOCP 2, 4.2.2 theorem B), also for subnormal
// numbers. e is NaN when s is infinite or NaN.
func twoSum(a, b float64) (s, e float64) {
	s = a + b
	t := s - a
	return s, (a - (s - t)) + (b - t)
}

func (a *floatSum) words() int       { return 2 }
func (a *floatSum) place(offset int) { a.offset = offset }
func (a *floatSum) init([]uint64)    {}
func (a *floatSum) pooled() bool     { return true }

func (a *floatSum) release(c *Cells, cells []uint32) { c.releaseFixed(a.offset, cells) }

func (a *floatSum) adopt(c, from *Cells, cells []uint32) { c.adoptFixed(from, a.offset, cells) }

// releaseFixed gives back the boxed fixed numbers at the offset of the cells.
func (c *Cells) releaseFixed(offset int, cells []uint32) {
	for _, cell := range cells {
		if w := c.words[int(cell)*c.stride+offset]; boxed(w) {
			c.fixed.put(unboxed(w))
		}
	}
}

// spill returns the fixed that the words at the offset hold, after moving an expansion of n doubles into one.
func (c *Cells) spill(cell uint32, offset, n int, s span) *fixed {
	w := c.at(cell, offset)[:n]
	if boxed(w[0]) {
		return c.fixed.get(unboxed(w[0]))
	}
	handle, f := c.fixed.take()
	f.clear(s)
	for i := range w {
		f.add(math.Float64frombits(w[i]), s)
		w[i] = 0
	}
	w[0] = box(handle)
	return f
}

func (a *floatSum) add(c *Cells, in Rows) {
	col := in.Args[a.arg]
	values, null := col.Float, col.Null
	for i, cell := range in.Cells {
		r := in.Sel[i]
		if null != nil && null[r] {
			continue
		}
		a.add1(c, cell, values[r])
	}
}

// add1 adds x to the cell. The error of the second addition is NaN when hi is boxed, x is not finite or a sum leaves the
// range, so that one comparison guards them all.
func (a *floatSum) add1(c *Cells, cell uint32, x float64) {
	at := int(cell)*c.stride + a.offset
	w := c.words[at : at+2 : at+2]
	hi, e := twoSum(math.Float64frombits(w[0]), x)
	lo, e := twoSum(math.Float64frombits(w[1]), e)
	if e != 0 {
		c.spill(cell, a.offset, 2, sumSpan).add(x, sumSpan)
		return
	}
	w[0], w[1] = math.Float64bits(hi), math.Float64bits(lo)
}

func (a *floatSum) merge(c *Cells, dst, src []uint32) {
	for i, cell := range dst {
		from := c.at(src[i], a.offset)
		if boxed(from[0]) {
			c.spill(cell, a.offset, 2, sumSpan).merge(c.fixed.get(unboxed(from[0])))
			continue
		}
		a.addPair(c, cell, math.Float64frombits(from[0]), math.Float64frombits(from[1]))
	}
}

// addPair adds hi + lo to the cell.
func (a *floatSum) addPair(c *Cells, cell uint32, hi, lo float64) {
	a.add1(c, cell, hi)
	if lo != 0 {
		a.add1(c, cell, lo)
	}
}

func (a *floatSum) fields() []field {
	return []field{
		{block.Field{Name: columnName(a.arg, "h"), Type: block.Float64}, false},
		{block.Field{Name: columnName(a.arg, "l"), Type: block.Float64}, false},
		{block.Field{Name: columnName(a.arg, "hx"), Type: block.String}, true},
	}
}

func (a *floatSum) appendPartials(c *Cells, cols []*block.Column, cells []uint32) {
	c.appendExpansions(cols, cells, a.offset)
}

// appendExpansions appends the expansions at the offset of the cells to all columns but the last, those that are boxed
// to the last, which stays empty when none is.
func (c *Cells) appendExpansions(cols []*block.Column, cells []uint32, offset int) {
	n := len(cols) - 1
	for i, cell := range cells {
		w := c.at(cell, offset)[:n]
		if boxed(w[0]) {
			for _, col := range cols[:n] {
				col.AppendFloat(0)
			}
			padNulls(cols[n], i)
			cols[n].AppendBytes(appendFixed(nil, c.fixed.get(unboxed(w[0]))))
			continue
		}
		for j, col := range cols[:n] {
			col.AppendFloat(math.Float64frombits(w[j]))
		}
	}
	endOptional(cols[n], len(cells))
}

// padNulls appends nulls until the column has n rows.
func padNulls(col *block.Column, n int) {
	for col.Len() < n {
		col.AppendNull()
	}
}

// endOptional completes an optional column of n rows; one that is empty is left out.
func endOptional(col *block.Column, n int) {
	if col.Len() > 0 {
		padNulls(col, n)
	}
}

func (a *floatSum) mergePartials(c *Cells, cols []*block.Column, cells []uint32) error {
	hi, lo, wide := cols[0].Float, cols[1].Float, cols[2]
	for i, cell := range cells {
		if wide != nil && !wide.IsNull(i) {
			if err := c.mergeFixed(cell, a.offset, a.words(), sumSpan, wide.Bytes(i)); err != nil {
				return err
			}
			continue
		}
		a.addPair(c, cell, hi[i], lo[i])
	}
	return nil
}

// mergeFixed merges the text form of a fixed into the n words at the offset of the cell.
func (c *Cells) mergeFixed(cell uint32, offset, n int, s span, text []byte) error {
	var o fixed
	if err := o.parse(string(text), s); err != nil {
		return err
	}
	c.spill(cell, offset, n, s).merge(&o)
	return nil
}
