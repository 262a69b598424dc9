package dirstore

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/pondage/pondage/internal/failpoint"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/storage"
)

// Fence implements storage.Store.
func (s *Store) Fence(ctx context.Context, stream ident.StreamID, stage ident.Stage) error {
	if err := s.fence(ctx, stream, stage); err != nil {
		return fmt.Errorf("fence stage %d of stream %d: %w", stage, stream, named(err))
	}
	return nil
}

// fence makes the stage durable where this process has not done so, and looks for a higher one.
func (s *Store) fence(ctx context.Context, stream ident.StreamID, stage ident.Stage) error {
	if err := s.current(stream, stage); err != nil {
		return err
	}
	s.mu.Lock()
	raised := s.raised[stream] >= stage
	s.mu.Unlock()
	if raised {
		return nil
	}
	if err := s.raise(ctx, stream, stage); err != nil {
		if higher := s.current(stream, stage); missing(err) && higher != nil {
			return higher // which has tidied up after this one
		}
		return err
	}
	s.mu.Lock()
	s.raised[stream] = max(s.raised[stream], stage)
	s.mu.Unlock()
	return s.current(stream, stage)
}

// current is ErrFenced when a higher stage has begun.
func (s *Store) current(stream ident.StreamID, stage ident.Stage) error {
	names, err := s.list(s.stages(stream))
	if err != nil {
		return err
	}
	for _, name := range names {
		if n, err := strconv.ParseInt(name, 10, 64); err == nil && n > int64(stage) {
			return fmt.Errorf("%w: %d", storage.ErrFenced, n)
		}
	}
	return nil
}

// raise makes the stage's file, also where there is one: who made it may not have come to make it durable.
func (s *Store) raise(ctx context.Context, stream ident.StreamID, stage ident.Stage) error {
	dir := s.stages(stream)
	tmp, err := s.writeTemporary(ctx, dir, int64(stage), nil)
	if err != nil {
		return err
	}
	if err := failpoint.Hit(failpoint.StorageFenceBeforeRename); err != nil {
		return err
	}
	if err := s.rename(tmp, filepath.Join(dir, strconv.FormatInt(int64(stage), 10))); err != nil {
		return err
	}
	return s.forgetBelow(dir, stage)
}

// forgetBelow deletes the stages below a durable one, which says all that they say.
func (s *Store) forgetBelow(dir string, stage ident.Stage) error {
	names, err := s.list(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		number := name
		if e, ok := parse(name); ok {
			number = strconv.FormatInt(int64(e.checkpoint), 10) // of a temporary file, whose writer has died or is fenced
		}
		if n, err := strconv.ParseInt(number, 10, 64); err != nil || n >= int64(stage) {
			continue
		}
		if err := s.fs.Remove(filepath.Join(dir, name)); unlessMissing(err) != nil {
			return err
		}
	}
	return nil
}
