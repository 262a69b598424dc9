package storage

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/manifest"
)

// Load implements Store.
func (d *Dir) Load(ctx context.Context, stream ident.StreamID, task ident.Task, c ident.CheckpointID) (*manifest.Manifest, error) {
	m, err := d.load(ctx, stream, task.String(), c)
	if err != nil {
		return nil, fmt.Errorf("checkpoint %d of task %s of stream %d: %w", c, task, stream, named(err))
	}
	return m, nil
}

func (d *Dir) load(ctx context.Context, stream ident.StreamID, task string, c ident.CheckpointID) (*manifest.Manifest, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	text, err := d.read(d.manifest(stream, c, task))
	if err != nil {
		return nil, err
	}
	m, err := manifest.Decode(text)
	switch {
	case errors.Is(err, manifest.ErrDamaged):
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	case err != nil:
		return nil, err
	case m.Stream != stream || m.Checkpoint != c || m.Task != task:
		return nil, fmt.Errorf("%w: it is checkpoint %d of task %s of stream %d", ErrDamaged, m.Checkpoint, m.Task, m.Stream)
	}
	return m, nil
}

// Open implements Store.
func (d *Dir) Open(ctx context.Context, stream ident.StreamID, f manifest.File) (io.ReadCloser, error) {
	r, err := d.open(ctx, stream, f)
	if err != nil {
		return nil, fmt.Errorf("file %s of stream %d: %w", f.Hash, stream, named(err))
	}
	return r, nil
}

func (d *Dir) open(ctx context.Context, stream ident.StreamID, f manifest.File) (io.ReadCloser, error) {
	r, err := d.fs.Open(d.file(stream, f.Hash))
	if missing(err) {
		// A cleaner that is about to see that it is named holds it in trash for a moment.
		r, err = d.fs.Open(d.trash(stream, f.Hash))
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
		return fmt.Errorf("%w: %d bytes with hash %s, not %d with %s", ErrDamaged, n, got, f.Bytes, f.Hash)
	}
	_, err = r.Seek(0, io.SeekStart)
	return err
}

// cancelled reads until its context ends.
type cancelled struct {
	ctx context.Context
	r   io.Reader
}

func (c *cancelled) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
