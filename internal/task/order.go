package task

// Action is a long action on one stream: something that is ordered, takes time, and can meet another.
type Action string

// The actions, from the strongest to the weakest.
const (
	ActDrop          Action = "drop"
	ActStop          Action = "stop"
	ActReset         Action = "reset"
	ActPause         Action = "pause"
	ActCheckpoint    Action = "checkpoint"
	ActSavepoint     Action = "savepoint"
	ActUpdate        Action = "update"
	ActMove          Action = "move"
	ActSplit         Action = "split"
	ActRecalculation Action = "recalculation"
)

// Actions lists the actions, from the strongest to the weakest.
func Actions() []Action {
	return []Action{
		ActDrop, ActStop, ActReset, ActPause, ActCheckpoint, ActSavepoint,
		ActUpdate, ActMove, ActSplit, ActRecalculation,
	}
}

// Verdict says what becomes of an action that is asked for while another runs.
type Verdict string

// The verdicts.
const (
	Proceed   Verdict = "proceed"   // both go on side by side
	Join      Verdict = "join"      // it is the running one, asked again
	Supersede Verdict = "supersede" // the running one ends as failed, the asked one begins
	Wait      Verdict = "wait"      // begins when the running one has ended
	Busy      Verdict = "busy"      // refused, may be asked again later (409)
	Outranked Verdict = "outranked" // refused for good: the running one ends what it would act on
)

// meeting is DESIGN §11 as data: running → asked → verdict. Drop, stop and reset outrank in this order; from reset on
// they end a checkpoint, savepoint, update, move or split as failed; a recalculation survives a reset, which resumes it;
// a pause waits for a checkpoint; update, move, split and recalculation exclude each other, recalculations queue.
var meeting = map[Action]map[Action]Verdict{
	ActDrop: {
		ActDrop: Join, ActStop: Outranked, ActReset: Outranked, ActPause: Outranked, ActCheckpoint: Outranked, ActSavepoint: Outranked,
		ActUpdate: Outranked, ActMove: Outranked, ActSplit: Outranked, ActRecalculation: Outranked,
	},
	ActStop: {
		ActDrop: Supersede, ActStop: Join, ActReset: Outranked, ActPause: Outranked, ActCheckpoint: Outranked, ActSavepoint: Outranked,
		ActUpdate: Outranked, ActMove: Outranked, ActSplit: Outranked, ActRecalculation: Outranked,
	},
	// A pause asked for during a reset changes only the wanted state, in which the reset ends. A checkpoint waits until
	// all tasks of the new stage are ready.
	ActReset: {
		ActDrop: Supersede, ActStop: Supersede, ActReset: Supersede, ActPause: Proceed, ActCheckpoint: Wait, ActSavepoint: Wait,
		ActUpdate: Busy, ActMove: Busy, ActSplit: Busy, ActRecalculation: Busy,
	},
	// While a stream pauses only its sources stand still: checkpoints pass, and so does what is built on them.
	ActPause: {
		ActDrop: Supersede, ActStop: Supersede, ActReset: Supersede, ActPause: Join, ActCheckpoint: Proceed, ActSavepoint: Proceed,
		ActUpdate: Wait, ActMove: Wait, ActSplit: Wait, ActRecalculation: Proceed,
	},
	// One checkpoint of a stream at a time: a second one is refused, not stacked.
	ActCheckpoint: {
		ActDrop: Supersede, ActStop: Supersede, ActReset: Supersede, ActPause: Wait, ActCheckpoint: Busy, ActSavepoint: Wait,
		ActUpdate: Wait, ActMove: Wait, ActSplit: Wait, ActRecalculation: Wait,
	},
	ActSavepoint: {
		ActDrop: Supersede, ActStop: Supersede, ActReset: Supersede, ActPause: Wait, ActCheckpoint: Busy, ActSavepoint: Busy,
		ActUpdate: Wait, ActMove: Wait, ActSplit: Wait, ActRecalculation: Wait,
	},
	// Update, move and split take the checkpoint that they need themselves: others would only delay them.
	ActUpdate: {
		ActDrop: Supersede, ActStop: Supersede, ActReset: Supersede, ActPause: Wait, ActCheckpoint: Wait, ActSavepoint: Wait,
		ActUpdate: Busy, ActMove: Busy, ActSplit: Busy, ActRecalculation: Busy,
	},
	ActMove: {
		ActDrop: Supersede, ActStop: Supersede, ActReset: Supersede, ActPause: Wait, ActCheckpoint: Wait, ActSavepoint: Wait,
		ActUpdate: Busy, ActMove: Busy, ActSplit: Busy, ActRecalculation: Busy,
	},
	ActSplit: {
		ActDrop: Supersede, ActStop: Supersede, ActReset: Supersede, ActPause: Wait, ActCheckpoint: Wait, ActSavepoint: Wait,
		ActUpdate: Busy, ActMove: Busy, ActSplit: Busy, ActRecalculation: Busy,
	},
	ActRecalculation: {
		ActDrop: Supersede, ActStop: Supersede, ActReset: Proceed, ActPause: Proceed, ActCheckpoint: Proceed, ActSavepoint: Proceed,
		ActUpdate: Busy, ActMove: Busy, ActSplit: Busy, ActRecalculation: Wait,
	},
}

// Meet says what becomes of asked while running runs.
func Meet(running, asked Action) Verdict { return meeting[running][asked] }
