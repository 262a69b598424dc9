package window

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/pondage/pondage/internal/agg"
	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/tablehash"
)

// Track makes the state remember which of its cells change, for FreezeTouched. To be called before the first Merge; after a
// restore what is there counts as unchanged.
func (s *State) Track() { s.cells.Track() }

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
}

// frozenRow is what a cell is for.
type frozenRow struct {
	pane, from ident.EventMs
	offset     int // of the key
	length     int32
}

// FreezeAll freezes the whole state; it begins a new chain of files.
func (s *State) FreezeAll() *Frozen {
	var cells []uint32
	s.eachCell(func(cell uint32) {
		if s.cells.Count(cell) > 0 {
			cells = append(cells, cell)
		}
	})
	return s.freeze(s.cells.Take(cells), cells)
}

// FreezeTouched freezes what has changed since the last freeze. To be called after Changed, when nothing waits to be
// emitted.
func (s *State) FreezeTouched() *Frozen { return s.freeze(s.cells.TakeTouched()) }

// GiveBack says that what was frozen has not become durable: its cells count as changed again.
func (s *State) GiveBack(f *Frozen) {
	// A number that another cell has by now is touched as well, or about to be; to write it once more is harmless.
	s.cells.Touch(slices.DeleteFunc(f.taken, func(cell uint32) bool { return int(cell) >= len(s.heads) || s.cells.Count(cell) == 0 }))
}

func (s *State) freeze(copies *agg.Cells, cells []uint32) *Frozen {
	f := &Frozen{
		Partial: s.partial, keys: s.cfg.Keys, text: s.groups.text, layout: s.layout, cells: copies,
		rows: make([]frozenRow, len(cells)), arena: s.groups.arena[:len(s.groups.arena):len(s.groups.arena)], taken: cells,
	}
	if len(s.panes.list) == 0 || s.panes.list[0].start > s.partial.Through {
		f.Partial = Partial{} // all that it was of is purged
	}
	for i, cell := range cells {
		h := &s.heads[cell]
		g := &s.groups.list[h.group]
		f.rows[i] = frozenRow{pane: h.pane, from: h.from, offset: g.offset, length: g.length}
	}
	return f
}

// eachCell calls do for every cell of every pane.
func (s *State) eachCell(do func(cell uint32)) {
	for _, p := range s.panes.list {
		for _, first := range p.cells {
			for cell, ok := first, true; ok; {
				do(cell)
				next := s.heads[cell].next
				cell, ok = next-1, next != 0
			}
		}
	}
}

// Len is the number of frozen cells.
func (f *Frozen) Len() int { return len(f.rows) }

// key is the encoded key of a row; nil for the group whose text is null.
func (f *Frozen) key(r *frozenRow) []byte {
	if r.length == nullKey {
		return nil
	}
	return f.arena[r.offset : r.offset+int(r.length)]
}

// Partials hands out everything as batches of partials (doc.go), ordered by pane, key and from; of at most so many rows. A
// batch is valid until emit returns, whose error ends it.
func (f *Frozen) Partials(rows int, emit func(*block.Batch) error) error {
	order := make([]uint32, len(f.rows))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(a, b uint32) int {
		x, y := &f.rows[a], &f.rows[b]
		return cmp.Or(cmp.Compare(x.pane, y.pane), bytes.Compare(f.key(x), f.key(y)), cmp.Compare(x.length, y.length), cmp.Compare(x.from, y.from))
	})
	schema := append(slices.Clone(f.keys), block.Field{Name: ColumnPane, Type: block.Timestamp}, block.Field{Name: ColumnFrom, Type: block.Timestamp})
	full := block.NewBatch(append(schema, f.layout.PartialFields()...), 0)
	for part := range slices.Chunk(order, rows) {
		full.Reset()
		if err := emit(f.build(full, part)); err != nil {
			return err
		}
	}
	return nil
}

// build makes the batch of the rows; a column that is null throughout is left out.
func (f *Frozen) build(full *block.Batch, part []uint32) *block.Batch {
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
