package align

import (
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/task"
)

// Effect is what Core.Step returns; to be obeyed in the order returned.
type Effect interface{ effect() }

// Taken answers a request: the checkpoint is being taken, or was.
type Taken struct {
	Checkpoint ident.CheckpointID
	Tx         ident.TxID
}

// Refused answers a request: this task takes no part, and so the checkpoint fails.
type Refused struct {
	Checkpoint ident.CheckpointID
	Tx         ident.TxID
	Failure    Failure
}

// Enter takes an event to the task's state machine: gen_checkpoint, checkpoint_done or checkpoint_failed.
type Enter struct{ Event task.Event }

// Flush hands on whatever is computed and held back.
type Flush struct{ Checkpoint ident.CheckpointID }

// Freeze lets the trigger pass the chained sinks and takes the state.
type Freeze struct {
	Checkpoint ident.CheckpointID
	Tx         ident.TxID
}

// Forward sends the trigger to every destination, with the time left until the deadline.
type Forward struct {
	Checkpoint ident.CheckpointID
	Tx         ident.TxID
	Deadline   ident.MonoMs
}

// Write begins the asynchronous part with what was frozen: Written or WriteFailed, unless a Discard ends it.
type Write struct{ Checkpoint ident.CheckpointID }

// OpenInputs opens the inputs of the receiver behind its part (dispatch.OpenInputs).
type OpenInputs struct{ Checkpoint ident.CheckpointID }

// Settle tells the receiver that all checkpoints up to this one are over (dispatch.Settled).
type Settle struct{ Checkpoint ident.CheckpointID }

// AskTriggers asks upstreams for the triggers that have not come: TriggerAnswered for each that answers.
type AskTriggers struct {
	Checkpoint ident.CheckpointID
	Tx         ident.TxID
	From       []ident.Task
}

// Report tells the coordinator of the task's part. It comes again every ReportEvery until the checkpoint is settled.
type Report struct {
	Checkpoint ident.CheckpointID
	Tx         ident.TxID
	Failure    *Failure // nil: done
}

// Commit lets the sinks do what follows from a complete checkpoint, which covers all older ones, and says so: Committed
// or CommitFailed. What was kept of any up to this one is over.
type Commit struct{ Checkpoint ident.CheckpointID }

// Discard says that a checkpoint has failed of which this task has frozen its part: its asynchronous part ends, and what
// was kept of it goes, but for what later checkpoints stand on.
type Discard struct{ Checkpoint ident.CheckpointID }

func (Taken) effect()       {}
func (Refused) effect()     {}
func (Enter) effect()       {}
func (Flush) effect()       {}
func (Freeze) effect()      {}
func (Forward) effect()     {}
func (Write) effect()       {}
func (OpenInputs) effect()  {}
func (Settle) effect()      {}
func (AskTriggers) effect() {}
func (Report) effect()      {}
func (Commit) effect()      {}
func (Discard) effect()     {}
