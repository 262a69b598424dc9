package storage

import (
	"context"
	"errors"
	"io"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/manifest"
)

// Store keeps checkpoints. Its methods may be called from any goroutine.
type Store interface {
	// Create begins a file of a stream.
	Create(ctx context.Context, stream ident.StreamID) (Writer, error)
	// Commit makes a manifest durable, whose files all are, and returns its id. It may be repeated. Errors: ErrFenced,
	// ErrMissing (a file that it names), ErrConflict (another manifest of the same task and checkpoint), ErrFull.
	Commit(ctx context.Context, m *manifest.Manifest) (manifest.Hash, error)
	// Load returns the manifest of a task's checkpoint. Errors: ErrMissing, ErrDamaged, manifest.ErrVersion.
	Load(ctx context.Context, stream ident.StreamID, task ident.Task, c ident.CheckpointID) (*manifest.Manifest, error)
	// Open returns a file's content; its hash has been checked. Errors: ErrMissing, ErrDamaged.
	Open(ctx context.Context, stream ident.StreamID, f manifest.File) (io.ReadCloser, error)
	// Fence says that a stage has begun: lower ones commit nothing from now on. ErrFenced when a higher one has.
	Fence(ctx context.Context, stream ident.StreamID, stage ident.Stage) error
	// Retain deletes the manifests of all checkpoints but those given and those newer than all of them, and the files
	// that no manifest names. An empty list keeps everything.
	Retain(ctx context.Context, stream ident.StreamID, keep []ident.CheckpointID) error
	// Drop deletes everything of a stream.
	Drop(ctx context.Context, stream ident.StreamID) error
}

// Writer writes one file. Commit or Abort ends it; Abort after Commit does nothing.
type Writer interface {
	io.Writer
	// Commit makes the file durable and returns its size and hash; the caller adds its role. After an error the file is gone, and is to be written anew.
	Commit() (manifest.File, error)
	Abort()
}

// Errors of a store; use errors.Is. Their texts name the stream, and the file or checkpoint.
var (
	ErrMissing  = errors.New("it is not in the store")
	ErrDamaged  = errors.New("its content is not what was written")
	ErrFenced   = errors.New("a higher stage of the stream has begun")
	ErrConflict = errors.New("another manifest of the task and checkpoint is there")
	// ErrFull says that the disk is full. Nothing half-written remains; the next attempt may succeed.
	ErrFull = errors.New("the disk is full")
)
