package window

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/ident"
)

// memSpill is a Spill in memory.
type memSpill struct {
	kept   map[bucketOf][]spilledBatch
	fails  error         // what every call ends with
	failIn int           // after so many calls; 0: at once
	open   *atomic.Int32 // snapshots
	closed atomic.Bool   // of a snapshot
}

type bucketOf struct {
	pane   ident.EventMs
	bucket int
}

type spilledBatch struct {
	mark  SpillMark
	batch *block.Batch
}

func newMemSpill() *memSpill {
	return &memSpill{kept: map[bucketOf][]spilledBatch{}, open: new(atomic.Int32)}
}

func (m *memSpill) fail() error {
	if m.fails == nil {
		return nil
	}
	if m.failIn > 0 {
		m.failIn--
		return nil
	}
	return m.fails
}

func (m *memSpill) Put(pane ident.EventMs, bucket int, mark SpillMark, b *block.Batch) error {
	at := bucketOf{pane, bucket}
	m.kept[at] = append(slices.Clip(m.kept[at]), spilledBatch{mark, clone(b)})
	return m.fail()
}

func (m *memSpill) Each(pane ident.EventMs, bucket int, do func(SpillMark, *block.Batch) error) error {
	if m.closed.Load() {
		return errors.New("closed")
	}
	for _, b := range m.kept[bucketOf{pane, bucket}] {
		if err := do(b.mark, b.batch); err != nil {
			return err
		}
	}
	return m.fail()
}

func (m *memSpill) Drop(pane ident.EventMs, bucket int) error {
	delete(m.kept, bucketOf{pane, bucket})
	return m.fail()
}

func (m *memSpill) Snapshot() SpillSnapshot {
	m.open.Add(1)
	return &memSpill{kept: maps.Clone(m.kept), open: m.open}
}

func (m *memSpill) Close() error {
	if m.closed.CompareAndSwap(false, true) {
		m.open.Add(-1)
	}
	return nil
}

// bound bounds the state to so many bytes: with 1 everything that can go goes with every Relieve.
func bound(s *State, bytes int) *memSpill {
	m := newMemSpill()
	s.Bound(bytes, func() (Spill, error) { return m, nil })
	return m
}

// TestAFailureOfTheSpillIsSaid: wherever it happens, the error comes out, and what was emitted is right as far as it goes.
func TestAFailureOfTheSpillIsSaid(t *testing.T) {
	t.Parallel()
	broken := errors.New("the disk is full")
	spec := testSpecs["tumbling"]
	run := func(fails error, failIn int) (rows []row, got results, calls int, err error) {
		s := newTestState(t, spec, EmitOnClose, 0)
		spill := bound(s, 1)
		spill.fails, spill.failIn = fails, failIn
		source := preAgg(t, spec)
		for i := range 40 {
			rows = append(rows, row{key: fmt.Sprint("device-", i%10), ts: int64(i % 12), x: float64(i), openFrom: ident.WatermarkNone, offset: int64(i)})
		}
		got = results{}
		for part := range slices.Chunk(rows, 10) {
			source.Add(columnsOf(part))
			source.Flush(func(_ ident.VGroup, b *block.Batch) {
				if err := s.Merge(b); err != nil {
					t.Fatal(err)
				}
			})
			if err := s.Relieve(); err != nil {
				return rows, got, failIn - spill.failIn, err
			}
		}
		s.Advance(ident.WatermarkEnd, func(e *Emission) { got.take(t, e) })
		return rows, got, failIn - spill.failIn, s.Relieve()
	}
	const many = 1 << 20
	rows, got, calls, err := run(broken, many) // which never comes
	want := modelResults(t, spec, rows)
	got.equal(t, want)
	if err != nil || calls < 20 {
		t.Fatalf("%d calls, %v", calls, err)
	}
	for n := range calls {
		_, got, _, err := run(broken, n)
		if !errors.Is(err, broken) {
			t.Fatalf("call %d: %v", n, err)
		}
		for id, row := range got {
			if row != want[id] {
				t.Fatalf("call %d: window %s:\n got %s\nwant %s", n, id, row, want[id])
			}
		}
	}
}

// TestAFreezeIsWrittenElsewhere: in another goroutine, while the state takes partials, spills, closes windows and freezes again.
func TestAFreezeIsWrittenElsewhere(t *testing.T) {
	t.Parallel()
	spec := testSpecs["tumbling"]
	s := newTestState(t, spec, EmitOnClose, 20)
	bound(s, 20_000)
	s.Track()
	source := preAgg(t, spec)
	var written sync.WaitGroup
	frozen := make(chan *Frozen, 100)
	written.Go(func() {
		for f := range frozen {
			rows := 0
			if err := f.Partials(5, func(b *block.Batch) error { rows += b.Rows(); return b.Check() }); err != nil {
				t.Error(err)
			}
			if rows > f.Len() {
				t.Errorf("%d rows of %d", rows, f.Len())
			}
		}
	})
	for i := range 60 {
		var rows []row
		for d := range 50 {
			rows = append(rows, row{key: fmt.Sprint("device-", (i*7+d)%200), ts: int64(i + d%15), x: 1e16 / float64(d+1), openFrom: ident.WatermarkNone, offset: int64(i*50 + d)})
		}
		source.Add(columnsOf(rows))
		source.Flush(func(_ ident.VGroup, b *block.Batch) {
			if err := s.Merge(b); err != nil {
				t.Fatal(err)
			}
		})
		s.Advance(ident.EventMs(i), func(*Emission) {})
		if err := s.Relieve(); err != nil {
			t.Fatal(err)
		}
		if i%10 == 0 {
			frozen <- s.FreezeAll()
		} else {
			frozen <- s.FreezeTouched()
		}
	}
	close(frozen)
	written.Wait()
}
