package dirstore

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/pondage/pondage/internal/failpoint"
	"github.com/pondage/pondage/internal/storage/vfs"
)

// ensure makes a directory, and all above it, durable.
func (s *Store) ensure(dir string) error {
	s.mu.Lock()
	known := s.durable[dir]
	s.mu.Unlock()
	parent := filepath.Dir(dir)
	if known || parent == dir { // the root of the file system
		return nil
	}
	if err := s.ensure(parent); err != nil {
		return err
	}
	err := s.fs.Mkdir(dir)
	there := errors.Is(err, fs.ErrExist)
	if err != nil && !there {
		return err
	}
	// One that is there may have been made a moment ago, by somebody who has not come to sync it.
	err = s.fs.SyncDir(parent)
	switch {
	case there && errors.Is(err, fs.ErrPermission):
		// Somebody else has made it, in a directory that is nothing to us.
	case err != nil && !there:
		_ = s.fs.Remove(dir) // so that the next attempt makes it anew: this one's name may never be durable
		return err
	case err != nil:
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.durable[dir] = true
	return nil
}

// temporary makes a file in a directory, for something with the number.
func (s *Store) temporary(dir string, number int64) (vfs.File, string, error) {
	if err := s.ensure(dir); err != nil {
		return nil, "", err
	}
	name := filepath.Join(dir, tmpName(number))
	f, err := s.fs.Create(name)
	return f, name, err
}

// writeTemporary writes a text to a temporary file and makes its content durable. After an error there is no such file.
func (s *Store) writeTemporary(ctx context.Context, dir string, number int64, text []byte) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	f, tmp, err := s.temporary(dir, number)
	if err != nil {
		return "", err
	}
	if _, err = f.Write(text); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		s.abandon(tmp)
		return "", err
	}
	return tmp, nil
}

// rename gives a durable temporary file its name, and makes that durable. What is there has the same content: a name
// is given anew when an earlier attempt did not become durable.
func (s *Store) rename(tmp, name string) error {
	if err := s.fs.Rename(tmp, name); err != nil {
		s.abandon(tmp)
		return err
	}
	if err := failpoint.Hit(failpoint.StorageBeforeDirSync); err != nil {
		return err
	}
	return s.fs.SyncDir(filepath.Dir(name))
}

// abandon takes a temporary file away. That it cannot be removed changes nothing: the cleaner takes it.
func (s *Store) abandon(tmp string) { _ = s.fs.Remove(tmp) }

// read returns the content of a file of at most limit bytes; of a larger one so much that it is seen to be larger.
func (s *Store) read(name string, limit int64) ([]byte, error) {
	f, err := s.fs.Open(name)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	return text, errors.Join(err, f.Close())
}
