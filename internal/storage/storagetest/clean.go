package storagetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/manifest"
	"github.com/pondage/pondage/internal/storage"
)

// t36: a file that is written once and named by two hundred checkpoints, of which three and a savepoint are kept, stays.
func t36(t *testing.T, one, two storage.Store) {
	const savepoint, last, retained = 3, 200, 3
	base := []manifest.File{put(t, one, 1, "written once")}
	for c := ident.CheckpointID(1); c <= last; c++ {
		checkpoint(t, one, c, base, fmt.Sprint("delta ", c))
		keep := []ident.CheckpointID{savepoint}
		for kept := max(1, c-retained+1); kept <= c; kept++ {
			keep = append(keep, kept)
		}
		if c < savepoint {
			keep = keep[1:]
		}
		retain(t, two, keep...)
	}
	for _, c := range []ident.CheckpointID{savepoint, last - 2, last - 1, last} {
		Want(t, two, c, "written once", fmt.Sprint("delta ", c))
	}
	wantMissing(t, one, last-retained)
}

// running: the cleaner comes between a file and the manifest that names it.
func running(t *testing.T, one, two storage.Store) {
	checkpoint(t, one, 1, nil, "a")
	w, err := one.Create(t.Context(), Stream, Task, 2)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("begun")); err != nil {
		t.Fatal(err)
	}
	f := put(t, one, 2, "whole")
	retain(t, two, 1)
	begun, err := w.Commit()
	if err != nil {
		t.Fatal(err)
	}
	begun.Role = manifest.RoleDelta
	retain(t, two, 1)
	if _, err := one.Commit(t.Context(), Manifest(1, 2, begun, f)); err != nil {
		t.Fatal(err)
	}
	retain(t, two, 1) // not complete yet
	Want(t, two, 2, "begun", "whole")
	retain(t, two, 2)
	Want(t, two, 2, "begun", "whole")
	wantMissing(t, two, 1)
}

// failed: what a failed checkpoint has taken from "changed" is in the chain of the next one.
func failed(t *testing.T, one, two storage.Store) {
	base := checkpoint(t, one, 1, nil, "base")
	delta := put(t, one, 2, "delta 2")
	retain(t, two, 1)
	third := checkpoint(t, one, 3, append(slices.Clone(base), delta), "delta 3") // fails as well
	retain(t, two, 1)
	checkpoint(t, one, 4, third, "delta 4")
	retain(t, two, 4)
	Want(t, two, 4, "base", "delta 2", "delta 3", "delta 4")
	wantMissing(t, two, 3)
}

func unnamed(t *testing.T, one, two storage.Store) {
	checkpoint(t, one, 1, nil, "a")
	left := put(t, one, 2, "left by a failed checkpoint")
	w, err := one.Create(t.Context(), Stream, Task, 2) // left by a killed process
	if err != nil {
		t.Fatal(err)
	}
	third := checkpoint(t, one, 3, nil, "c")
	retain(t, two, 3)
	if _, err := two.Open(t.Context(), Stream, left); !errors.Is(err, storage.ErrMissing) {
		t.Errorf("what a failed checkpoint has left: %v", err)
	}
	if _, err := w.Commit(); err == nil {
		t.Error("what a killed process has left is still there")
	}
	// A zombie that comes to name it after all is told.
	if _, err := one.Commit(t.Context(), Manifest(1, 4, append(third, left)...)); !errors.Is(err, storage.ErrMissing) {
		t.Errorf("a manifest that names a file that is gone: %v", err)
	}
	wantMissing(t, two, 4)
	Want(t, two, 3, "c")
}

// older: a node that was told less than another, or a zombie.
func older(t *testing.T, one, two storage.Store) {
	var files []manifest.File
	for c := ident.CheckpointID(1); c <= 6; c++ {
		files = checkpoint(t, one, c, files, fmt.Sprint("delta ", c))
	}
	retain(t, one, 4, 5, 6)
	retain(t, two, 1, 2, 3)
	retain(t, two, 2, 3, 4)
	for _, c := range []ident.CheckpointID{4, 5, 6} {
		if got, err := Contents(two, c); err != nil || len(got) != int(c) {
			t.Errorf("checkpoint %d: %q, %v", c, got, err)
		}
	}
}

func others(t *testing.T, one, two storage.Store) {
	task := ident.Task{Level: ident.LevelSource, VGroup: 0}
	for _, m := range []*manifest.Manifest{
		{Cluster: "c", Stream: Stream + 1, Stage: 1, Checkpoint: 1, Tx: 1, Task: Task.String()},
		{Cluster: "c", Stream: Stream, Stage: 1, Checkpoint: 2, Tx: 1, Task: task.String()},
	} {
		if _, err := one.Commit(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	checkpoint(t, one, 1, nil, "a")
	checkpoint(t, one, 2, nil, "b")
	retain(t, two, 2)
	if _, _, err := two.Load(t.Context(), Stream+1, Task, 1); err != nil {
		t.Errorf("another stream: %v", err)
	}
	if _, _, err := two.Load(t.Context(), Stream, task, 2); err != nil {
		t.Errorf("another task: %v", err)
	}
}

// foreign: after a split a task goes on with what another one has written.
func foreign(t *testing.T, one, two storage.Store) {
	files := checkpoint(t, one, 1, nil, "parent's")
	child := ident.Task{Level: ident.LevelAgg, VGroup: 9}
	m := Manifest(2, 2, files...)
	m.Task = child.String()
	if _, err := two.Commit(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	retain(t, one, 2)
	got, _, err := one.Load(t.Context(), Stream, child, 2)
	if err != nil {
		t.Fatal(err)
	}
	if content, err := Content(one, got.Files[0]); content != "parent's" || err != nil {
		t.Errorf("%q, %v", content, err)
	}
}

func discarded(t *testing.T, one, two storage.Store) {
	kept, gone := put(t, one, 1, "kept"), put(t, one, 1, "gone")
	for range 2 {
		if err := one.Discard(t.Context(), Stream, []manifest.File{gone}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := two.Open(t.Context(), Stream, gone); !errors.Is(err, storage.ErrMissing) {
		t.Errorf("%v", err)
	}
	if content, err := Content(two, kept); content != "kept" || err != nil {
		t.Errorf("%q, %v", content, err)
	}
	put(t, one, 1, "gone")
	if content, err := Content(two, gone); content != "gone" || err != nil {
		t.Errorf("written anew: %q, %v", content, err)
	}
}

func dropped(t *testing.T, one, two storage.Store) {
	checkpoint(t, one, 1, nil, "a")
	if _, err := one.Commit(t.Context(), &manifest.Manifest{Cluster: "c", Stream: Stream + 5, Stage: 1, Checkpoint: 1, Tx: 1, Task: Task.String()}); err != nil {
		t.Fatal(err)
	}
	streams := func() []ident.StreamID {
		got, err := two.Streams(t.Context())
		slices.Sort(got)
		return must(t, err, got)
	}
	if got := streams(); !slices.Equal(got, []ident.StreamID{Stream, Stream + 5}) {
		t.Errorf("streams %v", got)
	}
	for range 2 {
		if err := two.Drop(t.Context(), Stream); err != nil {
			t.Fatal(err)
		}
	}
	wantMissing(t, one, 1)
	if got := streams(); !slices.Equal(got, []ident.StreamID{Stream + 5}) {
		t.Errorf("streams %v", got)
	}
	retain(t, one, 1)
}

func keepAll(t *testing.T, one, two storage.Store) {
	checkpoint(t, one, 1, nil, "a")
	retain(t, two)
	Want(t, two, 1, "a")
}

// busy: tasks write checkpoints, each with the files of the one before, while several clean after them.
func busy(t *testing.T, one, two storage.Store) {
	const last, chain = 40, 4
	complete := make(chan ident.CheckpointID, last)
	var wg sync.WaitGroup
	for _, s := range []storage.Store{one, two} {
		wg.Go(func() {
			for c := range complete {
				if err := s.Retain(context.Background(), Stream, []ident.CheckpointID{c}); err != nil {
					t.Errorf("retain %d: %v", c, err)
				}
			}
		})
	}
	var files []manifest.File
	for c := ident.CheckpointID(1); c <= last; c++ {
		if len(files) == chain {
			files = nil // a new base
		}
		files = checkpoint(t, one, c, files, fmt.Sprint("content ", c))
		complete <- c
	}
	close(complete)
	wg.Wait()
	got, err := Contents(two, last)
	if err != nil || len(got) != len(files) {
		t.Errorf("%q, %v", got, err)
	}
}
