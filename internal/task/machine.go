package task

import (
	"fmt"

	"github.com/pondage/pondage/internal/ident"
)

// Change is one event for a task, with the stage that Reset and Start bring (0 for all others).
type Change struct {
	Event Event
	Stage ident.Stage
}

// RefusedError says that an event is not allowed in a state. Nothing has changed.
type RefusedError struct{ State, Event, Reason string }

// Error names both, and the reason where it is more than "not in the table".
func (e *RefusedError) Error() string {
	if e.Reason == "" {
		return fmt.Sprintf("%s is not allowed in state %s", e.Event, e.State)
	}
	return fmt.Sprintf("%s is not allowed in state %s: %s", e.Event, e.State, e.Reason)
}

// Machine is the state of one task. It is a value; copies are independent.
type Machine struct {
	state State
	stage ident.Stage
	// beforePause and beforeCheckpoint are two slots: a paused task may take a checkpoint and must afterwards still know
	// whether it was reading history.
	beforePause, beforeCheckpoint State
	keptPause, keptHalt, keptEnd  bool
}

// NewMachine returns a task of the stage in state uninit.
func NewMachine(stage ident.Stage) Machine { return Machine{state: Uninit, stage: stage} }

// State returns the present state.
func (m *Machine) State() State { return m.state }

// Stage returns the stage of the last reset or start.
func (m *Machine) Stage() ident.Stage { return m.stage }

// Kept lists the events that wait for a state that takes them.
func (m *Machine) Kept() []Event {
	var kept []Event
	for _, k := range []struct {
		on    bool
		event Event
	}{{m.keptPause, Pause}, {m.keptHalt, Halt}, {m.keptEnd, BoundReached}} {
		if k.on {
			kept = append(kept, k.event)
		}
	}
	return kept
}

// Step applies one event and returns the states entered, in order; none when the event is kept for later. The error is a
// *RefusedError.
func (m *Machine) Step(c Change) ([]State, error) {
	target, ok := taskTable[m.state][c.Event]
	if !ok {
		return nil, m.refuse(c.Event, "")
	}
	if (c.Event == Reset || c.Event == Start) && c.Stage <= m.stage {
		return nil, m.refuse(c.Event, fmt.Sprintf("stage %d is not above %d", c.Stage, m.stage))
	}
	switch target {
	case keep:
		m.setKept(c.Event)
		return nil, nil
	case unkeep:
		if !m.keptPause && !m.keptHalt {
			return nil, m.refuse(c.Event, "nothing was kept")
		}
		m.keptPause, m.keptHalt = false, false
		return nil, nil
	case back:
		target = m.before(c.Event)
	}
	m.enter(c, target)
	return m.settle([]State{m.state}), nil
}

func (m *Machine) refuse(e Event, reason string) error {
	return &RefusedError{State: string(m.state), Event: string(e), Reason: reason}
}

func (m *Machine) setKept(e Event) {
	switch e {
	case Pause:
		m.keptPause = true
	case Halt:
		m.keptHalt = true
	case BoundReached:
		m.keptEnd = true
	}
}

// before returns the state that the event leads back to.
func (m *Machine) before(e Event) State {
	if e == Resume {
		return m.beforePause
	}
	return m.beforeCheckpoint
}

func (m *Machine) enter(c Change, target State) {
	switch c.Event {
	case Pause:
		m.beforePause = m.state
	case GenCheckpoint:
		m.beforeCheckpoint = m.state
	case Reset, Start:
		*m = Machine{stage: c.Stage}
	case Stop, Fail, Drop:
		m.keptPause, m.keptHalt, m.keptEnd = false, false, false
	}
	m.state = target
}

// settle applies what was kept, as far as the states reached take it. A bound counts first (a finished task has
// nothing left to pause), then pause, then halt, which a paused task takes too.
func (m *Machine) settle(entered []State) []State {
	for _, k := range []struct {
		kept  *bool
		event Event
	}{{&m.keptEnd, BoundReached}, {&m.keptPause, Pause}, {&m.keptHalt, Halt}} {
		target, ok := taskTable[m.state][k.event]
		if !*k.kept || !ok || target == keep {
			continue
		}
		*k.kept = false
		m.enter(Change{Event: k.event}, target)
		entered = append(entered, m.state)
	}
	return entered
}
