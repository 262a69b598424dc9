package storage

import (
	"context"
	"crypto/sha256"
	"fmt"
	"hash"
	"path/filepath"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/manifest"
	"github.com/pondage/pondage/internal/storage/vfs"
)

// Create implements Store.
func (d *Dir) Create(ctx context.Context, stream ident.StreamID) (Writer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, tmp, err := d.temporary(stream)
	if err != nil {
		return nil, fmt.Errorf("begin a file of stream %d: %w", stream, named(err))
	}
	return &writer{dir: d, ctx: ctx, stream: stream, f: f, tmp: tmp, sum: sha256.New()}, nil
}

// writer is a file that is being written. err is its first failure: nothing that comes after it can make the file whole.
type writer struct {
	dir    *Dir
	ctx    context.Context
	stream ident.StreamID
	f      vfs.File
	tmp    string
	sum    hash.Hash
	bytes  int64
	err    error
	ended  bool
}

// Write implements io.Writer.
func (w *writer) Write(p []byte) (int, error) {
	if w.err == nil {
		w.err = w.ctx.Err()
	}
	if w.err != nil {
		return 0, w.err
	}
	n, err := w.f.Write(p)
	w.sum.Write(p[:n]) // never fails
	w.bytes += int64(n)
	if err != nil {
		w.err = fmt.Errorf("write a file of stream %d: %w", w.stream, named(err))
	}
	return n, w.err
}

// Commit implements Writer.
func (w *writer) Commit() (manifest.File, error) {
	if w.err != nil {
		w.Abort()
		return manifest.File{}, w.err
	}
	w.ended = true
	out := manifest.File{Bytes: w.bytes, Hash: manifest.Hash(w.sum.Sum(nil))}
	if err := w.keep(out.Hash); err != nil {
		w.dir.discard(w.tmp)
		w.err = fmt.Errorf("make file %s of stream %d durable: %w", out.Hash, w.stream, named(err))
		return manifest.File{}, w.err
	}
	return out, nil
}

// keep makes the file durable, or its equal young that is there: a cleaner leaves it alone for as long as a new one.
//
// The equal file may have been found old by a cleaner a moment ago, and go to trash after the touch. Then the commit of
// the manifest finds it missing.
func (w *writer) keep(h manifest.Hash) error {
	name := w.dir.file(w.stream, h)
	if err := w.dir.fs.Touch(name); err == nil {
		defer w.dir.discard(w.tmp)
		if err := w.f.Close(); err != nil {
			return err
		}
		// Who put it there may not have come to make its name durable.
		return w.dir.fs.SyncDir(filepath.Dir(name))
	} else if !missing(err) {
		_ = w.f.Close() // its error adds nothing
		return err
	}
	return w.dir.settle(w.f, w.tmp, name)
}

// Abort implements Writer.
func (w *writer) Abort() {
	if w.ended {
		return
	}
	w.ended = true
	_ = w.f.Close() // it goes anyway
	w.dir.discard(w.tmp)
}
