package sim

import (
	"errors"

	"github.com/pondage/pondage/internal/align"
	"github.com/pondage/pondage/internal/dispatch"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/watermark"
)

// snapshot is what the store keeps of a task's part of a checkpoint.
type snapshot struct {
	next   ident.NextOffset       // of a source task
	source *watermark.SourceState // of a source task
	merge  *watermark.MergeState  // of a receiving task
	chain  [][]byte               // state files of a receiving task, the oldest first
}

// stage is the tasks of one stage, each in one life.
type stage struct {
	w         *world
	number    ident.Stage
	sources   []*source
	receivers []*receiver
	credits   *dispatch.Credits
	underway  []func() // appends that may reach the log after the stage's end
}

func newStage(w *world, number ident.Stage, from ident.CheckpointID) (*stage, error) {
	s := &stage{w: w, number: number, credits: dispatch.NewCredits(w.place)}
	restored := w.control.stored(from)
	var senders, takers []dispatch.Peer
	for v := range ident.VGroup(vgroups) {
		senders = append(senders, dispatch.Peer{Task: ident.Task{Level: ident.LevelSource, VGroup: v}, Place: w.place})
		takers = append(takers, dispatch.Peer{Task: ident.Task{Level: ident.LevelAgg, VGroup: v}, Place: w.place})
	}
	c := align.Config{Stage: number, Restored: from, Complete: w.control.complete, Settled: max(w.control.settled, from)}
	for _, p := range takers {
		r, err := newReceiver(s, p.Task, senders, c, restored[p.Task])
		if err != nil {
			return nil, err
		}
		s.receivers = append(s.receivers, r)
		for _, up := range senders {
			s.credits.Step(dispatch.Opened{Channel: r.channel(up.Task), From: w.place.Node})
		}
	}
	for i, p := range senders {
		src, err := newSource(s, p.Task, ident.Partition(i), takers, c, restored[p.Task])
		if err != nil {
			return nil, err
		}
		s.sources = append(s.sources, src)
	}
	return s, nil
}

// start begins to read. What an earlier stage left in the logs lies before the receivers' positions.
func (s *stage) start() error {
	for _, src := range s.sources {
		if err := src.begin(); err != nil {
			return err
		}
	}
	return nil
}

func (s *stage) tasks() (all []ident.Task) {
	for _, src := range s.sources {
		all = append(all, src.self.Task)
	}
	for _, r := range s.receivers {
		all = append(all, r.self.Task)
	}
	return all
}

func (s *stage) source(t ident.Task) *source { return s.sources[t.VGroup] }

// tick passes time to every core, and tells credits.
func (s *stage) tick() error {
	var errs []error
	for _, src := range s.sources {
		errs = append(errs, src.tick())
	}
	for _, r := range s.receivers {
		errs = append(errs, r.tick())
	}
	for _, post := range s.credits.Step(dispatch.CreditTick{Now: s.w.now}) {
		message := post.Message
		s.w.tell("credits", s, func() error {
			for _, e := range message.Entries {
				if err := s.source(e.Upstream).send(dispatch.Credited{From: message.From, Entry: e, Now: s.w.now}); err != nil {
					return err
				}
			}
			s.credits.Step(dispatch.CreditPosted{To: message.To, Seq: message.Seq})
			return nil
		})
	}
	return errors.Join(errs...)
}

// order brings the newest verdicts to every task.
func (s *stage) order(number ident.Stage, complete, settled ident.CheckpointID) error {
	var errs []error
	for _, src := range s.sources {
		errs = append(errs, src.part.step(align.Settled{Stage: number, Complete: complete, Settled: settled, Now: s.w.now}))
	}
	for _, r := range s.receivers {
		errs = append(errs, r.part.step(align.Settled{Stage: number, Complete: complete, Settled: settled, Now: s.w.now}))
	}
	return errors.Join(errs...)
}

// hands are what a task does for its part of a checkpoint.
type hands interface {
	flush() error
	freeze(c ident.CheckpointID) (write func() snapshot, giveBack func())
	forward(f align.Forward) error
	openInputs(c ident.CheckpointID) error
	settle(c ident.CheckpointID) error
	askTriggers(a align.AskTriggers)
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
	w, control := p.s.w, p.s.w.control
	switch f := f.(type) {
	case align.Taken:
		w.tell("taken", p.s, func() error { control.taken(p.task, f.Checkpoint, f.Tx, ""); return nil })
	case align.Refused:
		w.tell("refused", p.s, func() error { control.taken(p.task, f.Checkpoint, f.Tx, f.Failure.String()); return nil })
	case align.Flush:
		return p.hands.flush()
	case align.Freeze:
		p.id = f.Checkpoint
		p.write, p.giveBack = p.hands.freeze(f.Checkpoint)
	case align.Forward:
		return p.hands.forward(f)
	case align.Write:
		w.later("write", p.s, func() error { return p.written(f.Checkpoint) })
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
		number := p.s.number
		w.tell("report", p.s, func() error { control.reported(p.task, number, f.Checkpoint, f.Tx, failed); return nil })
	case align.Commit:
		w.later("commit", p.s, func() error { return p.step(align.Committed{Checkpoint: f.Checkpoint, Now: w.now}) })
	case align.Discard:
		if p.id == f.Checkpoint && p.write != nil {
			p.giveBack()
			p.write = nil
		}
	case align.Enter:
	}
	return nil
}

// written is the end of the asynchronous part; now and then the disk is full.
func (p *part) written(c ident.CheckpointID) error {
	if p.id != c || p.write == nil {
		return nil // given up meanwhile
	}
	if p.s.w.chance(15) {
		return p.step(align.WriteFailed{Checkpoint: c, Failure: align.Failure{Code: "write_failed", Detail: "the disk is full"}, Now: p.s.w.now})
	}
	p.s.w.control.keep(c, p.task, p.write())
	p.write = nil
	return p.step(align.Written{Checkpoint: c, Now: p.s.w.now})
}
