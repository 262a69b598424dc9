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

const stream = ident.StreamID(1)

func task(text string) ident.Task {
	t, err := ident.ParseTask(text)
	if err != nil {
		panic(err)
	}
	return t
}

func place(node string) ident.Place {
	return ident.Place{Node: ident.NodeID(node), Instance: ident.Instance{Counter: 1}}
}

var errLost = errors.New("connection reset")

// mesh is a network between nodes: each message takes a millisecond, may be lost by the test's rule, or hang.
type mesh struct {
	mu    sync.Mutex
	nodes map[string]*Exchange // by address, "http://" and the node's name
	lose  func(n int) bool     // of the n-th message; nil: none
	sent  int
	hang  bool
}

func (m *mesh) way(ctx context.Context, address string) (*Exchange, error) {
	m.mu.Lock()
	m.sent++
	x, lost, hang := m.nodes[address], m.lose != nil && m.lose(m.sent), m.hang
	m.mu.Unlock()
	if hang {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	time.Sleep(time.Millisecond)
	if x == nil || lost {
		return nil, errLost
	}
	return x, nil
}

func (m *mesh) set(change func(*mesh)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(m)
}

// Credits implements Peers.
func (m *mesh) Credits(ctx context.Context, address string, c dispatch.CreditMessage) error {
	x, err := m.way(ctx, address)
	if err != nil {
		return err
	}
	x.Take(c)
	return nil
}

// Check implements Peers.
func (m *mesh) Check(ctx context.Context, address string, c dispatch.Check) (dispatch.CheckAnswer, error) {
	x, err := m.way(ctx, address)
	if err != nil {
		return dispatch.CheckAnswer{}, err
	}
	return x.Check(ctx, c)
}

// node is an exchange of the mesh, and what happened at it.
type node struct {
	*Exchange
	mu     sync.Mutex
	asked  int // for orders
	gotten []dispatch.Credited
}

func (m *mesh) node(t *testing.T, name string) *node {
	t.Helper()
	n := &node{}
	n.Exchange = New(place(name), m, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.asked++
	})
	m.set(func(m *mesh) { m.nodes["http://"+name] = n.Exchange })
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		n.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return n
}

func newMesh() *mesh { return &mesh{nodes: map[string]*Exchange{}} }

func (n *node) locate(other ident.NodeID, address string) {
	n.Locate(stream, map[ident.NodeID]string{other: address})
}

// sender registers a sending task that gathers what it is told.
func (n *node) sender(stage ident.Stage, up string) {
	n.AddSender(dispatch.Self{Stream: stream, Stage: stage, Task: task(up), Place: n.place}, func(c dispatch.Credited) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.gotten = append(n.gotten, c)
	})
}

// take returns what the sender was told since the last look.
func (n *node) take() []dispatch.Credited {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := n.gotten
	n.gotten = nil
	return out
}

func channel(up, down string) dispatch.Channel {
	return dispatch.Channel{Stream: stream, Stage: 1, Upstream: task(up), Task: task(down)}
}

func TestASenderHearsWhatWasConsumedHoweverMuchIsLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMesh()
		m.lose = func(n int) bool { return n%3 != 0 } // two of three
		a, b := m.node(t, "a"), m.node(t, "b")
		b.locate("a", "http://a")
		a.sender(1, "source-0")
		b.OpenChannel(channel("source-0", "agg-1"), "a")
		for id := ident.MsgID(1); id <= 50; id++ {
			b.Consumed(channel("source-0", "agg-1"), id)
			time.Sleep(70 * time.Millisecond)
		}
		time.Sleep(2 * dispatch.CreditRestate)
		last := ident.MsgID(0)
		for _, c := range a.take() {
			if c.Entry.Consumed < last || c.From != place("b") || c.Entry.Task != task("agg-1") {
				t.Errorf("told %+v after %d", c, last)
			}
			last = c.Entry.Consumed
		}
		if last != 50 {
			t.Errorf("told of %d messages, 50 are consumed", last)
		}
	})
}

// TestAReceiverThatWaitsForItsSinkIsHeard: its task consumes nothing and says nothing; the node speaks for it.
func TestAReceiverThatWaitsForItsSinkIsHeard(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMesh()
		a, b := m.node(t, "a"), m.node(t, "b")
		b.locate("a", "http://a")
		a.sender(1, "source-0")
		b.OpenChannel(channel("source-0", "agg-1"), "a")
		time.Sleep(dispatch.CreditSilence)
		a.take()
		for range 5 {
			time.Sleep(dispatch.CreditSilence)
			if n := len(a.take()); n < 2 {
				t.Errorf("heard %d times within the time of silence", n)
			}
		}
		b.Close(stream, 1)
		a.take()
		time.Sleep(2 * dispatch.CreditSilence)
		if got := a.take(); len(got) != 0 {
			t.Errorf("heard after the end: %+v", got)
		}
	})
}

func TestWhatIsSaidIsForItsStageOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMesh()
		a := m.node(t, "a")
		a.locate("a", "http://nowhere") // a node's own tasks need no network
		a.sender(2, "source-0")
		a.OpenChannel(channel("source-0", "agg-1"), "a")
		a.OpenChannel(dispatch.Channel{Stream: stream, Stage: 2, Upstream: task("source-0"), Task: task("agg-1")}, "a")
		time.Sleep(dispatch.CreditRestate)
		got := a.take()
		if len(got) == 0 {
			t.Fatal("nothing was heard")
		}
		for _, c := range got {
			if c.Entry.Stage != 2 {
				t.Errorf("told of stage %d", c.Entry.Stage)
			}
		}
		a.Close(stream, 2)
		time.Sleep(dispatch.CreditRestate)
		a.take()
		time.Sleep(dispatch.CreditSilence)
		if got := a.take(); len(got) != 0 {
			t.Errorf("a sender that has ended is told %+v", got)
		}
	})
}

func TestHeldAndNoticesReachTheSender(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMesh()
		a, b := m.node(t, "a"), m.node(t, "b")
		b.locate("a", "http://a")
		a.sender(1, "source-0")
		ch := channel("source-0", "agg-1")
		b.OpenChannel(ch, "a")
		last := func() dispatch.NoticeKind {
			time.Sleep(dispatch.CreditRestate)
			got := a.take()
			return got[len(got)-1].Entry.Notice
		}
		b.HeldBack(ch)
		if n := last(); n != dispatch.NoticeHeld {
			t.Errorf("held: told %q", n)
		}
		b.Released(ch)
		if n := last(); n != dispatch.NoticeNone {
			t.Errorf("released: told %q", n)
		}
		b.Close(stream, 1)
		b.locate("a", "http://a")
		b.Notice(dispatch.Notice{To: "a", Stream: stream, Stage: 2, Entry: dispatch.CreditEntry{Stream: stream, Stage: 1, Upstream: task("source-0"), Task: task("agg-1"), Notice: dispatch.NoticeNoSuchTask}})
		if n := last(); n != dispatch.NoticeNoSuchTask {
			t.Errorf("no such task: told %q", n)
		}
	})
}

// TestADeadNodeIsTriedLessAndLess: a notice for it is kept for as long as the stage that has met its message, not longer.
func TestADeadNodeIsTriedLessAndLess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMesh()
		b := m.node(t, "b")
		b.locate("dead", "http://dead")
		entry := dispatch.CreditEntry{Stream: stream, Stage: 1, Upstream: task("source-0"), Task: task("agg-1"), Notice: dispatch.NoticeNoSuchTask}
		b.Notice(dispatch.Notice{To: "dead", Stream: stream, Stage: 2, Entry: entry})
		sent := func(d time.Duration) (n int) {
			m.set(func(m *mesh) { n = m.sent })
			time.Sleep(d)
			m.set(func(m *mesh) { n = m.sent - n })
			return n
		}
		if n := sent(10 * time.Second); n < 5 || n > 10 {
			t.Errorf("tried %d times within 10 s", n)
		}
		if n := sent(10 * dispatch.CreditRetryMax); n != 10 {
			t.Errorf("then tried %d times in ten times the longest pause", n)
		}
		b.Close(stream, 2)
		if n := sent(10 * dispatch.CreditRetryMax); n != 0 {
			t.Errorf("tried %d times after the stage", n)
		}
		if _, known := b.address("dead"); known {
			t.Error("its address is still kept")
		}
	})
}
