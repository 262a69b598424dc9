package decide

import (
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/task"
)

// Cause says why something failed, with a code of the error catalogue.
type Cause struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Facts is all that Step looks at: the stream's row, the reports of its present stage, the state of the nodes.
type Facts struct {
	Intent
	Stage    ident.Stage // 0: never placed
	Restarts int         // counted resets since the newest complete checkpoint (DESIGN §7), or a user's start
	// Concluded: the stage's last checkpoint is complete, and every task has done what follows from it.
	Concluded bool

	Tasks []TaskFact // the placement of the stage; empty at stage 0
	// Holders are the living nodes that report any task of the stream, in whatever stage.
	Holders []ident.NodeID
	// ResetAsked is why a node wants this stage to end; nil when none does.
	ResetAsked *Cause

	// Absent are the nodes that must be alive before a stage can be placed and are not; Unplaced: vgroups have no
	// owner yet.
	Absent   []ident.NodeID
	Unplaced bool

	// Topics is whether the stream's topics have been made and checked for the coming stage, or deleted when it drops.
	Topics Topics

	Now        ident.MonoMs
	StageBegun ident.MonoMs // when this coordinator first saw the stage
	DueSince   ident.MonoMs // when this coordinator first saw that a stage is due
}

// Topics is how far the work on the stream's topics is.
type Topics struct {
	Done bool
	// Err is why the last attempt failed; nil when there was none. Final: repeating does not help.
	Err   *Cause
	Final bool
}

// Life is how a placed instance of a node is.
type Life uint8

// The lives of an instance.
const (
	Alive  Life = iota
	Silent      // beats are missing: it may be dead, or frozen and come back
	Gone        // another instance of the node is registered, or it said good-bye: its tasks are dead
)

// TaskFact is a placed task and what is known of it.
type TaskFact struct {
	Task ident.Task
	Node ident.NodeID
	Life Life
	// Report is the task's state as last reported in this stage; "" when not reported.
	Report task.State
	Cause  *Cause // of a failed task
	// SinkAway: the task says that it cannot reach the target of an output.
	SinkAway bool
	// DiskFull: the task says that it waits for room on a disk.
	DiskFull bool
	// Acked: the node has obeyed the stream's generation and stage.
	Acked bool
}

// Ready tells whether a task in the state has got through its start. History progress does not gate it (DESIGN §11).
func Ready(s task.State) bool {
	switch s {
	case task.Ready, task.ScanHistory, task.Checkpointing, task.Halted, task.Paused, task.Finished:
		return true
	}
	return false
}

// settled tells whether the task runs no more, or cannot be asked: an instance that is silent is fenced by the next
// stage and must not hold a stop for ever.
func (t TaskFact) settled() bool {
	if t.Life != Alive {
		return true
	}
	switch t.Report {
	case task.Stopped, task.Finished, task.Failed, "":
		return t.Acked
	}
	return false
}

// told tells whether the task's node knows what is wanted, or cannot be asked.
func (t TaskFact) told() bool { return t.Life != Alive || t.Acked }

// Limits are the configured bounds.
type Limits struct {
	// StartTimeout is how long a stage may take until all tasks are ready, in ms.
	StartTimeout ident.MonoMs
	// MaxRestarts is how many counted resets in a row a stream gets before it is failed.
	MaxRestarts int
	// BackoffBase is the wait before the first counted restart, doubled for each further one up to BackoffCap, in ms.
	BackoffBase, BackoffCap ident.MonoMs
}

// DefaultLimits are the limits unless configured.
var DefaultLimits = Limits{
	StartTimeout: 60_000, // DESIGN §7
	MaxRestarts:  10,
	BackoffBase:  250,
	BackoffCap:   30_000,
}

// Backoff returns how long the restart with the given number (from 0) waits.
func (l Limits) Backoff(restarts int) ident.MonoMs {
	wait := l.BackoffBase
	for i := 1; i < restarts && wait < l.BackoffCap; i++ {
		wait *= 2
	}
	if restarts == 0 {
		return 0
	}
	return min(wait, l.BackoffCap)
}
