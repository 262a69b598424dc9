package storage

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/manifest"
)

// Retain implements Store.
func (d *Dir) Retain(ctx context.Context, stream ident.StreamID, keep []ident.CheckpointID) error {
	if len(keep) == 0 {
		return nil
	}
	if err := d.retain(ctx, stream, keep); err != nil {
		return fmt.Errorf("clean the checkpoints of stream %d: %w", stream, named(err))
	}
	return nil
}

func (d *Dir) retain(ctx context.Context, stream ident.StreamID, keep []ident.CheckpointID) error {
	newest := slices.Max(keep)
	checkpoints, err := d.numbers(d.of(stream, folderManifests))
	if err != nil {
		return err
	}
	for _, n := range checkpoints {
		// Those above the newest one that was asked for are being made, or their verdict is not known here.
		if c := ident.CheckpointID(n); c < newest && !slices.Contains(keep, c) {
			if err := d.fs.RemoveAll(d.of(stream, folderManifests, strconv.FormatInt(n, 10))); err != nil {
				return err
			}
		}
	}
	if err := d.syncWhereThere(d.of(stream, folderManifests)); err != nil {
		return err
	}
	return d.sweep(ctx, stream)
}

func (d *Dir) syncWhereThere(dir string) error {
	if err := d.fs.SyncDir(dir); err != nil && !missing(err) {
		return err
	}
	return nil
}

// sweep deletes the old files that no manifest names, and what writers left behind that died.
func (d *Dir) sweep(ctx context.Context, stream ident.StreamID) error {
	now, err := d.now(stream)
	if err != nil {
		return err
	}
	old := func(name string) bool {
		at, err := d.fs.Changed(name)
		return err == nil && now.Sub(at) > d.grace
	}
	live, err := d.live(ctx, stream)
	if err != nil {
		return err
	}
	names, err := d.list(d.of(stream, folderFiles))
	if err != nil {
		return err
	}
	for _, name := range names {
		h, err := manifest.ParseHash(name)
		if err != nil || live[h] || !old(d.file(stream, h)) {
			continue
		}
		if err := d.move(d.file(stream, h), d.trash(stream, h)); err != nil {
			return err
		}
	}
	if err := d.empty(ctx, stream); err != nil {
		return err
	}
	left, err := d.list(d.of(stream, folderTmp))
	for _, name := range left {
		if tmp := d.of(stream, folderTmp, name); old(tmp) {
			d.discard(tmp)
		}
	}
	return err
}

// empty looks at the manifests once more and deletes what is in trash, also what a cleaner left there that died, or
// puts it back.
func (d *Dir) empty(ctx context.Context, stream ident.StreamID) error {
	names, err := d.list(d.of(stream, folderTrash))
	if err != nil || len(names) == 0 {
		return err
	}
	live, err := d.live(ctx, stream)
	if err != nil {
		return err
	}
	for _, name := range names {
		h, err := manifest.ParseHash(name)
		switch {
		case err != nil:
		case live[h]:
			err = d.move(d.trash(stream, h), d.file(stream, h))
		default:
			err = d.fs.Remove(d.trash(stream, h))
		}
		if err != nil && !missing(err) {
			return err
		}
	}
	return nil
}

// move renames where it is still there: another cleaner may have been faster.
func (d *Dir) move(from, to string) error {
	if err := d.fs.MkdirAll(filepath.Dir(to)); err != nil {
		return err
	}
	if err := d.fs.Rename(from, to); err != nil {
		if missing(err) {
			return nil
		}
		return err
	}
	// The new name first: a crash between the two may show both, never neither.
	return errors.Join(d.fs.SyncDir(filepath.Dir(to)), d.fs.SyncDir(filepath.Dir(from)))
}

// live are the files that manifests name. A manifest that cannot be read names files that are not known: nothing may be
// deleted then.
func (d *Dir) live(ctx context.Context, stream ident.StreamID) (map[manifest.Hash]bool, error) {
	out := map[manifest.Hash]bool{}
	checkpoints, err := d.numbers(d.of(stream, folderManifests))
	if err != nil {
		return nil, err
	}
	for _, n := range checkpoints {
		tasks, err := d.list(d.of(stream, folderManifests, strconv.FormatInt(n, 10)))
		if err != nil {
			return nil, err
		}
		for _, task := range tasks {
			m, err := d.load(ctx, stream, task, ident.CheckpointID(n))
			if missing(err) {
				continue // it went meanwhile
			}
			if err != nil {
				return nil, fmt.Errorf("checkpoint %d of task %s: %w", n, task, err)
			}
			for _, f := range m.Files {
				out[f.Hash] = true
			}
		}
	}
	return out, nil
}

// now is the time by the file system's clock: that of a file just made.
func (d *Dir) now(stream ident.StreamID) (time.Time, error) {
	f, tmp, err := d.temporary(stream)
	if err != nil {
		return time.Time{}, err
	}
	defer d.discard(tmp)
	if err := f.Close(); err != nil {
		return time.Time{}, err
	}
	return d.fs.Changed(tmp)
}

// Drop implements Store. First the stream's directory gets another name, so that nothing half-deleted is ever found under
// the stream's; what a kill leaves is deleted by the next Drop.
func (d *Dir) Drop(ctx context.Context, stream ident.StreamID) error {
	if err := d.drop(ctx, stream); err != nil {
		return fmt.Errorf("drop the checkpoints of stream %d: %w", stream, named(err))
	}
	return nil
}

// dropped begins the names of directories that are being deleted.
const dropped = "trash-"

func (d *Dir) drop(ctx context.Context, stream ident.StreamID) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := d.fs.Rename(d.of(stream), filepath.Join(d.root, fmt.Sprintf("%s%d-%s", dropped, stream, rand.Text())))
	if err != nil && !missing(err) {
		return err
	}
	if err := d.fs.SyncDir(d.root); err != nil {
		return err
	}
	names, err := d.list(d.root)
	for _, name := range names {
		if strings.HasPrefix(name, dropped) {
			err = errors.Join(err, d.fs.RemoveAll(filepath.Join(d.root, name)))
		}
	}
	return err
}
