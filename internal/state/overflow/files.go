package overflow

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/pondage/pondage/internal/window"
)

// files is the file system that Pebble sees: tables lie on disk, and the little that it notes about them in memory. Nobody reads
// the notes again, since a spill does not outlive its process; and Pebble ends the process when it cannot write them,
// which a full disk must not do. Tables that cannot be written are an error.
type files struct {
	vfs.FS  // in memory: everything but tables
	disk    vfs.FS
	failing func() bool
}

// retryAfter is the pause before Pebble writes another table when one could not be written: it repeats that for as long as it is
// open, without any.
const retryAfter = 100 * time.Millisecond

// of is the file system that has the file.
func (f *files) of(name string) vfs.FS {
	if filepath.Ext(name) == ".sst" {
		return f.disk
	}
	return f.FS
}

// Create implements vfs.FS.
func (f *files) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	fs := f.of(name)
	if fs == f.disk && f.failing() {
		time.Sleep(retryAfter)
	}
	return fs.Create(name, category)
}

// Open implements vfs.FS.
func (f *files) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	return f.of(name).Open(name, opts...)
}

// Remove implements vfs.FS.
func (f *files) Remove(name string) error { return f.of(name).Remove(name) }

// Stat implements vfs.FS.
func (f *files) Stat(name string) (vfs.FileInfo, error) { return f.of(name).Stat(name) }

// MkdirAll implements vfs.FS.
func (f *files) MkdirAll(dir string, perm os.FileMode) error {
	return errors.Join(f.disk.MkdirAll(dir, perm), f.FS.MkdirAll(dir, perm))
}

// List implements vfs.FS.
func (f *files) List(dir string) ([]string, error) {
	tables, err := f.disk.List(dir)
	if err != nil {
		return nil, err
	}
	notes, err := f.FS.List(dir)
	return slices.Concat(tables, notes), err
}

// GetDiskUsage implements vfs.FS.
func (f *files) GetDiskUsage(path string) (vfs.DiskUsage, error) { return f.disk.GetDiskUsage(path) }

// named gives a full disk its name.
func named(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w: %w", window.ErrSpillFull, err)
	}
	return err
}
