package dirstore

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/manifest"
	"github.com/pondage/pondage/internal/storage"
	"github.com/pondage/pondage/internal/storage/faultfs"
	"github.com/pondage/pondage/internal/storage/storagetest"
)

func all(c ...ident.CheckpointID) []ident.CheckpointID { return c }

// node is what a node does with its store, and what it was told of it.
type node struct {
	store    *Store
	stage    ident.Stage
	told     []manifest.File // of the newest checkpoint that was reported durable
	complete ident.CheckpointID
	contents []string
	tell     func() // when it has been reported
}

// checkpoint writes one with the files of the one before, and a new base at every third; then the older ones go.
func (n *node) checkpoint(c ident.CheckpointID) error {
	const chain = 3
	files, contents := n.told, slices.Clone(n.contents)
	if len(files) == chain {
		files, contents = nil, nil
	}
	content := fmt.Sprint("content ", c)
	files, err := storagetest.Checkpoint(n.store, n.stage, c, files, content)
	if err != nil {
		return err
	}
	n.told, n.complete, n.contents = files, c, append(contents, content)
	if n.tell != nil {
		n.tell()
	}
	return n.store.Retain(background, storagetest.Stream, all(c))
}

func (n *node) life(from, to ident.CheckpointID) error {
	if err := n.store.Fence(background, stream, n.stage); err != nil {
		return err
	}
	for c := from; c <= to; c++ {
		if err := n.checkpoint(c); err != nil {
			return fmt.Errorf("checkpoint %d: %w", c, err)
		}
	}
	return nil
}

const lastOfLife = 5

// begin opens a store and lives until something goes wrong.
func begin(f *faultfs.FS) (n *node, err error) {
	n = &node{stage: 1}
	if n.store, err = OpenOn(f, "/data/checkpoints"); err != nil {
		return n, err
	}
	return n, n.life(1, lastOfLife)
}

// operations is how many there are in a life without faults.
func operations(t *testing.T) int {
	t.Helper()
	f := faultfs.New()
	_, err := begin(f)
	must(t, err)
	return f.Ops()
}

// after checks what must hold at any time: what was told durable is whole; a new stage goes on, leaves nothing, and what
// it is told outlives a crash of its own.
func (n *node) after(t *testing.T, f *faultfs.FS, what string) {
	t.Helper()
	s := openOn(t, f)
	n.whole(t, s, what)
	next := &node{store: s, stage: n.stage + 1, told: n.told, complete: n.complete, contents: n.contents}
	if err := next.life(lastOfLife+3, lastOfLife+6); err != nil {
		t.Fatalf("%s: the next stage: %v", what, err)
	}
	if names, err := s.fs.List(s.task(stream, task.String())); err != nil || len(names) != 1+len(next.told) {
		t.Fatalf("%s: left: %q, %v", what, names, err)
	}
	f.Crash(rand.New(rand.NewPCG(uint64(f.Ops()), 0)))
	s = openOn(t, f)
	next.whole(t, s, what+", and a crash of the next stage")
	if _, err := storagetest.Checkpoint(s, n.stage, lastOfLife+7, nil, "zombie"); !errors.Is(err, storage.ErrFenced) {
		t.Fatalf("%s: the old stage: %v", what, err)
	}
}

// whole checks the checkpoint that was told durable, and that what may become complete is whole where it is visible.
func (n *node) whole(t *testing.T, s *Store, what string) {
	t.Helper()
	if n.complete > 0 {
		if got, err := storagetest.Contents(s, n.complete); err != nil || !slices.Equal(got, n.contents) {
			t.Fatalf("%s: checkpoint %d: %q, %v; want %q", what, n.complete, got, err, n.contents)
		}
	}
	visible(t, s, n.complete+1, what)
}

// visible checks that all manifests from a checkpoint on which are there are whole.
func visible(t *testing.T, s *Store, from ident.CheckpointID, what string) {
	t.Helper()
	for c := from; c <= lastOfLife+6; c++ {
		if _, _, err := s.Load(background, stream, task, c); errors.Is(err, storage.ErrMissing) {
			continue
		}
		if _, err := storagetest.Contents(s, c); err != nil {
			t.Fatalf("%s: checkpoint %d is visible and not whole: %v", what, c, err)
		}
	}
}

const crashes = 8 // of each kind; each loses something else

// TestT48_KillAtEveryWrite: the process is killed at every operation of the store, and the next one finds everything as
// it was, or the machine crashes as well.
func TestT48_KillAtEveryWrite(t *testing.T) {
	t.Parallel()
	for op := range operations(t) {
		for crash := range uint64(crashes) {
			f := faultfs.New()
			f.KillAt(op + 1)
			n, err := begin(f)
			if !errors.Is(err, faultfs.ErrKilled) {
				t.Fatalf("operation %d: %v", op+1, err)
			}
			if crash == 0 {
				f.Restart()
			} else {
				f.Crash(rand.New(rand.NewPCG(uint64(op), crash)))
			}
			what := fmt.Sprintf("killed at operation %d, crash %d", op+1, crash)
			visible(t, openOn(t, f), 1, what)
			n.after(t, f, what)
			visible(t, openOn(t, f), 1, what)
		}
	}
}

// TestT48_KilledTwice: the second kill comes while the first one's leavings are cleaned up.
func TestT48_KilledTwice(t *testing.T) {
	t.Parallel()
	ops := operations(t)
	r := rand.New(rand.NewPCG(48, 2))
	for i := range 1000 {
		f := faultfs.New()
		f.KillAt(1 + r.IntN(ops))
		n, _ := begin(f)
		f.Crash(r)
		f.KillAt(f.Ops() + 1 + r.IntN(ops))
		if s, err := OpenOn(f, "/data/checkpoints"); err == nil {
			n = &node{store: s, stage: n.stage + 1, told: n.told, complete: n.complete, contents: n.contents}
			_ = n.life(n.complete+1, lastOfLife)
		}
		f.Crash(r)
		n.after(t, f, fmt.Sprint("run ", i))
	}
}

// TestT52_TheAcknowledgedHole: every operation fails once. Whoever then does the same again, the same checkpoint, and
// is told that it is durable, has it after any crash: success is never what is left of a failure.
func TestT52_TheAcknowledgedHole(t *testing.T) {
	t.Parallel()
	for op := range operations(t) {
		for crash := range uint64(crashes) {
			f := faultfs.New()
			f.FailAt(op+1, syscall.EIO)
			n, err := begin(f)
			if err != nil {
				if !errors.Is(err, syscall.EIO) {
					t.Fatalf("operation %d: %v", op+1, err)
				}
				if n.store == nil {
					n.store = openOn(t, f)
				}
				if err := n.life(n.complete+1, lastOfLife); err != nil {
					t.Fatalf("after the failure of operation %d: %v", op+1, err)
				}
			}
			f.Crash(rand.New(rand.NewPCG(uint64(op), crash)))
			n.after(t, f, fmt.Sprintf("operation %d failed, crash %d", op+1, crash))
		}
	}
}

// TestT52_TheSameFileIsNotSyncedAgain: a sync failed, and the writer's Commit is called again.
func TestT52_TheSameFileIsNotSyncedAgain(t *testing.T) {
	t.Parallel()
	f := faultfs.New()
	s := openOn(t, f)
	w, err := s.Create(t.Context(), stream, task, 1)
	must(t, err)
	_, err = w.Write([]byte("content"))
	must(t, err)
	f.FailAt(f.Ops()+2, syscall.EIO) // write, sync
	if _, err := w.Commit(); !errors.Is(err, syscall.EIO) {
		t.Fatalf("%v", err)
	}
	if file, err := w.Commit(); err == nil {
		t.Errorf("it is durable now: %+v", file)
	}
	wantNames(t, s, s.task(stream, task.String()), 0)
}

// TestT51_DiskFullThenNot: a full disk has a name, leaves nothing half-written, what is there stays, and it goes on by
// itself when there is room.
func TestT51_DiskFullThenNot(t *testing.T) {
	t.Parallel()
	const most, step = 3000, 7 // bytes: more than the checkpoints need; every place within a file is come to by one of them
	for room := 0; room < most; room += step {
		f := faultfs.New()
		n := &node{store: openOn(t, f), stage: 1}
		must(t, n.life(1, 2))
		f.Room(room)
		err := n.life(3, lastOfLife)
		if err != nil && !errors.Is(err, storage.ErrFull) {
			t.Fatalf("room for %d bytes: %v", room, err)
		}
		if err == nil && room < 100 {
			t.Fatalf("room for %d bytes is enough", room)
		}
		names, err := n.store.fs.List(n.store.task(stream, task.String()))
		must(t, err)
		for _, name := range names {
			if _, ok := parse(name); !ok || name[len(name)-len(suffixTmp):] == suffixTmp {
				t.Fatalf("room for %d bytes: left %q", room, name)
			}
		}
		f.Roomy()
		must(t, n.life(n.complete+1, lastOfLife))
		n.after(t, f, fmt.Sprintf("room for %d bytes", room))
	}
}

// TestNoSpaceAtAnyOperation: a name can need room, too.
func TestNoSpaceAtAnyOperation(t *testing.T) {
	t.Parallel()
	for op := range operations(t) {
		f := faultfs.New()
		f.FailAt(op+1, syscall.ENOSPC)
		n, err := begin(f)
		if err != nil && !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("operation %d: %v", op+1, err)
		}
		if n.store == nil {
			n.store = openOn(t, f)
		}
		if err != nil {
			must(t, n.life(n.complete+1, lastOfLife))
		}
		n.after(t, f, fmt.Sprintf("no space at operation %d", op+1))
	}
}

// TestDropIsKilled: the stream is there or not, never in part, and the next drop takes what is left.
func TestDropIsKilled(t *testing.T) {
	t.Parallel()
	whole := faultfs.New()
	n, err := begin(whole)
	must(t, err)
	first := whole.Ops() + 1
	must(t, n.store.Drop(t.Context(), stream))
	for op := first; op <= whole.Ops(); op++ {
		for crash := range uint64(crashes) {
			f := faultfs.New()
			n, err := begin(f)
			must(t, err)
			f.KillAt(op)
			if err := n.store.Drop(t.Context(), stream); !errors.Is(err, faultfs.ErrKilled) {
				t.Fatalf("operation %d: %v", op, err)
			}
			f.Crash(rand.New(rand.NewPCG(uint64(op), crash)))
			s := openOn(t, f)
			if got, err := storagetest.Contents(s, n.complete); !errors.Is(err, storage.ErrMissing) && !slices.Equal(got, n.contents) {
				t.Fatalf("operation %d, crash %d: %q, %v", op, crash, got, err)
			}
			must(t, s.Drop(t.Context(), stream))
			f.Crash(rand.New(rand.NewPCG(uint64(op), crash)))
			if streams, err := openOn(t, f).Streams(t.Context()); err != nil || len(streams) > 0 {
				t.Fatalf("operation %d, crash %d: back again: %v, %v", op, crash, streams, err)
			}
			must(t, openOn(t, f).Drop(t.Context(), stream))
			wantNames(t, s, s.root, 0)
		}
	}
}

// TestAStoreForgetsAStreamThatItDropped: what it knew to be durable is not there any more.
func TestAStoreForgetsAStreamThatItDropped(t *testing.T) {
	t.Parallel()
	f := faultfs.New()
	n, err := begin(f)
	must(t, err)
	must(t, n.store.Drop(t.Context(), stream))
	again := &node{store: n.store, stage: 1}
	must(t, again.life(1, lastOfLife))
	again.after(t, f, "dropped and made anew")
}
