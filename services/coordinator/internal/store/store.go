package store

import (
	"context"
	"errors"
	"time"

	"github.com/pondage/pondage/internal/ident"
)

// The errors of the seam. Implementations wrap them with the operation and its identifiers.
var (
	ErrNotFound  = errors.New("not found")
	ErrExists    = errors.New("already exists")         // a unique name or target is taken; see ConflictError
	ErrStaleTerm = errors.New("stale lease term")       // the writer's term is not the current one
	ErrTooOld    = errors.New("binary too old to lead") // the metastore was migrated beyond what the binary knows
	ErrBusy      = errors.New("row is locked")          // a lock was not had in time; repeating may help
	ErrUnclear   = errors.New("outcome unknown")        // the answer to COMMIT was lost: read again
	ErrDown      = errors.New("metastore unreachable")  // no connection, or it broke before COMMIT: nothing changed
)

// ConflictError is an ErrExists that says what is taken.
type ConflictError struct {
	Kind string // "source", "stream" or "target"
	Name string // the name or "postgres flights_1h"
}

// Error names the conflict.
func (e *ConflictError) Error() string { return e.Kind + " " + e.Name + ": already exists" }

// Is makes errors.Is(err, ErrExists) true.
func (e *ConflictError) Is(target error) bool { return target == ErrExists }

// AnyTerm is the term of writes that a replica makes for a user: they are guarded by versions and states, decide
// nothing in the leader's place, and so go through under whatever term is current. It is not zero, so that a term that
// nobody has set is refused.
const AnyTerm ident.Term = -1

// Store is the metastore. Safe for concurrent use.
type Store interface {
	// View runs fn on one consistent snapshot. fn must not write.
	View(ctx context.Context, fn func(Reader) error) error

	// Update runs fn in one transaction under the given term (or AnyTerm) and commits when fn returns nil. fn may be
	// run again from the start after a deadlock, so it must not have effects of its own. Errors: ErrStaleTerm,
	// ErrBusy, ErrUnclear, ErrDown, or what fn returned.
	Update(ctx context.Context, term ident.Term, fn func(Tx) error) error

	// Watch returns a channel that gets a value after a committed Update of anybody. It is closed when ctx ends.
	Watch(ctx context.Context) <-chan struct{}

	// Ping tells whether the metastore answers.
	Ping(ctx context.Context) error
}

// Reader reads. A Reader of View locks nothing; the same methods of a Tx see its own writes, without locks.
type Reader interface {
	Cluster(ctx context.Context) (Cluster, error)

	Source(ctx context.Context, name string) (Source, error)
	Sources(ctx context.Context, after string, limit int) ([]Source, error) // by name, names > after

	Stream(ctx context.Context, name string) (Stream, error)
	Streams(ctx context.Context, after string, limit int) ([]Stream, error) // by name, names > after
	StreamTasks(ctx context.Context, id ident.StreamID) ([]Task, error)     // of the placed stage, by task
	StreamsOfSource(ctx context.Context, id ident.SourceID) ([]string, error)

	Checkpoint(ctx context.Context, stream ident.StreamID, id ident.CheckpointID) (Checkpoint, error)
	Checkpoints(ctx context.Context, f CheckpointFilter) ([]NamedCheckpoint, error)
	// OpenCheckpoints are those that wait or run, of one stream or (0) of all, by stream and id.
	OpenCheckpoints(ctx context.Context, stream ident.StreamID) ([]Checkpoint, error)
	// CompleteCheckpoints names all complete ones, by stream and id: what their files are kept for.
	CompleteCheckpoints(ctx context.Context) ([]CheckpointRef, error)
	// EndedCheckpoints are the complete and the failed ones of a stream, by id.
	EndedCheckpoints(ctx context.Context, stream ident.StreamID) ([]EndedCheckpoint, error)
	// CheckpointTasks are the parts of a complete one, by task; none when it is gone.
	CheckpointTasks(ctx context.Context, stream ident.StreamID, id ident.CheckpointID) ([]CheckpointTask, error)
	Savepoint(ctx context.Context, stream ident.StreamID, name string) (Savepoint, error)
	Savepoints(ctx context.Context, stream ident.StreamID, after string, limit int) ([]Savepoint, error) // by name, names > after

	Nodes(ctx context.Context) ([]Node, error)     // by id
	VGroups(ctx context.Context) ([]VGroup, error) // by index

	Events(ctx context.Context, f EventFilter) ([]Event, error) // newest first

	Answer(ctx context.Context, key AnswerKey) (Answer, error)
	Token(ctx context.Context, hash [32]byte) (Token, error)
	Tokens(ctx context.Context) ([]Token, error) // by name
}

// Tx is a Reader that also locks and writes.
type Tx interface {
	Reader

	// Term is the lease term that the transaction runs under.
	Term() ident.Term

	// InitCluster writes the cluster's row and its vgroups unless they are there, and returns what is there.
	InitCluster(ctx context.Context, c Cluster) (Cluster, error)

	LockSource(ctx context.Context, name string) (Source, error)
	InsertSource(ctx context.Context, s Source) (Source, error) // gives id, version 1 and times
	UpdateSource(ctx context.Context, s Source) (Source, error) // raises version
	DeleteSource(ctx context.Context, id ident.SourceID) error

	LockStream(ctx context.Context, id ident.StreamID) (Stream, error)
	LockStreamNamed(ctx context.Context, name string) (Stream, error)
	InsertStream(ctx context.Context, s Stream) (Stream, error) // gives id, version 1 and times; claims its targets
	UpdateStream(ctx context.Context, s Stream) (Stream, error) // raises version; specs and targets never change
	DeleteStream(ctx context.Context, id ident.StreamID) error  // with its tasks, targets, checkpoints and savepoints

	// ReplaceTasks writes the placement of a stage in place of the one before.
	ReplaceTasks(ctx context.Context, id ident.StreamID, stage ident.Stage, tasks []Task) error

	// UpdateCuts writes Cuts and Restarts alone, and leaves the version: no user's change is refused for a checkpoint.
	UpdateCuts(ctx context.Context, s Stream) error

	InsertCheckpoint(ctx context.Context, c Checkpoint) (Checkpoint, error) // gives Seq and Asked; ErrExists
	// UpdateCheckpoint writes one that waits or runs; ErrNotFound for one that has ended.
	UpdateCheckpoint(ctx context.Context, c Checkpoint) (Checkpoint, error)
	// AbandonCheckpoints marks the complete ones above the id as abandoned, and takes the mark from that one.
	AbandonCheckpoints(ctx context.Context, stream ident.StreamID, above ident.CheckpointID) error
	// DeleteCheckpoints removes rows with their parts; none that a savepoint or the stream names.
	DeleteCheckpoints(ctx context.Context, stream ident.StreamID, ids []ident.CheckpointID) error
	InsertCheckpointTasks(ctx context.Context, stream ident.StreamID, id ident.CheckpointID, parts []CheckpointTask) error
	InsertSavepoint(ctx context.Context, stream ident.StreamID, name string, id ident.CheckpointID) error // ErrExists by name
	DeleteSavepoint(ctx context.Context, stream ident.StreamID, name string) error

	LockNode(ctx context.Context, id ident.NodeID) (Node, error)
	PutNode(ctx context.Context, n Node) error

	// LockVGroups locks all vgroup rows.
	LockVGroups(ctx context.Context) ([]VGroup, error)
	PutVGroups(ctx context.Context, v []VGroup) error

	InsertEvent(ctx context.Context, e Event) error
	TrimEvents(ctx context.Context, keep int) error

	// InsertAnswer remembers an answer under its key. ErrExists when there is one; ErrBusy while another transaction
	// is about to write it.
	InsertAnswer(ctx context.Context, key AnswerKey, a Answer) error
	TrimAnswers(ctx context.Context, olderThan time.Duration) error // age by the database's clock

	InsertToken(ctx context.Context, t Token) error // ErrExists by name
	DeleteToken(ctx context.Context, name string) error
}
