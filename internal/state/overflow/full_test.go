package overflow

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/manifest"
	"github.com/pondage/pondage/internal/state"
	"github.com/pondage/pondage/internal/storage"
	"github.com/pondage/pondage/internal/storage/dirstore"
	"github.com/pondage/pondage/internal/storage/faultfs"
	"github.com/pondage/pondage/internal/window"
)

// disk is a file system that has no room from some write on.
type disk struct {
	vfs.FS
	writes, fullAt, refused atomic.Int64
	slow                    func() // before a write that finds no room
}

const never = int64(1) << 62

func newDisk() *disk {
	d := &disk{slow: func() {}}
	d.fullAt.Store(never)
	d.FS = errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind != errorfs.OpCreate && op.Kind != errorfs.OpMkdirAll && op.Kind != errorfs.OpFileWrite || d.writes.Add(1) < d.fullAt.Load() {
			return nil
		}
		d.refused.Add(1)
		d.slow()
		return syscall.ENOSPC
	}))
	return d
}

// putSome puts what makes several files, and returns the first error.
func putSome(s *Spill) error {
	b := block.NewBatch(schema, 0)
	r := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		b.Cols[0].AppendString("key")
		b.Cols[1].AppendInt(r.Int64()) // nothing to compress
	}
	const batches, panes, buckets = 200, 3, 7 // 16 MB
	for n := range batches {
		if err := s.Put(ident.EventMs(n%panes), n%buckets, window.SpillMark{}, b); err != nil {
			return err
		}
	}
	return nil
}

// TestAFullDiskIsAnErrorAndNoMore: whichever write finds no room, the spill says so by its name; nothing waits for room, not
// even the end, nothing panics, and the next one works as soon as there is room.
func TestAFullDiskIsAnErrorAndNoMore(t *testing.T) {
	t.Parallel()
	d := newDisk()
	run := func() (opened bool, err error) {
		s, err := openOn(d, "spill")
		if err != nil {
			return false, err
		}
		err = putSome(s)
		if e := s.Close(); e != nil {
			t.Error(e)
		}
		if err == nil && d.refused.Load() > 0 {
			err = s.failure() // of the last file, after the last Put
		}
		return true, err
	}
	if _, err := run(); err != nil {
		t.Fatal(err)
	}
	all := d.writes.Load()
	for at := int64(1); at <= all; at += 1 + at/8 {
		d.writes.Store(0)
		d.refused.Store(0)
		d.fullAt.Store(at)
		opened, err := run()
		if refused := d.refused.Load() > 0; refused && (!errors.Is(err, window.ErrSpillFull) || !strings.Contains(err.Error(), "spill")) || !refused && err != nil {
			t.Errorf("full at write %d of %d: opened: %t, refused: %t: %v", at, all, opened, refused, err)
		}
	}
	d.fullAt.Store(never)
	d.refused.Store(0)
	if _, err := run(); err != nil {
		t.Errorf("when there is room again: %v", err)
	}
}

// TestNobodyWaitsForRoom: a disk that is slow and then full; more is put meanwhile than may wait in memory.
func TestNobodyWaitsForRoom(t *testing.T) {
	t.Parallel()
	d := newDisk()
	s, err := openOn(d, "spill")
	if err != nil {
		t.Fatal(err)
	}
	const slow = 200 * time.Millisecond
	d.slow = func() { time.Sleep(slow) }
	d.fullAt.Store(0)
	if err := putSome(s); !errors.Is(err, window.ErrSpillFull) {
		t.Errorf("%v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestAFullDiskLosesNoCheckpoint: windows and checkpoints lie on one disk, which gets full. Neither goes on, both say why; when
// there is room again a restore from the last checkpoint has everything.
func TestAFullDiskLosesNoCheckpoint(t *testing.T) {
	t.Parallel()
	const devices, limit = 20_000, 1 << 18
	const stream, stage = ident.StreamID(7), ident.Stage(1)
	self := ident.Task{Level: ident.LevelAgg}
	operator := manifest.Operator{ID: "interval:1h:tbname", Accumulators: []string{"sum(x)"}}
	d, files := newDisk(), faultfs.New()
	store, err := dirstore.OpenOn(files, "/data/checkpoints")
	if err != nil {
		t.Fatal(err)
	}
	checkpoint := func(w *windowed, c ident.CheckpointID, f *window.Frozen) (err error) {
		out, err := store.Create(t.Context(), stream, self, c)
		if err != nil {
			return err
		}
		defer out.Abort()
		if _, err := state.Write(out, state.Header{Operator: operator}, f); err != nil {
			return err
		}
		file, err := out.Commit()
		if err != nil {
			return err
		}
		file.Role, file.Of = manifest.RoleBase, operator.ID
		_, err = store.Commit(t.Context(), &manifest.Manifest{
			Cluster: "c", Stream: stream, Name: "s", Stage: stage, Checkpoint: c, Tx: 1, Task: self.String(), Plan: "p",
			Operators: []manifest.Operator{operator}, Files: []manifest.File{file}, Merge: &manifest.Merge{Watermark: ident.WatermarkNone},
		})
		return err
	}
	live := func() (*windowed, *Spill) {
		w := newWindowed(t)
		s, err := openOn(d, "spill")
		if err != nil {
			t.Fatal(err)
		}
		w.state.Bound(limit, func() (window.Spill, error) { return s, nil })
		return w, s
	}

	w, s := live()
	w.state.Track()
	w.feed(1, devices)
	if err := checkpoint(w, 1, w.state.FreezeAll()); err != nil {
		t.Fatal(err)
	}
	d.fullAt.Store(0)
	files.Room(0)
	var full error
	if err := checkpoint(w, 2, w.state.FreezeAll()); !errors.Is(err, storage.ErrFull) {
		t.Errorf("a checkpoint: %v", err)
	}
	for ts := int64(2); full == nil && ts < 1000; ts++ {
		full = w.feedUntil(ts, devices)
	}
	if !errors.Is(full, window.ErrSpillFull) || !strings.Contains(full.Error(), "spill") {
		t.Errorf("windows: %v", full)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}

	d.fullAt.Store(never)
	files.Roomy()
	w, s = live()
	defer func() { _ = s.Close() }()
	m, _, err := store.Load(t.Context(), stream, self, 1)
	if err != nil {
		t.Fatal(err)
	}
	in, err := store.Open(t.Context(), stream, m.Files[0])
	if err != nil {
		t.Fatal(err)
	}
	scratch := &block.Batch{}
	r := w.state.Restore(m.Merge.Watermark)
	if err := state.Restore(in, operator, state.LostRefused, func() *block.Batch { return scratch }, r); err != nil {
		t.Fatal(err)
	}
	r.End()
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	w.feed(2, devices)
	want := map[string]float64{}
	for i := range devices {
		want[fmt.Sprintf("device-%07d", i)] = 2 * float64(i)
	}
	if got := w.sums(); !maps.Equal(got, want) {
		t.Errorf("%d devices have other sums than a run without faults, or are missing; %d are there", devices, len(got))
	}
}
