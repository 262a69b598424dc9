package agg

import "github.com/pondage/pondage/internal/block"

// count is the number of rows whose argument is not null. Every argument has one: it tells the other accumulators'
// "no value" from a value.
type count struct {
	arg, offset int
}

func (a *count) words() int               { return 1 }
func (a *count) place(offset int)         { a.offset = offset }
func (a *count) init([]uint64)            {}
func (a *count) pooled() bool             { return false }
func (a *count) release(*Cells, []uint32) {}

func (a *count) adopt(*Cells, *Cells, []uint32) {}

func (a *count) of(c *Cells, cell uint32) int64 {
	return int64(c.words[int(cell)*c.stride+a.offset])
}

func (a *count) add(c *Cells, in Rows) {
	null := in.Args[a.arg].Null
	if null == nil {
		for _, cell := range in.Cells {
			c.words[int(cell)*c.stride+a.offset]++
		}
		return
	}
	for i, cell := range in.Cells {
		if !null[in.Sel[i]] {
			c.words[int(cell)*c.stride+a.offset]++
		}
	}
}

func (a *count) merge(c *Cells, dst, src []uint32) {
	for i, cell := range dst {
		c.words[int(cell)*c.stride+a.offset] += c.words[int(src[i])*c.stride+a.offset]
	}
}

func (a *count) fields() []field {
	return []field{{block.Field{Name: columnName(a.arg, "n"), Type: block.Int64}, true}}
}

// appendPartials leaves the column empty when all counts equal the rows.
func (a *count) appendPartials(c *Cells, cols []*block.Column, cells []uint32) {
	for _, cell := range cells {
		if a.of(c, cell) != c.Count(cell) {
			a.appendCounts(c, cols[0], cells)
			return
		}
	}
}

func (a *count) appendCounts(c *Cells, col *block.Column, cells []uint32) {
	for _, cell := range cells {
		col.AppendInt(a.of(c, cell))
	}
}

func (a *count) mergePartials(c *Cells, cols []*block.Column, cells []uint32) error {
	n := cols[0].Int
	for i, cell := range cells {
		c.words[int(cell)*c.stride+a.offset] += uint64(n[i])
	}
	return nil
}
