package dispatch

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/pondage/pondage/internal/ident"
)

func holderOf(i int) Holder {
	return Holder{Stream: 1, Task: ident.Task{Level: ident.LevelAgg, VGroup: ident.VGroup(i)}}
}

func TestAFullPoolPausesSourcesAndKeepsEveryTaskAlive(t *testing.T) {
	t.Parallel()
	b := NewBudget(100)
	for _, c := range []struct {
		holder, bytes int
		grant         Grant
		change        PoolChange
	}{
		{0, 60, Granted, PoolSteady},
		{0, 41, PoolFull, PauseSources},
		{0, 41, PoolFull, PoolSteady},
		{1, 50, Granted, PoolSteady}, // holds nothing: its one block is granted above the limit
		{1, 1, PoolFull, PoolSteady},
		{2, 5, Granted, PoolSteady},
	} {
		if grant, change := b.Take(holderOf(c.holder), 1, c.bytes); grant != c.grant || change != c.change {
			t.Errorf("task %d takes %d: %d, %d; want %d, %d", c.holder, c.bytes, grant, change, c.grant, c.change)
		}
	}
	if change := b.Give(holderOf(1), 1, 39); change != PoolSteady {
		t.Errorf("76 of 100 in use: %d, sources must not go on yet", change)
	}
	if change := b.Give(holderOf(0), 0, 1); change != ResumeSources || b.Paused() {
		t.Errorf("75 of 100 in use: %d, want sources to go on", change)
	}
	if b.End(holderOf(0)); b.Used() != 16 {
		t.Errorf("%d in use after the task has ended, want 16", b.Used())
	}
}

func TestWhatIsInUseAlreadyCountsAndPausesSources(t *testing.T) {
	t.Parallel()
	b := NewBudget(100)
	if change := b.Force(holderOf(0), 1, 99); change != PoolSteady {
		t.Errorf("99 of 100 in use: %d", change)
	}
	if change := b.Force(holderOf(0), 1, 200); change != PauseSources || b.Used() != 299 {
		t.Errorf("%d of 100 in use: %d, want sources paused", b.Used(), change)
	}
	if grant, _ := b.Take(holderOf(0), 1, 1); grant != PoolFull {
		t.Errorf("granted %d", grant)
	}
	if grant, _ := b.Take(holderOf(1), 1, 1); grant != Granted {
		t.Errorf("a task that holds nothing got %d", grant)
	}
	if change := b.Give(holderOf(0), 2, 299); change != ResumeSources {
		t.Errorf("%d of 100 in use: %d, want sources to go on", b.Used(), change)
	}
}

func TestATaskStopsAtItsOwnCap(t *testing.T) {
	t.Parallel()
	b := NewBudget(1 << 40)
	for _, c := range []struct {
		holder, items, bytes int
		grant                Grant
	}{
		{0, 1, 1, Granted},
		{0, 1, TaskBytes - 1, Granted},
		{0, 0, 1, TaskFull},
		{1, 1, 1, Granted},
		{1, TaskItems - 1, 1, Granted},
		{1, 1, 0, TaskFull},
	} {
		if grant, change := b.Take(holderOf(c.holder), c.items, c.bytes); grant != c.grant || change != PoolSteady {
			t.Errorf("task %d takes %d items, %d bytes: %d, %d; want %d, and no source paused", c.holder, c.items, c.bytes, grant, change, c.grant)
		}
	}
}

// TestPoolIsBounded: in use is what was granted less what was given back, never above the limit by more than one block a
// task, and sources are paused only while something is held.
func TestPoolIsBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const limit, tasks, block = 1000, 4, 200
		b := NewBudget(limit)
		held := make([][]int, tasks)
		sum := 0
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			i := rapid.IntRange(0, tasks-1).Draw(t, "task")
			if rapid.Bool().Draw(t, "give") && len(held[i]) > 0 {
				n := held[i][0]
				held[i] = held[i][1:]
				sum -= n
				b.Give(holderOf(i), 1, n)
			} else {
				n := rapid.IntRange(1, block).Draw(t, "bytes")
				g, _ := b.Take(holderOf(i), 1, n)
				if g == Granted {
					held[i] = append(held[i], n)
					sum += n
				} else if len(held[i]) == 0 {
					t.Fatalf("task %d holds nothing and is refused", i)
				}
			}
			if b.Used() != sum || sum > limit+tasks*block {
				t.Fatalf("in use %d, granted %d, limit %d", b.Used(), sum, limit)
			}
			if sum == 0 && b.Paused() {
				t.Fatal("paused with nothing held: nothing would ever end it")
			}
		}
	})
}
