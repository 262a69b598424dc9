package control

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/services/coordinator/internal/store"
	"github.com/pondage/pondage/services/coordinator/internal/store/memstore"
)

// bubbleClock is the fake time of a synctest bubble.
type bubbleClock struct{ began time.Time }

func (c bubbleClock) Now() time.Time { return time.Now() }
func (c bubbleClock) Mono() ident.MonoMs {
	return ident.MonoMs((time.Since(c.began) + time.Hour).Milliseconds())
}

// rig is a cluster in a bubble: one metastore, coordinators that may come and go, and nodes that obey.
type rig struct {
	t     *testing.T
	ctx   context.Context
	db    metastore
	world *world
	*Service
	crash func() // ends the coordinator without a word: its lease is not given up

	byHand bool // checkpoints begin and end by the test alone

	mu    sync.Mutex
	nodes map[string]*fakeNode // by address
	wg    sync.WaitGroup
	end   context.CancelFunc
}

// inBubble runs a test on a rig with a leading coordinator.
func inBubble(t *testing.T, test func(t *testing.T, r *rig)) { bubble(t, func(*rig) {}, test) }

// byHand is inBubble, and checkpoints begin and end by the test alone.
func byHand(t *testing.T, test func(t *testing.T, r *rig)) {
	bubble(t, func(r *rig) { r.byHand = true }, test)
}

func bubble(t *testing.T, set func(*rig), test func(t *testing.T, r *rig)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, memstore.New())
		set(r)
		defer r.close() // also after a failure: nothing of a bubble may stay behind
		r.startCoordinator("c1")
		test(t, r)
	})
}

func newRig(t *testing.T, db metastore) *rig {
	ctx, cancel := context.WithCancel(context.Background())
	return &rig{t: t, ctx: ctx, end: cancel, db: db, world: &world{topics: map[string]bool{}}, nodes: map[string]*fakeNode{}}
}

func (r *rig) close() {
	r.end()
	r.wg.Wait()
}

type metastore interface {
	store.Store
	store.Leases
}

// leases lets a test cut a coordinator off.
type leases struct {
	store.Leases
	cut chan struct{}
}

func (l leases) ReleaseLease(ctx context.Context, term ident.Term) error {
	select {
	case <-l.cut:
		return errors.New("killed")
	default:
		return l.Leases.ReleaseLease(ctx, term)
	}
}

func (r *rig) startCoordinator(holder string) {
	c := Default()
	c.Cluster, c.VGroups, c.Holder = "test", vgroups, holder
	if r.byHand {
		c.Checkpoints.MaxConcurrent = 0
	}
	l := leases{r.db, make(chan struct{})}
	svc := New(c, Seams{Store: r.db, Leases: l, Planner: fakePlanner{}, Kafka: r.world, Sinks: r.world, Edges: r.world,
		Nodes: r, Clock: bubbleClock{time.Now()}, Log: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(r.ctx)
	done := make(chan struct{})
	r.wg.Go(func() {
		defer close(done)
		_ = svc.Run(ctx)
	})
	r.mu.Lock()
	r.Service = svc
	r.crash = func() { close(l.cut); cancel(); <-done }
	r.mu.Unlock()
	r.until("it leads", func() bool { return svc.Leader().Self && svc.picture.Load() != nil })
}

// coordinator is the present one, for goroutines beside the test's own.
func (r *rig) coordinator() *Service {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.Service
}

// until waits, in fake time, until the condition holds.
func (r *rig) until(what string, holds func() bool) {
	r.t.Helper()
	for range 3000 { // 5 min
		if holds() {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	r.t.Fatalf("never: %s", what)
}

func (r *rig) source() {
	r.t.Helper()
	if _, err := r.CreateSource(r.ctx, Request{}, doc{Name: "flights", Topic: "flights"}.bytes()); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) stream(d doc) Stream {
	r.t.Helper()
	d.Source = "flights"
	s, err := r.CreateStream(r.ctx, Request{}, d.bytes())
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

func (r *rig) get(name string) Stream {
	r.t.Helper()
	s, err := r.GetStream(r.ctx, name)
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

func (r *rig) untilState(name string, want StreamState) Stream {
	r.t.Helper()
	var s Stream
	r.until(name+" is "+string(want), func() bool { s = r.get(name); return s.State == want })
	return s
}

func (r *rig) act(name string, a Action) Stream {
	r.t.Helper()
	s, err := r.ActOnStream(r.ctx, Request{}, name, a)
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

func (r *rig) codes() []string {
	r.t.Helper()
	l, err := r.ListEvents(r.ctx, "", Page{Limit: MaxPage})
	if err != nil {
		r.t.Fatal(err)
	}
	var out []string
	for _, e := range l.Items {
		out = append(out, e.Code)
	}
	slices.Reverse(out)
	return out
}

func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Code != code {
		t.Fatalf("got %v, want %s", err, code)
	}
}

// Push implements Nodes: straight to the fake node.
func (r *rig) Push(_ context.Context, address string, p Push) error {
	r.mu.Lock()
	n := r.nodes[address]
	r.mu.Unlock()
	if n == nil {
		return errors.New("connection refused")
	}
	n.obey(p.Orders)
	return nil
}

// Request implements Nodes: the node's source tasks answer, and when they have taken their parts all tasks of the stream do
// them.
func (r *rig) Request(_ context.Context, address string, q CheckpointRequest) ([]CheckpointAnswer, error) {
	r.mu.Lock()
	n, byHand, nodes := r.nodes[address], r.byHand, slices.Collect(maps.Values(r.nodes))
	r.mu.Unlock()
	if n == nil || byHand {
		return nil, errors.New("connection refused")
	}
	answers := n.asked(q)
	for _, x := range answers {
		if x.Refused != nil {
			return answers, nil
		}
	}
	for _, n := range nodes {
		n.takePart(q.Attempt)
	}
	return answers, nil
}
