package expr

import (
	"slices"

	"github.com/pondage/pondage/internal/block"
)

// columnKernel is a reference to an input column: it is passed on as it is.
type columnKernel struct{ index int }

func (k columnKernel) eval(b *batch, _ []int32) vec { return vec{col: b.in[k.index], mask: -1} }

// constantKernel is a value known at planning, one row for all.
type constantKernel struct{ value *block.Column }

func (k *constantKernel) eval(*batch, []int32) vec { return vec{col: k.value, mask: 0} }

// slotKernel is a value that a letKernel above it has computed.
type slotKernel struct{ slot int }

func (k slotKernel) eval(b *batch, _ []int32) vec { return b.slots[k.slot] }

// letKernel evaluates a value once for the several uses of it in the body.
type letKernel struct {
	slot        int
	value, body kernel
}

func (k *letKernel) eval(b *batch, sel []int32) vec {
	v := k.value.eval(b, sel)
	for len(b.slots) <= k.slot {
		b.slots = append(b.slots, vec{})
	}
	b.slots[k.slot] = vec{col: v.col, mask: v.mask} // not the slots' to release
	out := k.body.eval(b, sel)
	b.release(v)
	return out
}

// repeat writes a constant into every row of a column that the program keeps.
func (p *Program) repeat(value *block.Column, rows int) *block.Column {
	if p.spread == nil {
		p.spread = &block.Column{Type: p.Type()}
		p.spread.Reset()
	}
	c := p.spread
	if c.Len() > rows {
		c.Truncate(rows)
	}
	for c.Len() < rows {
		c.AppendFrom(value, 0)
	}
	return c
}

// oneRow copies the single row of an evaluated constant.
func oneRow(v vec) *block.Column {
	c := &block.Column{Type: v.col.Type}
	c.Reset()
	c.AppendFrom(v.col, 0)
	if c.Null != nil {
		c.Null = slices.Clip(c.Null)
	}
	return c
}
