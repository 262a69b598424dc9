package window

import (
	"fmt"
	"slices"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/ident"
)

// Partial says that some aggregates have no value in the windows that were open when they came into the query. What they
// would have is not known: rows that were taken before left nothing behind for them. The zero value says nothing.
type Partial struct {
	Aggs    []int         // by their place in StateConfig
	Since   ident.EventMs // the watermark at which they came
	Through ident.EventMs // the last pane that they lack something of; windows that start later are whole
}

// has tells whether a window that starts at start is concerned.
func (p *Partial) has(start ident.EventMs) bool { return len(p.Aggs) > 0 && start <= p.Through }

// Foreign says how a file of another form of the query is read.
type Foreign struct {
	Args []int // Args[i] is the argument here that is argument i there, -1 for none
	New  []int // the aggregates here that it does not have
}

// Restoring brings a new State back to what files hold. They are taken the newest first: what a newer one has of a (group,
// pane, from), older ones do not change.
type Restoring struct {
	s       *State
	before  int      // cells from here on are of the present file
	trash   uint32   // takes what a newer file has
	fresh   []uint32 // groups that the present batch has brought
	foreign *Foreign // of the present file; nil: it is of this query
	// onlyKnown leaves out what is for cells that are not there.
	onlyKnown bool
}

// Restore begins to bring the state back, which is new, at the watermark that it had. Windows that were emitted before are
// not emitted again.
func (s *State) Restore(watermark ident.EventMs) *Restoring {
	s.watermark, s.partial.Through, s.over.restoring = watermark, noPane, true
	return &Restoring{s: s, trash: s.newCell(cellHead{})}
}

// NextFile says that an older file follows.
func (r *Restoring) NextFile() { r.before, r.foreign = len(r.s.heads), nil }

// Foreign says that the present file is of another form of the query, before its first batch.
func (r *Restoring) Foreign(f Foreign) {
	r.foreign = &f
	r.Partial(Partial{Aggs: f.New, Since: r.s.watermark, Through: noPane})
}

// Partial says what was partial when the present file was written.
func (r *Restoring) Partial(p Partial) {
	has := &r.s.partial
	if len(p.Aggs) == 0 {
		return
	}
	if len(has.Aggs) == 0 {
		has.Since = p.Since // of the newest file that says it
	}
	has.Aggs = append(has.Aggs, p.Aggs...)
	has.Through = max(has.Through, p.Through)
}

// Take takes a batch of a file. What is purged by the watermark is left out. Errors: ErrPartial, wrapped; those of a Spill.
func (r *Restoring) Take(b *block.Batch) error {
	s := r.s
	p, err := r.bind(b)
	if err != nil {
		return err
	}
	s.sizeScratch(b.Rows())
	r.fresh = r.fresh[:0]
	s.groups.resolve(s.group, p.keys, s.sel, func(group uint32, _ int) { r.fresh = append(r.fresh, group) })
	for i, group := range s.group {
		if s.target[i], err = r.cellFor(group, ident.EventMs(p.pane[i]), p.fromOf(i)); err != nil {
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
	if s.over.restoring {
		return s.Relieve()
	}
	return nil
}

// bind takes a batch apart. Keys go by their place and type: their names are the query's, and may have changed.
func (r *Restoring) bind(b *block.Batch) (partials, error) {
	s := r.s
	p, accs, err := s.bindHead(b, func(key, want block.Field) bool { return key.Type == want.Type })
	if err != nil {
		return p, err
	}
	if r.foreign == nil {
		p.accs, err = s.layout.Bind(b, accs)
	} else {
		p.accs, err = s.layout.BindForeign(b, accs, r.foreign.Args)
	}
	if err != nil {
		return p, fmt.Errorf("%w: %w", ErrPartial, err)
	}
	return p, nil
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
	if r.onlyKnown && !s.knows(cell, found, from) {
		return r.trash, nil
	}
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
	if r.foreign != nil {
		s.partial.Through = max(s.partial.Through, start)
	}
	return cell, nil
}

// knows tells whether there is a cell with rows for the lowest window end, in the chain of first.
func (s *State) knows(first uint32, found bool, from ident.EventMs) bool {
	for cell, ok := first, found; ok; {
		if h := &s.heads[cell]; h.from == from {
			return s.cells.Count(cell) > 0
		}
		next := s.heads[cell].next
		cell, ok = next-1, next != 0
	}
	return false
}

// End makes the state ready for what comes.
func (r *Restoring) End() {
	s := r.s
	// What memory has of a spilled pane came after it, so that it would not win over it: it goes there as well.
	for _, p := range s.panes.list {
		if p.spilled != nil {
			s.over.fail(s.evict(p))
		}
	}
	s.over.restoring = false
	s.cells.Free([]uint32{r.trash})
	s.openFrom(s.watermark)
	slices.Sort(s.partial.Aggs)
	s.partial.Aggs = slices.Compact(s.partial.Aggs)
}
