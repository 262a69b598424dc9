package checkpoint

import (
	"cmp"
	"slices"

	"github.com/pondage/pondage/internal/ident"
)

// Start says that a stream begins a checkpoint.
type Start struct {
	Stream ident.StreamID
	Kind   Kind
}

// candidate is a stream whose checkpoint is due.
type candidate struct {
	Start
	asked  bool
	waited ident.MonoMs
}

// Begin says which streams begin a checkpoint now, in order, and when to look again; 0: when something changes.
func Begin(streams []Stream, l Limits, now ident.MonoMs) (starts []Start, at ident.MonoMs) {
	var due []candidate
	slots := l.MaxConcurrent
	for _, s := range streams {
		if r := s.Running; r != nil {
			if now-r.Progress < l.StallAfter {
				slots--
				at = earlier(at, r.Progress+l.StallAfter)
			}
			continue
		}
		c, when := s.due(now)
		if c != nil {
			due = append(due, *c)
		}
		at = earlier(at, when)
	}
	slices.SortStableFunc(due, func(a, b candidate) int {
		if a.asked != b.asked {
			if a.asked {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(b.waited, a.waited), cmp.Compare(a.Stream, b.Stream))
	})
	for _, c := range due[:max(0, min(slots, len(due)))] {
		starts = append(starts, c.Start)
	}
	return starts, at
}

// due tells whether the stream's checkpoint is due, or when it will be; 0: not before something changes.
func (s *Stream) due(now ident.MonoMs) (*candidate, ident.MonoMs) {
	switch when := s.Since + s.Settings.IntervalMs; {
	case s.Unable != "":
		return nil, 0
	case s.Asked != "":
		return &candidate{Start{s.ID, s.Asked}, true, now - s.AskedSince}, 0
	case !s.Moved:
		return nil, 0
	case now < when:
		return nil, when
	default:
		return &candidate{Start{s.ID, Interval}, false, now - when}, 0
	}
}

// earlier is the earlier of two times, where 0 is never.
func earlier(a, b ident.MonoMs) ident.MonoMs {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
