package align_test

import (
	"slices"

	"pgregory.net/rapid"

	"github.com/pondage/pondage/internal/align"
	"github.com/pondage/pondage/internal/dispatch"
	"github.com/pondage/pondage/internal/ident"
)

// world is a stream of source and aggregating tasks on the real cores, a network that loses, doubles and delays, and a
// coordinator too simple to be wrong.
type world struct {
	t       *rapid.T
	now     ident.MonoMs
	sources []*source
	aggs    []*agg
	lead    coordinator
	handle  dispatch.Handle
	rows    int
	faulty  bool     // things are lost, doubled, late, and fail
	late    []func() // on their way
}

func newWorld(t *rapid.T) *world {
	w := &world{t: t, faulty: true}
	w.lead = coordinator{w: w, was: map[ident.CheckpointID]bool{}, said: []verdict{{}}}
	var ups []ident.Task
	for i := range 3 {
		ups = append(ups, ident.Task{Level: ident.LevelSource, VGroup: ident.VGroup(i)})
	}
	for i := range 2 {
		w.aggs = append(w.aggs, w.agg(i, ups))
	}
	for _, u := range ups {
		w.sources = append(w.sources, w.source(u))
	}
	return w
}

func (w *world) draw(label string, n int) int { return rapid.IntRange(0, n-1).Draw(w.t, label) }

// chance is one in n, while there are faults.
func (w *world) chance(label string, n int) bool { return w.faulty && w.draw(label, n) == 0 }

// later puts something on its way.
func (w *world) later(f func()) { w.late = append(w.late, f) }

// happen lets one thing that is on its way happen, perhaps not for the last time.
func (w *world) happen() {
	if len(w.late) == 0 {
		return
	}
	i := 0
	if w.faulty {
		i = w.draw("what happens", len(w.late))
	}
	f := w.late[i]
	if !w.chance("happens again later", 6) {
		w.late = slices.Delete(w.late, i, i+1)
	}
	f()
}

// tick passes time, for everybody.
func (w *world) tick(by ident.MonoMs) {
	w.now += by
	for _, m := range w.members() {
		m.now = w.now
		m.align(align.Tick{Now: w.now})
	}
	for _, s := range w.sources {
		s.step(dispatch.SenderTick{Now: w.now})
	}
	if w.lead.running && w.now >= w.lead.until {
		w.lead.settle(false)
	}
}

func (w *world) members() (all []*member) {
	for _, s := range w.sources {
		all = append(all, &s.member)
	}
	for _, a := range w.aggs {
		all = append(all, &a.member)
	}
	return all
}

// member is what all tasks have: their part of checkpoints.
type member struct {
	*rig
	w      *world
	self   ident.Task
	frozen map[ident.CheckpointID]ident.TxID
	commit ident.CheckpointID // the last one
}

func (w *world) member(self ident.Task, upstreams []ident.Task) member {
	const held = 45 // bytes: four messages and a half
	r := newRig(w.t, self, upstreams, align.Config{}, held)
	r.rules = func(dispatch.ReceiveEffect) {}
	return member{rig: r, w: w, self: self, frozen: map[ident.CheckpointID]ident.TxID{}}
}

// obeyed is what all tasks do about an effect.
func (m *member) obeyed(f align.Effect) {
	w := m.w
	switch f := f.(type) {
	case align.Freeze:
		if _, twice := m.frozen[f.Checkpoint]; twice {
			w.t.Fatalf("%s freezes %d twice", m.self, f.Checkpoint)
		}
		m.frozen[f.Checkpoint] = f.Tx
	case align.Write:
		w.later(func() {
			if w.chance("disk is full", 8) {
				m.align(align.WriteFailed{Checkpoint: f.Checkpoint, Failure: align.Failure{Code: "disk_full"}, Now: w.now})
			} else {
				m.align(align.Written{Checkpoint: f.Checkpoint, Now: w.now})
			}
		})
	case align.Report:
		w.later(func() { w.lead.reported(m.self, f) })
	case align.Commit:
		m.commits(f.Checkpoint)
	}
}

// commits checks I4 for sinks: only what is complete, in rising order.
func (m *member) commits(c ident.CheckpointID) {
	w := m.w
	if c < m.commit || !w.lead.was[c] {
		w.t.Fatalf("%s commits %d, which is older than %d or not complete", m.self, c, m.commit)
	}
	m.commit = c
	if w.chance("sink is down", 3) {
		w.later(func() { m.align(align.CommitFailed{Now: w.now}) })
	} else {
		w.later(func() { m.align(align.Committed{Checkpoint: c, Now: w.now}) })
	}
}

type verdict struct{ complete, settled ident.CheckpointID }

// coordinator has one checkpoint running, and completes it when every task has reported it done.
type coordinator struct {
	w       *world
	last    ident.CheckpointID
	tx      ident.TxID
	running bool
	until   ident.MonoMs
	done    map[ident.Task]bool
	was     map[ident.CheckpointID]bool // complete
	said    []verdict                   // all verdicts ever, the newest at the end
}

func (c *coordinator) now() verdict { return c.said[len(c.said)-1] }

func (c *coordinator) begin() {
	if c.running {
		return
	}
	c.last++
	c.tx, c.running, c.done = ident.TxID(1000+c.last), true, map[ident.Task]bool{}
	id, tx, left := c.last, c.tx, ident.MonoMs(60_000)
	c.until = c.w.now + left
	for _, s := range c.w.sources {
		c.w.later(func() {
			unready := ""
			if c.w.chance("not ready", 12) {
				unready = "paused for a change"
			}
			s.align(align.Requested{Stage: stageNow, Checkpoint: id, Tx: tx, Deadline: c.w.now + left, Unready: unready, Now: c.w.now})
		})
	}
}

func (c *coordinator) reported(from ident.Task, r align.Report) {
	if !c.running || r.Checkpoint != c.last || r.Tx != c.tx {
		return
	}
	if r.Failure != nil {
		c.settle(false)
		return
	}
	c.done[from] = true
	if len(c.done) == len(c.w.members()) {
		c.settle(true)
	}
}

func (c *coordinator) settle(complete bool) {
	v := verdict{c.now().complete, c.last}
	if complete {
		v.complete, c.was[c.last] = c.last, true
		for _, m := range c.w.members() {
			if m.frozen[c.last] != c.tx {
				c.w.t.Fatalf("%d is complete, and %s has not frozen it", c.last, m.self)
			}
		}
	}
	c.running, c.said = false, append(c.said, v)
}

// tell brings a verdict to a task, perhaps an old one; sometimes one of another stage, which says nothing.
func (c *coordinator) tell(m *member) {
	v := c.now()
	if c.w.chance("an old verdict", 3) {
		v = c.said[c.w.draw("which", len(c.said))]
	}
	m.align(align.Settled{Stage: stageNow, Complete: v.complete, Settled: v.settled, Now: c.w.now})
	m.align(align.Settled{Stage: stageNow + 1, Complete: v.complete + 5, Settled: v.settled + 5, Now: c.w.now})
}
