package dirstore

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/manifest"
	"github.com/pondage/pondage/internal/storage"
)

// Load implements storage.Store.
func (s *Store) Load(ctx context.Context, stream ident.StreamID, task ident.Task, c ident.CheckpointID) (*manifest.Manifest, manifest.Hash, error) {
	m, id, err := s.load(ctx, stream, task.String(), c)
	if err != nil {
		return nil, id, fmt.Errorf("load checkpoint %d of task %s of stream %d: %w", c, task, stream, err)
	}
	return m, id, nil
}

func (s *Store) load(ctx context.Context, stream ident.StreamID, task string, c ident.CheckpointID) (m *manifest.Manifest, id manifest.Hash, err error) {
	if err := ctx.Err(); err != nil {
		return nil, id, err
	}
	text, err := s.read(s.manifest(stream, task, c), manifest.MaxBytes)
	if missing(err) {
		return nil, id, storage.ErrMissing
	}
	if err != nil {
		return nil, id, err
	}
	m, err = manifest.Decode(text)
	switch {
	case errors.Is(err, manifest.ErrDamaged):
		return nil, id, fmt.Errorf("%w: %w", storage.ErrDamaged, err)
	case err != nil:
		return nil, id, err
	case m.Stream != stream || m.Checkpoint != c || m.Task != task:
		return nil, id, fmt.Errorf("%w: it is checkpoint %d of task %s of stream %d", storage.ErrDamaged, m.Checkpoint, m.Task, m.Stream)
	}
	return m, sha256.Sum256(text), nil
}

// Open implements storage.Store.
func (s *Store) Open(ctx context.Context, stream ident.StreamID, f manifest.File) (io.ReadCloser, error) {
	r, err := s.open(ctx, stream, f)
	if err != nil {
		return nil, fmt.Errorf("open %s file %s of checkpoint %d of task %s of stream %d: %w", f.Role, f.Hash, f.Checkpoint, f.Task, stream, err)
	}
	return r, nil
}

func (s *Store) open(ctx context.Context, stream ident.StreamID, f manifest.File) (io.ReadCloser, error) {
	r, err := s.fs.Open(s.file(stream, f))
	if missing(err) {
		return nil, storage.ErrMissing
	}
	if err != nil {
		return nil, err
	}
	if err := verify(ctx, r, f); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// verify reads the whole file and goes back to its beginning.
func verify(ctx context.Context, r io.ReadSeeker, f manifest.File) error {
	sum := sha256.New()
	n, err := io.Copy(sum, &cancelled{ctx: ctx, r: r})
	if err != nil {
		return err
	}
	if got := manifest.Hash(sum.Sum(nil)); n != f.Bytes || got != f.Hash {
		return fmt.Errorf("%w: %d bytes with hash %s, not %d with %s", storage.ErrDamaged, n, got, f.Bytes, f.Hash)
	}
	_, err = r.Seek(0, io.SeekStart)
	return err
}

// cancelled reads until its context ends.
type cancelled struct {
	ctx context.Context
	r   io.Reader
}

// Read implements io.Reader.
func (c *cancelled) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
