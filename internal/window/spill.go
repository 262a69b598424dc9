package window

import (
	"errors"
	"fmt"
	"slices"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/ident"
)

// Spill keeps what memory has no room for: batches of partials by pane and bucket. It belongs to one State.
type Spill interface {
	SpillReader
	// Put adds a batch to a bucket.
	Put(pane ident.EventMs, bucket int, m SpillMark, partials *block.Batch) error
	// Drop forgets a bucket.
	Drop(pane ident.EventMs, bucket int) error
	// Snapshot returns what is there now, for one reader in another goroutine.
	Snapshot() SpillSnapshot
}

// SpillReader gives out what a bucket has, in the order in which it was put. A batch is valid until do returns, whose error
// ends it.
type SpillReader interface {
	Each(pane ident.EventMs, bucket int, do func(SpillMark, *block.Batch) error) error
}

// ErrSpillFull is in the error of a Spill whose place has no room left. The state is lost with it, and a restore begins anew, as
// soon as there is room.
var ErrSpillFull = errors.New("the disk is full: no room for the windows that memory does not hold")

// SpillSnapshot is a Spill at one moment.
type SpillSnapshot interface {
	SpillReader
	// Close gives it up: who reads then gets an error. From any goroutine, and more than once.
	Close() error
}

// SpillMark says what a batch is.
type SpillMark struct {
	// Epoch is the newest one in which the batch's cells may have changed; freezes count epochs.
	Epoch uint64
	// Restored batches are of files of a chain, where what was put first wins. All others add up.
	Restored bool
}

// spillBuckets is into how many parts a spilled pane is cut, by the hash of the group: a window is closed one part after the
// other, so that it need not fit into memory.
const spillBuckets = 64

// overflow is the part of a State that bounds its memory (doc.go, "More than memory holds"). What is spilled of a cell and
// what memory has of it since add up: a pane that is spilled goes on taking partials.
type overflow struct {
	limit     int // bytes; 0: none
	open      func() (Spill, error)
	spill     Spill // nil: not needed yet
	spilled   int   // panes of which something is spilled
	restoring bool
	err       error // the first failure of the Spill; nothing is emitted after it

	epoch    uint64 // the present one
	dirty    uint64 // the first epoch whose changes are in no freeze that counts
	inFlight uint64 // the first one whose changes may be given back: those of the last freeze
}

// spilledPane says what of a pane is spilled.
type spilledPane struct {
	buckets  [spillBuckets]spilledBucket
	restored bool // some batches are
}

type spilledBucket struct {
	batches, cells int
	rows           int64
	newest         uint64 // epoch
}

// Bound bounds the memory that the state uses, in bytes: open is called when it is more for the first time, and cold panes go
// there. Before the first Merge or Restore. Restored and merged state is counted; windows that overlap keep the panes of the one
// that closes next in memory.
func (s *State) Bound(limit int, open func() (Spill, error)) {
	s.over.limit, s.over.open = limit, open
}

// Relieve brings the memory back below the bound. To be called after Changed and Advance. Its error ends the task: windows
// may be missing in what was emitted since.
func (s *State) Relieve() error {
	o := &s.over
	if o.err == nil && o.limit > 0 && s.used() > o.limit {
		o.fail(s.evictCold())
	}
	return o.err
}

func (o *overflow) fail(err error) {
	if o.err == nil && err != nil {
		o.err = fmt.Errorf("window state beyond %d bytes: %w", o.limit, err)
	}
}

// used is about the memory that groups and cells in use take.
func (s *State) used() int {
	const headBytes, slotBytes, groupBytes = 32, 12, 64 + 16 // with their places in lists and hash tables
	return s.cells.UsedBytes() + (headBytes+slotBytes)*s.cells.Len() + groupBytes*s.groups.live + len(s.groups.arena) - s.groups.garbage
}

// evictCold evicts panes until half of the bound is used: not a few cells with every flush.
func (s *State) evictCold() (err error) {
	o := &s.over
	if o.spill == nil {
		if o.spill, err = o.open(); err != nil {
			return err
		}
	}
	s.slider.retire()
	for _, p := range s.coldest() {
		if s.used() <= o.limit/2 {
			return nil
		}
		if err := s.evict(p); err != nil {
			return fmt.Errorf("evict pane %d: %w", p.start, err)
		}
	}
	return nil
}

// coldest lists the panes that can go, those first that are least likely to be needed soon: the closed ones from the oldest on,
// then the open ones from the last to close on.
func (s *State) coldest() []*pane {
	open := s.firstOpen()
	order := slices.Clone(s.panes.list)
	slices.Reverse(order[open:])
	return slices.DeleteFunc(order, s.slider.holds)
}

// holds tells whether the slider needs the pane's groups to stay: front and back are made of it, or groups that go would be
// on the list of active ones.
func (d *slider) holds(p *pane) bool { return p.start >= d.lo && p.start < d.hi || p.restricted > 0 }

// evict spills what memory has of a pane.
func (s *State) evict(p *pane) error {
	if len(p.cells) == 0 {
		return nil
	}
	if p.spilled == nil {
		p.spilled = &spilledPane{}
		s.over.spilled++
	}
	p.spilled.restored = p.spilled.restored || s.over.restoring
	// By bucket: cells that have not changed since the last freeze, and those that have.
	var cells [spillBuckets][2][]uint32
	s.eachOf(p, func(cell uint32) {
		if s.cells.Count(cell) == 0 {
			return
		}
		touched := 0
		if s.cells.IsTouched(cell) {
			touched = 1
		}
		b := s.groups.bucket(s.heads[cell].group)
		cells[b][touched] = append(cells[b][touched], cell)
	})
	for b := range cells {
		// The last freeze may be given back: what it took counts as changed in its epoch.
		for touched, epoch := range [2]uint64{s.over.epoch - 1, s.over.epoch} {
			if err := s.put(p, b, SpillMark{Epoch: epoch, Restored: s.over.restoring}, cells[b][touched]); err != nil {
				return err
			}
		}
	}
	s.empty(p)
	return nil
}

// spillRows bounds the rows of a spilled batch: some 64 KiB.
const spillRows = 1024

func (s *State) put(p *pane, bucket int, m SpillMark, cells []uint32) error {
	if len(cells) == 0 {
		return nil
	}
	at := &p.spilled.buckets[bucket]
	for _, cell := range cells {
		at.rows += s.cells.Count(cell)
	}
	at.cells += len(cells)
	at.newest = max(at.newest, m.Epoch)
	return s.freeze(s.cells.Copy(cells), cells).Partials(spillRows, func(b *block.Batch) error {
		at.batches++
		return s.over.spill.Put(p.start, bucket, m, b)
	})
}

// empty takes the cells of a pane out of memory.
func (s *State) empty(p *pane) {
	s.release(p)
	p.cells, p.restricted = p.cells[:0], 0
	clear(p.slots)
}

// forget drops everything that is spilled of a pane.
func (s *State) forget(p *pane) {
	if p.spilled == nil {
		return
	}
	for b, at := range p.spilled.buckets {
		if at.batches > 0 {
			s.over.fail(s.over.spill.Drop(p.start, b))
		}
	}
	p.spilled = nil
	s.over.spilled--
}

// bucket is the part of a spilled pane that has the group; the same for a group that comes again.
func (g *groups[T]) bucket(n uint32) int {
	const bits = 64 - 6
	return int(g.list[n].hash >> bits)
}
