package vfs

import (
	"errors"
	"io"
	"os"
)

// OS is the machine's file system.
type OS struct{}

// Results and state are nobody else's business on the machine.
const (
	dirMode  = 0o700
	fileMode = 0o600
)

// Mkdir implements FS.
func (OS) Mkdir(dir string) error { return os.Mkdir(dir, dirMode) }

// Create implements FS.
func (OS) Create(name string) (File, error) {
	return os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
}

// Open implements FS.
func (OS) Open(name string) (io.ReadSeekCloser, error) { return os.Open(name) }

// Size implements FS.
func (OS) Size(name string) (int64, error) {
	info, err := os.Stat(name)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Link implements FS.
func (OS) Link(from, to string) error { return os.Link(from, to) }

// Rename implements FS.
func (OS) Rename(from, to string) error { return os.Rename(from, to) }

// Remove implements FS.
func (OS) Remove(name string) error { return os.Remove(name) }

// RemoveAll implements FS.
func (OS) RemoveAll(dir string) error { return os.RemoveAll(dir) }

// List implements FS.
func (OS) List(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, nil
}

// SyncDir implements FS.
func (OS) SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
