package storage

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/manifest"
)

// Commit implements Store.
func (d *Dir) Commit(ctx context.Context, m *manifest.Manifest) (manifest.Hash, error) {
	text, id := m.Encode()
	if err := d.commit(ctx, m, text, id); err != nil {
		return manifest.Hash{}, fmt.Errorf("commit checkpoint %d of task %s of stream %d: %w", m.Checkpoint, m.Task, m.Stream, named(err))
	}
	return id, nil
}

func (d *Dir) commit(ctx context.Context, m *manifest.Manifest, text []byte, id manifest.Hash) error {
	if err := m.Validate(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := d.current(m.Stream, m.Stage); err != nil {
		return err
	}
	name := d.manifest(m.Stream, m.Checkpoint, m.Task)
	there, err := d.read(name)
	switch {
	case err == nil && manifest.Hash(sha256.Sum256(there)) != id:
		return ErrConflict
	case err != nil && !missing(err):
		return err
	case err != nil:
		if err := d.put(m.Stream, name, text); err != nil {
			return err
		}
	}
	// The manifest is visible: from here on a cleaner sees its files named. One that was taken to trash before is missing now
	// (doc.go), and the commit has not been.
	for _, f := range m.Files {
		if err := d.fs.Touch(d.file(m.Stream, f.Hash)); err != nil {
			_ = d.fs.Remove(name) // a manifest that nobody was told of; Retain takes it otherwise
			return fmt.Errorf("file %s: %w", f.Hash, err)
		}
	}
	return nil
}

// put makes a text durable under a name.
func (d *Dir) put(stream ident.StreamID, name string, text []byte) error {
	f, tmp, err := d.temporary(stream)
	if err != nil {
		return err
	}
	if _, err := f.Write(text); err != nil {
		_ = f.Close() // it goes anyway
		d.discard(tmp)
		return err
	}
	if err := d.settle(f, tmp, name); err != nil {
		d.discard(tmp)
		return err
	}
	return nil
}

func (d *Dir) read(name string) ([]byte, error) {
	f, err := d.fs.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, manifest.MaxBytes))
}
