package window

import (
	"slices"

	"github.com/pondage/pondage/internal/agg"
)

// Track makes the state remember which of its cells change, for FreezeTouched. To be called before the first Merge; after a
// restore what is there counts as unchanged.
func (s *State) Track() { s.cells.Track() }

// FreezeAll freezes the whole state; it begins a new chain of files.
func (s *State) FreezeAll() *Frozen {
	var cells []uint32
	s.eachCell(func(cell uint32) {
		if s.cells.Count(cell) > 0 {
			cells = append(cells, cell)
		}
	})
	f := s.freeze(s.cells.Take(cells), cells)
	s.over.freeze(s, f, everything)
	return f
}

// FreezeTouched freezes what has changed since the last freeze. To be called after Changed, when nothing waits to be
// emitted.
func (s *State) FreezeTouched() *Frozen {
	f := s.freeze(s.cells.TakeTouched())
	s.over.freeze(s, f, changed)
	return f
}

// GiveBack says that what was frozen has not become durable: its cells count as changed again.
func (s *State) GiveBack(f *Frozen) {
	s.over.dirty = min(s.over.dirty, f.since)
	s.over.fail(f.cold.close())
	// A number may be another cell's by now. That of a pane is touched as well, or about to be; to write it once more is
	// harmless. That of the slider holds what panes hold already: written, it would count twice after a restore.
	s.cells.Touch(slices.DeleteFunc(f.taken, func(cell uint32) bool { return int(cell) >= len(s.heads) || !s.ofPane(cell) }))
}

// ofPane tells whether the number is, at present, that of a cell with rows in a pane.
func (s *State) ofPane(cell uint32) bool {
	h := &s.heads[cell]
	p := s.panes.get(h.pane)
	if p == nil || s.cells.Count(cell) == 0 {
		return false
	}
	c, found := p.find(s.heads, h.group)
	for found && c != cell {
		next := s.heads[c].next
		c, found = next-1, next != 0
	}
	return found
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
		f.rows[i] = frozenRow{pane: h.pane, from: h.from, offset: g.offset, length: g.length, bucket: uint8(s.groups.bucket(h.group))}
	}
	return f
}

// eachCell calls do for every cell of every pane.
func (s *State) eachCell(do func(cell uint32)) {
	for _, p := range s.panes.list {
		s.eachOf(p, do)
	}
}

// eachOf calls do for every cell of the pane in memory.
func (s *State) eachOf(p *pane, do func(cell uint32)) {
	for _, first := range p.cells {
		for cell, ok := first, true; ok; {
			do(cell)
			next := s.heads[cell].next
			cell, ok = next-1, next != 0
		}
	}
}
