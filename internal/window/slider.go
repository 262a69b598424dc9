package window

import (
	"slices"

	"github.com/pondage/pondage/internal/ident"
)

// slider closes sliding windows with a bounded number of merges per emitted row, however many panes a window has, for
// every aggregate, invertible or not (docs/design/0002): each group has a queue of two stacks over its panes.
//
//	           lo               mid                hi
//	… panes …  │ front: suffixes │ back: one total │ … panes not yet in any closed window …
//
// A cell of the front is the sum of its pane and all later ones up to mid; the back is the sum of the panes from mid to
// hi. So the window [lo, hi) is the group's first front cell and its back. When the window moves on, panes that enter
// are merged into the back, and the front cells of panes that leave are dropped; when the front is used up, the back
// becomes the front. All groups do this together, pane by pane, because all have the same windows.
//
// Front and back are derived from the panes' cells, which stay as they are: they need no checkpoint.
//
// Partials that come into a pane between lo and hi, and those restricted to some windows (_from), are in no front or
// back. The windows of their group that hold such a pane are summed up from the cells instead.
type slider struct {
	s           *State
	lo, mid, hi ident.EventMs
	active      []uint32 // groups that may have rows between lo and hi, in the order in which they entered

	dst, src, dst2, src2 []uint32 // scratch of merges
}

func newSlider(s *State) slider { return slider{s: s, lo: minTime, mid: minTime, hi: minTime} }

// slideGroup is what the slider keeps of a group.
type slideGroup struct {
	front, back uint32 // 1 + the cell; 0: none
	active      bool
	// slowThrough is the latest pane whose cells are not all in front and back: windows that start later do not hold it.
	slowThrough ident.EventMs
}

func (d *slider) group(n uint32) *slideGroup { return &d.s.groups.list[n].state.slide }

// close emits the windows that end in (watermark, w].
func (d *slider) close(w ident.EventMs, emit func(*Emission)) {
	s := d.s
	start, ok := s.nextStart(ident.WatermarkNone)
	for ok {
		end := s.windows.End(start)
		if end > w {
			break
		}
		d.moveTo(start)
		if d.absorb(end); s.over.err != nil {
			break
		}
		d.emit(start, end, emit)
		next := s.windows.Next(start)
		d.moveTo(next)
		start, ok = s.nextStart(next)
	}
	d.retire()
}

// nextStart returns the first window that is open, starts at or after least, and holds a kept pane.
func (s *State) nextStart(least ident.EventMs) (start ident.EventMs, ok bool) {
	list := s.panes.list
	i := s.panes.search(func(p *pane) bool { return p.lastEnd > s.watermark && p.lastStart >= least })
	if i == len(list) {
		return 0, false
	}
	start, _ = s.windows.FirstEndingAfter(list[i].start, s.watermark)
	return max(start, least), true
}

// disturb notes that a cell of the pane changed, or came, that front and back do not see.
func (d *slider) disturb(group uint32, p *pane) {
	g := d.group(group)
	g.slowThrough = max(g.slowThrough, p.start)
	if p.start < d.hi {
		d.activate(group)
	}
}

func (d *slider) activate(group uint32) {
	if g := d.group(group); !g.active {
		g.active = true
		d.active = append(d.active, group)
	}
}

// moveTo makes lo the start of a window: earlier panes leave.
func (d *slider) moveTo(start ident.EventMs) {
	switch {
	case start <= d.lo && d.lo != d.hi:
		return
	case start >= d.hi:
		d.clear()
		d.lo, d.mid, d.hi = start, start, start
		return
	}
	d.popFront(min(start, d.mid))
	d.lo = start
	if start >= d.mid {
		d.flip()
	}
}

// clear drops all fronts and backs.
func (d *slider) clear() {
	d.popFront(d.mid)
	d.dropBacks()
}

// popFront drops the front cells of the panes before to.
func (d *slider) popFront(to ident.EventMs) {
	d.dst = d.dst[:0]
	heads := d.s.heads
	for _, p := range d.s.panes.between(d.lo, to) {
		for _, cell := range p.cells {
			g := d.group(heads[cell].group)
			if g.front != 0 && heads[g.front-1].pane == p.start {
				d.dst = append(d.dst, g.front-1)
				g.front = heads[g.front-1].next
			}
		}
	}
	d.s.cells.Free(d.dst)
}

func (d *slider) dropBacks() {
	d.dst = d.dst[:0]
	for _, group := range d.active {
		if g := d.group(group); g.back != 0 {
			d.dst = append(d.dst, g.back-1)
			g.back = 0
		}
	}
	d.s.cells.Free(d.dst)
}

// flip makes the panes from lo to hi the front. The front is used up before.
func (d *slider) flip() {
	d.dropBacks()
	d.mid = d.hi
	for _, p := range slices.Backward(d.s.panes.between(d.lo, d.hi)) {
		d.push(p)
	}
}

// push puts the pane in front of the front.
func (d *slider) push(p *pane) {
	s := d.s
	d.dst, d.src, d.dst2, d.src2 = d.dst[:0], d.src[:0], d.dst2[:0], d.src2[:0]
	for _, cell := range p.cells {
		group := s.heads[cell].group
		g := d.group(group)
		front := s.newCell(cellHead{pane: p.start, group: group, next: g.front})
		d.dst, d.src = append(d.dst, front), append(d.src, cell)
		if g.front != 0 {
			d.dst2, d.src2 = append(d.dst2, front), append(d.src2, g.front-1)
		}
		g.front = front + 1
	}
	s.cells.Merge(d.dst, d.src)
	s.cells.Merge(d.dst2, d.src2)
}

// absorb merges the panes up to end into the backs.
func (d *slider) absorb(end ident.EventMs) {
	s := d.s
	for _, p := range s.panes.between(d.hi, end) {
		if !s.needAll(p) {
			return
		}
		d.dst, d.src = d.dst[:0], d.src[:0]
		for _, cell := range p.cells {
			group := s.heads[cell].group
			g := d.group(group)
			if g.back == 0 {
				g.back = s.newCell(cellHead{group: group}) + 1
			}
			d.activate(group)
			d.dst, d.src = append(d.dst, g.back-1), append(d.src, cell)
		}
		s.cells.Merge(d.dst, d.src)
	}
	d.hi = max(d.hi, end)
}

// emit emits the window [start, end) = [lo, hi) of all groups that have rows in it.
func (d *slider) emit(start, end ident.EventMs, emit func(*Emission)) {
	out := &d.s.out
	for _, group := range d.active {
		g := d.group(group)
		switch {
		case g.slowThrough >= start:
			out.addSum(emit, start, end, group)
		case g.front != 0 || g.back != 0:
			out.addPair(emit, start, end, group, g.front, g.back)
		}
	}
	out.settle()
}

// retire takes the groups that have nothing between lo and hi off the list.
func (d *slider) retire() {
	d.active = slices.DeleteFunc(d.active, func(group uint32) bool {
		g := d.group(group)
		g.active = g.front != 0 || g.back != 0 || g.slowThrough >= d.lo
		return !g.active
	})
}
