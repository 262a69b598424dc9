package faultfs

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"syscall"
	"testing"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, f *FS, name, content string, sync ...error) {
	t.Helper()
	h, err := f.Create(name)
	must(t, err)
	_, err = io.WriteString(h, content)
	must(t, err)
	for _, want := range sync {
		if want != nil {
			f.FailAt(f.Ops()+1, want)
		}
		if err := h.Sync(); !errors.Is(err, want) {
			t.Fatalf("sync: %v", err)
		}
	}
	must(t, h.Close())
}

// outcomes is what many crashes leave of a file: its content, or "-" for none.
func outcomes(t *testing.T, name string, setUp func(f *FS)) map[string]bool {
	t.Helper()
	const crashes = 200
	seen := map[string]bool{}
	for seed := range uint64(crashes) {
		f := New()
		setUp(f)
		f.Crash(rand.New(rand.NewPCG(1, seed)))
		r, err := f.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			seen["-"] = true
			continue
		}
		must(t, err)
		content, err := io.ReadAll(r)
		must(t, err)
		seen[string(bytes.ReplaceAll(content, []byte{0}, []byte("0")))] = true
	}
	return seen
}

func want(t *testing.T, what string, got map[string]bool, want ...string) {
	t.Helper()
	for _, w := range want {
		if !got[w] {
			t.Errorf("%s: never %q", what, w)
		}
		delete(got, w)
	}
	for g := range got {
		t.Errorf("%s: %q", what, g)
	}
}

func TestWhatACrashLeaves(t *testing.T) {
	t.Parallel()
	want(t, "nothing synced", outcomes(t, "/f", func(f *FS) { write(t, f, "/f", "ab") }), "-", "", "a", "ab", "0", "a0", "00")
	want(t, "content synced", outcomes(t, "/f", func(f *FS) { write(t, f, "/f", "ab", nil) }), "-", "ab")
	want(t, "name synced", outcomes(t, "/f", func(f *FS) { write(t, f, "/f", "a"); must(t, f.SyncDir("/")) }), "", "a", "0")
	want(t, "both synced", outcomes(t, "/f", func(f *FS) { write(t, f, "/f", "ab", nil); must(t, f.SyncDir("/")) }), "ab")
	want(t, "removed", outcomes(t, "/f", func(f *FS) {
		write(t, f, "/f", "ab", nil)
		must(t, f.SyncDir("/"))
		must(t, f.Remove("/f"))
	}), "ab", "-")
	replaced := func(f *FS) {
		write(t, f, "/f", "old", nil)
		must(t, f.SyncDir("/"))
		write(t, f, "/g", "new", nil)
		must(t, f.Rename("/g", "/f"))
	}
	want(t, "replaced", outcomes(t, "/f", replaced), "old", "new")
	want(t, "replaced and synced", outcomes(t, "/f", func(f *FS) { replaced(f); must(t, f.SyncDir("/")) }), "new")
}

// TestAFailedSyncIsNeverMadeGood: the next one says that all is well.
func TestAFailedSyncIsNeverMadeGood(t *testing.T) {
	t.Parallel()
	want(t, "of a file", outcomes(t, "/f", func(f *FS) {
		write(t, f, "/f", "ab", syscall.EIO, nil)
		must(t, f.SyncDir("/"))
	}), "")
	failed := func(f *FS) {
		write(t, f, "/f", "ab", nil)
		f.FailAt(f.Ops()+1, syscall.EIO)
		if err := f.SyncDir("/"); !errors.Is(err, syscall.EIO) {
			t.Fatal(err)
		}
		must(t, f.SyncDir("/"))
	}
	want(t, "of a directory", outcomes(t, "/f", failed), "-", "ab")
	want(t, "of a directory, then named anew", outcomes(t, "/f", func(f *FS) {
		failed(f)
		write(t, f, "/g", "cd", nil)
		must(t, f.Rename("/g", "/f"))
		must(t, f.SyncDir("/"))
	}), "cd")
}

func TestFaults(t *testing.T) {
	t.Parallel()
	f := New()
	must(t, f.Mkdir("/d"))
	f.Room(3)
	h, err := f.Create("/d/f")
	must(t, err)
	if n, err := io.WriteString(h, "abcd"); n != 3 || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("on a full disk: %d, %v", n, err)
	}
	f.Roomy()
	if _, err := io.WriteString(h, "e"); err != nil {
		t.Error(err)
	}
	if size, err := f.Size("/d/f"); size != 4 || err != nil {
		t.Errorf("size %d, %v", size, err)
	}
	for op, err := range map[string]error{"remove": f.Remove("/d"), "rmdir": f.Remove("/e"), "mkdir": f.Mkdir("/d"), "link": f.Link("/d/f", "/d/f")} {
		if err == nil {
			t.Errorf("%s is not refused", op)
		}
	}
	f.KillAt(f.Ops() + 2)
	must(t, f.Remove("/d/f"))
	if _, err := f.List("/d"); !errors.Is(err, ErrKilled) {
		t.Errorf("after the kill: %v", err)
	}
	f.Restart()
	if names, err := f.List("/d"); err != nil || len(names) > 0 {
		t.Errorf("%v, %v", names, err)
	}
	must(t, f.RemoveAll("/d"))
	must(t, f.RemoveAll("/d"))
}
