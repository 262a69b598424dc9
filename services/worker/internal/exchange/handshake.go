package exchange

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/pondage/pondage/internal/dispatch"
	"github.com/pondage/pondage/internal/ident"
)

// StageKnown says that orders of a stage have come, and which of its tasks run here.
func (x *Exchange) StageKnown(stream ident.StreamID, stage ident.Stage, tasks []ident.Task) {
	x.ready(dispatch.StageKnown{Stream: stream, Stage: stage, Tasks: tasks})
}

// TaskReady says that a task has its position, and that its own downstreams are ready.
func (x *Exchange) TaskReady(stream ident.StreamID, stage ident.Stage, task ident.Task) {
	x.ready(dispatch.TaskReady{Stream: stream, Stage: stage, Task: task})
}

// StreamGone says that the stream runs here no longer.
func (x *Exchange) StreamGone(stream ident.StreamID) {
	x.ready(dispatch.StreamGone{Stream: stream})
}

func (x *Exchange) ready(e dispatch.ReadinessEvent) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.obeyReadiness(x.readiness.Step(e))
}

// obeyReadiness obeys effects under x.mu.
func (x *Exchange) obeyReadiness(effects []dispatch.ReadinessEffect) {
	for _, f := range effects {
		switch f := f.(type) {
		case dispatch.AskOrders:
			x.askOrders()
		case dispatch.Reply:
			if c := x.calls[f.Call]; c != nil {
				c <- f.Answer // has room: one answer a call
				delete(x.calls, f.Call)
			}
		}
	}
}

// Check answers a call of another node: at once, or as soon as there is something to say, within HandshakePoll.
func (x *Exchange) Check(ctx context.Context, c dispatch.Check) (dispatch.CheckAnswer, error) {
	answer := make(chan dispatch.CheckAnswer, 1)
	x.mu.Lock()
	x.lastCall++
	id := x.lastCall
	x.calls[id] = answer
	x.obeyReadiness(x.readiness.Step(dispatch.Checked{Call: id, Check: c, Now: x.mono()}))
	x.mu.Unlock()
	select {
	case a := <-answer:
		return a, nil
	case <-ctx.Done():
		x.mu.Lock()
		delete(x.calls, id)
		x.readiness.Step(dispatch.CallGone{Call: id})
		x.mu.Unlock()
		return dispatch.CheckAnswer{}, ctx.Err()
	}
}

// handshakeTick is how often an asking side looks at its clock.
const handshakeTick = 50 * time.Millisecond

// ErrReset is why a handshake ended without the receivers being ready: this stage of the stream is over.
type ErrReset struct{ Reset dispatch.NeedReset }

// Error names the reset.
func (e *ErrReset) Error() string { return e.Reset.String() }

// Await asks a node until the receivers of all pairs are ready. silent is told of rounds without an answer, and with nil
// when the peer is back.
//
// Errors: *ErrReset, or the context's.
func (x *Exchange) Await(ctx context.Context, c dispatch.Check, silent func(*dispatch.SilentRound)) error {
	h := dispatch.NewHandshake(c)
	ctx, cancel := context.WithCancel(ctx)
	var calls sync.WaitGroup // one, and those that the core has given up
	defer calls.Wait()
	defer cancel()
	answers := make(chan dispatch.HandshakeEvent)
	tick := time.NewTicker(handshakeTick)
	defer tick.Stop()
	var e dispatch.HandshakeEvent = dispatch.CheckTick{Now: x.mono()}
	for {
		for _, f := range h.Step(e) {
			switch f := f.(type) {
			case dispatch.Call:
				calls.Go(func() {
					select {
					case answers <- x.call(ctx, f.Check):
					case <-ctx.Done():
					}
				})
			case dispatch.Ready:
				return nil
			case dispatch.NeedReset:
				return &ErrReset{Reset: f}
			case dispatch.SilentRound:
				silent(&f)
			case dispatch.PeerBack:
				silent(nil)
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("handshake of stream %d stage %d with %s: %w", c.Stream, c.Stage, c.To, ctx.Err())
		case e = <-answers:
		case <-tick.C:
			e = dispatch.CheckTick{Now: x.mono()}
		}
	}
}

// call makes one call and returns what became of it. The answer of one that timed out in the core meets a core that does
// not wait for it.
func (x *Exchange) call(ctx context.Context, c dispatch.Check) dispatch.HandshakeEvent {
	ctx, cancel := context.WithTimeout(ctx, dispatch.HandshakeDeadline)
	defer cancel()
	var a dispatch.CheckAnswer
	var err error
	if c.To.Node == x.place.Node {
		a, err = x.Check(ctx, c)
	} else if address, ok := x.address(c.To.Node); ok {
		a, err = x.peers.Check(ctx, address, c)
	} else {
		err = fmt.Errorf("node %s has no known address", c.To.Node)
	}
	if err != nil {
		return dispatch.CheckFailed{Now: x.mono()}
	}
	return dispatch.CheckAnswered{Answer: a, Now: x.mono()}
}
