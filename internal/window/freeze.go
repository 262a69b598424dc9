package window

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/pondage/pondage/internal/agg"
	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/tablehash"
)

// Track makes the state remember which of its cells change, for FreezeTouched. To be called before the first Merge, or
// after a restore; what is there counts as changed.
func (s *State) Track() {
	var all []uint32
	s.eachCell(func(cell uint32) { all = append(all, cell) })
	s.cells.Track(all)
}

// Frozen is the state, or what of it has changed, at one moment. It shares nothing that the state changes afterwards: keys lie
// in an arena that is only appended to or replaced. So another goroutine may write it.
type Frozen struct {
	Watermark ident.EventMs
	keys      block.Schema
	text      bool // a key is the text of the only column
	layout    *agg.Layout
	cells     *agg.Cells // by row
	rows      []frozenRow
	arena     []byte
	taken     []uint32 // the cells that were frozen, in the state's numbers
}

// frozenRow is what a cell is for.
type frozenRow struct {
	pane, from ident.EventMs
	offset     int // of the key
	length     int32
}

// FreezeAll freezes the whole state; it begins a new chain of files.
func (s *State) FreezeAll() *Frozen {
	s.cells.Touched() // all of them are in it
	var cells []uint32
	s.eachCell(func(cell uint32) {
		if s.cells.Count(cell) > 0 {
			cells = append(cells, cell)
		}
	})
	return s.freeze(cells)
}

// FreezeTouched freezes what has changed since the last freeze. To be called after Changed, when nothing waits to be
// emitted.
func (s *State) FreezeTouched() *Frozen { return s.freeze(slices.Clone(s.cells.Touched())) }

// GiveBack says that what was frozen has not become durable: its cells count as changed again.
func (s *State) GiveBack(f *Frozen) {
	// A number that another cell has by now is touched as well, or about to be; to write it once more is harmless.
	s.cells.Touch(slices.DeleteFunc(f.taken, func(cell uint32) bool { return int(cell) >= len(s.heads) || s.cells.Count(cell) == 0 }))
}

func (s *State) freeze(cells []uint32) *Frozen {
	f := &Frozen{
		Watermark: s.watermark, keys: s.cfg.Keys, text: s.groups.text, layout: s.layout, cells: s.cells.Copy(cells),
		rows: make([]frozenRow, len(cells)), arena: s.groups.arena[:len(s.groups.arena):len(s.groups.arena)], taken: cells,
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

// Restoring brings a new State back to what files hold. They are taken the newest first: what a newer one has of a (group,
// pane, from), older ones do not change.
type Restoring struct {
	s      *State
	before int      // cells from here on are of the present file
	trash  uint32   // takes what a newer file has
	fresh  []uint32 // groups that the present batch has brought
}

// Restore begins to bring the state back, which is new, at the watermark that it had. Windows that were emitted before are
// not emitted again.
func (s *State) Restore(watermark ident.EventMs) *Restoring {
	s.watermark = watermark
	return &Restoring{s: s, trash: s.newCell(cellHead{})}
}

// NextFile says that an older file follows.
func (r *Restoring) NextFile() { r.before = len(r.s.heads) }

// Take takes a batch of a file. What is purged by the watermark is left out. Errors: ErrPartial, wrapped.
func (r *Restoring) Take(b *block.Batch) error {
	s := r.s
	p, err := s.bind(b)
	if err != nil {
		return err
	}
	s.sizeScratch(b.Rows())
	r.fresh = r.fresh[:0]
	s.groups.resolve(s.group, p.keys, s.sel, func(group uint32, _ int) { r.fresh = append(r.fresh, group) })
	for i, group := range s.group {
		from := fromAll
		if p.from != nil && !p.from.IsNull(i) {
			from = ident.EventMs(p.from.Int[i])
		}
		if s.target[i], err = r.cellFor(group, ident.EventMs(p.pane[i]), from); err != nil {
			return fmt.Errorf("restore row %d of %d: %w", i, b.Rows(), err)
		}
	}
	if err := s.cells.MergePartials(p.accs, s.target); err != nil {
		return fmt.Errorf("%w: %w", ErrPartial, err)
	}
	for _, group := range r.fresh {
		if s.groups.list[group].state.cells == 0 {
			s.groups.remove(group) // all that it had is purged
		}
	}
	return nil
}

// cellFor returns the cell for a partial of a file: a new one, or the trash where a newer file has it, or it is purged.
func (r *Restoring) cellFor(group uint32, start, from ident.EventMs) (uint32, error) {
	s := r.s
	if s.windows.Pane(start) == start && s.windows.Holds(start) {
		var probe pane
		s.windows.describe(&probe, start)
		if s.purgeable(probe.lastEnd) {
			return r.trash, nil
		}
	}
	p, err := s.paneFor(start)
	if err != nil {
		return 0, err
	}
	cell, found := p.find(s.heads, group)
	if !found {
		cell = s.newCell(cellHead{pane: start, from: fromAll, group: group})
		p.add(s.heads, cell)
		s.groups.list[group].state.cells++
	}
	if from != fromAll {
		cell = s.restrictedCell(p, cell, from)
		s.slider.disturb(group, p)
	}
	if int(cell) < r.before && s.cells.Count(cell) > 0 {
		return r.trash, nil
	}
	return cell, nil
}

// End makes the state ready for what comes.
func (r *Restoring) End() {
	s := r.s
	s.cells.Free([]uint32{r.trash})
	s.openFrom(s.watermark)
}
