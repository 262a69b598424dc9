package overflow

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/window"
)

// errClosed is what a reader of a snapshot gets that was given up meanwhile.
var errClosed = errors.New("the snapshot was given up")

// snapshot implements window.SpillSnapshot. Its fields belong to the mutex of the Spill.
type snapshot struct {
	of      *Spill
	db      *pebble.Snapshot
	readers int
	closed  bool
}

// Snapshot implements window.Spill.
func (s *Spill) Snapshot() window.SpillSnapshot {
	r := &snapshot{of: s, db: s.db.NewSnapshot()}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.snapshots[r] = struct{}{}
	return r
}

// Each implements window.SpillReader.
func (r *snapshot) Each(pane ident.EventMs, bucket int, do func(window.SpillMark, *block.Batch) error) (err error) {
	r.of.mu.Lock()
	closed := r.closed
	if !closed {
		r.readers++
	}
	r.of.mu.Unlock()
	if closed {
		return fmt.Errorf("read from %s: %w", r.of.dir, errClosed)
	}
	defer func() { err = errors.Join(err, r.end(func() { r.readers-- })) }()
	return each(r.db, pane, bucket, do)
}

// Close implements window.SpillSnapshot. A reader under way ends first: Pebble must not lose a snapshot under its iterators.
func (r *snapshot) Close() error {
	return r.end(func() { r.closed = true })
}

// end notes an end, and gives the snapshot back with the last one.
func (r *snapshot) end(note func()) error {
	r.of.mu.Lock()
	note()
	_, held := r.of.snapshots[r]
	over := held && r.closed && r.readers == 0
	if over {
		delete(r.of.snapshots, r)
	}
	r.of.mu.Unlock()
	if !over {
		return nil
	}
	return r.db.Close()
}
