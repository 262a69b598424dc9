package control

import (
	"context"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/manifest"
	"github.com/pondage/pondage/services/coordinator/internal/store"
)

// CheckpointAPI is what the coordinator offers about checkpoints; a part of API.
type CheckpointAPI interface {
	// ListCheckpoints lists checkpoints, newest first; stream "" means those of all.
	ListCheckpoints(ctx context.Context, stream string, p Page) (List[Checkpoint], error)
	// GetCheckpoint returns one with its parts; it has none until it is complete.
	GetCheckpoint(ctx context.Context, stream string, id ident.CheckpointID) (CheckpointDetail, error)
	// TakeCheckpoint asks for one. The answer waits, unless it runs by the time it is looked at: poll it. Who asks while
	// another one waits shares that.
	TakeCheckpoint(ctx context.Context, r Request, stream string) (Checkpoint, error)

	ListSavepoints(ctx context.Context, stream string, p Page) (List[Savepoint], error)
	GetSavepoint(ctx context.Context, stream, name string) (Savepoint, error)
	// CreateSavepoint keeps a checkpoint under a name: the next one of a stream that runs, the newest of one that has
	// ended. It is good once its checkpoint is complete. One that has failed is made anew.
	CreateSavepoint(ctx context.Context, r Request, stream, name string) (Savepoint, error)
	DeleteSavepoint(ctx context.Context, r Request, stream, name string) error

	// Recover begins the stream anew from a complete checkpoint, or 0 for the stream's start.
	Recover(ctx context.Context, r Request, stream string, to GoBack) (Stream, error)
	// StartFrom starts a stopped or failed stream from a savepoint.
	StartFrom(ctx context.Context, r Request, stream, savepoint string, accept Acceptance) (Stream, error)

	// ReportCheckpoints takes what a node's tasks say of their parts, and answers with the term. Reports that are about no
	// running checkpoint are answered like others: their tasks hear the verdict by their orders.
	ReportCheckpoints(ctx context.Context, r PartReports) (ident.Term, error)
}

// The words of the metastore that are also words of the API.
type (
	// Checkpoint is a checkpoint with the name of its stream.
	Checkpoint = store.NamedCheckpoint
	// CheckpointTask is a task's part of a complete checkpoint.
	CheckpointTask = store.CheckpointTask
	// Attempt names a checkpoint that runs.
	Attempt = store.Attempt
	// Cost is what a part has taken.
	Cost = store.Cost
	// SinkMarker is what a sink had seen committed.
	SinkMarker = store.SinkMarker
	// Savepoint is a name for a checkpoint that is kept.
	Savepoint = store.Savepoint
)

// CheckpointDetail is a checkpoint with its parts.
type CheckpointDetail struct {
	Checkpoint
	Tasks []CheckpointTask
}

// GoBack says where a stream begins anew.
type GoBack struct {
	Checkpoint ident.CheckpointID // 0: the stream's start
	Accept     Acceptance
}

// Acceptance is what a user puts up with.
type Acceptance uint8

// What a user may accept.
const (
	// AcceptNothing refuses what could show results twice or leave some out.
	AcceptNothing Acceptance = iota
	// AcceptDuplicates takes it.
	AcceptDuplicates
)

// PartReports are what a node's tasks say of their parts of checkpoints, in one message.
type PartReports struct {
	Cluster  string
	Node     ident.NodeID
	Instance ident.Instance
	Reports  []PartReport
}

// PartReport is a task's part of a checkpoint.
type PartReport struct {
	Attempt Attempt
	Task    ident.Task
	Failure *Cause // nil: done
	// The rest is of a part that is done.
	Manifest manifest.Hash
	Cost     Cost
	Sinks    []SinkMarker
}

// Restore says from what a stage begins.
type Restore struct {
	Checkpoint ident.CheckpointID
	// Tasks are the manifests of its parts. They may be gone once the stage has been ready: nobody starts a task of it then.
	Tasks []RestoredTask
}

// RestoredTask is a part to restore.
type RestoredTask struct {
	Task     ident.Task
	Node     ident.NodeID // that wrote it
	Manifest manifest.Hash
}
