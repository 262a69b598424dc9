package window

import (
	"cmp"
	"slices"

	"github.com/pondage/pondage/internal/ident"
)

// windowOf is a window of a group.
type windowOf struct {
	start ident.EventMs
	group uint32
}

// Changed implements Operator.
func (s *State) Changed(emit func(*Emission)) {
	s.tellOpened(emit)
	if len(s.changed) == 0 {
		return
	}
	s.pairs = s.pairs[:0]
	for _, cell := range s.changed {
		s.heads[cell].changed = false
		s.appendWindows(&s.heads[cell])
	}
	s.changed = s.changed[:0]
	slices.SortFunc(s.pairs, func(a, b windowOf) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.group, b.group))
	})
	for _, w := range slices.Compact(s.pairs) {
		s.out.addSum(emit, w.start, s.windows.End(w.start), w.group)
	}
	s.out.flush(emit)
}

// appendWindows lists the windows to be emitted because the cell changed: those in which it counts, with EmitOnClose
// only the closed ones.
func (s *State) appendWindows(h *cellHead) {
	p := s.panes.get(h.pane)
	for start := p.firstStart; start <= p.lastStart; start = s.windows.Next(start) {
		end := s.windows.End(start)
		if s.cfg.Trigger == EmitOnClose && end > s.watermark {
			return
		}
		if h.from <= end {
			s.pairs = append(s.pairs, windowOf{start, h.group})
		}
	}
}

// NextEnd implements Operator.
func (s *State) NextEnd() (end ident.EventMs, ok bool) {
	start, ok := s.nextStart(ident.WatermarkNone)
	if !ok {
		return 0, false
	}
	return s.windows.End(start), true
}

// OpenWindows implements Operator.
func (s *State) OpenWindows(limit int) []Open {
	var open []Open
	start, ok := s.nextStart(ident.WatermarkNone)
	for ok && len(open) < limit {
		if o := s.describe(start); o.Rows > 0 {
			open = append(open, o)
		}
		start, ok = s.nextStart(s.windows.Next(start))
	}
	return open
}

// describe counts the rows and groups of a window; about, where something is spilled.
func (s *State) describe(start ident.EventMs) Open {
	o := Open{Start: start, End: s.windows.End(start)}
	if s.partial.has(start) {
		o.Partial, o.PartialSince = true, s.partial.Since
	}
	groups := make(map[uint32]struct{})
	spilled := 0
	for _, p := range s.panes.between(start, o.End) {
		if p.spilled != nil {
			cells := 0
			for _, b := range p.spilled.buckets {
				o.Rows, cells = o.Rows+b.rows, cells+b.cells
			}
			spilled = max(spilled, cells)
		}
		for _, first := range p.cells {
			for cell, ok := first, true; ok; {
				if rows := s.cells.Count(cell); rows > 0 && s.heads[cell].from <= o.End {
					o.Rows += rows
					groups[s.heads[cell].group] = struct{}{}
				}
				next := s.heads[cell].next
				cell, ok = next-1, next != 0
			}
		}
	}
	o.Groups = max(len(groups), spilled)
	return o
}
