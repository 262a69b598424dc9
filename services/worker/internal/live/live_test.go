package live

import (
	"fmt"
	"testing"

	"github.com/pondage/pondage/internal/block"
)

func rows(from, to int) *block.Batch {
	b := block.NewBatch(block.Schema{{Name: "n", Type: block.Int64}}, to-from)
	for i := from; i < to; i++ {
		b.Cols[0].AppendInt(int64(i))
	}
	return b
}

// share is memory of so many bytes.
type share struct{ free int64 }

func (s *share) TryTake(n int64) bool {
	if n > s.free {
		return false
	}
	s.free -= n
	return true
}

func (s *share) Give(n int64) { s.free += n }

func read(f *Feed, p *Position) (got []int64, lost int64) {
	out, lost, _ := f.Read(p)
	for _, r := range out {
		got = append(got, r.Batch.Cols[0].Int[r.From:r.To]...)
	}
	return got, lost
}

func TestAWatcherSeesEveryResultOnce(t *testing.T) {
	t.Parallel()
	f := NewFeed(1, 2)
	f.Publish(0, rows(0, 3))
	p := f.End()
	f.Publish(0, rows(3, 5))
	f.Publish(1, rows(100, 101))
	if got, lost := read(f, &p); fmt.Sprint(got, lost) != "[3 4 100] 0" {
		t.Fatalf("got %v, lost %d", got, lost)
	}
	if got, lost := read(f, &p); len(got) != 0 || lost != 0 {
		t.Fatalf("again: got %v, lost %d", got, lost)
	}
}

func TestAPositionSurvivesItsTextForm(t *testing.T) {
	t.Parallel()
	f := NewFeed(7, 3)
	f.Publish(2, rows(0, 4))
	p, err := ParsePosition(f.End().String())
	if err != nil || p.String() != "7/0.0.4" {
		t.Fatalf("got %v, %v", p, err)
	}
	for _, s := range []string{"", "x", "1", "1/", "1/a", "1/1."} {
		if _, err := ParsePosition(s); err == nil {
			t.Errorf("%q was taken", s)
		}
	}
}

func TestASlowWatcherIsToldWhatItLost(t *testing.T) {
	t.Parallel()
	f := NewFeed(1, 1)
	p := f.End()
	const batch = 10_000 // 80 kB each: the ring keeps 13
	for i := range 30 {
		f.Publish(0, rows(i*batch, (i+1)*batch))
	}
	got, lost := read(f, &p)
	if int(lost)+len(got) != 30*batch || lost == 0 || len(got) == 0 {
		t.Fatalf("got %d, lost %d of %d", len(got), lost, 30*batch)
	}
	if got[0] != lost {
		t.Fatalf("first kept is %d, lost %d", got[0], lost)
	}
}

func TestAnotherStageIsSaid(t *testing.T) {
	t.Parallel()
	f := NewFeed(2, 1)
	f.Publish(0, rows(0, 1))
	p := Position{Stage: 1, Next: []uint64{50}}
	if got, lost := read(f, &p); len(got) != 1 || lost != -1 || p.Stage != 2 {
		t.Fatalf("got %v, lost %d, now at %v", got, lost, p)
	}
}

func TestAWatcherIsWoken(t *testing.T) {
	t.Parallel()
	f := NewFeed(1, 1)
	p := f.End()
	_, _, wait := f.Read(&p)
	select {
	case <-wait:
		t.Fatal("woken without a result")
	default:
	}
	f.Publish(0, rows(0, 1))
	<-wait
}

func TestRingsStayWithinTheNodesShare(t *testing.T) {
	t.Parallel()
	const batch = 1000
	m := &share{free: int64(rows(0, batch).MemBytes() * 3)}
	all := m.free
	a, b := NewFeed(1, 1).Within(m), NewFeed(1, 1).Within(m)
	pa, pb := a.End(), b.End()
	for i := range 5 {
		a.Publish(0, rows(i*batch, (i+1)*batch))
	}
	b.Publish(0, rows(0, batch))
	if got, lost := read(a, &pa); len(got) != 3*batch || lost != 2*batch || got[0] != 2*batch {
		t.Errorf("got %d from %v on, lost %d", len(got), got[0], lost)
	}
	// The share is used up: nothing of b is kept, and its watcher is told so.
	if got, lost := read(b, &pb); len(got) != 0 || lost != batch {
		t.Errorf("got %d, lost %d", len(got), lost)
	}
	a.Close()
	b.Publish(0, rows(batch, 2*batch))
	if got, lost := read(b, &pb); len(got) != batch || lost != 0 {
		t.Errorf("after the other has ended: got %d, lost %d", len(got), lost)
	}
	b.Close()
	b.Publish(0, rows(0, batch))
	if m.free != all {
		t.Errorf("%d of %d bytes are free at the end", m.free, all)
	}
}

// TestWhatStaysIsTold: rows carry the trigger before them, of their own vgroup, and the newest complete checkpoint wakes who waits.
func TestWhatStaysIsTold(t *testing.T) {
	t.Parallel()
	f := NewFeed(3, 2).From(4)
	p := f.End()
	f.Publish(0, rows(0, 1))
	f.Passed(0, 5)
	f.Publish(0, rows(1, 2))
	f.Publish(1, rows(9, 10))
	out, _, wait := f.Read(&p)
	var got []string
	for _, r := range out {
		got = append(got, fmt.Sprint(r.VGroup, "@", r.After))
	}
	if fmt.Sprint(got) != "[0@4 0@5 1@4]" || f.Completed() != 4 {
		t.Errorf("%v, complete %d", got, f.Completed())
	}
	f.Complete(5)
	<-wait
	f.Complete(4) // an old word
	if f.Completed() != 5 {
		t.Errorf("complete %d", f.Completed())
	}
}
