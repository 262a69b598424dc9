package node

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pondage/pondage/internal/api/common"
	"github.com/pondage/pondage/internal/ident"
)

// leader is a coordinator of the test's making.
type leader struct {
	mu       sync.Mutex
	down     bool
	answer   common.HeartbeatAnswer
	register int
	beats    []common.Heartbeat // all that came, also while it is down: the answers are lost
}

func (l *leader) set(change func(*leader)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(l)
}

func (l *leader) Register(context.Context, common.Registration) (common.RegistrationAnswer, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.register++
	if l.down {
		return common.RegistrationAnswer{}, errors.New("connection refused")
	}
	return common.RegistrationAnswer{ClusterID: "c1", Cluster: "test", Vgroups: 4, Term: 1}, nil
}

func (l *leader) Heartbeat(_ context.Context, b common.Heartbeat) (common.HeartbeatAnswer, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.beats = append(l.beats, b)
	if l.down {
		return common.HeartbeatAnswer{}, errors.New("connection refused")
	}
	return l.answer, nil
}

func (l *leader) seen() []common.Heartbeat {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]common.Heartbeat(nil), l.beats...)
}

// newAgent returns a registered agent in a bubble, and the runs that it hands orders to (their loop does not run).
func newAgent(t *testing.T, l *leader) *Agent {
	t.Helper()
	id, err := OpenIdentity(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(id.Close)
	log := slog.New(slog.DiscardHandler)
	a := NewAgent(id, "http://n1", "v1", l, NewRuns(ident.Place{Node: id.Node, Instance: id.Instance}, &journal{}, log), log)
	if err := a.Register(t.Context(), func(Cluster) error { return nil }); err != nil {
		t.Fatal(err)
	}
	return a
}

func TestAnUnansweredBeatIsRepeatedUnchanged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &leader{answer: common.HeartbeatAnswer{Term: 1}}
		a := newAgent(t, l)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- a.Run(ctx) }()
		time.Sleep(3 * BeatEvery)
		l.set(func(l *leader) { l.down = true })
		lost := len(l.seen())
		time.Sleep(3 * BeatEvery)
		a.Nudge() // news do not change a beat that is under way
		time.Sleep(BeatEvery)
		if a.Check(t.Context()) == nil {
			t.Error("ready without a coordinator")
		}
		l.set(func(l *leader) { l.down = false })
		time.Sleep(2 * BeatEvery)
		beats := l.seen()
		repeats := 0
		for i := lost + 1; i < len(beats) && beats[i].Message == beats[lost].Message; i++ {
			repeats++
			if diff := cmp.Diff(beats[lost], beats[i]); diff != "" {
				t.Error(diff)
			}
		}
		if repeats < 3 {
			t.Errorf("beat %d came again %d times", beats[lost].Message, repeats)
		}
		for i := 1; i < len(beats); i++ {
			if d := beats[i].Message - beats[i-1].Message; d != 0 && d != 1 {
				t.Errorf("beat %d after %d", beats[i].Message, beats[i-1].Message)
			}
		}
		if err := a.Check(t.Context()); err != nil {
			t.Error(err)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if last := l.seen(); !last[len(last)-1].Leaving {
			t.Error("the coordinator was not told that the node leaves")
		}
	})
}

func TestASupersededProcessEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &leader{answer: common.HeartbeatAnswer{Superseded: true}}
		if err := newAgent(t, l).Run(t.Context()); !errors.Is(err, ErrSuperseded) {
			t.Fatalf("got %v", err)
		}
	})
}

func TestANodeThatTheCoordinatorForgotRegistersAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &leader{answer: common.HeartbeatAnswer{Unregistered: true}}
		a := newAgent(t, l)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- a.Run(ctx) }()
		time.Sleep(BeatEvery + beatCheck)
		if l.set(func(l *leader) { l.answer = common.HeartbeatAnswer{Term: 1} }); l.register < 2 {
			t.Errorf("registered %d times", l.register)
		}
		cancel()
		<-ended
	})
}

func TestPushedOrdersMustBeForThisInstanceAndTerm(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAgent(t, &leader{})
		good := common.Orders{ClusterID: "c1", Node: string(a.identity.Node), Instance: a.identity.Instance.String(), Term: 5}
		if err := a.Push(good); err != nil {
			t.Fatal(err)
		}
		if got := a.identity.Term(); got != 5 {
			t.Errorf("the node knows term %d", got)
		}
		for name, change := range map[string]func(*common.Orders){
			"another cluster":  func(o *common.Orders) { o.ClusterID = "c2" },
			"another node":     func(o *common.Orders) { o.Node = "n9" },
			"another instance": func(o *common.Orders) { o.Instance = ident.Instance{Counter: 99}.String() },
			"an old term":      func(o *common.Orders) { o.Term = 4 },
		} {
			o := good
			change(&o)
			if err := a.Push(o); err == nil {
				t.Errorf("orders for %s were taken", name)
			}
		}
	})
}
