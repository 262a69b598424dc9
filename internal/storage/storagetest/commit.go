package storagetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/manifest"
	"github.com/pondage/pondage/internal/storage"
)

func readBack(t *testing.T, one, two storage.Store) {
	large := strings.Repeat("0123456789abcdef", 1<<16)
	files := checkpoint(t, one, 1, nil, "base", "", large)
	Want(t, two, 1, "base", "", large)
	m, id, err := two.Load(t.Context(), Stream, Task, 1)
	if err != nil || len(m.Files) != len(files) || m.Files[0].Task != Task.String() || m.Files[0].Checkpoint != 1 {
		t.Errorf("%+v, %v", m, err)
	}
	if _, want, err := m.Encode(); err != nil || id != want {
		t.Errorf("id %s, want %s, %v", id, want, err)
	}
	wantMissing(t, one, 2)
	if _, _, err := one.Load(t.Context(), Stream+1, Task, 1); !errors.Is(err, storage.ErrMissing) {
		t.Errorf("a stream that is not there: %v", err)
	}
	checkpoint(t, two, 2, files, "delta") // the files are shared
	Want(t, one, 2, "base", "", large, "delta")
	checkpoint(t, two, 3, nil)
	Want(t, one, 3)
}

func repeated(t *testing.T, one, two storage.Store) {
	m := Manifest(1, 1, put(t, one, 1, "a"), put(t, one, 1, "a")) // the same content twice is one file
	first, err := one.Commit(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []storage.Store{one, two} {
		if again, err := s.Commit(t.Context(), m); err != nil || again != first {
			t.Errorf("%s, %v; the first time %s", again, err, first)
		}
	}
	put(t, two, 1, "a") // also when it is named by then
	Want(t, two, 1, "a", "a")
}

func conflict(t *testing.T, one, two storage.Store) {
	files := checkpoint(t, one, 1, nil, "a")
	if _, err := two.Commit(t.Context(), Manifest(1, 1, put(t, two, 1, "b"))); !errors.Is(err, storage.ErrConflict) {
		t.Errorf("other files: %v", err)
	}
	if _, err := two.Commit(t.Context(), Manifest(2, 1, files...)); !errors.Is(err, storage.ErrConflict) {
		t.Errorf("another stage: %v", err)
	}
	Want(t, two, 1, "a")
}

func atOnce(t *testing.T, one, two storage.Store) {
	const writers = 8
	errs := make([]error, writers)
	var wg sync.WaitGroup
	for i := range writers {
		s := []storage.Store{one, two}[i%2]
		wg.Go(func() { _, errs[i] = Checkpoint(s, 1, 1, nil, fmt.Sprint("writer ", i)) })
	}
	wg.Wait()
	winners := 0
	for i, err := range errs {
		switch {
		case err == nil:
			winners++
			Want(t, two, 1, fmt.Sprint("writer ", i))
		case !errors.Is(err, storage.ErrConflict):
			t.Errorf("writer %d: %v", i, err)
		}
	}
	if winners != 1 {
		t.Errorf("%d have committed one checkpoint, each in another way", winners)
	}
}

func named(t *testing.T, one, two storage.Store) {
	f := put(t, one, 1, "a")
	for name, c := range map[string]struct {
		spoil func(*manifest.File)
		want  error
	}{
		"content":    {func(f *manifest.File) { f.Hash[0]++ }, storage.ErrMissing},
		"task":       {func(f *manifest.File) { f.Task = "agg-4" }, storage.ErrMissing},
		"checkpoint": {func(f *manifest.File) { f.Checkpoint = 2 }, storage.ErrMissing},
		"size":       {func(f *manifest.File) { f.Bytes++ }, storage.ErrDamaged},
		"path":       {func(f *manifest.File) { f.Task = "../agg-3" }, manifest.ErrInvalid},
	} {
		bad := f
		c.spoil(&bad)
		if _, err := two.Commit(t.Context(), Manifest(1, 2, bad)); !errors.Is(err, c.want) {
			t.Errorf("another %s: committed: %v", name, err)
		}
		if !errors.Is(c.want, manifest.ErrInvalid) {
			if r, err := two.Open(t.Context(), Stream, bad); !errors.Is(err, c.want) || r != nil {
				t.Errorf("another %s: opened: %v", name, err)
			}
		}
	}
	wantMissing(t, one, 2)
}

func fenced(t *testing.T, one, two storage.Store) {
	for _, s := range []storage.Store{one, two, one} {
		if err := s.Fence(t.Context(), Stream, 1); err != nil {
			t.Fatal(err)
		}
	}
	checkpoint(t, one, 1, nil, "a")
	if err := two.Fence(t.Context(), Stream, 12); err != nil { // 12 is above 3 also where it is text
		t.Fatal(err)
	}
	for _, stage := range []ident.Stage{1, 3, 11} {
		if _, err := Checkpoint(one, stage, 2, nil, "zombie"); !errors.Is(err, storage.ErrFenced) {
			t.Errorf("a commit of stage %d: %v", stage, err)
		}
		if err := one.Fence(t.Context(), Stream, stage); !errors.Is(err, storage.ErrFenced) {
			t.Errorf("fence of stage %d: %v", stage, err)
		}
	}
	wantMissing(t, two, 2)
	if _, err := Checkpoint(one, 12, 3, nil, "b"); err != nil {
		t.Error(err)
	}
	Want(t, two, 1, "a")
	Want(t, two, 3, "b")
	if err := one.Fence(t.Context(), Stream+1, 1); err != nil {
		t.Errorf("another stream's stage: %v", err)
	}
}

func raised(t *testing.T, one, two storage.Store) {
	if _, err := Checkpoint(one, 5, 1, nil, "a"); err != nil {
		t.Fatal(err)
	}
	if err := two.Fence(t.Context(), Stream, 4); !errors.Is(err, storage.ErrFenced) {
		t.Errorf("a lower stage, after a commit: %v", err)
	}
}

func ended(t *testing.T, one, two storage.Store) {
	w, err := one.Create(t.Context(), Stream, Task, 1)
	if err != nil {
		t.Fatal(err)
	}
	f, err := w.Commit()
	if err != nil {
		t.Fatal(err)
	}
	w.Abort()
	if _, err := w.Write([]byte("x")); !errors.Is(err, storage.ErrEnded) {
		t.Errorf("write: %v", err)
	}
	if _, err := w.Commit(); !errors.Is(err, storage.ErrEnded) {
		t.Errorf("commit: %v", err)
	}
	if got, err := Content(two, f); got != "" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func cancelled(t *testing.T, one, two storage.Store) {
	f := checkpoint(t, one, 1, nil, "a")[0]
	ctx, cancel := context.WithCancel(t.Context())
	w, err := one.Create(ctx, Stream, Task, 2)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	results := map[string]error{"retain": one.Retain(ctx, Stream, []ident.CheckpointID{1}), "drop": one.Drop(ctx, Stream)}
	_, results["write"] = w.Write([]byte("x"))
	_, results["end of a file"] = w.Commit()
	_, results["create"] = one.Create(ctx, Stream, Task, 2)
	_, results["commit"] = one.Commit(ctx, Manifest(1, 2, f))
	_, _, results["load"] = one.Load(ctx, Stream, Task, 1)
	_, results["open"] = one.Open(ctx, Stream, f)
	_, results["streams"] = one.Streams(ctx)
	results["discard"] = one.Discard(ctx, Stream, []manifest.File{f})
	for what, err := range results {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", what, err)
		}
	}
	Want(t, two, 1, "a")
	wantMissing(t, two, 2)
}
