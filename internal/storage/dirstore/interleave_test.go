package dirstore

import (
	"errors"
	"fmt"
	"testing"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/storage"
	"github.com/pondage/pondage/internal/storage/faultfs"
	"github.com/pondage/pondage/internal/storage/storagetest"
)

// between runs outer once for each of its operations on the file system, each time with all of inner done by another
// node ahead of that operation. Before is what both find.
func between(t *testing.T, before, outer, inner func(*Store) error, check func(s *Store, what string, outer, inner error)) {
	t.Helper()
	start := func() (f *faultfs.FS, one, two *Store) {
		f = faultfs.New()
		one, two = openOn(t, f), openOn(t, f)
		must(t, before(one))
		return f, one, two
	}
	f, one, _ := start()
	first := f.Ops() + 1
	must(t, outer(one))
	for op, last := first, f.Ops(); op <= last; op++ {
		f, one, two := start()
		var errInner error
		f.Before(op, func() { errInner = inner(two) })
		errOuter := outer(one)
		check(two, fmt.Sprintf("ahead of operation %d of %d", op-first+1, last-first+1), errOuter, errInner)
	}
}

func fence(stage ident.Stage) func(*Store) error {
	return func(s *Store) error { return s.Fence(background, stream, stage) }
}

// TestNoCommitEndsAfterAHigherFence: wherever the fence comes between.
func TestNoCommitEndsAfterAHigherFence(t *testing.T) {
	t.Parallel()
	commit := func(s *Store) error { _, err := storagetest.Checkpoint(s, 4, 1, nil, "zombie"); return err }
	between(t, fence(4), commit, fence(5), func(s *Store, what string, outer, inner error) {
		if !errors.Is(outer, storage.ErrFenced) || inner != nil {
			t.Errorf("%s: commit: %v, fence: %v", what, outer, inner)
		}
		if _, err := storagetest.Checkpoint(s, 5, 2, nil, "next"); err != nil {
			t.Errorf("%s: the next stage: %v", what, err)
		}
	})
}

// TestTheHigherOfTwoFencesStays: two stages begin at once.
func TestTheHigherOfTwoFencesStays(t *testing.T) {
	t.Parallel()
	for _, stages := range [][2]ident.Stage{{4, 5}, {5, 4}, {5, 5}} {
		between(t, fence(1), fence(stages[0]), fence(stages[1]), func(s *Store, what string, outer, inner error) {
			if max := max(stages[0], stages[1]); s.current(stream, max-1) == nil || s.current(stream, max) != nil {
				t.Errorf("stages %v, %s: %d is not the stage", stages, what, max)
			}
			if err := map[bool]error{true: outer, false: inner}[stages[0] >= stages[1]]; err != nil {
				t.Errorf("stages %v, %s: the higher one: %v", stages, what, err)
			}
			if stages[0] < stages[1] && !errors.Is(outer, storage.ErrFenced) {
				t.Errorf("stages %v, %s: the lower one, which ends later: %v", stages, what, outer)
			}
		})
	}
}

// TestNoFileIsLostBetweenWriterAndCleaner: one does all its work between two operations of the other, at every place. The
// writer goes on with the files of the newest complete checkpoint and with what a failed one has left.
func TestNoFileIsLostBetweenWriterAndCleaner(t *testing.T) {
	t.Parallel()
	before := func(s *Store) error {
		files, err := storagetest.Checkpoint(s, 1, 1, nil, "base")
		if err != nil {
			return err
		}
		if _, err = storagetest.Checkpoint(s, 1, 2, files, "delta 2"); err != nil {
			return err
		}
		_, err = storagetest.Put(s, 3, "delta 3") // of a checkpoint that failed
		return err
	}
	write := func(s *Store) error {
		m, _, err := s.Load(background, stream, task, 2)
		if err != nil {
			return err
		}
		left, err := storagetest.Put(s, 3, "delta 3")
		if err != nil {
			return err
		}
		_, err = storagetest.Checkpoint(s, 1, 4, append(m.Files, left), "delta 4")
		return err
	}
	clean := func(s *Store) error { return s.Retain(background, stream, all(2)) }
	works := map[string][2]func(*Store) error{"the cleaner within the writer": {write, clean}, "the writer within the cleaner": {clean, write}}
	for name, work := range works {
		between(t, before, work[0], work[1], func(s *Store, what string, outer, inner error) {
			if outer != nil || inner != nil {
				t.Fatalf("%s, %s: %v, %v", name, what, outer, inner)
			}
			must(t, s.Retain(background, stream, all(4)))
			storagetest.Want(t, s, 4, "base", "delta 2", "delta 3", "delta 4")
		})
	}
}

// TestTwoCleanersAtOnce: one has an older list.
func TestTwoCleanersAtOnce(t *testing.T) {
	t.Parallel()
	before := func(s *Store) error {
		files, err := storagetest.Checkpoint(s, 1, 1, nil, "base")
		for c := ident.CheckpointID(2); c <= 4 && err == nil; c++ {
			_, err = storagetest.Checkpoint(s, 1, c, files, fmt.Sprint("delta ", c))
		}
		return err
	}
	older := func(s *Store) error { return s.Retain(background, stream, all(2, 3)) }
	newer := func(s *Store) error { return s.Retain(background, stream, all(4)) }
	for _, work := range [][2]func(*Store) error{{older, newer}, {newer, older}} {
		between(t, before, work[0], work[1], func(s *Store, what string, outer, inner error) {
			if outer != nil || inner != nil {
				t.Errorf("%s: %v, %v", what, outer, inner)
			}
			storagetest.Want(t, s, 4, "base", "delta 4")
			must(t, newer(s))
			wantNames(t, s, s.task(stream, task.String()), 3)
		})
	}
}
