// Package vfs is what stores need of a file system, so that tests can give them one that fails.
//
// It owns: the interface, and the machine's own file system behind it. It does not own: any order of durability (package
// dirstore), faults (package faultfs).
package vfs

import "io"

// FS is a file system. Paths are of the operating system. What is missing is an error for which errors.Is(err,
// fs.ErrNotExist) holds, and what is there where nothing may be, one of fs.ErrExist. Nothing is durable before the directory
// is synced.
type FS interface {
	// Mkdir makes a directory that is not there yet.
	Mkdir(dir string) error
	// Create makes a file that is not there yet.
	Create(name string) (File, error)
	Open(name string) (io.ReadSeekCloser, error)
	Size(name string) (int64, error)
	// Link gives a file a second name that is not there yet.
	Link(from, to string) error
	// Rename replaces what is there.
	Rename(from, to string) error
	// Remove takes a name of a file, or an empty directory, away.
	Remove(name string) error
	// RemoveAll takes a directory away with all that is in it, one after the other. What is missing is no error.
	RemoveAll(dir string) error
	// List returns the names in a directory.
	List(dir string) ([]string, error)
	// SyncDir makes the names in a directory durable.
	SyncDir(dir string) error
}

// File is a file that is being written.
type File interface {
	io.WriteCloser
	// Sync makes the content durable. After an error it never is, whatever a later Sync says: the kernel may have
	// forgotten what it could not write.
	Sync() error
}
