package checkpoint

import (
	"github.com/pondage/pondage/internal/ident"
)

// Kind is why a checkpoint is taken.
type Kind string

// The kinds, as they stand in the metastore.
const (
	Interval  Kind = "interval"
	Manual    Kind = "manual"    // asked for over REST
	Savepoint Kind = "savepoint" // kept until its savepoint is deleted
	Last      Kind = "last"      // of a bounded stream that has read everything, or before a move
)

// Limits are the cluster's bounds.
type Limits struct {
	// MaxConcurrent is how many checkpoints hold a slot at a time.
	MaxConcurrent int
	// StallAfter is how long a running one holds its slot without progress, ms.
	StallAfter ident.MonoMs
}

// DefaultLimits are those of DESIGN §7.
var DefaultLimits = Limits{MaxConcurrent: 64, StallAfter: 10_000}

// Settings are a stream's.
type Settings struct {
	IntervalMs ident.MonoMs
	TimeoutMs  ident.MonoMs
	Retain     int // complete checkpoints, besides savepoints
	MaxFailed  int // in a row, until an alert
}

// Stream is what Begin and Step look at.
type Stream struct {
	ID       ident.StreamID
	Settings Settings
	// Unable is why the stream takes no checkpoint now: a task that is not ready, something pending; empty: it does.
	Unable string
	// Moved tells whether an offset has moved or a timer fired since the newest complete checkpoint.
	Moved bool
	// Asked is what was asked for and has not begun; empty: nothing. AskedSince is when this coordinator first saw it.
	Asked      Kind
	AskedSince ident.MonoMs
	// Since is when the last attempt began, or the stream became ready, whichever is later.
	Since ident.MonoMs
	// FailedInRow counts the attempts since the newest complete one.
	FailedInRow int
	Running     *Running // nil: none
}

// Running is the checkpoint that runs.
type Running struct {
	ID    ident.CheckpointID
	Tx    ident.TxID
	Kind  Kind
	Began ident.MonoMs // when this coordinator first saw it
	// Progress is when something last came from it: an answer, a report.
	Progress ident.MonoMs
	Parts    []Part // of the stage's placement, by task
}

// Part is a placed task and what is known of its part.
type Part struct {
	Task ident.Task
	Node ident.NodeID
	// Asked tells whether the task is to be asked: a source task.
	Asked bool
	// Taken tells whether it has answered that it takes its part.
	Taken bool
	// Gone tells whether the instance that the placement names has ended.
	Gone bool
	// Done and Failed are its report, or its refusal; Failed is why, Code what kind of failure it is.
	Done   bool
	Failed string
	Code   string
}
