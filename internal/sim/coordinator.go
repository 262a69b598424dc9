package sim

import (
	"github.com/pondage/pondage/internal/checkpoint"
	"github.com/pondage/pondage/internal/ident"
)

// coordinator is the stream's row, and the loop that drives its checkpoints.
type coordinator struct {
	w        *world
	next     ident.CheckpointID
	complete ident.CheckpointID
	settled  ident.CheckpointID
	begun    ident.CheckpointID // the highest id that was given
	running  *checkpoint.Running
	since    ident.MonoMs
	failed   int
	stages   int
	counts   struct{ complete, failed int }
	store    map[ident.CheckpointID]map[ident.Task]*snapshot
}

// keep is the store's part: a task's snapshot of a checkpoint.
func (c *coordinator) keep(id ident.CheckpointID, t ident.Task, s snapshot) {
	if c.store[id] == nil {
		c.store[id] = map[ident.Task]*snapshot{}
	}
	c.store[id][t] = &s
}

// stored is what the store has of a checkpoint; nothing of 0.
func (c *coordinator) stored(id ident.CheckpointID) map[ident.Task]*snapshot { return c.store[id] }

var (
	settings = checkpoint.Settings{IntervalMs: 1500, TimeoutMs: 4000, Retain: 3, MaxFailed: 3}
	limits   = checkpoint.DefaultLimits
)

func (c *coordinator) facts() checkpoint.Stream {
	return checkpoint.Stream{ID: streamID, Settings: settings, Moved: true, Since: c.since, FailedInRow: c.failed, Running: c.running}
}

// step looks at the facts and does what they ask for.
func (c *coordinator) step() error {
	s := c.w.stage
	if c.running == nil {
		if starts, _ := checkpoint.Begin([]checkpoint.Stream{c.facts()}, limits, c.w.now); len(starts) > 0 {
			c.insert(starts[0].Kind)
		}
		c.order()
		return nil
	}
	switch d := checkpoint.Step(c.facts(), c.w.now); d.Do {
	case checkpoint.Request:
		id, tx := c.running.ID, c.running.Tx
		for _, t := range d.Ask {
			task := s.source(t)
			c.w.tell("request", s, func() error { return task.requested(id, tx, d.LeftMs) })
		}
	case checkpoint.Complete:
		c.complete, c.settled, c.failed = c.running.ID, c.running.ID, 0
		c.counts.complete++
		c.running = nil
	case checkpoint.Fail:
		c.fail()
	case checkpoint.Wait:
	}
	c.order()
	return nil
}

func (c *coordinator) insert(kind checkpoint.Kind) {
	id := c.next
	c.next++
	c.begun, c.since = id, c.w.now
	c.running = &checkpoint.Running{ID: id, Tx: ident.TxID(1000 + id), Kind: kind, Began: c.w.now, Progress: c.w.now}
	for _, t := range c.w.stage.tasks() {
		c.running.Parts = append(c.running.Parts, checkpoint.Part{Task: t, Node: "sim", Asked: t.Level == ident.LevelSource})
	}
}

func (c *coordinator) fail() {
	c.settled = max(c.settled, c.running.ID)
	c.failed++
	c.counts.failed++
	c.running = nil
}

// reset ends a running checkpoint under the locks of complete: it is complete before the reset and used by it, or never.
func (c *coordinator) reset() {
	if c.running != nil {
		c.fail()
	}
	c.since = c.w.now
}

// order tells the tasks the verdicts, as every heartbeat's answer does.
func (c *coordinator) order() {
	s, stage, complete, settled := c.w.stage, c.w.stage.number, c.complete, c.settled
	c.w.tell("order", s, func() error { return s.order(stage, complete, settled) })
}

// taken is a task's answer to the request.
func (c *coordinator) taken(t ident.Task, id ident.CheckpointID, tx ident.TxID, refused string) {
	if p := c.part(t, id, tx); p != nil {
		p.Taken, p.Failed = true, refused
		c.running.Progress = c.w.now
	}
}

// reported is a task's report. Of another stage, transaction or id it is answered and left out.
func (c *coordinator) reported(t ident.Task, stage ident.Stage, id ident.CheckpointID, tx ident.TxID, failed string) {
	if stage != c.w.stage.number {
		return
	}
	if p := c.part(t, id, tx); p != nil && !p.Done {
		p.Done, p.Failed = failed == "", failed
		c.running.Progress = c.w.now
	}
}

func (c *coordinator) part(t ident.Task, id ident.CheckpointID, tx ident.TxID) *checkpoint.Part {
	if c.running == nil || c.running.ID != id || c.running.Tx != tx {
		return nil
	}
	for i := range c.running.Parts {
		if c.running.Parts[i].Task == t {
			return &c.running.Parts[i]
		}
	}
	return nil
}
