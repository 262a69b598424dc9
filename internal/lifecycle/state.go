package lifecycle

import (
	"fmt"
	"slices"
)

// State is where a service is in its life.
type State uint8

// The states.
const (
	New State = iota
	Starting
	Running
	Stopping
	Terminated
	Failed
)

var stateNames = [...]string{New: "new", Starting: "starting", Running: "running", Stopping: "stopping", Terminated: "terminated", Failed: "failed"}

// String returns the state's name.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return fmt.Sprintf("state(%d)", uint8(s))
}

// Ended tells whether there is no way out of the state.
func (s State) Ended() bool { return s == Terminated || s == Failed }

// transitions lists all that can happen; the rest is refused.
var transitions = map[State][]State{
	New:      {Starting, Terminated},
	Starting: {Running, Stopping, Failed},
	Running:  {Stopping},
	Stopping: {Terminated, Failed},
}

func allowed(from, to State) bool { return slices.Contains(transitions[from], to) }
