package task

// State is the state of a task, as heartbeats, the API and the metastore name it.
type State string

// The states of a task.
const (
	Uninit        State = "uninit"        // known, nothing restored or started yet
	ScanHistory   State = "scan_history"  // runs, its sources still read history
	Ready         State = "ready"         // runs; all downstreams are ready in its stage
	Checkpointing State = "checkpointing" // runs; a checkpoint of it is being taken
	Halted        State = "halted"        // stands still for a change of the stream
	Paused        State = "paused"        // its sources do not read; it takes what edges bring
	Stopped       State = "stopped"       // ended, state kept
	Finished      State = "finished"      // its bound is reached
	Failed        State = "failed"        // ended by a named error
	Dropping      State = "dropping"      // ending, state goes
)

// States lists the states of a task in the order of the documents.
func States() []State {
	return []State{Uninit, ScanHistory, Ready, Checkpointing, Halted, Paused, Stopped, Finished, Failed, Dropping}
}

// Event is what can happen to a task.
type Event string

// The events of a task.
const (
	Init             Event = "init"              // ready to run: downstreams are ready, positions are taken
	InitScanHistory  Event = "init_scan_history" // the same, with history to read first
	ScanHistoryDone  Event = "scan_history_done"
	GenCheckpoint    Event = "gen_checkpoint"
	CheckpointDone   Event = "checkpoint_done"
	CheckpointFailed Event = "checkpoint_failed"
	Pause            Event = "pause"
	Halt             Event = "halt"
	Resume           Event = "resume"
	BoundReached     Event = "bound_reached"
	Reset            Event = "reset" // needs a higher stage
	Start            Event = "start" // needs a higher stage
	Stop             Event = "stop"
	Fail             Event = "fail"
	Drop             Event = "drop"
)

// Events lists the events of a task in the order of the documents.
func Events() []Event {
	return []Event{
		Init, InitScanHistory, ScanHistoryDone, GenCheckpoint, CheckpointDone, CheckpointFailed,
		Pause, Halt, Resume, BoundReached, Reset, Start, Stop, Fail, Drop,
	}
}

// The targets of the table that are no states of their own.
const (
	back   State = "(the state before)"
	keep   State = "(kept until a state takes it)"
	unkeep State = "(what was kept is taken back)" // refused when nothing was kept
)

// taskTable is DESIGN §11: state → event → target. What is not in it is refused.
var taskTable = map[State]map[Event]State{
	Uninit: {
		Init: Ready, InitScanHistory: ScanHistory,
		Pause: keep, Halt: keep, Resume: unkeep,
		Reset: Uninit, Stop: Stopped, Fail: Failed, Drop: Dropping,
	},
	ScanHistory: {
		ScanHistoryDone: Ready, GenCheckpoint: Checkpointing, Pause: Paused,
		Reset: Uninit, Stop: Stopped, Fail: Failed, Drop: Dropping,
	},
	Ready: {
		GenCheckpoint: Checkpointing, Pause: Paused, Halt: Halted, BoundReached: Finished,
		Reset: Uninit, Stop: Stopped, Fail: Failed, Drop: Dropping,
	},
	Checkpointing: {
		CheckpointDone: back, CheckpointFailed: back,
		Pause: keep, Halt: keep, BoundReached: keep, Resume: unkeep,
		Reset: Uninit, Stop: Stopped, Fail: Failed, Drop: Dropping,
	},
	Halted: {
		GenCheckpoint: Checkpointing, Pause: keep, Resume: Ready,
		Reset: Uninit, Stop: Stopped, Fail: Failed, Drop: Dropping,
	},
	Paused: {
		GenCheckpoint: Checkpointing, Halt: Halted, Resume: back,
		Reset: Uninit, Stop: Stopped, Fail: Failed, Drop: Dropping,
	},
	Stopped: {
		Start: Uninit,
		Reset: Uninit, Stop: Stopped, Drop: Dropping,
	},
	Finished: {
		GenCheckpoint: Checkpointing,
		Reset:         Uninit, Stop: Stopped, Fail: Failed, Drop: Dropping,
	},
	Failed: {
		Reset: Uninit, Stop: Stopped, Drop: Dropping,
	},
	Dropping: {
		Drop: Dropping,
	},
}
