package agg

import (
	"math"

	"github.com/pondage/pondage/internal/block"
)

// floatSquares is the exact sum of the squares of doubles: the unevaluated sum of three doubles (a square has up to 106
// binary digits), or a boxed fixed, as floatSum. Values that are not finite are left out: the sum of the same argument
// counts them.
type floatSquares struct {
	arg, offset int
}

const squareWords = 3

func (a *floatSquares) words() int       { return squareWords }
func (a *floatSquares) place(offset int) { a.offset = offset }
func (a *floatSquares) init([]uint64)    {}
func (a *floatSquares) pooled() bool     { return true }

func (a *floatSquares) release(c *Cells, cells []uint32) { c.releaseFixed(a.offset, cells) }

func (a *floatSquares) adopt(c, from *Cells, cells []uint32) { c.adoptFixed(from, a.offset, cells) }

func (a *floatSquares) add(c *Cells, in Rows) {
	col := in.Args[a.arg]
	for i, cell := range in.Cells {
		if r := int(in.Sel[i]); !col.IsNull(r) {
			a.addSquare(c, cell, col.Float[r])
		}
	}
}

// The range in which the two parts of a square, x·x = p + e, are exact doubles: p does not overflow, and the lowest bit
// of e, 106 binary digits below p, is not below the smallest double.
const (
	maxExactSquare = 0x1p1000
	minExactSquare = 0x1p-960
)

func (a *floatSquares) addSquare(c *Cells, cell uint32, x float64) {
	p := x * x
	switch {
	case p >= minExactSquare && p <= maxExactSquare:
		w := c.at(cell, a.offset)[:squareWords:squareWords]
		var sum [squareWords]float64
		for i := range sum {
			sum[i] = math.Float64frombits(w[i])
		}
		if add3(&sum, p) && add3(&sum, math.FMA(x, x, -p)) {
			for i := range sum {
				w[i] = math.Float64bits(sum[i])
			}
			return
		}
		c.spill(cell, a.offset, squareWords, squareSpan).addSquare(x, squareSpan)
	case x == 0 || x-x != 0: // nothing to add, or not finite
	default:
		c.spill(cell, a.offset, squareWords, squareSpan).addSquare(x, squareSpan)
	}
}

// add3 adds x to the sum; false, and the sum is spoilt, when that is not exact.
func add3(sum *[squareWords]float64, x float64) bool {
	var e float64
	sum[0], e = twoSum(sum[0], x)
	sum[1], e = twoSum(sum[1], e)
	sum[2], e = twoSum(sum[2], e)
	return e == 0
}

// addExpansion adds the exact sum of the doubles to the cell.
func (a *floatSquares) addExpansion(c *Cells, cell uint32, parts [squareWords]float64) {
	w := c.at(cell, a.offset)[:squareWords:squareWords]
	var sum [squareWords]float64
	for i := range sum {
		sum[i] = math.Float64frombits(w[i])
	}
	if !boxed(w[0]) && add3(&sum, parts[0]) && add3(&sum, parts[1]) && add3(&sum, parts[2]) {
		for i := range sum {
			w[i] = math.Float64bits(sum[i])
		}
		return
	}
	f := c.spill(cell, a.offset, squareWords, squareSpan)
	for _, p := range parts {
		f.add(p, squareSpan)
	}
}

func (a *floatSquares) merge(c *Cells, dst, src []uint32) {
	for i, cell := range dst {
		from := c.at(src[i], a.offset)[:squareWords]
		if boxed(from[0]) {
			c.spill(cell, a.offset, squareWords, squareSpan).merge(c.fixed.get(unboxed(from[0])))
			continue
		}
		a.addExpansion(c, cell, [squareWords]float64{math.Float64frombits(from[0]), math.Float64frombits(from[1]), math.Float64frombits(from[2])})
	}
}

func (a *floatSquares) fields() []field {
	return []field{
		{block.Field{Name: columnName(a.arg, "q0"), Type: block.Float64}, false},
		{block.Field{Name: columnName(a.arg, "q1"), Type: block.Float64}, false},
		{block.Field{Name: columnName(a.arg, "q2"), Type: block.Float64}, false},
		{block.Field{Name: columnName(a.arg, "qx"), Type: block.String}, true},
	}
}

func (a *floatSquares) appendPartials(c *Cells, cols []*block.Column, cells []uint32) {
	c.appendExpansions(cols, cells, a.offset)
}

func (a *floatSquares) mergePartials(c *Cells, cols []*block.Column, cells []uint32) error {
	wide := cols[squareWords]
	for i, cell := range cells {
		if wide != nil && !wide.IsNull(i) {
			if err := c.mergeFixed(cell, a.offset, squareWords, squareSpan, wide.Bytes(i)); err != nil {
				return err
			}
			continue
		}
		a.addExpansion(c, cell, [squareWords]float64{cols[0].Float[i], cols[1].Float[i], cols[2].Float[i]})
	}
	return nil
}
