package storage

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/manifest"
	"github.com/pondage/pondage/internal/storage/vfs"
)

// Grace is how old a file must be before a cleaner looks at it: far longer than a task takes from its first file to its
// manifest. A file of a writer that took longer is told missing at its commit, never lost behind it.
const Grace = 10 * time.Minute

// Dir is a store in a directory, of one node or shared by several.
type Dir struct {
	fs    vfs.FS
	root  string
	grace time.Duration
}

// NewDir returns the store in a directory, which is made where it is missing.
func NewDir(root string) (*Dir, error) { return newDir(vfs.OS{}, root, Grace) }

func newDir(files vfs.FS, root string, grace time.Duration) (*Dir, error) {
	if err := files.MkdirAll(root); err != nil {
		return nil, fmt.Errorf("checkpoint store %s: %w", root, named(err))
	}
	return &Dir{fs: files, root: root, grace: grace}, nil
}

// named gives the errors that callers tell apart their names.
func named(err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%w: %w", ErrFull, err)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %w", ErrMissing, err)
	}
	return err
}

func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// The folders of a stream.
const (
	folderFiles     = "files"
	folderManifests = "manifests"
	folderStages    = "stages"
	folderTmp       = "tmp"
	folderTrash     = "trash"
)

func (d *Dir) of(stream ident.StreamID, parts ...string) string {
	return filepath.Join(append([]string{d.root, strconv.FormatInt(int64(stream), 10)}, parts...)...)
}

func (d *Dir) file(stream ident.StreamID, h manifest.Hash) string {
	return d.of(stream, folderFiles, h.String())
}

func (d *Dir) trash(stream ident.StreamID, h manifest.Hash) string {
	return d.of(stream, folderTrash, h.String())
}

func (d *Dir) manifest(stream ident.StreamID, c ident.CheckpointID, task string) string {
	return d.of(stream, folderManifests, strconv.FormatInt(int64(c), 10), task)
}

// list returns the names in a folder of the stream, none where it is missing.
func (d *Dir) list(dir string) ([]string, error) {
	names, err := d.fs.List(dir)
	if missing(err) {
		return nil, nil
	}
	return names, err
}

// numbers returns the names in a folder that are numbers, rising.
func (d *Dir) numbers(dir string) ([]int64, error) {
	names, err := d.list(dir)
	var out []int64
	for _, name := range names {
		if n, err := strconv.ParseInt(name, 10, 64); err == nil {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out, err
}

// Fence implements Store. A stage is a file of its own, so that several nodes can raise it at once.
func (d *Dir) Fence(ctx context.Context, stream ident.StreamID, stage ident.Stage) error {
	if err := d.fence(ctx, stream, stage); err != nil {
		return fmt.Errorf("fence stage %d of stream %d: %w", stage, stream, named(err))
	}
	return nil
}

func (d *Dir) fence(ctx context.Context, stream ident.StreamID, stage ident.Stage) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	dir := d.of(stream, folderStages)
	if err := d.fs.MkdirAll(dir); err != nil {
		return err
	}
	stages, err := d.numbers(dir)
	if err != nil {
		return err
	}
	if n := len(stages); n > 0 && stages[n-1] >= int64(stage) {
		return d.current(stream, stage)
	}
	f, err := d.fs.Create(filepath.Join(dir, strconv.FormatInt(int64(stage), 10)))
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err == nil {
		if err := f.Close(); err != nil {
			return err
		}
	}
	if err := d.fs.SyncDir(dir); err != nil {
		return err
	}
	for _, old := range stages { // the highest says it all
		if err := d.fs.Remove(filepath.Join(dir, strconv.FormatInt(old, 10))); err != nil && !missing(err) {
			return err
		}
	}
	return nil
}

// current is ErrFenced when a higher stage has begun.
func (d *Dir) current(stream ident.StreamID, stage ident.Stage) error {
	stages, err := d.numbers(d.of(stream, folderStages))
	if err != nil {
		return err
	}
	if n := len(stages); n > 0 && stages[n-1] > int64(stage) {
		return fmt.Errorf("%w: %d", ErrFenced, stages[n-1])
	}
	return nil
}

// temporary makes a file in the stream's tmp.
func (d *Dir) temporary(stream ident.StreamID) (vfs.File, string, error) {
	if err := d.fs.MkdirAll(d.of(stream, folderTmp)); err != nil {
		return nil, "", err
	}
	name := d.of(stream, folderTmp, rand.Text())
	f, err := d.fs.Create(name)
	return f, name, err
}

// settle makes a written temporary file durable under its name.
func (d *Dir) settle(f vfs.File, tmp, name string) error {
	if err := f.Sync(); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := d.fs.MkdirAll(filepath.Dir(name)); err != nil {
		return err
	}
	if err := d.fs.Rename(tmp, name); err != nil {
		return err
	}
	return d.fs.SyncDir(filepath.Dir(name))
}

// give up on a temporary file. That it cannot be removed changes nothing: the cleaner takes what is old.
func (d *Dir) discard(tmp string) { _ = d.fs.Remove(tmp) }
