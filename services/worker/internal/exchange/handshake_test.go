package exchange

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pondage/pondage/internal/dispatch"
	"github.com/pondage/pondage/internal/ident"
)

func check(stage ident.Stage) dispatch.Check {
	return dispatch.Check{
		Stream: stream, Stage: stage, From: place("a"), To: place("b"),
		Pairs: []dispatch.Pair{{Upstream: task("source-0"), Downstream: task("agg-1")}, {Upstream: task("source-0"), Downstream: task("agg-2")}},
	}
}

// asking is an Await under way.
type asking struct {
	done   chan struct{}
	err    error
	silent []int // rounds; −1: back
}

func (n *node) await(ctx context.Context, c dispatch.Check) *asking {
	out := &asking{done: make(chan struct{})}
	go func() {
		defer close(out.done)
		out.err = n.Await(ctx, c, func(s *dispatch.SilentRound) {
			if s == nil {
				out.silent = append(out.silent, -1)
			} else {
				out.silent = append(out.silent, s.Round)
			}
		})
	}()
	return out
}

func (w *asking) ended() bool {
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}

func TestAHandshakeWaitsForAPeerThatIsLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMesh()
		a, b := m.node(t, "a"), m.node(t, "b")
		a.locate("b", "http://b")
		w := a.await(t.Context(), check(3))
		time.Sleep(4 * time.Second) // b's orders are on their way
		synctest.Wait()
		if b.asked != 1 {
			t.Errorf("b asked for its orders %d times", b.asked)
		}
		b.StageKnown(stream, 3, []ident.Task{task("agg-1"), task("agg-2")})
		time.Sleep(8 * time.Second)
		b.TaskReady(stream, 3, task("agg-1"))
		time.Sleep(time.Second)
		synctest.Wait()
		if w.ended() {
			t.Fatalf("ended with one of two receivers ready: %v", w.err)
		}
		b.TaskReady(stream, 3, task("agg-2"))
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if !w.ended() || w.err != nil {
			t.Errorf("ended %t, %v", w.ended(), w.err)
		}
	})
}

func TestWhatEndsAHandshake(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		at   func(b *node)
		want dispatch.Reason
	}{
		"the peer is ahead":              {func(b *node) { b.StageKnown(stream, 4, nil) }, dispatch.ReasonNewStage},
		"the peer never hears of it":     {func(*node) {}, dispatch.ReasonNoSuchTask},
		"the task is not placed there":   {func(b *node) { b.StageKnown(stream, 3, []ident.Task{task("agg-1")}) }, dispatch.ReasonNoSuchTask},
		"the stream is gone":             {func(b *node) { b.StageKnown(stream, 3, nil); b.StreamGone(stream) }, dispatch.ReasonNoSuchTask},
		"the stage is gone, one follows": {func(b *node) { b.StageKnown(stream, 3, nil); b.StreamGone(stream); b.StageKnown(stream, 4, nil) }, dispatch.ReasonNewStage},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := newMesh()
				a, b := m.node(t, "a"), m.node(t, "b")
				a.locate("b", "http://b")
				c.at(b)
				w := a.await(t.Context(), check(3))
				time.Sleep(time.Minute)
				synctest.Wait()
				var reset *ErrReset
				if !w.ended() || !errors.As(w.err, &reset) || reset.Reset.Reason != c.want || reset.Reset.Stage != 3 {
					t.Errorf("ended %t: %v, want %s", w.ended(), w.err, c.want)
				}
			})
		})
	}
}

func TestASilentPeerIsAskedUntilItAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMesh()
		a := m.node(t, "a")
		w := a.await(t.Context(), check(1)) // nobody knows where b is
		time.Sleep(3 * time.Second)
		a.locate("b", "http://b")
		m.set(func(m *mesh) { m.hang = true })
		time.Sleep(2 * dispatch.HandshakeDeadline)
		b := m.node(t, "b")
		b.StageKnown(stream, 1, []ident.Task{task("agg-1"), task("agg-2")})
		b.TaskReady(stream, 1, task("agg-1"))
		b.TaskReady(stream, 1, task("agg-2"))
		m.set(func(m *mesh) { m.hang = false })
		time.Sleep(2 * dispatch.HandshakeDeadline)
		synctest.Wait()
		if !w.ended() || w.err != nil {
			t.Fatalf("ended %t: %v", w.ended(), w.err)
		}
		n := len(w.silent)
		if n < 4 || w.silent[0] != 1 || w.silent[n-1] != -1 || w.silent[n-2] != n-1 {
			t.Errorf("silent rounds %v", w.silent)
		}
	})
}

func TestAnotherInstanceAtTheAddressIsNotThePeer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMesh()
		a, b := m.node(t, "a"), m.node(t, "b")
		a.locate("b", "http://b")
		b.StageKnown(stream, 1, []ident.Task{task("agg-1"), task("agg-2")})
		b.TaskReady(stream, 1, task("agg-1"))
		b.TaskReady(stream, 1, task("agg-2"))
		c := check(1)
		c.To.Instance.Counter = 7
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		w := a.await(ctx, c)
		<-w.done
		if !errors.Is(w.err, context.DeadlineExceeded) || len(w.silent) == 0 {
			t.Errorf("ended with %v, silent rounds %v: the placed instance is gone, only the metastore can say so", w.err, w.silent)
		}
	})
}

// TestAHandshakeEndsWithItsContext: in any state; the bubble ends only when nothing of it is left.
func TestAHandshakeEndsWithItsContext(t *testing.T) {
	t.Parallel()
	for _, after := range []time.Duration{0, time.Millisecond, 500 * time.Millisecond, 12 * time.Second, 20 * time.Second} {
		for _, hang := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				m := newMesh()
				a, b := m.node(t, "a"), m.node(t, "b")
				a.locate("b", "http://b")
				b.StageKnown(stream, 1, []ident.Task{task("agg-1"), task("agg-2")})
				m.set(func(m *mesh) { m.hang = hang })
				ctx, cancel := context.WithTimeout(t.Context(), after)
				defer cancel()
				w := a.await(ctx, check(1))
				<-w.done
				if !errors.Is(w.err, context.DeadlineExceeded) {
					t.Errorf("after %s: %v", after, w.err)
				}
			})
		}
	}
}
