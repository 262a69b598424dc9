package task

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pondage/pondage/internal/align"
	"github.com/pondage/pondage/internal/dispatch"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/manifest"
	"github.com/pondage/pondage/internal/storage"
	"github.com/pondage/pondage/internal/task"
)

// Checkpoints is what a task needs to take part in the checkpoints of its stream.
type Checkpoints struct {
	Cluster ident.Cluster
	// From is the checkpoint that the stage goes on from; 0: none. A task that is new has no part of it, and its outputs have.
	From ident.CheckpointID
	// Restored is the task's part of the checkpoint that the stage goes on from; nil: the stage begins at the start of
	// the stream.
	Restored *manifest.Manifest
	// Complete and Settled are the newest complete checkpoint of the stream, and the newest that is complete or failed, when
	// the stage began.
	Complete, Settled ident.CheckpointID
	Store             storage.Store
	Node              Node
	Positions         Positions // nil: nothing is published
}

// Positions takes the source positions of complete checkpoints, for tools that watch consumer groups. It does not block.
type Positions interface {
	Publish([]manifest.Partition)
}

// Node is what all tasks of a node share of their checkpoints (package checkpointing).
type Node interface {
	// Place waits for a place among the node's asynchronous parts; release gives it back.
	Place(ctx context.Context) (release func(), err error)
	// Report takes what the coordinator is to be told; it does not block.
	Report(PartReport)
	// Ask brings a question to an upstream's node, and its answer back, if one comes: answered may be called from any
	// goroutine. It does not block.
	Ask(q TriggerQuestion, answered func(align.Answer))
}

// PartReport is a task's part of a checkpoint as the coordinator hears of it.
type PartReport struct {
	Self       dispatch.Self
	Checkpoint ident.CheckpointID
	Tx         ident.TxID
	Failure    *align.Failure // nil: done
	Manifest   manifest.Hash
	// BytesFull is what a restore reads, BytesIncremental what was written for this checkpoint.
	BytesFull, BytesIncremental int64
	Align, Sync, Async          time.Duration
	Sinks                       []manifest.Sink
}

// TriggerQuestion asks an upstream for its trigger.
type TriggerQuestion struct {
	Self       dispatch.Self // who asks
	Upstream   ident.Task
	Checkpoint ident.CheckpointID
	Tx         ident.TxID
}

// member is what the two kinds of task do for a checkpoint.
type member interface {
	// enter takes an event of the alignment to the task's state machine.
	enter(e task.Event)
	// flush hands on what is computed and held back.
	flushed(ctx context.Context) error
	// frozen notes positions and the state of the small cores in the manifest.
	frozen(m *manifest.Manifest)
	// windows is the task's keyed state; nil: it has none.
	windows() *keyed
	forward(ctx context.Context, f align.Forward) error
	// rules steps the receiver's rules; a source has none.
	rules(e dispatch.ReceiveEvent) error
	// reached is how far the task is with an upstream, sent where its newest trigger lies in the channel to a downstream.
	reached(upstream ident.Task) align.Position
	sent(downstream ident.Task) align.Position
}

// Participant is a task's side of checkpoints: it drives the alignment and obeys it. But for its mailbox everything in it
// belongs to the task's goroutine. nil takes part in none.
type Participant struct {
	shell  *shell
	member member
	cfg    Checkpoints
	core   *align.Core
	events []align.Event
	words  *mailbox[word]
	reply  chan<- Taken // of the request at hand
	began  time.Time    // of the alignment under way
	parts  map[ident.CheckpointID]*part

	// lifetime is over when the task ends, and with it all asynchronous parts.
	lifetime context.Context
	end      context.CancelFunc
	running  sync.WaitGroup
	underway atomic.Bool // a checkpoint
}

// word is what reaches a Participant from other goroutines.
type word struct {
	event    align.Event
	reply    chan<- Taken // of a request
	question *question
}

// question is an other task's question for this one's trigger.
type question struct {
	checkpoint ident.CheckpointID
	tx         ident.TxID
	from       ident.Task
	answer     chan<- align.Answer
}

// Taken is the answer to a request.
type Taken struct{ Refused *align.Failure } // nil: taken

func newParticipant(s *shell, m member, upstreams []ident.Task) *Participant {
	cfg := s.common.Checkpoints
	if cfg == nil {
		return nil
	}
	words := newMailbox[word]()
	words.replaces = overtakes
	p := &Participant{shell: s, member: m, cfg: *cfg, words: words, parts: map[ident.CheckpointID]*part{}}
	c := align.Config{Stage: s.common.Self.Stage, Upstreams: upstreams, Restored: cfg.From, Complete: cfg.Complete, Settled: cfg.Settled}
	p.core = align.New(c)
	p.lifetime, p.end = context.WithCancel(context.Background())
	return p
}

// overtakes tells whether a word makes an older one void: verdicts come with every order, and only rise.
func overtakes(value, older word) bool {
	a, isVerdict := value.event.(align.Settled)
	b, wasVerdict := older.event.(align.Settled)
	return isVerdict && wasVerdict && a.Stage == b.Stage && a.Complete >= b.Complete && a.Settled >= b.Settled
}

// notice is ready when words have come.
func (p *Participant) notice() <-chan struct{} {
	if p == nil {
		return nil
	}
	return p.words.notice
}

// hear takes the words in that have come.
func (p *Participant) hear(ctx context.Context) error {
	for _, w := range p.words.take() {
		if q := w.question; q != nil {
			a := p.core.Trigger(q.checkpoint, q.tx)
			if a.Status == align.StatusSent {
				a.At = p.member.sent(q.from)
			}
			q.answer <- a // has room
			continue
		}
		p.reply = w.reply
		switch e := w.event.(type) {
		case align.Requested:
			e.Unready = p.unready()
			w.event = e
		case align.TriggerAnswered:
			e.Mine, e.Now = p.member.reached(e.From), p.shell.mono()
			w.event = e
		case align.Written:
			if p.parts[e.Checkpoint] != nil { // else it was given up meanwhile
				p.member.windows().durable(e.Checkpoint)
			}
		}
		if err := p.step(ctx, w.event); err != nil {
			return err
		}
	}
	return nil
}

// unready says why the task's state takes no checkpoint; "": it does.
func (p *Participant) unready() string {
	m := p.shell.machine // a copy: nothing is changed
	if _, err := m.Step(task.Change{Event: task.GenCheckpoint}); err != nil {
		return err.Error()
	}
	return ""
}

// tick passes time.
func (p *Participant) tick(ctx context.Context) error {
	if p == nil {
		return nil
	}
	return p.step(ctx, align.Tick{Now: p.shell.mono()})
}

// queue takes an event that came out of obeying another one: it waits until all effects of that are obeyed.
func (p *Participant) queue(e align.Event) {
	if p != nil {
		p.events = append(p.events, e)
	}
}

func (p *Participant) step(ctx context.Context, e align.Event) error {
	p.queue(e)
	return p.drain(ctx)
}

// drain steps the alignment by all events that wait, and obeys it.
func (p *Participant) drain(ctx context.Context) error {
	if p == nil {
		return nil
	}
	for len(p.events) > 0 {
		e := p.events[0]
		p.events = slices.Delete(p.events, 0, 1)
		if _, ok := e.(align.Began); ok {
			p.began = time.Now()
		}
		effects, err := p.core.Step(e)
		if err != nil {
			return fmt.Errorf("task %s: %w", p.shell.common.Self.Task, err)
		}
		for _, f := range slices.Clone(effects) {
			if err := p.obey(ctx, f); err != nil {
				return err
			}
		}
	}
	p.underway.Store(p.core.Underway())
	p.shell.committed(p.core.Committed())
	return nil
}

func (p *Participant) obey(ctx context.Context, f align.Effect) error {
	switch f := f.(type) {
	case align.Taken:
		p.answer(Taken{})
	case align.Refused:
		p.answer(Taken{Refused: &f.Failure})
	case align.Enter:
		p.member.enter(f.Event)
	case align.Flush:
		return p.member.flushed(ctx)
	case align.Freeze:
		return p.freeze(ctx, f)
	case align.Forward:
		return p.member.forward(ctx, f)
	case align.Write:
		p.write(p.parts[f.Checkpoint])
	case align.OpenInputs:
		return p.member.rules(dispatch.OpenInputs{Checkpoint: f.Checkpoint})
	case align.Settle:
		return p.member.rules(dispatch.Settled{Checkpoint: f.Checkpoint})
	case align.AskTriggers:
		p.ask(f)
	case align.Report:
		p.report(f)
	case align.Commit:
		p.commit(f.Checkpoint)
	case align.Discard:
		p.discard(f.Checkpoint)
	}
	return nil
}

func (p *Participant) answer(t Taken) {
	if p.reply != nil {
		p.reply <- t // has room
		p.reply = nil
	}
}

func (p *Participant) ask(f align.AskTriggers) {
	for _, up := range f.From {
		q := TriggerQuestion{Self: p.shell.common.Self, Upstream: up, Checkpoint: f.Checkpoint, Tx: f.Tx}
		p.cfg.Node.Ask(q, func(a align.Answer) {
			p.words.put(word{event: align.TriggerAnswered{Checkpoint: f.Checkpoint, From: up, Answer: a}})
		})
	}
}

func (p *Participant) report(f align.Report) {
	r := PartReport{Self: p.shell.common.Self, Checkpoint: f.Checkpoint, Tx: f.Tx, Failure: f.Failure}
	if part := p.parts[f.Checkpoint]; part != nil && f.Failure == nil {
		part.describe(&r)
	}
	p.cfg.Node.Report(r)
}

// close ends the asynchronous parts. What they have prepared and not heard a verdict of stays: the next stage decides.
func (p *Participant) close() {
	if p == nil {
		return
	}
	p.end()
	p.running.Wait()
	p.words.close()
}
