package sim

import (
	"errors"

	"github.com/pondage/pondage/internal/checkpoint"
	"github.com/pondage/pondage/internal/ident"
)

// coordinator drives the stream while it leads, and tries to until it hears that it does not.
type coordinator struct {
	w    *world
	term ident.Term
	over bool // it has heard
	busy bool // a transaction is under way
	// What it knows of the running checkpoint, which is adopted by reading its row.
	running *checkpoint.Running
	since   ident.MonoMs
	asked   ident.MonoMs // when it first saw one waiting
	seen    int          // the generation that since is of
}

// settings are the stream's: by its seed, a checkpoint may last longer than missing triggers are waited for.
func (w *world) settings() checkpoint.Settings {
	s := checkpoint.Settings{IntervalMs: 1500, TimeoutMs: 4000, Retain: 3, MaxFailed: 3}
	if w.shape.atOnce {
		s.TimeoutMs = 15_000
	}
	return s
}

// adopt reads the rows.
func (c *coordinator) adopt() {
	m, now := c.w.meta, c.w.now
	if c.seen != m.generation {
		c.seen, c.since = m.generation, now
	}
	switch r := m.running; {
	case r == nil:
		c.running = nil
	case c.running == nil || c.running.ID != r.id:
		c.since = now
		c.running = &checkpoint.Running{ID: r.id, Tx: r.tx, Kind: r.kind, Began: now, Progress: now}
		for _, t := range tasks() {
			c.running.Parts = append(c.running.Parts, checkpoint.Part{Task: t, Node: place.Node, Asked: t.Level == ident.LevelSource})
		}
	}
}

func (c *coordinator) facts() checkpoint.Stream {
	m := c.w.meta
	s := checkpoint.Stream{ID: streamID, Settings: c.w.settings(), Moved: true, Since: c.since, FailedInRow: m.failed, Running: c.running}
	if m.waiting == nil {
		c.asked = c.w.now
	} else {
		s.Asked, s.AskedSince = m.waiting.kind, c.asked
	}
	if !c.w.deployed() || c.w.stage.lost {
		s.Unable = "a task is not ready"
	}
	return s
}

// deployed tells whether the stage of the stream's row runs.
func (w *world) deployed() bool { return w.stage != nil && w.stage.generation == w.meta.generation }

// step looks at the facts and does what they ask for.
func (c *coordinator) step() {
	if c.over || c.busy {
		return
	}
	c.adopt()
	m, w := c.w.meta, c.w
	facts, now := c.facts(), w.now
	switch {
	case !w.deployed():
		generation, stage, start := m.generation, m.stage, m.start
		w.later(word{what: "deploy", say: func() error {
			if !c.obeyed() {
				return nil
			}
			return w.deploy(generation, stage, start)
		}})
	case w.stage.lost && w.chance(3):
		c.write(m.raise)
	case c.running == nil:
		if starts, _ := checkpoint.Begin([]checkpoint.Stream{facts}, checkpoint.DefaultLimits, now); len(starts) > 0 {
			stage, kind := m.stage, starts[0].Kind
			c.write(func(term ident.Term) error { return m.begin(term, stage, kind) })
		}
	default:
		c.drive(checkpoint.Step(facts, now))
	}
	c.order()
}

func (c *coordinator) drive(d checkpoint.Decision) {
	w, a := c.w, *c.w.meta.running
	switch d.Do {
	case checkpoint.Request:
		for _, t := range d.Ask {
			c.request(t, a, d.LeftMs)
		}
	case checkpoint.Complete:
		c.write(func(term ident.Term) error { return w.meta.finish(term, a) })
	case checkpoint.Fail:
		c.write(func(term ident.Term) error { return w.meta.fail(term, a) })
	case checkpoint.Wait:
	}
}

// write begins a transaction. Who dies or is deposed meanwhile does not end it; its answer may be lost: so the rows are
// read again.
func (c *coordinator) write(transaction func(ident.Term) error) {
	c.busy = true
	c.w.later(word{what: "transaction", say: func() error {
		c.busy = false
		if errors.Is(transaction(c.term), errTerm) {
			c.over = true
		}
		return nil
	}})
}

// request asks a task for its part.
func (c *coordinator) request(t ident.Task, a attempt, left ident.MonoMs) {
	w, sent := c.w, c.w.stage
	w.tell("request", nil, func() error {
		s := w.addressee(sent)
		if s.over || !c.obeyed() {
			return nil
		}
		return w.ends(s, s.source(t).requested(a, left))
	})
}

// order tells the tasks the verdicts, as every heartbeat's answer does.
func (c *coordinator) order() {
	w, sent, stage, complete, settled := c.w, c.w.stage, c.w.meta.stage, c.w.meta.complete, c.w.meta.settled
	w.tell("order", nil, func() error {
		s, newer := w.addressee(sent), w.told < c.term
		if s.over || !c.obeyed() {
			return nil
		}
		return w.ends(s, errors.Join(s.order(stage, complete, settled), s.reportAgain(newer)))
	})
}

// addressee is who hears a word: the tasks that ran when it was sent, which may be those of a dead timeline by now, or
// those that run when it arrives.
func (w *world) addressee(sent *stage) *stage {
	if w.chance(2) {
		return sent
	}
	return w.stage
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
	if stage != c.w.meta.stage {
		c.w.reach(OldStageReport)
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

// obeyed tells whether the workers carry out an order of this coordinator; they note its term.
func (c *coordinator) obeyed() bool {
	if c.term < c.w.told {
		c.w.reach(OldTermOrder)
		return false
	}
	c.w.told = c.term
	return true
}
