package control

import (
	"encoding/json"
	"time"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/task"
	"github.com/pondage/pondage/services/coordinator/internal/store"
)

// The words of the metastore that are also words of the API.
type (
	// StreamState is the state of a stream as a whole: creating, running, recovering, pausing, paused, stopping,
	// stopped, finished, failed or dropping.
	StreamState = store.StreamState
	// Wanted is what the user wants of a stream: running, paused or stopped.
	Wanted = store.Wanted
	// Cause is {code, message} of a failure.
	Cause = store.Cause
	// SourcePartition is {topic, topic id, partition, start, until} with resolved offsets.
	SourcePartition = store.SourcePartition
	// Target is a {kind, name} that only one stream may write.
	Target = store.Target
)

// The states of a stream.
const (
	StreamCreating   = task.StreamCreating
	StreamRunning    = task.StreamRunning
	StreamRecovering = task.StreamRecovering
	StreamPausing    = task.StreamPausing
	StreamPaused     = task.StreamPaused
	StreamStopping   = task.StreamStopping
	StreamStopped    = task.StreamStopped
	StreamFinished   = task.StreamFinished
	StreamFailed     = task.StreamFailed
	StreamDropping   = task.StreamDropping
)

// The kinds of targets.
const (
	TargetPostgres = store.TargetPostgres
	TargetKafka    = store.TargetKafka
)

// OrderWanted is what the tasks of a stream are to be.
type OrderWanted string

// What an order can want.
const (
	OrderRunning OrderWanted = "running"
	OrderPaused  OrderWanted = "paused"
	OrderStopped OrderWanted = "stopped"
	OrderDropped OrderWanted = "dropped"
)

// Order says what is wanted of one stream, in full. A node gets all orders of the streams it has to do with in every
// heartbeat answer, and pushed when one changes. It may be repeated: a node ignores one with a lower
// (Term, Generation, Stage) than it obeyed, and starts a (stage, task) at most once.
type Order struct {
	Stream     ident.StreamID
	Name       string
	Term       ident.Term
	Generation ident.Generation
	Stage      ident.Stage
	// Wanted is what the tasks are to be: running, paused, stopped (also when the stream is finished or failed: its
	// tasks end, its results stay served) or dropped (tasks end, local state goes). A dropped stream is acknowledged by a
	// heartbeat with StreamReport.Generation at or above this one and none of its tasks.
	Wanted     OrderWanted
	Source     json.RawMessage // canonical source specification
	Spec       json.RawMessage // canonical stream specification
	Partitions []SourcePartition
	Tasks      []PlacedTask // the whole placement of the stage, all nodes; empty before the first
	Start      StartRecord
	// Restore is what the stage begins from; nil: from the stream's start.
	Restore *Restore
	// Complete is the newest complete checkpoint, Settled the highest that is complete or failed; within a stage both only
	// rise. A node takes the highest that it was told for its stage: this is how it hears a verdict (DESIGN §7).
	Complete, Settled ident.CheckpointID
	// Retained are the checkpoints whose files are to stay.
	Retained []ident.CheckpointID
}

// PlacedTask is where a task of the stage runs.
type PlacedTask struct {
	Task     ident.Task
	Node     ident.NodeID
	Instance ident.Instance // a node in another instance does not start it
	Address  string         // base URL of the node's API; may change within a stage
}

// StartRecord tells how far the start of a stage is.
type StartRecord struct {
	// Begun is when the stage was placed, by the coordinator's clock: a label.
	Begun time.Time
	// Complete: every task has been ready in this stage; the deploy is done.
	Complete bool
	// Missing are the tasks that are not ready yet; Failed those that reported a failure.
	Missing []ident.Task
	Failed  []TaskFailure
}

// TaskFailure is a failed task and why.
type TaskFailure struct {
	Task  ident.Task
	Cause Cause
}
