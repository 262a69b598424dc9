package decide

// State is the state of a stream as a whole. The CHECK constraint of the metastore lists the same names.
type State string

// The stream states (DESIGN §11).
const (
	Creating   State = "creating"   // the first stage is not yet ready
	Running    State = "running"    // all tasks of the stage were ready
	Recovering State = "recovering" // a new stage is due or not yet ready
	Pausing    State = "pausing"    // sources are being told
	Paused     State = "paused"
	Stopping   State = "stopping" // tasks are ending
	Stopped    State = "stopped"
	Finished   State = "finished" // the bound was reached and every sink has flushed
	Failed     State = "failed"   // see its cause
	Dropping   State = "dropping" // tasks, topics, then the row go
)

// States lists all states.
var States = []State{Creating, Running, Recovering, Pausing, Paused, Stopping, Stopped, Finished, Failed, Dropping}

// Starting tells whether a stage is due or on its way to ready.
func (s State) Starting() bool { return s == Creating || s == Recovering }

// Working tells whether the stage is ready and its tasks are meant to live.
func (s State) Working() bool { return s == Running || s == Pausing || s == Paused }

// Wanted is what the user wants of a stream; any reset, failover or restart ends in it.
type Wanted string

// The wanted states.
const (
	WantRunning Wanted = "running"
	WantPaused  Wanted = "paused"
	WantStopped Wanted = "stopped"
	WantDropped Wanted = "dropped"
)

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

// Outcome is what an accepted action makes of a stream.
type Outcome struct {
	State  State
	Wanted Wanted
	// StageDue: the tasks start anew, in a higher stage.
	StageDue bool
	// Fresh: a user asks for a new beginning, so earlier restarts and the cause of a failure no longer count.
	Fresh bool
}

// keep stands for "as it is" in the table below.
const keep = ""

// transition is a cell of the table. The zero value means refused.
type transition struct {
	allowed  bool
	state    State  // keep: as it is
	wanted   Wanted // keep: as it is
	stageDue bool
	fresh    bool
}

var (
	same   = transition{allowed: true}
	anew   = transition{allowed: true, state: Recovering, stageDue: true, fresh: true}
	begin  = transition{allowed: true, state: Recovering, wanted: WantRunning, stageDue: true, fresh: true}
	end    = transition{allowed: true, state: Stopping, wanted: WantStopped}
	goAway = transition{allowed: true, state: Dropping, wanted: WantDropped}
)

func to(s State, w Wanted) transition { return transition{allowed: true, state: s, wanted: w} }

// actions says what each action does in each state; what is not in it is refused.
var actions = map[State]map[Action]transition{
	Creating: {Drop: goAway, Stop: end, Reset: {allowed: true, stageDue: true, fresh: true},
		Pause: to(keep, WantPaused), Resume: to(keep, WantRunning), Start: to(keep, WantRunning)},
	Recovering: {Drop: goAway, Stop: end, Reset: anew,
		Pause: to(keep, WantPaused), Resume: to(keep, WantRunning), Start: to(keep, WantRunning)},
	Running:  {Drop: goAway, Stop: end, Reset: anew, Pause: to(Pausing, WantPaused), Resume: same, Start: same},
	Pausing:  {Drop: goAway, Stop: end, Reset: anew, Pause: same, Resume: to(Running, WantRunning)},
	Paused:   {Drop: goAway, Stop: end, Reset: anew, Pause: same, Resume: to(Running, WantRunning)},
	Stopping: {Drop: goAway, Stop: same, Start: begin},
	Stopped:  {Drop: goAway, Stop: same, Start: begin},
	Finished: {Drop: goAway, Stop: end, Reset: begin},
	Failed:   {Drop: goAway, Stop: end, Reset: begin, Start: begin},
	Dropping: {Drop: same},
}

// Accept says what the action makes of a stream in the given state, or false when it is refused there. changed is false
// when the action is already what is wanted: then nothing is written and no generation is raised.
func Accept(s State, w Wanted, stageDue bool, a Action) (o Outcome, changed, ok bool) {
	t := actions[s][a]
	if !t.allowed {
		return Outcome{}, false, false
	}
	o = Outcome{State: s, Wanted: w, StageDue: stageDue || t.stageDue, Fresh: t.fresh}
	if t.state != keep {
		o.State = t.state
	}
	if t.wanted != keep {
		o.Wanted = t.wanted
	}
	if !o.State.Starting() {
		o.StageDue = false // only a stream that starts waits for a stage
	}
	return o, o != Outcome{State: s, Wanted: w, StageDue: stageDue}, true
}

// AllowedIn lists the states in which the action is accepted, for error hints.
func AllowedIn(a Action) []State {
	var in []State
	for _, s := range States {
		if actions[s][a].allowed {
			in = append(in, s)
		}
	}
	return in
}
