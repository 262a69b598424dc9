package lifecycle

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// journal records transitions and the calls of parts, in order.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) add(line string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, line)
}

func (j *journal) observe(name string, _, to State, _ error) { j.add(name + " " + to.String()) }

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Join(j.lines, ", ")
}

func TestServicesStartInOrderAndStopInReverse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var j journal
		g := NewGroup(j.observe)
		store := g.Add(NewService("store", Parts{}))
		g.Add(NewService("api", Parts{}), store)
		if err := g.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := g.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := "store starting, store running, api starting, api running, api stopping, api terminated, store stopping, store terminated"
		if j.String() != want {
			t.Errorf("got  %s\nwant %s", j.String(), want)
		}
	})
}

func TestStartReturnsWhenReady(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NewService("slow", Parts{Start: func(ctx context.Context) error {
			select {
			case <-time.After(time.Minute):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}})
		begun := time.Now()
		if err := s.Start(t.Context()); err != nil || time.Since(begun) != time.Minute || s.State() != Running {
			t.Errorf("started after %s in state %s: %v", time.Since(begun), s.State(), err)
		}
		if err := s.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestStopTwiceAndByManyAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stops := 0
		s := NewService("s", Parts{Stop: func() error { stops++; time.Sleep(time.Second); return nil }})
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if err := s.Stop(t.Context()); err != nil {
					t.Error(err)
				}
				if s.State() != Terminated {
					t.Errorf("Stop returned in state %s", s.State())
				}
			})
		}
		wg.Wait()
		if err := s.Stop(t.Context()); err != nil || stops != 1 {
			t.Errorf("stop part ran %d times; %v", stops, err)
		}
	})
}

func TestStopDuringStartGivesItUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NewService("s", Parts{Start: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }})
		started := make(chan error, 1)
		go func() { started <- s.Start(t.Context()) }()
		synctest.Wait()
		if err := s.Stop(t.Context()); err == nil {
			t.Error("a start that was given up is no failure")
		}
		if err := <-started; !errors.Is(err, context.Canceled) || s.State() != Failed {
			t.Errorf("state %s, %v", s.State(), err)
		}
	})
}

func TestStopThatCameDuringAStartThatSucceedsTakesItDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		down := false
		s := NewService("s", Parts{
			Start: func(context.Context) error { time.Sleep(time.Second); return nil },
			Stop:  func() error { down = true; return nil },
		})
		started := make(chan error, 1)
		go func() { started <- s.Start(t.Context()) }()
		synctest.Wait()
		if err := s.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if err := <-started; err == nil || !down || s.State() != Terminated {
			t.Errorf("state %s, taken down %t, start %v", s.State(), down, err)
		}
	})
}

func TestStopBeforeStartTerminatesAndStartIsRefused(t *testing.T) {
	t.Parallel()
	s := NewService("s", Parts{})
	if err := s.Stop(t.Context()); err != nil || s.State() != Terminated {
		t.Errorf("state %s, %v", s.State(), err)
	}
	if err := s.Start(t.Context()); err == nil {
		t.Error("a terminated service starts")
	}
}

func TestAServiceThatFailsEndsTheGroup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("disk gone")
		var j journal
		g := NewGroup(j.observe)
		g.Add(NewService("store", Parts{Stop: func() error { j.add("store closed"); return nil }}))
		g.Add(NewService("loop", Parts{Run: func(context.Context) error { time.Sleep(time.Second); return broken }}))
		if err := g.Run(t.Context(), time.Minute); !errors.Is(err, broken) || strings.Count(err.Error(), "disk gone") != 1 {
			t.Errorf("run: %v", err)
		}
		if !strings.HasSuffix(j.String(), "loop stopping, loop failed, store stopping, store closed, store terminated") {
			t.Error(j.String())
		}
	})
}

func TestAFailedStartTakesDownWhatRan(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("port in use")
		g := NewGroup(nil)
		store := g.Add(NewService("store", Parts{}))
		g.Add(NewService("api", Parts{Start: func(context.Context) error { return broken }}), store)
		last := g.Add(NewService("loop", Parts{}))
		if err := g.Start(t.Context()); !errors.Is(err, broken) {
			t.Errorf("start: %v", err)
		}
		if store.State() != Terminated || last.State() != Terminated {
			t.Errorf("store %s, loop %s", store.State(), last.State())
		}
	})
}

func TestAServiceThatDoesNotEndIsNamed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := NewService("stuck", Parts{Run: func(context.Context) error { <-release; return nil }})
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "stuck") {
			t.Errorf("stop: %v", err)
		}
		close(release)
		<-s.Done()
	})
}

func TestEveryTransitionOfTheTable(t *testing.T) {
	t.Parallel()
	for from := New; from <= Failed; from++ {
		for to := New; to <= Failed; to++ {
			if from.Ended() && allowed(from, to) {
				t.Errorf("%s → %s: there is no way out of the end", from, to)
			}
			if from == to && allowed(from, to) {
				t.Errorf("%s → itself", from)
			}
		}
	}
}
