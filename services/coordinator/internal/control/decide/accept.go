package decide

import "github.com/pondage/pondage/internal/task"

// Action is a change that a user asks for.
type Action string

// The actions, in the order of precedence of DESIGN §11.
const (
	Drop   Action = "drop"
	Stop   Action = "stop"
	Reset  Action = "reset"
	Pause  Action = "pause"
	Resume Action = "resume"
	Start  Action = "start"
)

// Actions lists all actions.
var Actions = []Action{Drop, Stop, Reset, Pause, Resume, Start}

// Intent is what the metastore keeps of a stream's wishes: its status, and whether a new stage is due.
type Intent struct {
	task.StreamStatus
	StageDue bool
}

// Accept says what the action makes of a stream. The error is a *task.RefusedError. An action that is already wanted
// returns the intent unchanged: then nothing is written and no generation is raised.
func Accept(i Intent, a Action) (Intent, error) {
	status, err := i.StreamStatus.Step(task.StreamEvent(a))
	if err != nil {
		return i, err
	}
	began := a == Reset || (a == Start && status.State == task.StreamRecovering && i.State != task.StreamRecovering)
	return Intent{StreamStatus: status, StageDue: starting(status.State) && (i.StageDue || began)}, nil
}

// Fresh tells whether the action is a user's new beginning: earlier restarts and causes no longer count.
func Fresh(a Action) bool { return a == Start || a == Reset }

// AllowedIn lists the states in which the action is accepted, for error hints.
func AllowedIn(a Action) []task.StreamState {
	var in []task.StreamState
	for _, s := range task.StreamStates() {
		if _, err := (task.StreamStatus{State: s, Wanted: task.WantRunning}).Step(task.StreamEvent(a)); err == nil {
			in = append(in, s)
		}
	}
	return in
}

// starting tells whether a stage is due or on its way to ready.
func starting(s task.StreamState) bool {
	return s == task.StreamCreating || s == task.StreamRecovering
}
