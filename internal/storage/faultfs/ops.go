package faultfs

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/pondage/pondage/internal/storage/vfs"
)

var _ vfs.FS = (*FS)(nil)

// Mkdir implements vfs.FS.
func (f *FS) Mkdir(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.add("mkdir", name, directory())
}

// Create implements vfs.FS.
func (f *FS) Create(name string) (vfs.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := &node{}
	if err := f.add("create", name, n); err != nil {
		return nil, err
	}
	return &file{fs: f, node: n}, nil
}

// add gives a node a name that is not there yet.
func (f *FS) add(op, name string, n *node) error {
	dir, base, err := f.begin(op, name)
	if err != nil {
		return err
	}
	if dir.names[base] != nil {
		return failure(op, name, fs.ErrExist)
	}
	dir.set(base, n)
	return nil
}

// get returns the node of a name.
func (f *FS) get(op, name string) (*node, error) {
	if err := f.step(); err != nil {
		return nil, err
	}
	n := f.find(name)
	if n == nil {
		return nil, failure(op, name, fs.ErrNotExist)
	}
	return n, nil
}

// Open implements vfs.FS.
func (f *FS) Open(name string) (io.ReadSeekCloser, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.get("open", name)
	if err != nil {
		return nil, err
	}
	return newReader(n.data), nil
}

// Size implements vfs.FS.
func (f *FS) Size(name string) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.get("stat", name)
	if err != nil {
		return 0, err
	}
	return int64(len(n.data)), nil
}

// Link implements vfs.FS.
func (f *FS) Link(from, to string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.find(from)
	if n == nil {
		return failure("link", from, fs.ErrNotExist)
	}
	return f.add("link", to, n)
}

// Rename implements vfs.FS.
func (f *FS) Rename(from, to string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	source, base, err := f.begin("rename", from)
	if err != nil {
		return err
	}
	n, target := source.names[base], f.find(filepath.Dir(to))
	if n == nil || target == nil {
		return failure("rename", from, fs.ErrNotExist)
	}
	f.moved = append(f.moved, move{node: n, from: source, name: base})
	target.set(filepath.Base(to), n)
	source.set(base, nil)
	return nil
}

// Remove implements vfs.FS.
func (f *FS) Remove(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	dir, base, err := f.begin("remove", name)
	if err != nil {
		return err
	}
	n := dir.names[base]
	if n == nil {
		return failure("remove", name, fs.ErrNotExist)
	}
	if len(n.names) > 0 {
		return failure("remove", name, syscall.ENOTEMPTY)
	}
	n.removed = true
	dir.set(base, nil)
	return nil
}

// RemoveAll implements vfs.FS.
func (f *FS) RemoveAll(name string) error {
	names, err := f.List(name)
	for _, below := range names {
		if err := f.RemoveAll(filepath.Join(name, below)); err != nil {
			return err
		}
	}
	if err == nil {
		err = f.Remove(name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// List implements vfs.FS.
func (f *FS) List(name string) ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.get("list", name)
	if err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(n.names)), nil
}

// SyncDir implements vfs.FS.
func (f *FS) SyncDir(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.find(name)
	if n == nil {
		return failure("sync", name, fs.ErrNotExist)
	}
	err := f.step()
	if errors.Is(err, ErrKilled) {
		return err // it was never asked for
	}
	return n.sync(err)
}
