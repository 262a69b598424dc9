package storage

import (
	"context"
	"errors"
	"io"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/manifest"
)

// Store keeps checkpoints. Its methods may be called from any goroutine; all but Open's reader and Writer end soon after
// their context does.
type Store interface {
	// Create begins a file of a task. c is the lowest checkpoint whose manifest may name it: the running one, or for what
	// is gathered between two triggers the one after the last trigger.
	Create(ctx context.Context, stream ident.StreamID, task ident.Task, c ident.CheckpointID) (Writer, error)
	// Discard deletes files that the caller has created and that no manifest will name: what a failed checkpoint leaves. Those
	// that are gone already are no error.
	Discard(ctx context.Context, stream ident.StreamID, files []manifest.File) error
	// Commit makes a manifest durable and returns its id. It may be repeated. It raises the stage of the stream as Fence
	// does. Errors: ErrFenced, ErrMissing and ErrDamaged (a file that it names), ErrConflict (another manifest of the
	// same task and checkpoint), ErrFull, manifest.ErrInvalid.
	Commit(ctx context.Context, m *manifest.Manifest) (manifest.Hash, error)
	// Load returns the manifest of a task's checkpoint, and its id. Errors: ErrMissing, ErrDamaged, manifest.ErrVersion.
	Load(ctx context.Context, stream ident.StreamID, task ident.Task, c ident.CheckpointID) (*manifest.Manifest, manifest.Hash, error)
	// Open returns a file's content, whose hash has been found right. Errors: ErrMissing, ErrDamaged.
	Open(ctx context.Context, stream ident.StreamID, f manifest.File) (io.ReadCloser, error)
	// Fence says that a stage has begun. Once it has returned, no Commit of a lower one succeeds, also none that has
	// begun before. ErrFenced when a higher one has.
	Fence(ctx context.Context, stream ident.StreamID, stage ident.Stage) error
	// Retain deletes the manifests of the checkpoints up to the highest of keep that are not in it, and of the files up to
	// it those that no manifest names any more. keep has the newest complete checkpoint, the one that the present stage
	// has restored until a newer one is complete, and all that are to be kept. Nothing in it keeps everything.
	// Several nodes may call it at once, also with older lists. ErrDamaged where a manifest cannot be read: what
	// it names is not known, and no file is deleted.
	Retain(ctx context.Context, stream ident.StreamID, keep []ident.CheckpointID) error
	// Streams lists the streams that something is kept of: what was dropped while a node was away is found so.
	Streams(ctx context.Context) ([]ident.StreamID, error)
	// Drop deletes everything of a stream. It may be repeated.
	Drop(ctx context.Context, stream ident.StreamID) error
}

// Writer writes one file. Commit or Abort ends it; after the end both do nothing. It is not for several goroutines.
type Writer interface {
	io.Writer
	// Commit makes the file durable and returns what a manifest says of it; the caller adds its role. After an error
	// nothing of the file can be used: its content is to be written anew, to a new one.
	Commit() (manifest.File, error)
	// Abort gives the file up.
	Abort()
}

// Errors of a store; use errors.Is. Their texts name the stream, the task, the checkpoint and the file.
var (
	ErrMissing  = errors.New("it is not in the store")
	ErrDamaged  = errors.New("its content is not what was written")
	ErrFenced   = errors.New("a higher stage of the stream has begun")
	ErrConflict = errors.New("another manifest of the task and checkpoint is there")
	// ErrFull says that the disk is full. Nothing half-written remains; the next attempt may succeed.
	ErrFull = errors.New("the disk is full")
	// ErrEnded is Commit of a writer that has ended.
	ErrEnded = errors.New("the file has ended")
)
