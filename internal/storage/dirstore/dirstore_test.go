package dirstore

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/pondage/pondage/internal/storage"
	"github.com/pondage/pondage/internal/storage/faultfs"
	"github.com/pondage/pondage/internal/storage/storagetest"
)

const stream = storagetest.Stream

var task = storagetest.Task

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func openOn(t testing.TB, f *faultfs.FS) *Store {
	t.Helper()
	s, err := OpenOn(f, "/data/checkpoints")
	must(t, err)
	return s
}

func TestOneNode(t *testing.T) {
	t.Parallel()
	storagetest.Exercise(t, func(t *testing.T) (one, two storage.Store) {
		s, err := Open(filepath.Join(t.TempDir(), "node", "checkpoints"))
		must(t, err)
		return s, s
	})
}

func TestSeveralNodesShareADirectory(t *testing.T) {
	t.Parallel()
	storagetest.Exercise(t, func(t *testing.T) (storage.Store, storage.Store) {
		root := t.TempDir()
		one, err := Open(root)
		must(t, err)
		two, err := Open(root)
		must(t, err)
		return one, two
	})
}

func TestOnAFileSystemThatCanFail(t *testing.T) {
	t.Parallel()
	storagetest.Exercise(t, func(t *testing.T) (one, two storage.Store) {
		f := faultfs.New()
		return openOn(t, f), openOn(t, f)
	})
}

// TestStrangeNamesAreLeftAlone: what a network file system or an administrator puts there.
func TestStrangeNamesAreLeftAlone(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	s, err := Open(root)
	must(t, err)
	_, err = storagetest.Checkpoint(s, 1, 1, nil, "a")
	must(t, err)
	strange := []string{"README", "7/note", "7/tasks/agg-3/.nfs0001", "7/tasks/agg-3/x.manifest", "7/stages/old", "lost+found"}
	for _, name := range strange {
		must(t, os.WriteFile(filepath.Join(root, name), nil, 0o600))
	}
	must(t, s.Retain(t.Context(), stream, all(1)))
	must(t, s.Fence(t.Context(), stream, 2))
	for _, name := range strange {
		if _, err := os.Stat(filepath.Join(root, name)); err != nil {
			t.Error(err)
		}
	}
	if streams, err := s.Streams(t.Context()); err != nil || len(streams) != 1 {
		t.Errorf("%v, %v", streams, err)
	}
	storagetest.Want(t, s, 1, "a")
}

// TestNothingIsLeft: of what is not needed any more, by the names in the directory.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	s := openOn(t, faultfs.New())
	base, err := storagetest.Checkpoint(s, 1, 1, nil, "base", "other")
	must(t, err)
	w, err := s.Create(t.Context(), stream, task, 2)
	must(t, err)
	w.Abort()
	_, err = s.Create(t.Context(), stream, task, 2) // by who is killed
	must(t, err)
	_, err = storagetest.Checkpoint(s, 4, 2, base[:1], "delta")
	must(t, err)
	must(t, s.Retain(t.Context(), stream, all(2)))
	wantNames(t, s, s.task(stream, task.String()), 3) // a manifest, two files
	wantNames(t, s, s.stages(stream), 1)
	must(t, s.Drop(t.Context(), stream))
	wantNames(t, s, s.root, 0)
}

func wantNames(t *testing.T, s *Store, dir string, want int) {
	t.Helper()
	if names, err := s.fs.List(dir); err != nil || len(names) != want {
		t.Errorf("%s: %q, %v; want %d names", dir, names, err, want)
	}
}
