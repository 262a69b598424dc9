package dirstore

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/pondage/pondage/internal/failpoint"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/manifest"
	"github.com/pondage/pondage/internal/storage"
	"github.com/pondage/pondage/internal/storage/vfs"
)

// bufferBytes is what a writer gathers: a sink appends row by row, and a call of the system for each would cost more than the row.
const bufferBytes = 64 << 10

// Create implements storage.Store.
func (s *Store) Create(ctx context.Context, stream ident.StreamID, task ident.Task, c ident.CheckpointID) (storage.Writer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, tmp, err := s.temporary(s.task(stream, task.String()), int64(c))
	if err != nil {
		return nil, fmt.Errorf("begin a file of checkpoint %d of task %s of stream %d: %w", c, task, stream, named(err))
	}
	w := &writer{store: s, ctx: ctx, stream: stream, f: f, tmp: tmp, sum: sha256.New()}
	w.out = manifest.File{Task: task.String(), Checkpoint: c}
	w.buffer = bufio.NewWriterSize(io.MultiWriter(f, w.sum), bufferBytes)
	return w, nil
}

// writer is a file that is being written.
type writer struct {
	store  *Store
	ctx    context.Context
	stream ident.StreamID
	f      vfs.File
	tmp    string
	buffer *bufio.Writer
	sum    hash.Hash
	out    manifest.File
	err    error // the first failure: nothing that comes after it can make the file whole
	ended  bool
}

// Write implements io.Writer.
func (w *writer) Write(p []byte) (int, error) {
	if w.ended {
		return 0, w.failed("write", storage.ErrEnded)
	}
	if w.err == nil {
		w.err = w.ctx.Err()
	}
	if w.err != nil {
		return 0, w.failed("write", w.err)
	}
	n, err := w.buffer.Write(p)
	w.out.Bytes += int64(n)
	if err != nil {
		w.err = err
		return n, w.failed("write", err)
	}
	return n, nil
}

// Commit implements storage.Writer.
func (w *writer) Commit() (manifest.File, error) {
	if w.ended {
		return manifest.File{}, w.failed("commit", storage.ErrEnded)
	}
	if w.err == nil {
		w.err = w.ctx.Err()
	}
	if w.err == nil {
		w.err = w.seal()
	}
	if w.err != nil {
		w.Abort()
		return manifest.File{}, w.failed("commit", w.err)
	}
	w.ended = true
	w.out.Hash = manifest.Hash(w.sum.Sum(nil))
	if err := w.store.keep(w.tmp, w.store.file(w.stream, w.out)); err != nil {
		return manifest.File{}, w.failed("commit", err)
	}
	return w.out, nil
}

// seal makes the content durable, under its temporary name.
func (w *writer) seal() error {
	if err := w.buffer.Flush(); err != nil {
		return err
	}
	if err := failpoint.Hit(failpoint.StorageFileBeforeSync); err != nil {
		return err
	}
	if err := w.f.Sync(); err != nil {
		return err
	}
	return w.f.Close()
}

// keep gives a file that is durable its name.
func (s *Store) keep(tmp, name string) error {
	if err := failpoint.Hit(failpoint.StorageFileBeforeRename); err != nil {
		s.abandon(tmp)
		return err
	}
	if err := s.rename(tmp, name); err != nil {
		return err
	}
	return failpoint.Hit(failpoint.StorageFileDurable)
}

// Abort implements storage.Writer.
func (w *writer) Abort() {
	if w.ended {
		return
	}
	w.ended = true
	_ = w.f.Close() // it goes anyway
	w.store.abandon(w.tmp)
}

func (w *writer) failed(what string, err error) error {
	return fmt.Errorf("%s a file of checkpoint %d of task %s of stream %d: %w", what, w.out.Checkpoint, w.out.Task, w.stream, named(err))
}

// Discard implements storage.Store.
func (s *Store) Discard(ctx context.Context, stream ident.StreamID, files []manifest.File) error {
	var all error
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return errors.Join(all, err)
		}
		if err := s.fs.Remove(s.file(stream, f)); unlessMissing(err) != nil {
			all = errors.Join(all, fmt.Errorf("discard file %s of checkpoint %d of task %s of stream %d: %w", f.Hash, f.Checkpoint, f.Task, stream, err))
		}
	}
	return all
}
