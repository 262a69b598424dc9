package dirstore

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/pondage/pondage/internal/failpoint"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/storage"
)

// Retain implements storage.Store.
func (s *Store) Retain(ctx context.Context, stream ident.StreamID, keep []ident.CheckpointID) error {
	if len(keep) == 0 {
		return nil
	}
	r := &retention{store: s, stream: stream, keep: keep, newest: slices.Max(keep), named: map[string]bool{}}
	if err := r.run(ctx); err != nil {
		return fmt.Errorf("clean the checkpoints of stream %d: %w", stream, err)
	}
	return nil
}

// retention is one run of the cleaner.
type retention struct {
	store  *Store
	stream ident.StreamID
	keep   []ident.CheckpointID
	newest ident.CheckpointID // complete: what is above it is being made, or was given up by who may still use its files
	look   []found
	// named are the paths of the files that manifests name which stay.
	named map[string]bool
}

// found is what was there of a task.
type found struct {
	task    string
	entries []entry
}

// run looks first and deletes then. What comes into being after the look is not touched.
func (r *retention) run(ctx context.Context) error {
	if err := r.list(ctx); err != nil {
		return err
	}
	err := r.collect(ctx)
	if errors.Is(err, storage.ErrMissing) {
		return nil // listed, and gone: another cleaner is at work, with a newer list
	}
	if err != nil {
		return err
	}
	if err := failpoint.Hit(failpoint.StorageRetainDecided); err != nil {
		return err
	}
	for _, f := range r.look {
		if err := r.clean(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

func (r *retention) list(ctx context.Context) error {
	tasks, err := r.store.list(r.store.tasks(r.stream))
	if err != nil {
		return err
	}
	for _, task := range tasks {
		if err := ctx.Err(); err != nil {
			return err
		}
		names, err := r.store.list(r.store.task(r.stream, task))
		if err != nil {
			return err
		}
		f := found{task: task}
		for _, name := range names {
			if e, ok := parse(name); ok {
				f.entries = append(f.entries, e)
			}
		}
		r.look = append(r.look, f)
	}
	return nil
}

func (r *retention) stays(c ident.CheckpointID) bool {
	return c > r.newest || slices.Contains(r.keep, c)
}

// collect reads the manifests that stay.
func (r *retention) collect(ctx context.Context) error {
	for _, f := range r.look {
		for _, e := range f.entries {
			if !e.manifest || !r.stays(e.checkpoint) {
				continue
			}
			m, _, err := r.store.load(ctx, r.stream, f.task, e.checkpoint)
			if err != nil {
				return fmt.Errorf("checkpoint %d of task %s: %w", e.checkpoint, f.task, err)
			}
			for _, file := range m.Files {
				r.named[r.store.file(r.stream, file)] = true
			}
		}
	}
	return nil
}

// clean deletes what a task has no use for any more.
func (r *retention) clean(ctx context.Context, f found) error {
	dir := r.store.task(r.stream, f.task)
	var manifests, files []string
	for _, e := range f.entries {
		name := filepath.Join(dir, e.name)
		switch {
		case e.manifest && !r.stays(e.checkpoint):
			manifests = append(manifests, name)
		case !e.manifest && e.checkpoint <= r.newest && !r.named[name]:
			files = append(files, name)
		}
	}
	if err := r.remove(ctx, manifests); err != nil {
		return err
	}
	if len(manifests)+len(files) == 0 {
		return nil
	}
	// A manifest that a crash brings back would name files that are gone; also one that a cleaner removed that died here.
	if err := r.store.fs.SyncDir(dir); err != nil {
		return err
	}
	if err := failpoint.Hit(failpoint.StorageRetainManifestsGone); err != nil {
		return err
	}
	return r.remove(ctx, files)
}

func (r *retention) remove(ctx context.Context, names []string) error {
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := r.store.fs.Remove(name); unlessMissing(err) != nil {
			return err
		}
	}
	return nil
}
