package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/invalid"
	"github.com/pondage/pondage/internal/task"
	"github.com/pondage/pondage/services/coordinator/internal/control/decide"
	"github.com/pondage/pondage/services/coordinator/internal/store"
	"github.com/pondage/pondage/services/coordinator/internal/store/memstore"
)

// vgroups of the test cluster.
const vgroups = 4

// doc is the test's specifications: as much as control needs of one.
type doc struct {
	Name     string `json:"name"`
	Source   string `json:"source,omitempty"`
	Topic    string `json:"topic,omitempty"`
	Target   string `json:"target,omitempty"`
	Bounded  bool   `json:"bounded,omitempty"`
	Restarts int    `json:"restarts,omitempty"`
}

func (d doc) bytes() []byte {
	b, err := json.Marshal(d)
	if err != nil {
		panic(err)
	}
	return b
}

// fakePlanner reads doc.
type fakePlanner struct{}

func parse(b []byte) (doc, error) {
	var d doc
	if err := json.Unmarshal(b, &d); err != nil || d.Name == "" {
		return d, invalid.New("malformed_document", "", "no document")
	}
	return d, nil
}

func (fakePlanner) Source(b []byte) (SourcePlan, error) {
	d, err := parse(b)
	return SourcePlan{Name: d.Name, Doc: d.bytes(), Topic: TopicRef{Topic: d.Topic}}, err
}

func (fakePlanner) Stream(b []byte) (StreamHead, error) {
	d, err := parse(b)
	return StreamHead{Name: d.Name, Source: d.Source, Doc: d.bytes()}, err
}

func (fakePlanner) Plan(source, stream []byte) (StreamPlan, error) {
	src, _ := parse(source)
	st, _ := parse(stream)
	p := StreamPlan{Topic: TopicRef{Topic: src.Topic}, Start: Position{Kind: PositionEarliest}}
	if st.Bounded {
		p.Until = &Position{Kind: PositionLatest}
	}
	if st.Target != "" {
		p.Targets = []Target{{Kind: TargetPostgres, Name: st.Target}}
	}
	return p, nil
}

func (fakePlanner) Layout(_, stream []byte, _ ident.StreamID, partitions []ident.Partition) (Layout, error) {
	st, err := parse(stream)
	l := Layout{Edges: []ident.Level{ident.LevelAgg}, MaxRestarts: 10, StartTimeout: time.Minute}
	if st.Restarts > 0 {
		l.MaxRestarts = st.Restarts
	}
	for _, p := range partitions {
		l.Tasks = append(l.Tasks, ident.Task{Level: ident.LevelSource, VGroup: ident.VGroup(p) % vgroups})
	}
	for vg := range ident.VGroup(vgroups) {
		l.Tasks = append(l.Tasks, ident.Task{Level: ident.LevelAgg, VGroup: vg})
	}
	return l, err
}

// world is Kafka and the sinks.
type world struct {
	mu      sync.Mutex
	topics  map[string]bool // made for streams
	missing bool            // the source topic is not there
	hang    string          // Ensure for this late topic never answers
	refuse  *Error          // of Ensure
	asked   int             // Resolve calls
	during  func()          // runs in Resolve
}

func (w *world) Resolve(_ context.Context, topic TopicRef, _ Position, until *Position) ([]SourcePartition, error) {
	w.mu.Lock()
	during := w.during
	w.during = nil
	w.mu.Unlock()
	if during != nil {
		during()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked++
	if w.missing {
		return nil, errorf(CodeTopicUnknown, "topic %s is not there", topic.Topic)
	}
	parts := []SourcePartition{{Topic: topic.Topic, TopicID: "id", Partition: 0}, {Topic: topic.Topic, TopicID: "id", Partition: 1}}
	if until != nil {
		for i := range parts {
			bound := ident.NextOffset(100)
			parts[i].Until = &bound
		}
	}
	return parts, nil
}

func (w *world) Check(context.Context, []byte, []byte) error { return nil }

func (w *world) Ensure(ctx context.Context, t TopicSet) error {
	w.mu.Lock()
	hangs := w.hang == t.Late
	refuse := w.refuse
	w.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	if refuse != nil {
		return refuse
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, name := range append([]string{t.Late}, t.Edges...) {
		w.topics[name] = true
	}
	return nil
}

func (w *world) Delete(_ context.Context, t TopicSet) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, name := range append([]string{t.Late}, t.Edges...) {
		delete(w.topics, name)
	}
	return nil
}

func (w *world) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.topics)
}

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

	mu    sync.Mutex
	nodes map[string]*fakeNode // by address
	wg    sync.WaitGroup
	end   context.CancelFunc
}

// inBubble runs a test on a rig with a leading coordinator.
func inBubble(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, memstore.New())
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
	l := leases{r.db, make(chan struct{})}
	svc := New(c, Seams{Store: r.db, Leases: l, Planner: fakePlanner{}, Kafka: r.world, Sinks: r.world, Edges: r.world,
		Pusher: r, Clock: bubbleClock{time.Now()}, Log: slog.New(slog.DiscardHandler)})
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
	r.until("it leads", func() bool { return svc.leader().Self && svc.picture.Load() != nil })
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

// Push is the Pusher: straight to the fake node.
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

// fakeNode obeys orders at once and beats every second.
type fakeNode struct {
	r        *rig
	id       ident.NodeID
	instance ident.Instance
	stop     context.CancelFunc

	mu       sync.Mutex
	frozen   bool
	message  uint64
	obeyed   map[ident.StreamID]StreamReport
	tasks    map[taskKey]TaskReport
	started  map[string]int // starts of (stream, stage, task): one each, ever
	updates  []NodeUpdate
	slow     bool // tasks stay uninit
	last     HeartbeatAnswer
	finished map[ident.StreamID]bool
}

// node starts a node's process; counter tells instances apart.
func (r *rig) node(id string, counter uint64) *fakeNode {
	r.t.Helper()
	n := &fakeNode{r: r, id: ident.NodeID(id), instance: ident.Instance{Counter: counter, Random: uint32(counter)},
		obeyed: map[ident.StreamID]StreamReport{}, tasks: map[taskKey]TaskReport{}, started: map[string]int{}, finished: map[ident.StreamID]bool{}}
	r.mu.Lock()
	r.nodes[n.address()] = n
	r.mu.Unlock()
	n.register()
	ctx, cancel := context.WithCancel(r.ctx)
	n.stop = cancel
	r.wg.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Second):
				n.beat()
			}
		}
	})
	return n
}

func (n *fakeNode) address() string { return "http://" + string(n.id) }

// coordinator is the present one.
func (n *fakeNode) coordinator() *Service {
	n.r.mu.Lock()
	defer n.r.mu.Unlock()
	return n.r.Service
}

func (n *fakeNode) register() {
	reg, err := n.coordinator().RegisterNode(n.r.ctx, Registration{Node: n.id, Instance: n.instance, Address: n.address(), Version: "test"})
	if err == nil {
		n.obey(reg.Orders)
	}
}

// kill ends the process without a word.
func (n *fakeNode) kill() {
	n.stop()
	n.r.mu.Lock()
	defer n.r.mu.Unlock()
	if n.r.nodes[n.address()] == n {
		delete(n.r.nodes, n.address())
	}
}

func (n *fakeNode) with(change func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change()
}

func (n *fakeNode) heartbeat() (Heartbeat, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.frozen {
		return Heartbeat{}, false
	}
	n.message++
	hb := Heartbeat{Node: n.id, Instance: n.instance, Address: n.address(), Message: n.message, Updates: n.updates}
	for _, s := range n.obeyed {
		hb.Streams = append(hb.Streams, s)
	}
	for _, t := range n.tasks {
		hb.Tasks = append(hb.Tasks, t)
	}
	return hb, true
}

func (n *fakeNode) beat() {
	hb, ok := n.heartbeat()
	if !ok {
		return
	}
	answer, err := n.coordinator().Heartbeat(n.r.ctx, hb)
	if err != nil {
		return
	}
	n.with(func() { n.last = answer })
	switch {
	case answer.Unregistered:
		n.register()
	case answer.Superseded:
		n.stop()
	default:
		n.obey(answer.Orders)
		n.with(func() {
			known := map[ident.StreamID]bool{}
			for _, o := range answer.Orders {
				known[o.Stream] = true
			}
			for id := range n.obeyed {
				if !known[id] {
					delete(n.obeyed, id)
				}
			}
			for _, id := range answer.Orphans {
				n.end(id, task.Stopped)
			}
		})
	}
}

// obey does what orders say: a worker in short.
func (n *fakeNode) obey(orders []Order) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.frozen {
		return
	}
	for _, o := range orders {
		old := n.obeyed[o.Stream]
		if o.Generation < old.Generation || o.Stage < old.Stage {
			continue
		}
		n.obeyed[o.Stream] = StreamReport{Stream: o.Stream, Term: o.Term, Generation: o.Generation, Stage: o.Stage}
		switch o.Wanted {
		case OrderDropped:
			n.end(o.Stream, "")
			continue
		case OrderStopped:
			n.end(o.Stream, task.Stopped)
			continue
		case OrderRunning, OrderPaused:
		}
		if o.Stage > old.Stage {
			n.end(o.Stream, "")
		}
		for _, p := range o.Tasks {
			if p.Node == n.id && p.Instance == n.instance {
				n.run(o, p.Task)
			}
		}
	}
}

// end leaves the stream's tasks in the state, or forgets them.
func (n *fakeNode) end(id ident.StreamID, state task.State) {
	for key, r := range n.tasks {
		if key.stream != id {
			continue
		}
		if state == "" {
			delete(n.tasks, key)
			continue
		}
		r.State, r.Cause = string(state), nil
		n.tasks[key] = r
	}
}

func (n *fakeNode) run(o Order, id ident.Task) {
	key := taskKey{o.Stream, id}
	r, running := n.tasks[key]
	if !running {
		n.started[fmt.Sprint(o.Stream, o.Stage, id)]++
		r = TaskReport{Stream: o.Stream, Stage: o.Stage, Task: id, Watermark: 1000}
		if id.Level == ident.LevelSource {
			r.Partitions = []PartitionReport{{Topic: "flights", Partition: ident.Partition(id.VGroup), Next: 40, End: 60,
				Counters: Counters{Counted: 30, Filtered: 5, NoWindow: 1, Late: 3, DeadLettered: 1}}}
		}
	}
	switch {
	case r.State == string(task.Failed):
		return
	case n.slow:
		r.State = string(task.Uninit)
	case n.finished[o.Stream]:
		r.State, r.Watermark = string(task.Finished), ident.WatermarkEnd
	case o.Wanted == OrderPaused && id.Level == ident.LevelSource:
		r.State = string(task.Paused)
	default:
		r.State = string(task.Ready)
	}
	n.tasks[key] = r
}

// fail makes one task of the stream failed.
func (n *fakeNode) fail(id ident.StreamID, c decide.Cause) {
	n.with(func() {
		for key, r := range n.tasks {
			if key.stream == id {
				r.State, r.Cause = string(task.Failed), &c
				n.tasks[key] = r
				return
			}
		}
	})
}

// startedOnce fails the test when a (stage, task) was started twice by the process.
func (n *fakeNode) startedOnce() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for what, times := range n.started {
		if times > 1 {
			n.r.t.Errorf("%s was started %d times", what, times)
		}
	}
}
