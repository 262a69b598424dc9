package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/manifest"
	"github.com/pondage/pondage/internal/storage/faultfs"
	"github.com/pondage/pondage/internal/storage/vfs"
)

const stream = ident.StreamID(7)

var task = ident.Task{Level: ident.LevelAgg, VGroup: 3}

// put writes a file.
func put(t testing.TB, s Store, content string) (manifest.File, error) {
	t.Helper()
	w, err := s.Create(context.Background(), stream)
	if err != nil {
		return manifest.File{}, err
	}
	defer w.Abort()
	if _, err := io.WriteString(w, content); err != nil {
		return manifest.File{}, err
	}
	f, err := w.Commit()
	f.Role = manifest.RoleDelta
	return f, err
}

// checkpoint commits a checkpoint of the task that consists of the contents.
func checkpoint(t testing.TB, s Store, stage ident.Stage, c ident.CheckpointID, contents ...string) error {
	t.Helper()
	m := &manifest.Manifest{Cluster: "c", Stream: stream, Stage: stage, Checkpoint: c, Tx: ident.TxID(c), Task: task.String()}
	for _, content := range contents {
		f, err := put(t, s, content)
		if err != nil {
			return err
		}
		m.Files = append(m.Files, f)
	}
	_, err := s.Commit(context.Background(), m)
	return err
}

// contents reads a checkpoint back.
func contents(s Store, c ident.CheckpointID) ([]string, error) {
	m, err := s.Load(context.Background(), stream, task, c)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, f := range m.Files {
		r, err := s.Open(context.Background(), stream, f)
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(r)
		if err := errors.Join(err, r.Close()); err != nil {
			return nil, err
		}
		out = append(out, string(text))
	}
	return out, nil
}

func wantContents(t *testing.T, s Store, c ident.CheckpointID, want ...string) {
	t.Helper()
	got, err := contents(s, c)
	if err != nil || strings.Join(got, ",") != strings.Join(want, ",") {
		t.Errorf("checkpoint %d: %v, %v; want %v", c, got, err, want)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// nodes are what the suite runs on: one node and its directory; two nodes that share one; the file system in memory.
func nodes(t *testing.T, run func(t *testing.T, one, two Store, pass func(time.Duration))) {
	t.Helper()
	const grace = time.Hour
	dir := func(t *testing.T, root string) Store {
		t.Helper()
		d, err := newDir(vfs.OS{}, root, grace)
		must(t, err)
		return d
	}
	t.Run("one node", func(t *testing.T) {
		t.Parallel()
		d := dir(t, t.TempDir())
		run(t, d, d, nil)
	})
	t.Run("two nodes", func(t *testing.T) {
		t.Parallel()
		root := t.TempDir()
		run(t, dir(t, root), dir(t, root), nil)
	})
	t.Run("in memory", func(t *testing.T) {
		t.Parallel()
		f := faultfs.New()
		d, err := newDir(f, "/data", grace)
		must(t, err)
		run(t, d, d, f.Pass)
	})
}

func TestACheckpointIsReadBack(t *testing.T) {
	t.Parallel()
	nodes(t, func(t *testing.T, one, two Store, _ func(time.Duration)) {
		must(t, checkpoint(t, one, 1, 1, "base", "", strings.Repeat("delta", 1<<16)))
		wantContents(t, two, 1, "base", "", strings.Repeat("delta", 1<<16))
		must(t, checkpoint(t, two, 1, 1, "base", "", strings.Repeat("delta", 1<<16))) // repeated
		if err := checkpoint(t, two, 1, 1, "other"); !errors.Is(err, ErrConflict) {
			t.Errorf("another manifest of the checkpoint: %v", err)
		}
		if _, err := contents(one, 2); !errors.Is(err, ErrMissing) {
			t.Errorf("a checkpoint that is not there: %v", err)
		}
	})
}

func TestALowerStageCommitsNothing(t *testing.T) {
	t.Parallel()
	nodes(t, func(t *testing.T, one, two Store, _ func(time.Duration)) {
		ctx := t.Context()
		must(t, one.Fence(ctx, stream, 1))
		must(t, two.Fence(ctx, stream, 1))
		must(t, checkpoint(t, one, 1, 1, "a"))
		must(t, two.Fence(ctx, stream, 2))
		if err := checkpoint(t, one, 1, 2, "zombie"); !errors.Is(err, ErrFenced) {
			t.Errorf("a commit of the old stage: %v", err)
		}
		if err := one.Fence(ctx, stream, 1); !errors.Is(err, ErrFenced) {
			t.Errorf("the old stage's fence: %v", err)
		}
		must(t, checkpoint(t, two, 2, 3, "b"))
		wantContents(t, one, 3, "b")
	})
}

// TestT36_TheCleanerAndTheRestore: a file that is written once and named by two hundred checkpoints, of which three and a
// savepoint are kept, stays.
func TestT36_TheCleanerAndTheRestore(t *testing.T) {
	t.Parallel()
	nodes(t, func(t *testing.T, one, two Store, pass func(time.Duration)) {
		if pass == nil {
			t.Skip("time passes in memory only")
		}
		const savepoint, last = 3, 200
		for c := ident.CheckpointID(1); c <= last; c++ {
			must(t, checkpoint(t, one, 1, c, "written once", fmt.Sprint("delta ", c)))
			pass(11 * time.Minute)
			must(t, two.Retain(t.Context(), stream, []ident.CheckpointID{savepoint, max(1, c-2), max(1, c-1), c}))
		}
		for _, c := range []ident.CheckpointID{savepoint, last - 2, last - 1, last} {
			wantContents(t, two, c, "written once", fmt.Sprint("delta ", c))
		}
		if _, err := contents(one, last-3); !errors.Is(err, ErrMissing) {
			t.Errorf("a checkpoint that is not retained: %v", err)
		}
		pass(2 * time.Hour)
		must(t, one.Retain(t.Context(), stream, []ident.CheckpointID{savepoint, last}))
		files, err := one.(*Dir).list(one.(*Dir).of(stream, folderFiles))
		must(t, err)
		if len(files) != 3 { // the old one, and a delta of each
			t.Errorf("%d files are left", len(files))
		}
	})
}

// TestAFileThatIsJustWrittenIsLeftAlone: its manifest is still to come.
func TestAFileThatIsJustWrittenIsLeftAlone(t *testing.T) {
	t.Parallel()
	nodes(t, func(t *testing.T, one, two Store, pass func(time.Duration)) {
		must(t, checkpoint(t, one, 1, 1, "a"))
		f, err := put(t, one, "young")
		must(t, err)
		must(t, two.Retain(t.Context(), stream, []ident.CheckpointID{1}))
		if _, err := two.Open(t.Context(), stream, f); err != nil {
			t.Errorf("after the cleaner: %v", err)
		}
		if pass == nil {
			return
		}
		// Older than any writer takes, it goes; who comes to name it after all is told.
		pass(2 * time.Hour)
		must(t, two.Retain(t.Context(), stream, []ident.CheckpointID{1}))
		m := &manifest.Manifest{Cluster: "c", Stream: stream, Stage: 1, Checkpoint: 2, Tx: 2, Task: task.String(), Files: []manifest.File{f}}
		if _, err := one.Commit(t.Context(), m); !errors.Is(err, ErrMissing) {
			t.Errorf("a manifest that names a file that is gone: %v", err)
		}
		if _, err := one.Load(t.Context(), stream, task, 2); !errors.Is(err, ErrMissing) {
			t.Errorf("what was not committed is there: %v", err)
		}
		must(t, checkpoint(t, one, 1, 2, "young"))
		wantContents(t, two, 2, "young")
	})
}

func TestDropLeavesNothing(t *testing.T) {
	t.Parallel()
	nodes(t, func(t *testing.T, one, two Store, _ func(time.Duration)) {
		must(t, checkpoint(t, one, 1, 1, "a"))
		must(t, two.Drop(t.Context(), stream))
		must(t, two.Drop(t.Context(), stream))
		if _, err := contents(one, 1); !errors.Is(err, ErrMissing) {
			t.Errorf("%v", err)
		}
		left, err := one.(*Dir).list(one.(*Dir).root)
		if err != nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	})
}

func TestDamageIsNamedBeforeUse(t *testing.T) {
	t.Parallel()
	f := faultfs.New()
	d, err := newDir(f, "/data", time.Hour)
	must(t, err)
	must(t, checkpoint(t, d, 1, 1, "some content"))
	m, err := d.Load(t.Context(), stream, task, 1)
	must(t, err)
	name := d.file(stream, m.Files[0].Hash)
	for bit := range 8 * len("some content") {
		f.Flip(name, bit)
		if r, err := d.Open(t.Context(), stream, m.Files[0]); !errors.Is(err, ErrDamaged) || r != nil {
			t.Fatalf("bit %d: %v", bit, err)
		}
		f.Flip(name, bit)
	}
	short := m.Files[0]
	short.Bytes++
	if _, err := d.Open(t.Context(), stream, short); !errors.Is(err, ErrDamaged) {
		t.Errorf("a file of another size: %v", err)
	}
	f.Flip(d.manifest(stream, 1, task.String()), 1000)
	if _, err := d.Load(t.Context(), stream, task, 1); !errors.Is(err, ErrDamaged) {
		t.Errorf("a damaged manifest: %v", err)
	}
	// What it named is not known: nothing may be deleted.
	f.Pass(10 * time.Hour)
	if err := d.Retain(t.Context(), stream, []ident.CheckpointID{1}); !errors.Is(err, ErrDamaged) {
		t.Errorf("cleaning beside a damaged manifest: %v", err)
	}
	if _, err := d.Open(t.Context(), stream, m.Files[0]); err != nil {
		t.Errorf("the file: %v", err)
	}
}

// TestT51_DiskFullThenNot: a full disk is told by name, leaves nothing half-written, and the next attempt succeeds when
// there is room again.
func TestT51_DiskFullThenNot(t *testing.T) {
	t.Parallel()
	for room := range 400 {
		f := faultfs.New()
		d, err := newDir(f, "/data", time.Hour)
		must(t, err)
		must(t, checkpoint(t, d, 1, 1, "a"))
		f.Room(room)
		if err := checkpoint(t, d, 1, 2, "b", "c"); err != nil {
			if !errors.Is(err, ErrFull) {
				t.Fatalf("room for %d bytes: %v", room, err)
			}
			if left, _ := d.list(d.of(stream, folderTmp)); len(left) > 0 {
				t.Fatalf("room for %d bytes: left %v", room, left)
			}
			if _, err := contents(d, 2); !errors.Is(err, ErrMissing) {
				t.Fatalf("room for %d bytes: %v", room, err)
			}
			f.Room(-1)
			must(t, checkpoint(t, d, 1, 2, "b", "c"))
		}
		wantContents(t, d, 1, "a")
		wantContents(t, d, 2, "b", "c")
	}
}

// life is what a node does with the store; it returns the checkpoints that it was told to be durable, and the newest of
// those that are retained.
func life(t testing.TB, f *faultfs.FS, d *Dir) (durable map[ident.CheckpointID][]string, err error) {
	t.Helper()
	durable = map[ident.CheckpointID][]string{}
	if err := d.Fence(context.Background(), stream, 1); err != nil {
		return durable, err
	}
	for c := ident.CheckpointID(1); c <= 4; c++ {
		parts := []string{"base", fmt.Sprint("delta ", c)}
		if err := checkpoint(t, d, 1, c, parts...); err != nil {
			return durable, err
		}
		durable[c] = parts
		f.Pass(2 * time.Hour)
		if c > 1 {
			delete(durable, c-1) // from the call on it may be gone
			if err := d.Retain(context.Background(), stream, []ident.CheckpointID{c}); err != nil {
				return durable, err
			}
		}
	}
	return durable, nil
}

// afterwards checks what must hold after any kill: what was told durable is whole, and the store goes on.
func afterwards(t *testing.T, what string, d *Dir, durable map[ident.CheckpointID][]string) {
	t.Helper()
	for c, want := range durable {
		if got, err := contents(d, c); err != nil || strings.Join(got, ",") != strings.Join(want, ",") {
			t.Fatalf("%s: checkpoint %d: %v, %v", what, c, got, err)
		}
	}
	for c := ident.CheckpointID(1); c <= 4; c++ { // what is visible is whole, or names what is missing; it is never something else
		if _, err := contents(d, c); err != nil && !errors.Is(err, ErrMissing) {
			t.Fatalf("%s: checkpoint %d: %v", what, c, err)
		}
	}
	if err := d.Fence(t.Context(), stream, 2); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if err := checkpoint(t, d, 2, 9, "base", "new"); err != nil {
		t.Fatalf("%s: a later checkpoint: %v", what, err)
	}
	if err := d.Retain(t.Context(), stream, []ident.CheckpointID{9}); err != nil {
		t.Fatalf("%s: the cleaner: %v", what, err)
	}
	wantContents(t, d, 9, "base", "new")
}

// TestT48_KillAtEveryWrite: the process is killed, and the machine crashes without what was not synced, at every
// operation of the store's life.
func TestT48_KillAtEveryWrite(t *testing.T) {
	t.Parallel()
	whole := faultfs.New()
	d, err := newDir(whole, "/data", time.Hour)
	must(t, err)
	_, err = life(t, whole, d)
	must(t, err)
	for op := 1; op <= whole.Ops(); op++ {
		for seed := range uint64(4) {
			f := faultfs.New()
			f.KillAt(op)
			d, err := newDir(f, "/data", time.Hour)
			var durable map[ident.CheckpointID][]string
			if err == nil {
				durable, _ = life(t, f, d)
			}
			f.Crash(rand.New(rand.NewPCG(uint64(op), seed)))
			again, err := newDir(f, "/data", time.Hour)
			must(t, err)
			afterwards(t, fmt.Sprintf("killed at operation %d, crash %d", op, seed), again, durable)
		}
	}
}

// TestT52_TheAcknowledgedHole: an operation that failed is never followed by a success that builds on it, also not when
// the caller simply does it all again.
func TestT52_TheAcknowledgedHole(t *testing.T) {
	t.Parallel()
	whole := faultfs.New()
	d, err := newDir(whole, "/data", time.Hour)
	must(t, err)
	_, err = life(t, whole, d)
	must(t, err)
	for op := 1; op <= whole.Ops(); op++ {
		f := faultfs.New()
		f.FailAt(op, syscall.EIO)
		d, err := newDir(f, "/data", time.Hour)
		if err != nil {
			continue
		}
		durable, err := life(t, f, d)
		if err != nil {
			if !errors.Is(err, syscall.EIO) {
				t.Fatalf("operation %d: %v", op, err)
			}
			for c := ident.CheckpointID(5); c <= 6; c++ {
				parts := []string{"base", fmt.Sprint("delta ", c)}
				if err := checkpoint(t, d, 1, c, parts...); err != nil {
					t.Fatalf("after the failure of operation %d: %v", op, err)
				}
				durable[c] = parts
			}
		}
		f.Crash(rand.New(rand.NewPCG(uint64(op), 1)))
		afterwards(t, fmt.Sprintf("operation %d failed", op), d, durable)
	}
}

// TestNoFileIsLostBetweenWriterAndCleaner: one of them does all its work between two operations of the other, at every
// place. The writer names a file again that no manifest names any more and that is old enough to go.
func TestNoFileIsLostBetweenWriterAndCleaner(t *testing.T) {
	t.Parallel()
	setUp := func() (*faultfs.FS, *Dir) {
		f := faultfs.New()
		d, err := newDir(f, "/data", time.Hour)
		must(t, err)
		must(t, checkpoint(t, d, 1, 1, "shared"))
		must(t, checkpoint(t, d, 1, 2, "other"))
		f.Pass(2 * time.Hour)
		return f, d
	}
	write := func(d *Dir) error { return checkpoint(t, d, 1, 3, "shared", "new") }
	clean := func(d *Dir) error { return d.Retain(t.Context(), stream, []ident.CheckpointID{2}) }
	works := map[string][2]func(*Dir) error{"the writer within the cleaner": {clean, write}, "the cleaner within the writer": {write, clean}}
	committed := 0
	for what, work := range works {
		f, d := setUp()
		first := f.Ops() + 1
		must(t, work[0](d))
		last := f.Ops()
		for op := first; op <= last; op++ {
			f, d := setUp()
			var outer, inner error
			f.Before(op, func() { inner = work[1](d) })
			outer = work[0](d)
			written, cleaned := inner, outer
			if what == "the cleaner within the writer" {
				written, cleaned = outer, inner
			}
			if cleaned != nil {
				t.Fatalf("%s, operation %d: cleaner: %v", what, op-first, cleaned)
			}
			if written != nil {
				if !errors.Is(written, ErrMissing) {
					t.Fatalf("%s, operation %d: writer: %v", what, op-first, written)
				}
				must(t, write(d)) // a checkpoint that failed is followed by another one
			} else {
				committed++
			}
			must(t, clean(d))
			if got, err := contents(d, 3); err != nil || strings.Join(got, ",") != "shared,new" {
				t.Fatalf("%s, operation %d (writer: %v): %v, %v", what, op-first, written, got, err)
			}
		}
	}
	if committed == 0 {
		t.Error("no interleaving let the writer through")
	}
}

func TestACancelledReadEnds(t *testing.T) {
	t.Parallel()
	d, err := NewDir(filepath.Join(t.TempDir(), "store"))
	must(t, err)
	must(t, checkpoint(t, d, 1, 1, string(bytes.Repeat([]byte("x"), 1<<20))))
	m, err := d.Load(t.Context(), stream, task, 1)
	must(t, err)
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := d.Open(ended, stream, m.Files[0]); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
