package dispatch

import (
	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/ident"
)

// ReceiveEvent is what Receiver.Step takes.
type ReceiveEvent interface{ receiveEvent() }

// Arrived is a message read from the task's partition (or taken from a local channel), with a good CRC.
type Arrived struct {
	Header *block.Header // not changed by anybody from here on
	Body   Handle
	Bytes  int
	Offset ident.NextOffset // of this message: reading from here brings it again
	At     ident.MonoMs     // when it arrived
}

// Done says that the task has processed a message, in the order of Enqueue.
type Done struct{ Header *block.Header }

// OpenInputs says that the task's part of the running checkpoint is frozen and its trigger sent on: closed inputs open.
type OpenInputs struct{ Checkpoint ident.CheckpointID }

// Settled is the verdict on a checkpoint, or the task's own time-out of it: complete or failed, it is over.
type Settled struct{ Checkpoint ident.CheckpointID }

func (Arrived) receiveEvent()    {}
func (Done) receiveEvent()       {}
func (OpenInputs) receiveEvent() {}
func (Settled) receiveEvent()    {}

// ReceiveEffect is what Receiver.Step returns; to be obeyed in the order returned.
type ReceiveEffect interface{ receiveEffect() }

// Enqueue puts the message into the task's queue. A trigger takes its place in it like any other message.
type Enqueue struct{ Arrived }

// DropReason says why a message is dropped.
type DropReason string

// The reasons for a drop.
const (
	DropNotMine   DropReason = "not_mine"   // left by another owner: without a word
	DropNotRun    DropReason = "not_run"    // a Notice goes with it
	DropOldStage  DropReason = "old_stage"  // a zombie
	DropNewStage  DropReason = "new_stage"  // AskOrders goes with it, once
	DropDuplicate DropReason = "duplicate"  // already received
	DropSkipped   DropReason = "skipped"    // beyond the limit of what is held, or fetched before a Seek: read again
	DropStageOver DropReason = "stage_over" // the receiver has ended
)

// Drop gives the body back.
type Drop struct {
	Body   Handle
	Reason DropReason
}

// Notice goes to the message's sender with the next credits (Credits takes it as Noticed).
type Notice struct {
	To     ident.NodeID
	Entry  CreditEntry
	Stream ident.StreamID // of the receiver, which is not always the message's
	Stage  ident.Stage
}

// EndStage ends all my tasks of the stream's stage, AskOrders asks the coordinator what is wanted now.
type EndStage struct{ Stage ident.Stage }

// AskOrders asks the coordinator for my orders because a higher stage was seen. It raises no stage.
type AskOrders struct {
	Stream ident.StreamID
	Seen   ident.Stage
}

// InputsOpen says that closed inputs have opened: nothing is held any more but what a Hold behind it names.
type InputsOpen struct{}

// Hold keeps the message of a closed input; the receiver releases it itself, as Enqueue or Drop.
type Hold struct{ Arrived }

// AlignmentBegan is the first trigger of a checkpoint; AlignmentFailed ends one that a higher one overtook.
type AlignmentBegan struct {
	Checkpoint ident.CheckpointID
	Tx         ident.TxID
	// Trigger is the message. It may have been held: the time left that it brings counts from its arrival.
	Trigger Arrived
}

// AlignmentFailed notes a checkpoint as failed at this task.
type AlignmentFailed struct{ Checkpoint ident.CheckpointID }

// TriggerIn says that everything ahead of an upstream's trigger is processed.
type TriggerIn struct {
	From       ident.Task
	Checkpoint ident.CheckpointID
}

// AllIn says that the trigger is in from every upstream: freeze, forward, then OpenInputs.
type AllIn struct {
	Checkpoint ident.CheckpointID
	Tx         ident.TxID
}

// Seek reads the partition again from the offset. What was fetched before may still arrive: it is dropped until the
// message at the offset has come.
type Seek struct{ Offset ident.NextOffset }

func (Enqueue) receiveEffect()         {}
func (Drop) receiveEffect()            {}
func (Notice) receiveEffect()          {}
func (EndStage) receiveEffect()        {}
func (AskOrders) receiveEffect()       {}
func (InputsOpen) receiveEffect()      {}
func (Hold) receiveEffect()            {}
func (AlignmentBegan) receiveEffect()  {}
func (AlignmentFailed) receiveEffect() {}
func (TriggerIn) receiveEffect()       {}
func (AllIn) receiveEffect()           {}
func (Seek) receiveEffect()            {}
func (NeedReset) receiveEffect()       {}
