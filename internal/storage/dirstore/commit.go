package dirstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/pondage/pondage/internal/failpoint"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/manifest"
	"github.com/pondage/pondage/internal/storage"
)

// Commit implements storage.Store.
func (s *Store) Commit(ctx context.Context, m *manifest.Manifest) (manifest.Hash, error) {
	id, err := s.commit(ctx, m)
	if err != nil {
		return manifest.Hash{}, fmt.Errorf("commit checkpoint %d of task %s of stream %d: %w", m.Checkpoint, m.Task, m.Stream, named(err))
	}
	return id, nil
}

func (s *Store) commit(ctx context.Context, m *manifest.Manifest) (manifest.Hash, error) {
	text, id, err := m.Encode()
	if err != nil {
		return id, err
	}
	if err := s.fence(ctx, m.Stream, m.Stage); err != nil {
		return id, err
	}
	for _, f := range m.Files {
		if err := s.present(m.Stream, f); err != nil {
			return id, err
		}
	}
	if err := failpoint.Hit(failpoint.StorageManifestBeforeWrite); err != nil {
		return id, err
	}
	name := s.manifest(m.Stream, m.Task, m.Checkpoint)
	tmp, err := s.writeTemporary(ctx, filepath.Dir(name), int64(m.Checkpoint), text)
	if err != nil {
		return id, err
	}
	if err := s.publish(tmp, name, text); err != nil {
		return id, err
	}
	if err := failpoint.Hit(failpoint.StorageManifestDurable); err != nil {
		return id, err
	}
	// A higher stage may have begun meanwhile. The manifest stays: this may have been a repetition of a commit that was in
	// time, and whose checkpoint is complete.
	return id, s.current(m.Stream, m.Stage)
}

// present says whether a file that a manifest is about to name is there, by its size. Its hash is looked at when it is
// read.
func (s *Store) present(stream ident.StreamID, f manifest.File) error {
	size, err := s.fs.Size(s.file(stream, f))
	switch {
	case missing(err):
		err = storage.ErrMissing
	case err == nil && size != f.Bytes:
		err = fmt.Errorf("%w: %d bytes, not %d", storage.ErrDamaged, size, f.Bytes)
	}
	if err != nil {
		return fmt.Errorf("%s file %s of checkpoint %d of task %s: %w", f.Role, f.Hash, f.Checkpoint, f.Task, err)
	}
	return nil
}

// publish gives a durable temporary file its name, which is nobody else's: of two that do it at once one has it. The same
// text again is renamed over the first: whoever gave the name may not have come to make it durable, or was told
// that it could not.
func (s *Store) publish(tmp, name string, text []byte) error {
	err := s.fs.Link(tmp, name)
	if errors.Is(err, fs.ErrExist) {
		there, err := s.read(name, manifest.MaxBytes)
		if err == nil && !bytes.Equal(there, text) {
			err = storage.ErrConflict
		}
		if err != nil {
			s.abandon(tmp)
			return err
		}
		return s.rename(tmp, name)
	}
	s.abandon(tmp) // its other name
	if err != nil {
		return err
	}
	if err := failpoint.Hit(failpoint.StorageBeforeDirSync); err != nil {
		return err
	}
	return s.fs.SyncDir(filepath.Dir(name))
}
