package watch

import (
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/services/worker/internal/live"
)

// merger puts the events of several nodes into one sequence, within a stage. It does no I/O.
type merger struct {
	at     live.Position
	spoken map[int]bool // the sources that have said where they stand
	// committed is the newest complete checkpoint that was told: every source tells of each.
	committed ident.CheckpointID
}

func newMerger(at live.Position) *merger { return &merger{at: clone(at), spoken: map[int]bool{}} }

// verdict is what is to be done with an event.
type verdict uint8

const (
	drop   verdict = iota // of a lower stage, the word of a source that it stands here, or one that another has said
	pass                  // the watcher gets it
	leaves                // the stage is over: the event is of a higher one
)

// take takes an event of a source in, and returns it with the place in the whole.
func (m *merger) take(source int, e event) (event, verdict) {
	switch {
	case e.at.Stage < m.at.Stage:
		return e, drop
	case e.at.Stage > m.at.Stage:
		return e, leaves
	}
	for i, n := range e.at.Next {
		if i < len(m.at.Next) && n > m.at.Next[i] {
			m.at.Next[i] = n
		}
	}
	if e.kind == kindStage {
		m.spoken[source] = true
		return e, drop
	}
	if e.kind == kindCommitted {
		if e.checkpoint <= m.committed {
			return e, drop
		}
		m.committed = e.checkpoint
	}
	e.at = clone(m.at)
	return e, pass
}

// begin returns the position before everything of a stage.
func begin(stage ident.Stage, vgroups int) live.Position {
	return live.Position{Stage: stage, Next: make([]uint64, vgroups)}
}
