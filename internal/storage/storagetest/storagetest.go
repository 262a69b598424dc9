package storagetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/manifest"
	"github.com/pondage/pondage/internal/storage"
)

// Stream is what the suite writes to.
const Stream = ident.StreamID(7)

// Task is whose checkpoints it writes.
var Task = ident.Task{Level: ident.LevelAgg, VGroup: 3}

// Open gives two views of one empty store: of two nodes that share it, or twice the same.
type Open func(t *testing.T) (one, two storage.Store)

// Exercise runs the suite.
func Exercise(t *testing.T, open Open) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, storage.Store, storage.Store){
		"a checkpoint is read back":                    readBack,
		"a commit may be repeated":                     repeated,
		"two manifests of one checkpoint":              conflict,
		"two commit at once":                           atOnce,
		"a file that is missing or of another size":    named,
		"a lower stage commits nothing":                fenced,
		"a commit raises the stage":                    raised,
		"T36 the cleaner and the restore":              t36,
		"the cleaner leaves what is being written":     running,
		"the delta of a failed checkpoint":             failed,
		"what nobody names goes":                       unnamed,
		"an older list of what to keep":                older,
		"what is not the stream's":                     others,
		"a file that another task has written":         foreign,
		"a file is discarded":                          discarded,
		"a dropped stream":                             dropped,
		"a writer that has ended":                      ended,
		"who has no time left":                         cancelled,
		"writers and cleaners at once, many a time":    busy,
		"nothing to keep is no order to delete it all": keepAll,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one, two := open(t)
			test(t, one, two)
		})
	}
}

// Put writes a file of the task.
func Put(s storage.Store, c ident.CheckpointID, content string) (manifest.File, error) {
	w, err := s.Create(context.Background(), Stream, Task, c)
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

// Manifest is one of the task that names files.
func Manifest(stage ident.Stage, c ident.CheckpointID, files ...manifest.File) *manifest.Manifest {
	return &manifest.Manifest{
		Cluster: "c", Stream: Stream, Stage: stage, Checkpoint: c, Tx: ident.TxID(c), Task: Task.String(), Files: files,
	}
}

// Checkpoint writes files with the contents, and commits a manifest that names first those given, then them. It returns what the
// manifest names.
func Checkpoint(s storage.Store, stage ident.Stage, c ident.CheckpointID, before []manifest.File, contents ...string) ([]manifest.File, error) {
	files := slices.Clone(before)
	for _, content := range contents {
		f, err := Put(s, c, content)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	_, err := s.Commit(context.Background(), Manifest(stage, c, files...))
	return files, err
}

// Contents reads a checkpoint of the task back.
func Contents(s storage.Store, c ident.CheckpointID) ([]string, error) {
	m, _, err := s.Load(context.Background(), Stream, Task, c)
	if err != nil {
		return nil, err
	}
	out := []string{}
	for _, f := range m.Files {
		content, err := Content(s, f)
		if err != nil {
			return nil, err
		}
		out = append(out, content)
	}
	return out, nil
}

// Content reads a file back.
func Content(s storage.Store, f manifest.File) (string, error) {
	r, err := s.Open(context.Background(), Stream, f)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(r)
	return string(text), errors.Join(err, r.Close())
}

// Want checks a checkpoint of the task.
func Want(t testing.TB, s storage.Store, c ident.CheckpointID, want ...string) {
	t.Helper()
	if got, err := Contents(s, c); err != nil || !slices.Equal(got, want) {
		t.Errorf("checkpoint %d: %.200q, %v; want %.200q", c, got, err, want)
	}
}

func must[T any](t testing.TB, err error, value T) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func checkpoint(t testing.TB, s storage.Store, c ident.CheckpointID, before []manifest.File, contents ...string) []manifest.File {
	t.Helper()
	files, err := Checkpoint(s, 1, c, before, contents...)
	return must(t, err, files)
}

func put(t testing.TB, s storage.Store, c ident.CheckpointID, content string) manifest.File {
	t.Helper()
	f, err := Put(s, c, content)
	return must(t, err, f)
}

func retain(t testing.TB, s storage.Store, keep ...ident.CheckpointID) {
	t.Helper()
	if err := s.Retain(context.Background(), Stream, keep); err != nil {
		t.Fatal(fmt.Errorf("retain %v: %w", keep, err))
	}
}

func wantMissing(t testing.TB, s storage.Store, c ident.CheckpointID) {
	t.Helper()
	if _, err := Contents(s, c); !errors.Is(err, storage.ErrMissing) {
		t.Errorf("checkpoint %d: %v", c, err)
	}
}
