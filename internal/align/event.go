package align

import "github.com/pondage/pondage/internal/ident"

// Event is what Core.Step takes. Now is the task's monotonic clock.
type Event interface{ event() }

// Requested is the coordinator's request to a source task. It may come any number of times.
type Requested struct {
	Stage      ident.Stage
	Checkpoint ident.CheckpointID
	Tx         ident.TxID
	Deadline   ident.MonoMs // Now and the time left
	// Unready says why the task's state does not take a checkpoint; "": it does.
	Unready string
	Now     ident.MonoMs
}

// Began is the first trigger of a checkpoint at a receiver (dispatch.AlignmentBegan).
type Began struct {
	Checkpoint ident.CheckpointID
	Tx         ident.TxID
	Deadline   ident.MonoMs // the trigger's arrival and the time left in it
	Now        ident.MonoMs
}

// TriggerIn says that everything ahead of an upstream's trigger is processed (dispatch.TriggerIn).
type TriggerIn struct {
	From       ident.Task
	Checkpoint ident.CheckpointID
}

// AllIn says that this is so for every upstream (dispatch.AllIn).
type AllIn struct{ Checkpoint ident.CheckpointID }

// TriggerAnswered is an upstream's answer to AskTriggers.
type TriggerAnswered struct {
	Checkpoint ident.CheckpointID
	From       ident.Task
	Answer     Answer
	// Mine is how far this task is with the upstream: the last message processed, the next offset to be read.
	Mine Position
	Now  ident.MonoMs
}

// Written says that the task's part is durable, files, manifest and what its sinks had to prepare.
type Written struct {
	Checkpoint ident.CheckpointID
	Now        ident.MonoMs
}

// WriteFailed says that it will not be.
type WriteFailed struct {
	Checkpoint ident.CheckpointID
	Failure    Failure
	Now        ident.MonoMs
}

// Settled is what the newest order says: the newest complete checkpoint of the stream, and the newest that is complete or
// failed. It is void for another stage.
type Settled struct {
	Stage    ident.Stage
	Complete ident.CheckpointID
	Settled  ident.CheckpointID
	Now      ident.MonoMs
}

// Committed says that all sinks of the task have done what follows from the complete checkpoint.
type Committed struct {
	Checkpoint ident.CheckpointID
	Now        ident.MonoMs
}

// CommitFailed says that they have not; it is tried again.
type CommitFailed struct{ Now ident.MonoMs }

// ReportAgain asks for the report that has no verdict yet: another coordinator leads.
type ReportAgain struct{ Now ident.MonoMs }

// Tick passes time; a few times a second.
type Tick struct{ Now ident.MonoMs }

func (Requested) event()       {}
func (Began) event()           {}
func (TriggerIn) event()       {}
func (AllIn) event()           {}
func (TriggerAnswered) event() {}
func (Written) event()         {}
func (WriteFailed) event()     {}
func (Settled) event()         {}
func (Committed) event()       {}
func (CommitFailed) event()    {}
func (ReportAgain) event()     {}
func (Tick) event()            {}
