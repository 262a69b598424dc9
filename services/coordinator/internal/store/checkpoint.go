package store

import (
	"time"

	"github.com/pondage/pondage/internal/checkpoint"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/manifest"
)

// Cuts is what a stream's row says of its checkpoints.
type Cuts struct {
	Next ident.CheckpointID // the id of the next one; rises, also across failures; from 1
	// Complete is what the next stage restores: the newest complete one, or an older one after Rewind; 0: the stream's
	// start.
	Complete ident.CheckpointID
	// Settled is the highest that is complete or failed; 0: none.
	Settled ident.CheckpointID
	// Start is what the present stage has restored; 0: the stream's start. Its row may be gone by now.
	Start ident.CheckpointID
	// Failed counts the failed ones since the newest complete one.
	Failed int
}

// CheckpointState is how far a checkpoint is.
type CheckpointState string

// The states. waiting → running → complete or failed; waiting → failed.
const (
	CheckpointWaiting  CheckpointState = "waiting" // was asked for; the next of its stream that begins
	CheckpointRunning  CheckpointState = "running"
	CheckpointComplete CheckpointState = "complete"
	CheckpointFailed   CheckpointState = "failed"
)

// Checkpoint is a row of checkpoints.
type Checkpoint struct {
	Seq    int64 // rises over all streams: the order of lists
	Stream ident.StreamID
	ID     ident.CheckpointID
	Tx     ident.TxID // tells it apart from one of the same id in a metastore that went back in time
	Kind   checkpoint.Kind
	State  CheckpointState
	// Stage that it was begun in, and its Deadline from then on; 0 until it begins.
	Stage    ident.Stage
	Deadline time.Duration
	Asked    time.Time  // label
	Begun    *time.Time // label; nil until it begins
	Ended    *time.Time // label; nil until it is complete or failed
	Cause    *Cause     // why it failed
	Cost     Cost
	// Abandoned: the stream went back to an older one; only Rewind comes back to it.
	Abandoned bool
}

// Attempt names a checkpoint that runs. A word about it with another stage or transaction is not about it.
type Attempt struct {
	Stream     ident.StreamID
	Stage      ident.Stage
	Checkpoint ident.CheckpointID
	Tx         ident.TxID
}

// Attempt names the checkpoint.
func (c Checkpoint) Attempt() Attempt { return Attempt{c.Stream, c.Stage, c.ID, c.Tx} }

// Cost is what a checkpoint, or a task's part of one, has taken. Milliseconds are kept.
type Cost struct {
	BytesFull        int64 // what a restore reads
	BytesIncremental int64 // what was written
	// Align, Sync and Async: closed inputs, standing still, writing. Of a checkpoint: its slowest part's, each.
	Align, Sync, Async time.Duration
}

// Add puts a part's cost to the checkpoint's.
func (c Cost) Add(part Cost) Cost {
	return Cost{
		c.BytesFull + part.BytesFull, c.BytesIncremental + part.BytesIncremental,
		max(c.Align, part.Align), max(c.Sync, part.Sync), max(c.Async, part.Async),
	}
}

// CheckpointTask is a task's part of a complete checkpoint.
type CheckpointTask struct {
	Task     ident.Task
	Node     ident.NodeID // that wrote it
	Manifest manifest.Hash
	Cost     Cost
	Sinks    []SinkMarker
}

// SinkMarker is the last checkpoint that a sink had seen committed when it did its part.
type SinkMarker struct {
	Kind   string             `json:"kind"`
	Marker ident.CheckpointID `json:"marker"`
}

// NamedCheckpoint is a checkpoint with the name of its stream.
type NamedCheckpoint struct {
	Checkpoint
	Name string
}

// CheckpointFilter selects checkpoints, newest first.
type CheckpointFilter struct {
	Stream ident.StreamID // 0: all
	Before int64          // Seq below; 0: from the newest
	Limit  int
}

// EndedCheckpoint is what retention looks at.
type EndedCheckpoint struct {
	ID        ident.CheckpointID
	Complete  bool // else it failed
	Abandoned bool
	Saved     bool // a savepoint names it
}

// CheckpointRef names a checkpoint.
type CheckpointRef struct {
	Stream     ident.StreamID
	Checkpoint ident.CheckpointID
}

// Savepoint is a row of savepoints with its checkpoint: it is good once that is complete.
type Savepoint struct {
	Stream     ident.StreamID
	Name       string
	Created    time.Time // label
	Checkpoint Checkpoint
}
