package dirstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/storage"
	"github.com/pondage/pondage/internal/storage/vfs"
)

// Store implements storage.Store in a directory.
type Store struct {
	fs   vfs.FS
	root string

	mu sync.Mutex // held for no I/O
	// durable are the directories that this process has made sure of.
	durable map[string]bool
	// raised are the stages that this process has made durable. Others may have raised higher ones.
	raised map[ident.StreamID]ident.Stage
}

var _ storage.Store = (*Store)(nil)

// Open returns the store in a directory of the machine, which is made where it is missing.
func Open(root string) (*Store, error) { return OpenOn(vfs.OS{}, root) }

// OpenOn returns the store in a directory of a file system.
func OpenOn(files vfs.FS, root string) (*Store, error) {
	s := &Store{fs: files, root: filepath.Clean(root), durable: map[string]bool{}, raised: map[ident.StreamID]ident.Stage{}}
	if err := s.ensure(s.root); err != nil {
		return nil, fmt.Errorf("checkpoint store %s: %w", root, named(err))
	}
	return s, nil
}

// named gives a full disk its name.
func named(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w: %w", storage.ErrFull, err)
	}
	return err
}

func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// unlessMissing is an error that says more than that there was nothing.
func unlessMissing(err error) error {
	if missing(err) {
		return nil
	}
	return err
}

// list returns the names in a directory, none where it is missing.
func (s *Store) list(dir string) ([]string, error) {
	names, err := s.fs.List(dir)
	return names, unlessMissing(err)
}

// Streams implements storage.Store.
func (s *Store) Streams(ctx context.Context) ([]ident.StreamID, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	names, err := s.list(s.root)
	if err != nil {
		return nil, fmt.Errorf("list the streams of checkpoint store %s: %w", s.root, err)
	}
	var out []ident.StreamID
	for _, name := range names {
		if n, err := strconv.ParseInt(name, 10, 64); err == nil {
			out = append(out, ident.StreamID(n))
		}
	}
	return out, nil
}
