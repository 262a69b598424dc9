package window

import (
	"slices"
	"sort"

	"github.com/pondage/pondage/internal/ident"
)

// pane is the state of one pane: its cells. It is the unit in which state ages, is purged, and is spilled: cells change only
// while rows of their pane arrive.
type pane struct {
	start, end ident.EventMs
	// The first and last window that hold the pane, and their ends.
	firstStart, lastStart ident.EventMs
	firstEnd, lastEnd     ident.EventMs
	cells                 []uint32     // one per group, in the order in which the groups entered the pane
	slots                 []uint32     // hash table over cells by group; a slot is 1 + the cell
	restricted            int          // cells chained behind the ones in cells, that count only from a window on
	spilled               *spilledPane // nil: memory has all of it
}

// cellHead says what a cell of State is for.
type cellHead struct {
	pane  ident.EventMs // start
	from  ident.EventMs // lowest window end it counts in, or fromAll
	group uint32
	// next is 1 + the next cell: of the same group and pane with another from; for a cell of the front (see slider) the
	// one of the group's next pane. 0: none.
	next    uint32
	changed bool // listed in State.changed
}

func groupHash(group uint32) uint64 {
	const spread = 0x9e3779b97f4a7c15 // odd, bits evenly spread
	return uint64(group) * spread >> entryHalf
}

// find returns the first cell of the group.
func (p *pane) find(heads []cellHead, group uint32) (cell uint32, ok bool) {
	if len(p.slots) == 0 {
		return 0, false
	}
	mask := uint64(len(p.slots) - 1)
	for i := groupHash(group) & mask; p.slots[i] != 0; i = (i + 1) & mask {
		if cell := p.slots[i] - 1; heads[cell].group == group {
			return cell, true
		}
	}
	return 0, false
}

// add enters the first cell of a group.
func (p *pane) add(heads []cellHead, cell uint32) {
	const firstSlots = 4
	p.cells = append(p.cells, cell)
	if 2*len(p.cells) > len(p.slots) {
		p.slots = make([]uint32, max(firstSlots, 2*len(p.slots)))
		for _, c := range p.cells {
			p.link(heads, c)
		}
		return
	}
	p.link(heads, cell)
}

func (p *pane) link(heads []cellHead, cell uint32) {
	mask := uint64(len(p.slots) - 1)
	i := groupHash(heads[cell].group) & mask
	for p.slots[i] != 0 {
		i = (i + 1) & mask
	}
	p.slots[i] = cell + 1
}

// panes are the kept panes, by start.
type panes struct {
	list []*pane
	last *pane   // used last
	free []*pane // purged, for their memory
}

// search returns the index of the first pane for which is holds, which then holds for all later ones.
func (ps *panes) search(is func(*pane) bool) int {
	return sort.Search(len(ps.list), func(i int) bool { return is(ps.list[i]) })
}

// at returns the index of the first pane that starts at or after t.
func (ps *panes) at(t ident.EventMs) int {
	return ps.search(func(p *pane) bool { return p.start >= t })
}

// between returns the panes that start in [from, to).
func (ps *panes) between(from, to ident.EventMs) []*pane {
	i := ps.at(from)
	j := i
	for j < len(ps.list) && ps.list[j].start < to {
		j++
	}
	return ps.list[i:j]
}

// get returns the pane that starts at start, or nil.
func (ps *panes) get(start ident.EventMs) *pane {
	if ps.last != nil && ps.last.start == start {
		return ps.last
	}
	if i := ps.at(start); i < len(ps.list) && ps.list[i].start == start {
		ps.last = ps.list[i]
		return ps.last
	}
	return nil
}

// open adds the pane that starts at start, which is not there.
func (ps *panes) open(w *Windows, start ident.EventMs) *pane {
	p := &pane{}
	if n := len(ps.free); n > 0 {
		p, ps.free = ps.free[n-1], ps.free[:n-1]
		clear(p.slots)
	}
	*p = pane{cells: p.cells[:0], slots: p.slots}
	w.describe(p, start)
	ps.list = slices.Insert(ps.list, ps.at(start), p)
	ps.last = p
	return p
}

// maxFreePanes bounds the memory kept for panes to come.
const maxFreePanes = 4

// dropFirst drops the first n panes.
func (ps *panes) dropFirst(n int) {
	for _, p := range ps.list[:n] {
		if len(ps.free) < maxFreePanes {
			ps.free = append(ps.free, p)
		}
	}
	ps.list = slices.Delete(ps.list, 0, n)
	ps.last = nil
}

// describe fills in the bounds of the pane and its windows.
func (w *Windows) describe(p *pane, start ident.EventMs) {
	at := w.paneOf(w.scale.ordinal(start))
	first, last := w.firstStart(at), w.lastStart(at)
	p.start, p.end = w.scale.instant(at), w.scale.instant(at+w.pane)
	p.firstStart, p.firstEnd = w.scale.instant(first), w.scale.instant(first+w.size)
	p.lastStart, p.lastEnd = w.scale.instant(last), w.scale.instant(last+w.size)
}
