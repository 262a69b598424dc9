package control

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/manifest"
	"github.com/pondage/pondage/internal/task"
	"github.com/pondage/pondage/services/coordinator/internal/control/decide"
)

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
	slow     bool   // tasks stay uninit
	note     string // of tasks that do
	last     HeartbeatAnswer
	finished map[ident.StreamID]bool

	requests []CheckpointRequest // heard
	refuses  *Cause              // what source tasks answer to a request; nil: they take it
	part     *Cause              // why parts fail; nil: they are done
	mute     bool                // tasks report no parts
	lags     bool                // tasks do not do what follows from a complete checkpoint
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

func (n *fakeNode) register() {
	reg, err := n.r.coordinator().RegisterNode(n.r.ctx, Registration{Node: n.id, Instance: n.instance, Address: n.address(), Version: "test"})
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
	answer, err := n.r.coordinator().Heartbeat(n.r.ctx, hb)
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
		n.commit(o)
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
		r.State, r.Note = string(task.Uninit), n.note
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

// asked is what the source tasks answer to a request.
func (n *fakeNode) asked(q CheckpointRequest) (out []CheckpointAnswer) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.requests = append(n.requests, q)
	for _, t := range q.Tasks {
		out = append(out, CheckpointAnswer{Task: t, Refused: n.refuses})
	}
	return out
}

// takePart reports the parts of all tasks of the stream here.
func (n *fakeNode) takePart(a Attempt) {
	n.mu.Lock()
	out := PartReports{Node: n.id, Instance: n.instance}
	for key, r := range n.tasks {
		if key.stream == a.Stream && r.Stage == a.Stage && !n.mute {
			out.Reports = append(out.Reports, PartReport{Attempt: a, Task: key.task, Failure: n.part, Manifest: manifest.Hash{byte(a.Checkpoint)}})
		}
	}
	n.mu.Unlock()
	if len(out.Reports) > 0 {
		_, _ = n.r.coordinator().ReportCheckpoints(n.r.ctx, out) // a report that is lost is repeated by a worker
	}
}

// commit does what follows from a complete checkpoint.
func (n *fakeNode) commit(o Order) {
	for key, r := range n.tasks {
		if key.stream == o.Stream && r.Stage == o.Stage && !n.lags {
			r.Committed = o.Complete
			n.tasks[key] = r
		}
	}
}
