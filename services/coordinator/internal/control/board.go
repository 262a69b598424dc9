package control

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/task"
	"github.com/pondage/pondage/services/coordinator/internal/control/decide"
)

// Beat is how often a node beats; SuspectAfter is three missed ones (DESIGN §11).
const (
	Beat         ident.MonoMs = 1_000
	SuspectAfter              = 3 * Beat
)

// board is what the nodes last said to this leader, and since when the leader knows what. It starts empty with each
// term: a new leader counts the silence of nodes from its own take-over.
type board struct {
	mu      sync.Mutex
	since   ident.MonoMs // of this leader's take-over
	nodes   map[ident.NodeID]*heard
	streams map[ident.StreamID]*watched
}

// heard is the last word of one node.
type heard struct {
	instance ident.Instance
	address  string
	leaving  bool
	last     ident.MonoMs
	message  uint64
	streams  map[ident.StreamID]StreamReport
	tasks    map[taskKey]TaskReport
}

type taskKey struct {
	stream ident.StreamID
	task   ident.Task
}

// watched is when this leader first saw a stream's present condition, and who wants its stage to end.
type watched struct {
	stage        ident.Stage
	begun, due   ident.MonoMs
	wasDue, seen bool
	asked        *NodeUpdate
}

func newBoard() *board {
	b := &board{}
	b.reset(0)
	return b
}

// reset forgets everything.
func (b *board) reset(now ident.MonoMs) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.since, b.nodes, b.streams = now, map[ident.NodeID]*heard{}, map[ident.StreamID]*watched{}
}

// hear applies a heartbeat and tells whether it says anything that the loop should look at. A repeated message changes
// nothing, but is a sign of life.
func (b *board) hear(hb Heartbeat, now ident.MonoMs) (news bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.nodes[hb.Node]
	if h == nil || h.instance != hb.Instance {
		h = &heard{instance: hb.Instance}
		b.nodes[hb.Node] = h
		news = true
	}
	wasSilent := now-h.last > SuspectAfter
	h.last = now
	if hb.Message <= h.message {
		return wasSilent
	}
	h.message = hb.Message
	news = news || wasSilent || h.address != hb.Address || h.leaving != hb.Leaving
	h.address, h.leaving = hb.Address, hb.Leaving

	streams, tasks := map[ident.StreamID]StreamReport{}, map[taskKey]TaskReport{}
	for _, r := range hb.Streams {
		streams[r.Stream] = r
	}
	for _, r := range hb.Tasks {
		key := taskKey{r.Stream, r.Task}
		if old, ok := tasks[key]; !ok || r.Stage > old.Stage { // a node may still end one of an older stage
			tasks[key] = r
		}
	}
	news = news || !maps.Equal(h.streams, streams) || !sameStates(h.tasks, tasks)
	h.streams, h.tasks = streams, tasks
	for _, u := range hb.Updates {
		if w := b.watch(u.Stream); w.asked == nil || u.Stage > w.asked.Stage {
			w.asked = &u
			news = true
		}
	}
	return news
}

// sameStates compares what decides, not what is only shown.
func sameStates(a, b map[taskKey]TaskReport) bool {
	return maps.EqualFunc(a, b, func(x, y TaskReport) bool {
		return x.Stage == y.Stage && x.State == y.State && (x.Cause == nil) == (y.Cause == nil) && x.Committed == y.Committed
	})
}

func (b *board) watch(id ident.StreamID) *watched {
	w := b.streams[id]
	if w == nil {
		w = &watched{}
		b.streams[id] = w
	}
	return w
}

// silence returns how long nothing was heard from the node.
func (b *board) silence(id ident.NodeID, now ident.MonoMs) ident.MonoMs {
	b.mu.Lock()
	defer b.mu.Unlock()
	return now - b.lastHeard(id)
}

func (b *board) lastHeard(id ident.NodeID) ident.MonoMs {
	if h := b.nodes[id]; h != nil {
		return max(h.last, b.since)
	}
	return b.since
}

// register notes that the node is alive in a new instance.
func (b *board) register(r Registration, now ident.MonoMs) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if h := b.nodes[r.Node]; h == nil || h.instance != r.Instance {
		b.nodes[r.Node] = &heard{instance: r.Instance, address: r.Address}
	}
	b.nodes[r.Node].last = now
}

// forget drops what is kept of streams that are no more.
func (b *board) forget(exists func(ident.StreamID) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.DeleteFunc(b.streams, func(id ident.StreamID, _ *watched) bool { return !exists(id) })
}

// node returns a copy of what was last heard from the node in the given instance.
func (b *board) node(id ident.NodeID, instance ident.Instance) (address string, leaving, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.nodes[id]
	if h == nil || h.instance != instance {
		return "", false, false
	}
	return h.address, h.leaving, true
}

// facts puts together what the core looks at, except for placement and topics.
func (b *board) facts(r row, p *picture, now ident.MonoMs) decide.Facts {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.watch(r.ID)
	w.note(r, now)
	f := decide.Facts{
		Intent:   decide.Intent{StreamStatus: task.StreamStatus{State: r.State, Wanted: r.Wanted}, StageDue: r.StageDue},
		Stage:    r.Stage,
		Restarts: r.Restarts,
		Now:      now, StageBegun: w.begun, DueSince: w.due,
	}
	if w.asked != nil && w.asked.Stage == r.Stage {
		f.ResetAsked = &w.asked.Cause
	}
	for _, t := range r.tasks {
		f.Tasks = append(f.Tasks, b.taskFact(r, t.Task, t.Place, p, now))
	}
	for id, h := range b.nodes {
		if now-h.last > SuspectAfter || p.life(ident.Place{Node: id, Instance: h.instance}) == decide.Gone {
			continue
		}
		for key := range h.tasks {
			if key.stream == r.ID {
				f.Holders = append(f.Holders, id)
				break
			}
		}
	}
	slices.Sort(f.Holders)
	return f
}

// note keeps the times since when things are as they are.
func (w *watched) note(r row, now ident.MonoMs) {
	if !w.seen || w.stage != r.Stage {
		w.begun = now
	}
	if r.StageDue && !w.wasDue {
		w.due = now
	}
	w.stage, w.wasDue, w.seen = r.Stage, r.StageDue, true
}

func (b *board) taskFact(r row, id ident.Task, place ident.Place, p *picture, now ident.MonoMs) decide.TaskFact {
	f := decide.TaskFact{Task: id, Node: place.Node, Life: p.life(place)}
	if f.Life == decide.Gone {
		return f
	}
	if now-b.lastHeard(place.Node) > SuspectAfter {
		f.Life = decide.Silent
	}
	h := b.nodes[place.Node]
	if h == nil || h.instance != place.Instance {
		return f
	}
	if report, ok := h.tasks[taskKey{r.ID, id}]; ok && report.Stage == r.Stage {
		f.Report, f.Cause = task.State(report.State), report.Cause
		f.SinkAway = strings.HasPrefix(report.Note, CodeSinkUnreachable)
		f.DiskFull = strings.HasPrefix(report.Note, decide.CodeDiskFull)
	}
	if s, ok := h.streams[r.ID]; ok {
		f.Acked = s.Generation >= r.Generation && s.Stage >= r.Stage
	}
	return f
}

// reports returns the reports of the row's stage, by task.
func (b *board) reports(r row) map[ident.Task]TaskReport {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := map[ident.Task]TaskReport{}
	for _, t := range r.tasks {
		h := b.nodes[t.Place.Node]
		if h == nil || h.instance != t.Place.Instance {
			continue
		}
		if report, ok := h.tasks[taskKey{r.ID, t.Task}]; ok && report.Stage == r.Stage {
			out[t.Task] = report
		}
	}
	return out
}

// taskCount is how many tasks the node reported last.
func (b *board) taskCount(id ident.NodeID) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if h := b.nodes[id]; h != nil {
		return len(h.tasks)
	}
	return 0
}
