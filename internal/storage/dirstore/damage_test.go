package dirstore

import (
	"context"
	"errors"
	"testing"

	"github.com/pondage/pondage/internal/storage"
	"github.com/pondage/pondage/internal/storage/faultfs"
	"github.com/pondage/pondage/internal/storage/storagetest"
)

var background = context.Background()

// TestDamageIsFoundBeforeUse: a file or manifest with one bit flipped or its end missing.
func TestDamageIsFoundBeforeUse(t *testing.T) {
	t.Parallel()
	const content = "some content"
	f := faultfs.New()
	s := openOn(t, f)
	files, err := storagetest.Checkpoint(s, 1, 1, nil, content)
	must(t, err)
	path := s.file(stream, files[0])
	for bit := range 8 * len(content) {
		f.Flip(path, bit)
		if r, err := s.Open(t.Context(), stream, files[0]); !errors.Is(err, storage.ErrDamaged) || r != nil {
			t.Fatalf("bit %d: %v", bit, err)
		}
		f.Flip(path, bit)
	}
	f.Cut(path, len(content)-1)
	if _, err := s.Open(t.Context(), stream, files[0]); !errors.Is(err, storage.ErrDamaged) {
		t.Errorf("a file without its end: %v", err)
	}
	// Put again, it is whole again.
	again, err := storagetest.Put(s, 1, content)
	if err != nil || again != files[0] {
		t.Errorf("%+v, %v", again, err)
	}
	storagetest.Want(t, s, 1, content)
}

// TestBesideADamagedManifestNothingIsDeleted: what it names is not known.
func TestBesideADamagedManifestNothingIsDeleted(t *testing.T) {
	t.Parallel()
	const byteOfIt = 100
	f := faultfs.New()
	s := openOn(t, f)
	files, err := storagetest.Checkpoint(s, 1, 1, nil, "base")
	must(t, err)
	_, err = storagetest.Checkpoint(s, 1, 2, files, "delta")
	must(t, err)
	f.Flip(s.manifest(stream, task.String(), 2), 8*byteOfIt)
	if _, err := storagetest.Contents(s, 2); !errors.Is(err, storage.ErrDamaged) {
		t.Errorf("%v", err)
	}
	if err := s.Retain(t.Context(), stream, all(2)); !errors.Is(err, storage.ErrDamaged) {
		t.Errorf("%v", err)
	}
	storagetest.Want(t, s, 1, "base")
	// Once no list has it, it goes like others.
	_, err = storagetest.Checkpoint(s, 1, 3, nil, "new base")
	must(t, err)
	must(t, s.Retain(t.Context(), stream, all(3)))
	wantNames(t, s, s.task(stream, task.String()), 2)
}

// TestAManifestUnderAnotherNameIsDamage: a copy that somebody has put there.
func TestAManifestUnderAnotherNameIsDamage(t *testing.T) {
	t.Parallel()
	f := faultfs.New()
	s := openOn(t, f)
	_, err := storagetest.Checkpoint(s, 1, 1, nil, "a")
	must(t, err)
	must(t, f.Link(s.manifest(stream, task.String(), 1), s.manifest(stream, task.String(), 2)))
	if _, err := storagetest.Contents(s, 2); !errors.Is(err, storage.ErrDamaged) {
		t.Errorf("%v", err)
	}
}
