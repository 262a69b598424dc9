package memory

import (
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/pondage/pondage/internal/dispatch"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/kafka"
)

var _ kafka.Budget = (*Pool)(nil)

func holder(n int) dispatch.Holder {
	return dispatch.Holder{Stream: 1, Task: ident.Task{Level: ident.LevelAgg, VGroup: ident.VGroup(n)}}
}

func TestATaskWithNothingAlwaysHasRoomForOne(t *testing.T) {
	t.Parallel()
	p := New(100)
	a, b := p.Open(holder(0)), p.Open(holder(1))
	p.Take(150) // chunks
	if p.TryTake(1) {
		t.Error("a full pool lets a fetch begin")
	}
	if !a.Room() || !a.TryTake(70) {
		t.Error("a task that holds nothing is refused")
	}
	if a.Room() || a.TryTake(1) {
		t.Error("it gets a second one from a full pool")
	}
	if !b.Room() || !b.TryTake(10) {
		t.Error("another task is refused its one")
	}
	a.Give(70)
	if !a.Room() {
		t.Error("it has nothing, and no room")
	}
	p.Give(150)
	if b.Room() != true || p.Used() != 10 {
		t.Errorf("%d bytes in use", p.Used())
	}
}

func TestAClosedAccountHoldsNothing(t *testing.T) {
	t.Parallel()
	p := New(100)
	a := p.Open(holder(0))
	a.Take(40)
	a.TryTake(20)
	a.Close()
	a.Close()
	if p.Used() != 0 || a.Held() != 0 {
		t.Errorf("%d bytes in use, %d held", p.Used(), a.Held())
	}
	// What comes late is for an owner that is gone, and must not be taken from the next stage's task of that name.
	next := p.Open(holder(0))
	next.Take(30)
	a.Give(40)
	a.Take(5)
	if !a.TryTake(5) {
		t.Error("a closed account makes its owner wait")
	}
	if p.Used() != 30 || next.Held() != 30 {
		t.Errorf("%d bytes in use, %d held by the next", p.Used(), next.Held())
	}
}

func TestWhoeverWaitsIsWoken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := New(100)
		a, b := p.Open(holder(0)), p.Open(holder(1))
		a.Take(100)
		b.Take(1)
		got := make(chan struct{})
		go func() {
			for changed := b.Changed(); !b.TryTake(50); changed = b.Changed() {
				<-changed
			}
			close(got)
		}()
		for _, n := range []int64{20, 20, 9} {
			a.Give(n)
			synctest.Wait()
		}
		select {
		case <-got:
			t.Fatal("taken while there was no room")
		default:
		}
		a.Give(51)
		<-got
	})
}

// TestThePoolIsBounded: whatever tasks and fetches do, in use is what was taken and not given, and above the limit is at
// most one item a task and what fetches took in any case.
func TestThePoolIsBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const limit, tasks, most = 1000, 4, 200
		p := New(limit)
		accounts := make([]*Account, tasks)
		held := make([][]int64, tasks)
		for i := range accounts {
			accounts[i] = p.Open(holder(i))
		}
		sum, fetched := int64(0), int64(0)
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			i := rapid.IntRange(0, tasks-1).Draw(t, "task")
			n := rapid.Int64Range(1, most).Draw(t, "bytes")
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0:
				if len(held[i]) > 0 {
					accounts[i].Give(held[i][0])
					sum -= held[i][0]
					held[i] = held[i][1:]
				}
			case 1:
				if accounts[i].TryTake(n) {
					held[i], sum = append(held[i], n), sum+n
				} else if len(held[i]) == 0 {
					t.Fatalf("task %d holds nothing and is refused", i)
				}
			case 2:
				if p.TryTake(n) {
					fetched, sum = fetched+n, sum+n
				}
			case 3:
				if fetched > 0 {
					p.Give(fetched)
					fetched, sum = 0, sum-fetched
				}
			case 4:
				accounts[i].Close()
				for _, b := range held[i] {
					sum -= b
				}
				held[i], accounts[i] = nil, p.Open(holder(i))
			}
			if p.Used() != sum || sum > limit+tasks*most {
				t.Fatalf("in use %d, taken %d, limit %d", p.Used(), sum, limit)
			}
		}
	})
}
