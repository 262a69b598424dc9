package sim

import (
	"github.com/pondage/pondage/internal/align"
	"github.com/pondage/pondage/internal/ident"
)

// hands are what a task does for its part of a checkpoint.
type hands interface {
	flush() error
	freeze(c ident.CheckpointID) (write func() snapshot, giveBack func())
	// prepared tells whether the sinks have made everything durable from before the trigger; fenced, that they will not.
	prepared(c ident.CheckpointID) (ready, fenced bool)
	forward(f align.Forward) error
	openInputs(c ident.CheckpointID) error
	settle(c ident.CheckpointID) error
	askTriggers(a align.AskTriggers)
	// commit does what follows from a complete checkpoint; done hears whether it is done.
	commit(c ident.CheckpointID, done func(bool) error)
}

// part is a task's side of checkpoints: the core, and the asynchronous part of the one at hand.
type part struct {
	s        *stage
	task     ident.Task
	core     *align.Core
	hands    hands
	events   []align.Event
	stepping bool
	write    func() snapshot
	giveBack func()
	id       ident.CheckpointID // of write
}

// step takes an event in; events that come out of obeying wait for their turn.
func (p *part) step(e align.Event) error {
	p.events = append(p.events, e)
	if p.stepping {
		return nil
	}
	p.stepping = true
	defer func() { p.stepping = false }()
	for len(p.events) > 0 {
		e, p.events = p.events[0], p.events[1:]
		effects, err := p.core.Step(e)
		if err != nil {
			return err
		}
		for _, f := range append([]align.Effect(nil), effects...) {
			if err := p.obey(f); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *part) obey(f align.Effect) error {
	switch f := f.(type) {
	case align.Taken:
		p.tell("taken", func(c *coordinator) { c.taken(p.task, f.Checkpoint, f.Tx, "") })
	case align.Refused:
		p.tell("refused", func(c *coordinator) { c.taken(p.task, f.Checkpoint, f.Tx, f.Failure.String()) })
	case align.Flush:
		return p.hands.flush()
	case align.Freeze:
		p.id = f.Checkpoint
		p.write, p.giveBack = p.hands.freeze(f.Checkpoint)
	case align.Forward:
		return p.hands.forward(f)
	case align.Write:
		p.persist(f.Checkpoint)
	case align.OpenInputs:
		return p.hands.openInputs(f.Checkpoint)
	case align.Settle:
		return p.hands.settle(f.Checkpoint)
	case align.AskTriggers:
		p.hands.askTriggers(f)
	case align.Report:
		failed := ""
		if f.Failure != nil {
			failed = f.Failure.String()
		}
		p.tell("report", func(c *coordinator) { c.reported(p.task, p.s.number, f.Checkpoint, f.Tx, failed) })
	case align.Commit:
		p.hands.commit(f.Checkpoint, func(done bool) error {
			if !done {
				return p.step(align.CommitFailed{Now: p.s.w.now})
			}
			return p.step(align.Committed{Checkpoint: f.Checkpoint, Now: p.s.w.now})
		})
	case align.Discard:
		if p.id == f.Checkpoint && p.write != nil {
			p.giveBack()
			p.write = nil
		}
	case align.Enter:
	}
	return nil
}

// tell brings a word to the coordinator that leads when it arrives, also when the stage is over by then.
func (p *part) tell(what string, say func(*coordinator)) {
	p.s.w.tell(what, nil, func() error { say(p.s.w.leader()); return nil })
}

// persist goes on with the asynchronous part; now and then the disk is full.
func (p *part) persist(c ident.CheckpointID) {
	w := p.s.w
	w.later(word{what: "write", to: p.s, say: func() error {
		if p.id != c || p.write == nil {
			return nil // given up meanwhile
		}
		ready, fenced := p.hands.prepared(c)
		const diskFull = 15
		switch {
		case fenced:
			return p.step(align.WriteFailed{Checkpoint: c, Failure: align.Failure{Code: align.CodeOtherStage}, Now: w.now})
		case !ready:
			p.persist(c)
			return nil
		case w.chance(diskFull):
			return p.step(align.WriteFailed{Checkpoint: c, Failure: align.Failure{Code: "write_failed", Detail: "the disk is full"}, Now: w.now})
		}
		part := p.write()
		p.write = nil
		part.stage = p.s.number
		if err := w.store.keep(c, p.task, part); err != nil {
			return p.step(align.WriteFailed{Checkpoint: c, Failure: align.Failure{Code: align.CodeOtherStage, Detail: err.Error()}, Now: w.now})
		}
		return p.step(align.Written{Checkpoint: c, Now: w.now})
	}})
}
