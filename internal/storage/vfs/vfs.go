// Package vfs is what package storage needs of a file system, so that tests can give it one that fails.
//
// It owns: the interface and its form over the machine's own file system. It does not own: any order of durability
// (package storage), faults (package faultfs).
package vfs

import (
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// FS is a file system. Paths are of the operating system. What is missing is an error for which errors.Is(err,
// fs.ErrNotExist) holds.
type FS interface {
	MkdirAll(dir string) error
	// Create makes a file that is not there yet.
	Create(name string) (File, error)
	Open(name string) (io.ReadSeekCloser, error)
	// Rename replaces what is there.
	Rename(from, to string) error
	Remove(name string) error
	RemoveAll(name string) error
	// List returns the names in a directory.
	List(dir string) ([]string, error)
	// Changed is when the file was last written or touched, by the clock of the file system.
	Changed(name string) (time.Time, error)
	// Touch makes that now.
	Touch(name string) error
	// SyncDir makes the entries of a directory durable.
	SyncDir(dir string) error
}

// File is a file that is being written.
type File interface {
	io.WriteCloser
	Sync() error
}

// OS is the machine's file system.
type OS struct{}

const (
	dirMode  = 0o700
	fileMode = 0o600
)

// MkdirAll implements FS. The directories are durable when it returns.
func (o OS) MkdirAll(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if parent := filepath.Dir(dir); parent != dir {
		if err := o.MkdirAll(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, dirMode); err != nil && !os.IsExist(err) {
		return err
	}
	return o.SyncDir(filepath.Dir(dir))
}

// Create implements FS.
func (OS) Create(name string) (File, error) {
	return os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
}

// Open implements FS.
func (OS) Open(name string) (io.ReadSeekCloser, error) { return os.Open(name) }

// Rename implements FS.
func (OS) Rename(from, to string) error { return os.Rename(from, to) }

// Remove implements FS.
func (OS) Remove(name string) error { return os.Remove(name) }

// RemoveAll implements FS.
func (OS) RemoveAll(name string) error { return os.RemoveAll(name) }

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

// Changed implements FS.
func (OS) Changed(name string) (time.Time, error) {
	info, err := os.Stat(name)
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}

// Touch implements FS. UTIME_NOW is the file system's own clock, also where that is a server's.
func (OS) Touch(name string) error {
	now := unix.Timespec{Nsec: unix.UTIME_NOW}
	return unix.UtimesNanoAt(unix.AT_FDCWD, name, []unix.Timespec{now, now}, 0)
}

// SyncDir implements FS.
func (OS) SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
