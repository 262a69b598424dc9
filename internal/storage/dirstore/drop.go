package dirstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/pondage/pondage/internal/ident"
)

// Drop implements storage.Store. First the stream's directory gets another name, so that nothing half-deleted is ever found
// under the stream's; what a kill leaves of it, the next Drop of any stream deletes.
func (s *Store) Drop(ctx context.Context, stream ident.StreamID) error {
	if err := s.drop(ctx, stream); err != nil {
		return fmt.Errorf("drop the checkpoints of stream %d: %w", stream, err)
	}
	return nil
}

func (s *Store) drop(ctx context.Context, stream ident.StreamID) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.forget(stream)
	err := s.fs.Rename(s.stream(stream), filepath.Join(s.root, fmt.Sprintf("%s%d-%s", droppedStart, stream, rand.Text())))
	if unlessMissing(err) != nil {
		return err
	}
	if err := s.fs.SyncDir(s.root); err != nil {
		return err
	}
	names, err := s.list(s.root)
	for _, name := range names {
		if strings.HasPrefix(name, droppedStart) {
			err = errors.Join(err, s.fs.RemoveAll(filepath.Join(s.root, name)))
		}
	}
	return err
}

// forget what this process knows of the stream's directories and stages.
func (s *Store) forget(stream ident.StreamID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.raised, stream)
	for dir := range s.durable {
		if dir == s.stream(stream) || strings.HasPrefix(dir, s.stream(stream)+string(filepath.Separator)) {
			delete(s.durable, dir)
		}
	}
}
