package exchange

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pondage/pondage/internal/dispatch"
	"github.com/pondage/pondage/internal/ident"
)

// network carries calls between the exchanges of a test; a node that is cut off is not reached.
type network struct {
	mu  sync.Mutex
	at  map[string]*Exchange // by address
	cut map[string]bool
}

var errCut = errors.New("connection refused")

func (n *network) to(address string) (*Exchange, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cut[address] || n.at[address] == nil {
		return nil, errCut
	}
	return n.at[address], nil
}

func (n *network) setCut(address string, cut bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut[address] = cut
}

func (n *network) Credits(_ context.Context, address string, m dispatch.CreditMessage) error {
	x, err := n.to(address)
	if err == nil {
		x.Take(m)
	}
	return err
}

func (n *network) Check(ctx context.Context, address string, c dispatch.Check) (dispatch.CheckAnswer, error) {
	x, err := n.to(address)
	if err != nil {
		return dispatch.CheckAnswer{}, err
	}
	return x.Check(ctx, c)
}

// The two tasks of the tests: up runs on node a, down on node b.
var (
	up     = ident.Task{Level: ident.LevelSource}
	down   = ident.Task{Level: ident.LevelAgg, VGroup: 1}
	placeA = ident.Place{Node: "a", Instance: ident.Instance{Counter: 1, Random: 1}}
	placeB = ident.Place{Node: "b", Instance: ident.Instance{Counter: 1, Random: 2}}
)

const (
	stream ident.StreamID = 7
	stage  ident.Stage    = 3
)

func check(stage ident.Stage) dispatch.Check {
	return dispatch.Check{Stream: stream, Stage: stage, From: placeA, To: placeB, Pairs: []dispatch.Pair{{Upstream: up, Downstream: down}}}
}

func channel() dispatch.Channel {
	return dispatch.Channel{Stream: stream, Stage: stage, Upstream: up, Task: down}
}

// pair is the exchanges of two nodes that know each other, running until the test ends.
func pair(t *testing.T) (a, b *Exchange, n *network, asked *int) {
	t.Helper()
	n = &network{at: map[string]*Exchange{}, cut: map[string]bool{}}
	asked = new(int) // by b, under its lock
	a, b = New(placeA, n, func() {}), New(placeB, n, func() { *asked++ })
	n.at["http://a"], n.at["http://b"] = a, b
	ctx, cancel := context.WithCancel(context.Background())
	var loops sync.WaitGroup
	for _, x := range []*Exchange{a, b} {
		x.Locate(placeA.Node, "http://a")
		x.Locate(placeB.Node, "http://b")
		loops.Go(func() { x.Run(ctx) })
	}
	t.Cleanup(func() { cancel(); loops.Wait() })
	return a, b, n, asked
}

// await begins a handshake; the channel brings its end.
func await(ctx context.Context, x *Exchange, c dispatch.Check, silent func(*dispatch.SilentRound)) <-chan error {
	done := make(chan error, 1)
	go func() { done <- x.Await(ctx, c, silent) }()
	return done
}

func TestHandshakeWaitsForTheReceiver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b, _, asked := pair(t)
		done := await(t.Context(), a, check(stage), func(*dispatch.SilentRound) {})
		time.Sleep(time.Second)
		if b.mu.Lock(); *asked != 1 {
			t.Errorf("node b asked %d times for the orders of a stage it does not know, want once", *asked)
		}
		b.mu.Unlock()
		b.StageKnown(stream, stage, []ident.Task{down})
		time.Sleep(2 * dispatch.HandshakePoll) // longer than one call may wait
		select {
		case err := <-done:
			t.Fatalf("the handshake ended before the receiver was ready: %v", err)
		default:
		}
		b.TaskReady(stream, stage, down)
		before := time.Now()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(before); waited > dispatch.HandshakePause+dispatch.CreditEvery {
			t.Errorf("heard of it %v later", waited)
		}
	})
}

func TestHandshakeOfAnOlderStageEndsIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b, _, _ := pair(t)
		b.StageKnown(stream, stage+1, []ident.Task{down})
		var reset *ErrReset
		if err := a.Await(t.Context(), check(stage), func(*dispatch.SilentRound) {}); !errors.As(err, &reset) || reset.Reset.Reason != dispatch.ReasonNewStage {
			t.Fatalf("ended with %v, want a reset for a newer stage", err)
		}
	})
}

// TestSilentPeerIsSaidAndComesBack: a node that is not reached is reported, asked again without end, and taken back.
func TestSilentPeerIsSaidAndComesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b, n, _ := pair(t)
		b.StageKnown(stream, stage, []ident.Task{down})
		b.TaskReady(stream, stage, down)
		n.setCut("http://b", true)
		var rounds, backs int
		done := await(t.Context(), a, check(stage), func(s *dispatch.SilentRound) {
			if s == nil {
				backs++
			} else {
				rounds++
			}
		})
		time.Sleep(time.Minute)
		n.setCut("http://b", false)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if rounds < dispatch.HandshakeRounds || backs != 1 {
			t.Errorf("%d silent rounds and %d returns were said, want at least %d and 1", rounds, backs, dispatch.HandshakeRounds)
		}
	})
}

func TestHandshakeEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b, _, _ := pair(t)
		ctx, cancel := context.WithCancel(t.Context())
		done := await(ctx, a, check(stage), func(*dispatch.SilentRound) {})
		synctest.Wait()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		synctest.Wait()
		b.mu.Lock()
		defer b.mu.Unlock()
		if len(b.calls) != 0 {
			t.Errorf("%d calls are kept whose asker has hung up", len(b.calls))
		}
	})
}

// TestConsumedReachesTheSender, also when the message before it was lost.
func TestConsumedReachesTheSender(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b, n, _ := pair(t)
		var mu sync.Mutex
		var consumed ident.MsgID
		var from ident.Place
		a.AddSender(dispatch.Self{Stream: stream, Stage: stage, Task: up, Place: placeA}, func(c dispatch.Credited) {
			mu.Lock()
			defer mu.Unlock()
			consumed, from = c.Entry.Consumed, c.From
		})
		heard := func(want ident.MsgID) {
			t.Helper()
			mu.Lock()
			defer mu.Unlock()
			if consumed != want || from != placeB {
				t.Errorf("the sender heard of message %d from %s, want %d from %s", consumed, from, want, placeB)
			}
		}
		b.OpenChannel(channel(), placeA.Node)
		b.Consumed(channel(), 5)
		time.Sleep(2 * dispatch.CreditEvery)
		heard(5)
		n.setCut("http://a", true)
		b.Consumed(channel(), 9)
		time.Sleep(2 * dispatch.CreditEvery)
		n.setCut("http://a", false)
		time.Sleep(2 * dispatch.CreditEvery)
		heard(9)
		a.Close(stream, stage)
		b.Consumed(channel(), 11)
		time.Sleep(2 * dispatch.CreditEvery)
		heard(9) // the sender is gone
	})
}

// TestCreditsForAnotherNodeAreVoid: a node that took over an address gets what was meant for the one before.
func TestCreditsForAnotherNodeAreVoid(t *testing.T) {
	t.Parallel()
	x := New(placeA, &network{}, func() {})
	x.AddSender(dispatch.Self{Stream: stream, Stage: stage, Task: up, Place: placeA}, func(dispatch.Credited) { t.Error("taken") })
	x.Take(dispatch.CreditMessage{From: placeB, To: "other", Entries: []dispatch.CreditEntry{{Stream: stream, Stage: stage, Upstream: up, Task: down}}})
}
