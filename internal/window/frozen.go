package window

import (
	"bytes"
	"cmp"
	"errors"
	"slices"

	"github.com/pondage/pondage/internal/agg"
	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/tablehash"
)

// Frozen is the state, or what of it has changed, at one moment. It shares nothing that the state changes afterwards: keys lie
// in an arena that is only appended to or replaced. So another goroutine may write it.
type Frozen struct {
	Partial Partial // of the state

	keys   block.Schema
	text   bool // a key is the text of the only column
	layout *agg.Layout
	cells  *agg.Cells // by row
	rows   []frozenRow
	arena  []byte
	taken  []uint32 // the cells that were frozen, in the state's numbers

	since uint64       // the epoch from which on changes are in it
	cold  *frozenSpill // nil: nothing of it is spilled
}

// frozenRow is what a cell is for.
type frozenRow struct {
	pane, from ident.EventMs
	offset     int // of the key
	length     int32
	// bucket is the one that has the rest of the cell, where it is cold: spilled.
	bucket uint8
	cold   bool
}

// Len is the number of frozen cells; of spilled ones about, but 0 only when there are none.
func (f *Frozen) Len() int { return len(f.rows) + f.cold.len() }

// key is the encoded key of a row; nil for the group whose text is null.
func (f *Frozen) key(r *frozenRow) []byte {
	if r.length == nullKey {
		return nil
	}
	return f.arena[r.offset : r.offset+int(r.length)]
}

// Partials hands out everything as batches of partials (doc.go), of at most so many rows, each ordered by pane, key and from.
// A batch is valid until emit returns, whose error ends it. To be called once: it gives back what is held of a Spill, as
// GiveBack does. Errors: those of emit and of the Spill.
func (f *Frozen) Partials(rows int, emit func(*block.Batch) error) error {
	order := make([]uint32, 0, len(f.rows))
	for i := range f.rows {
		if !f.rows[i].cold {
			order = append(order, uint32(i))
		}
	}
	f.sort(order)
	full := f.newBatch()
	for part := range slices.Chunk(order, rows) {
		if err := emit(f.build(full, part)); err != nil {
			return errors.Join(err, f.cold.close())
		}
	}
	return errors.Join(f.cold.partials(f, rows, emit), f.cold.close())
}

func (f *Frozen) sort(order []uint32) {
	slices.SortFunc(order, func(a, b uint32) int {
		x, y := &f.rows[a], &f.rows[b]
		return cmp.Or(cmp.Compare(x.pane, y.pane), bytes.Compare(f.key(x), f.key(y)), cmp.Compare(x.length, y.length), cmp.Compare(x.from, y.from))
	})
}

// newBatch returns a batch with all columns of partials.
func (f *Frozen) newBatch() *block.Batch {
	schema := append(slices.Clone(f.keys), block.Field{Name: ColumnPane, Type: block.Timestamp}, block.Field{Name: ColumnFrom, Type: block.Timestamp})
	return block.NewBatch(append(schema, f.layout.PartialFields()...), 0)
}

// build makes the batch of the rows; a column that is null throughout is left out.
func (f *Frozen) build(full *block.Batch, part []uint32) *block.Batch {
	full.Reset()
	n := len(f.keys)
	pane, from := full.Cols[n], full.Cols[n+1]
	restricted := slices.ContainsFunc(part, func(i uint32) bool { return f.rows[i].from != fromAll })
	for _, i := range part {
		r := &f.rows[i]
		f.appendKey(full.Cols[:n], r)
		pane.AppendInt(int64(r.pane))
		switch {
		case !restricted:
		case r.from == fromAll:
			from.AppendNull()
		default:
			from.AppendInt(int64(r.from))
		}
	}
	f.cells.AppendPartials(full.Cols[n+2:], part)
	out := &block.Batch{}
	for i, c := range full.Cols {
		if c.Len() == len(part) {
			out.Schema, out.Cols = append(out.Schema, full.Schema[i]), append(out.Cols, c)
		}
	}
	return out
}

func (f *Frozen) appendKey(cols []*block.Column, r *frozenRow) {
	switch {
	case r.length == nullKey:
		cols[0].AppendNull()
	case f.text:
		cols[0].AppendBytes(f.key(r))
	default:
		if err := tablehash.DecodeKey(f.key(r), cols); err != nil {
			panic("window: " + err.Error()) // the table encoded it itself
		}
	}
}
