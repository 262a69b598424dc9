package window

import (
	"cmp"
	"slices"

	"github.com/pondage/pondage/internal/ident"
)

// Event is what may happen to a window of a group.
type Event uint8

const (
	// EventNone: an emission is of results only.
	EventNone Event = iota
	// EventOpened: the window has got its first row.
	EventOpened
	// EventClosed: the watermark has passed the window's end. One whose first row comes later opens and closes at once.
	EventClosed
)

// Events are those that an operator tells of. Each is told once for a window of a group, again only where the group's part
// of the window was spilled meanwhile, and by a state that goes on from before it.
type Events struct{ Opened, Closed bool }

// noteOpened notes the windows that get their first row of the group with a partial of the pane, from the window end from on.
func (s *State) noteOpened(p *pane, group uint32, from ident.EventMs) {
	for start := p.firstStart; start <= p.lastStart; start = s.windows.Next(start) {
		if end := s.windows.End(start); from <= end && !s.hasRows(start, end, group) {
			s.opened = append(s.opened, windowOf{start, group})
		}
	}
}

// hasRows tells whether memory has rows of the group in a window.
func (s *State) hasRows(start, end ident.EventMs, group uint32) bool {
	for _, p := range s.panes.between(start, end) {
		for cell, ok := p.find(s.heads, group); ok; {
			if s.heads[cell].from <= end && s.cells.Count(cell) > 0 {
				return true
			}
			next := s.heads[cell].next
			cell, ok = next-1, next != 0
		}
	}
	return false
}

// tellOpened tells of the windows that have opened since, and of those that were closed when they did.
func (s *State) tellOpened(emit func(*Emission)) {
	if len(s.opened) == 0 {
		return
	}
	slices.SortFunc(s.opened, func(a, b windowOf) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.group, b.group))
	})
	s.opened = slices.Compact(s.opened) // two panes of a batch may have opened the same one
	if s.cfg.Tell.Opened {
		s.out.event, s.out.eventOnly = EventOpened, true
		for _, w := range s.opened {
			s.out.row(w.start, s.windows.End(w.start), w.group, s.out.ownCell())
			if len(s.out.cells) >= s.cfg.BatchRows {
				s.out.flush(emit)
			}
		}
		s.out.flush(emit)
	}
	if s.cfg.Tell.Closed {
		s.out.event, s.out.eventOnly = EventClosed, true
		for _, w := range s.opened {
			if end := s.windows.End(w.start); end <= s.watermark {
				s.out.addSum(emit, w.start, end, w.group)
			}
		}
		s.out.flush(emit)
	}
	s.opened = s.opened[:0]
	s.out.event, s.out.eventOnly = EventNone, false
}
