package task

import (
	"io"

	"github.com/pondage/pondage/internal/telemetry"
	"github.com/pondage/pondage/internal/window"
)

// Spill is where windows go that memory has no room for. Closing it deletes them.
type Spill interface {
	window.Spill
	io.Closer
}

// Windows is what a task's windows may use of the node.
type Windows struct {
	// Bytes is how much memory they may use; it is asked now and then, since it changes with the node's other tasks. nil: no
	// bound.
	Bytes func() int64
	// Open opens the place for the rest, when it is needed first.
	Open func() (Spill, error)
}

// bound tells the windows how much they may use.
func (r *Receiver) bound() {
	if w := r.cfg.Windows; w.Bytes != nil {
		r.rows.Bound(int(w.Bytes()), r.overflow)
	}
}

// overflow opens the place for what is more.
func (r *Receiver) overflow() (window.Spill, error) {
	s, err := r.cfg.Windows.Open()
	if err != nil {
		return nil, err
	}
	r.spill = s
	r.log.Info("windows that memory has no room for lie on disk from now on", "state_memory", r.cfg.Windows.Bytes())
	return s, nil
}

// unbound deletes what lies on disk: a restore begins anew from files of checkpoints.
func (r *Receiver) unbound() {
	if r.spill == nil {
		return
	}
	if err := r.spill.Close(); err != nil {
		r.log.Warn("what windows had on disk was not deleted; the next start of the process does it", telemetry.KeyError, err)
	}
}
