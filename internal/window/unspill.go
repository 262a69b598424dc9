package window

import (
	"fmt"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/ident"
)

// need brings a group's part of a pane into memory; ok is false after a failure.
func (s *State) need(p *pane, group uint32) (ok bool) {
	if p.spilled != nil {
		s.over.fail(s.load(p, s.groups.bucket(group)))
	}
	return s.over.err == nil
}

// needAll brings a pane into memory; ok is false after a failure.
func (s *State) needAll(p *pane) (ok bool) {
	for b := 0; p.spilled != nil && b < spillBuckets && s.over.err == nil; b++ {
		s.over.fail(s.load(p, b))
	}
	return s.over.err == nil
}

// load adds what is spilled of a bucket to what memory has of it.
func (s *State) load(p *pane, bucket int) error {
	at := &p.spilled.buckets[bucket]
	if at.batches == 0 {
		return nil
	}
	r := &Restoring{s: s}
	take := func(m SpillMark, b *block.Batch) error {
		if m.Epoch >= min(s.over.dirty, s.over.inFlight) {
			return r.Take(b)
		}
		return s.cells.Untracked(func() error { return r.Take(b) })
	}
	if err := s.over.gather(s.over.spill, s.cfg, p, bucket, take); err != nil {
		return fmt.Errorf("load bucket %d of pane %d: %w", bucket, p.start, err)
	}
	if err := s.over.spill.Drop(p.start, bucket); err != nil {
		return fmt.Errorf("drop bucket %d of pane %d: %w", bucket, p.start, err)
	}
	*at = spilledBucket{}
	for _, other := range p.spilled.buckets {
		if other.batches > 0 {
			return nil
		}
	}
	p.spilled = nil
	s.over.spilled--
	return nil
}

// gather gives out what a bucket has, so that all of it adds up: of restored batches what was put first, without what
// came later for the same cells.
func (o *overflow) gather(from SpillReader, cfg StateConfig, p *pane, bucket int, take func(SpillMark, *block.Batch) error) error {
	if !p.spilled.restored {
		return from.Each(p.start, bucket, take)
	}
	s := scratch(cfg)
	r := s.Restore(ident.WatermarkNone)
	err := from.Each(p.start, bucket, func(m SpillMark, b *block.Batch) error {
		if !m.Restored {
			return take(m, b)
		}
		r.NextFile()
		return r.Take(b)
	})
	if err != nil {
		return err
	}
	r.End()
	return s.FreezeAll().Partials(spillRows, func(b *block.Batch) error { return take(SpillMark{Restored: true}, b) })
}

// scratch is an empty state for partials of the same form, in any goroutine.
func scratch(c StateConfig) *State {
	windows := *c.Windows // which remembers what it was asked last
	c.Windows = &windows
	return NewState(c)
}

// closeSpilled emits a window that is its own pane, of which something is spilled, bucket by bucket; so it need not fit into
// memory. Afterwards it is spilled again, or gone where nothing can change it at the watermark w.
func (s *State) closeSpilled(p *pane, w ident.EventMs, emit func(*Emission)) error {
	s.out.flush(emit)
	if err := s.evict(p); err != nil {
		return err
	}
	for b := range spillBuckets {
		if p.spilled == nil {
			return nil
		}
		if err := s.load(p, b); err != nil {
			return err
		}
		for _, cell := range p.cells {
			s.out.add(emit, p.start, p.lastEnd, s.heads[cell].group, cell)
		}
		s.out.flush(emit)
		if s.goneAt(w, p.lastEnd) {
			s.empty(p)
		} else if err := s.evict(p); err != nil {
			return err
		}
	}
	return nil
}

// place is a bucket of a pane.
type place struct {
	pane   *pane // a copy of its bounds and of what was spilled
	bucket int
	cells  int
	rows   []uint32 // of the Frozen: what memory had of it
}

// frozenSpill is what of a Frozen lies in a Spill.
type frozenSpill struct {
	at     SpillSnapshot
	cfg    StateConfig
	since  uint64 // the first epoch whose changes are frozen; 0: everything is
	places []*place
}

// extent says how much a freeze takes.
type extent uint8

const (
	everything extent = iota
	changed
)

// freeze adds to what is frozen of memory what of it is spilled, and begins a new epoch.
func (o *overflow) freeze(s *State, f *Frozen, e extent) {
	f.since = o.dirty
	if o.spilled > 0 {
		c := &frozenSpill{cfg: s.cfg}
		windows := *s.cfg.Windows // which remembers what it was asked last
		c.cfg.Windows = &windows
		if e == changed {
			c.since = o.dirty
		}
		if c.find(s, f); len(c.places) > 0 {
			c.at, f.cold = o.spill.Snapshot(), c
		}
	}
	o.inFlight = f.since
	o.epoch++
	o.dirty = o.epoch
}

// find lists the places that have changed, by what is spilled or by what memory has.
func (c *frozenSpill) find(s *State, f *Frozen) {
	known := map[ident.EventMs]*[spillBuckets]*place{}
	for _, p := range s.panes.list {
		if p.spilled == nil {
			continue
		}
		bounds, spilled := *p, *p.spilled
		bounds.cells, bounds.slots, bounds.spilled = nil, nil, &spilled
		places := &[spillBuckets]*place{}
		for b, at := range spilled.buckets {
			if at.batches > 0 {
				places[b] = &place{pane: &bounds, bucket: b, cells: at.cells}
			}
		}
		known[p.start] = places
	}
	for i := range f.rows {
		r := &f.rows[i]
		if places := known[r.pane]; places != nil && places[r.bucket] != nil {
			r.cold = true
			places[r.bucket].rows = append(places[r.bucket].rows, uint32(i))
		}
	}
	for _, p := range s.panes.list {
		if places := known[p.start]; places != nil {
			for _, at := range places {
				if at != nil && (len(at.rows) > 0 || at.pane.spilled.buckets[at.bucket].newest >= c.since) {
					c.places = append(c.places, at)
				}
			}
		}
	}
}

func (c *frozenSpill) len() (cells int) {
	if c != nil {
		for _, at := range c.places {
			cells += at.cells
		}
	}
	return cells
}

func (c *frozenSpill) close() error {
	if c == nil {
		return nil
	}
	return c.at.Close()
}

// partials hands out the cells that have changed, whole: what memory had of them and what is spilled.
func (c *frozenSpill) partials(f *Frozen, rows int, emit func(*block.Batch) error) error {
	if c == nil {
		return nil
	}
	for _, at := range c.places {
		s, err := c.whole(f, at)
		if err != nil {
			return fmt.Errorf("bucket %d of pane %d: %w", at.bucket, at.pane.start, err)
		}
		if err := s.FreezeAll().Partials(rows, emit); err != nil {
			return err
		}
	}
	return nil
}

// whole puts the changed cells of a place together: first those that say what has changed, then what the others add to them.
func (c *frozenSpill) whole(f *Frozen, at *place) (*State, error) {
	s := scratch(c.cfg)
	r := s.Restore(ident.WatermarkNone)
	if len(at.rows) > 0 {
		f.sort(at.rows)
		if err := r.Take(f.build(f.newBatch(), at.rows)); err != nil {
			return nil, err
		}
	}
	o := &overflow{}
	for _, known := range []bool{false, true} {
		r.onlyKnown = known
		err := o.gather(c.at, c.cfg, at.pane, at.bucket, func(m SpillMark, b *block.Batch) error {
			if old := m.Epoch < c.since; old != known {
				return nil
			}
			return r.Take(b)
		})
		if err != nil {
			return nil, err
		}
	}
	r.End()
	return s, nil
}
