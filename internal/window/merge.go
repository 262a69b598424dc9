package window

import (
	"fmt"
	"slices"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/ident"
)

// partials is a batch of partials, taken apart.
type partials struct {
	keys []*block.Column
	pane []int64
	from *block.Column // nil: no partial is restricted
	accs []*block.Column
}

// fromOf is the lowest window end that row i counts in.
func (p *partials) fromOf(i int) ident.EventMs {
	if p.from == nil || p.from.IsNull(i) {
		return fromAll
	}
	return ident.EventMs(p.from.Int[i])
}

// bind checks the columns of a batch of partials.
func (s *State) bind(b *block.Batch) (partials, error) {
	p, accs, err := s.bindHead(b, func(key, want block.Field) bool { return key == want })
	if err != nil {
		return p, err
	}
	if p.accs, err = s.layout.Bind(b, accs); err != nil {
		return p, fmt.Errorf("%w: %w", ErrPartial, err)
	}
	return p, nil
}

// bindHead checks the columns in front of the accumulators, and says where these begin.
func (s *State) bindHead(b *block.Batch, fits func(key, want block.Field) bool) (p partials, accs int, err error) {
	n := len(s.cfg.Keys)
	if len(b.Cols) <= n || len(b.Schema) != len(b.Cols) {
		return p, 0, fmt.Errorf("%w: %d columns", ErrPartial, len(b.Cols))
	}
	for i, k := range s.cfg.Keys {
		if !fits(b.Schema[i], k) {
			return p, 0, fmt.Errorf("%w: column %d is %s %s, want %s %s", ErrPartial, i, b.Schema[i].Name, b.Schema[i].Type, k.Name, k.Type)
		}
	}
	if b.Schema[n] != (block.Field{Name: ColumnPane, Type: block.Timestamp}) {
		return p, 0, fmt.Errorf("%w: column %d is %s %s, want %s", ErrPartial, n, b.Schema[n].Name, b.Schema[n].Type, ColumnPane)
	}
	p = partials{keys: b.Cols[:n], pane: b.Cols[n].Int}
	n++
	if n < len(b.Cols) && b.Schema[n] == (block.Field{Name: ColumnFrom, Type: block.Timestamp}) {
		p.from = b.Cols[n]
		n++
	}
	return p, n, nil
}

// Merge implements Operator.
func (s *State) Merge(b *block.Batch) error {
	p, err := s.bind(b)
	if err != nil {
		return err
	}
	s.sizeScratch(b.Rows())
	s.groups.resolve(s.group, p.keys, s.sel, func(uint32, int) {})
	for i, group := range s.group {
		start, from := ident.EventMs(p.pane[i]), p.fromOf(i)
		if g := &s.groups.list[group].state; g.pane == start && from == fromAll && s.quiet(start) {
			s.target[i] = g.cell
			continue
		}
		if s.target[i], err = s.cellFor(group, start, from); err != nil {
			return fmt.Errorf("merge row %d of %d: %w", i, b.Rows(), err)
		}
	}
	if err := s.cells.MergePartials(p.accs, s.target); err != nil {
		return fmt.Errorf("%w: %w", ErrPartial, err)
	}
	return nil
}

// sizeScratch makes the scratch vectors n rows long.
func (s *State) sizeScratch(n int) {
	for len(s.rowNumbers) < n {
		s.rowNumbers = append(s.rowNumbers, int32(len(s.rowNumbers)))
	}
	s.sel = s.rowNumbers[:n]
	s.group = slices.Grow(s.group[:0], n)[:n]
	s.target = slices.Grow(s.target[:0], n)[:n]
}

// quiet tells whether a change in the pane has no effect until one of its windows closes.
func (s *State) quiet(start ident.EventMs) bool {
	return start >= s.quietFrom && s.cfg.Trigger == EmitOnClose
}

// cellFor returns the cell for a partial, new or not, and notes what its change has an effect on.
func (s *State) cellFor(group uint32, start, from ident.EventMs) (uint32, error) {
	p, err := s.paneFor(start)
	if err != nil {
		return 0, err
	}
	if end := max(p.firstEnd, from); s.purgeable(end) || from > p.lastEnd {
		return 0, fmt.Errorf("%w: window end %d, pane %d, watermark %d", ErrClosedWindow, end, start, s.watermark)
	}
	if from <= p.firstEnd {
		from = fromAll
	}
	g := &s.groups.list[group].state
	cell, found := p.find(s.heads, group)
	if !found {
		// The first cell of a chain is always the one without restriction, with rows or not.
		cell = s.newCell(cellHead{pane: start, from: fromAll, group: group})
		p.add(s.heads, cell)
		g.cells++
	}
	if from == fromAll {
		g.pane, g.cell = start, cell
	} else {
		cell = s.restrictedCell(p, cell, from)
	}
	if s.cfg.Tell != (Events{}) && s.cells.Count(cell) == 0 {
		s.noteOpened(p, group, from)
	}
	if s.cfg.Trigger == EmitOnChange || p.firstEnd <= s.watermark {
		s.noteChanged(cell)
	}
	if start < s.slider.hi || from != fromAll {
		s.slider.disturb(group, p)
	}
	return cell, nil
}

// paneFor returns the pane that starts at start, new or not.
func (s *State) paneFor(start ident.EventMs) (*pane, error) {
	if p := s.panes.get(start); p != nil {
		return p, nil
	}
	if s.windows.Pane(start) != start || !s.windows.Holds(start) {
		return nil, fmt.Errorf("%w: no pane starts at %d", ErrPartial, start)
	}
	p := s.panes.open(s.windows, start)
	if p.firstEnd > s.watermark {
		s.quietFrom = min(s.quietFrom, start)
	}
	return p, nil
}

// restrictedCell returns the cell with the lowest window end from in the chain of first.
func (s *State) restrictedCell(p *pane, first uint32, from ident.EventMs) uint32 {
	for next := s.heads[first].next; next != 0; next = s.heads[next-1].next {
		if s.heads[next-1].from == from {
			return next - 1
		}
	}
	group := s.heads[first].group
	cell := s.newCell(cellHead{pane: p.start, from: from, group: group, next: s.heads[first].next})
	s.heads[first].next = cell + 1
	s.groups.list[group].state.cells++
	p.restricted++
	return cell
}

func (s *State) noteChanged(cell uint32) {
	if !s.heads[cell].changed {
		s.heads[cell].changed = true
		s.changed = append(s.changed, cell)
	}
}
