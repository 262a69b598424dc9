package align_test

import (
	"fmt"
	"slices"

	"github.com/pondage/pondage/internal/align"
	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/dispatch"
	"github.com/pondage/pondage/internal/ident"
)

// The cast: stream 1 in stage 4, everything on one node.
const (
	streamID = ident.StreamID(1)
	stageNow = ident.Stage(4)
)

var here = ident.Place{Node: "me", Instance: ident.Instance{Counter: 1}}

func mustTask(s string) ident.Task {
	t, err := ident.ParseTask(s)
	if err != nil {
		panic(err)
	}
	return t
}

func peer(t ident.Task) dispatch.Peer { return dispatch.Peer{Task: t, Place: here} }

func selfOf(t ident.Task) dispatch.Self {
	return dispatch.Self{Stream: streamID, Stage: stageNow, Task: t, Place: here}
}

// fataler is a test or a property.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// rig drives the receiver's rules and the alignment of one task as its shell does: events that come out of obeying wait
// until all effects are obeyed, and messages are processed in their order.
type rig struct {
	t      fataler
	core   *align.Core
	recv   *dispatch.Receiver // nil: a source task
	now    ident.MonoMs
	events []align.Event
	queue  []dispatch.Arrived
	// lefts is the time left in a trigger's body, by its handle.
	lefts map[dispatch.Handle]ident.MonoMs
	// processed is the last message of each upstream that was taken in, next the offset behind the last one read.
	processed map[ident.Task]ident.MsgID
	next      ident.NextOffset
	sought    *ident.NextOffset // reading goes on from here: what was fetched before may still come

	// What the test wants to hear of.
	row    func(dispatch.Arrived)       // a data message is processed
	effect func(align.Effect)           // an effect of the alignment
	rules  func(dispatch.ReceiveEffect) // an effect of the rules
}

func newRig(t fataler, self ident.Task, upstreams []ident.Task, c align.Config, held int) *rig {
	c.Stage, c.Upstreams = stageNow, upstreams
	r := &rig{t: t, core: align.New(c), lefts: map[dispatch.Handle]ident.MonoMs{}, processed: map[ident.Task]ident.MsgID{}}
	if len(upstreams) > 0 {
		cfg := dispatch.ReceiverConfig{Self: selfOf(self), Settled: max(c.Settled, c.Complete), HeldBytes: held}
		for _, u := range upstreams {
			cfg.Upstreams = append(cfg.Upstreams, peer(u))
		}
		r.recv = dispatch.NewReceiver(cfg)
	}
	return r
}

// arrive takes a message of the edge.
func (r *rig) arrive(a dispatch.Arrived, left ident.MonoMs) {
	a.At = r.now
	if a.Header.Type == block.MsgCheckpointTrigger {
		r.lefts[a.Body] = left
	}
	if r.sought == nil || a.Offset == *r.sought {
		r.sought, r.next = nil, a.Offset+1
	}
	r.receive(a)
	r.drain()
}

// align takes an event of the alignment.
func (r *rig) align(e align.Event) {
	r.events = append(r.events, e)
	r.drain()
}

func (r *rig) drain() {
	for len(r.events)+len(r.queue) > 0 {
		if len(r.events) > 0 {
			e := r.events[0]
			r.events = r.events[1:]
			effects, err := r.core.Step(e)
			if err != nil {
				r.t.Fatalf("%+v: %v", e, err)
			}
			for _, f := range slices.Clone(effects) {
				r.obey(f)
			}
			continue
		}
		a := r.queue[0]
		r.queue = r.queue[1:]
		if a.Header.Type == block.MsgData {
			r.row(a)
		}
		r.processed[a.Header.Upstream] = a.Header.Msg
		r.receive(dispatch.Done{Header: a.Header})
	}
}

func (r *rig) obey(f align.Effect) {
	r.effect(f)
	switch f := f.(type) {
	case align.OpenInputs:
		r.receive(dispatch.OpenInputs{Checkpoint: f.Checkpoint})
	case align.Settle:
		r.receive(dispatch.Settled{Checkpoint: f.Checkpoint})
	}
}

func (r *rig) receive(e dispatch.ReceiveEvent) {
	effects, err := r.recv.Step(e)
	if err != nil {
		r.t.Fatalf("%+v: %v", e, err)
	}
	for _, f := range slices.Clone(effects) {
		r.rules(f)
		switch f := f.(type) {
		case dispatch.Enqueue:
			r.queue = append(r.queue, f.Arrived)
		case dispatch.AlignmentBegan:
			r.events = append(r.events, align.Began{
				Checkpoint: f.Checkpoint, Tx: f.Tx, Deadline: f.Trigger.At + r.lefts[f.Trigger.Body], Now: r.now,
			})
		case dispatch.TriggerIn:
			r.events = append(r.events, align.TriggerIn{From: f.From, Checkpoint: f.Checkpoint})
		case dispatch.AllIn:
			r.events = append(r.events, align.AllIn{Checkpoint: f.Checkpoint})
		case dispatch.Seek:
			r.next, r.sought = f.Offset, &f.Offset
		case dispatch.NeedReset:
			r.t.Fatalf("%v", f)
		}
	}
}

// mine is how far the task is with an upstream.
func (r *rig) mine(upstream ident.Task) align.Position {
	return align.Position{Msg: r.processed[upstream], Offset: r.next}
}

func show(e align.Effect) string {
	switch e := e.(type) {
	case align.Taken:
		return fmt.Sprintf("taken cp=%d tx=%d", e.Checkpoint, e.Tx)
	case align.Refused:
		return fmt.Sprintf("refused cp=%d tx=%d %s", e.Checkpoint, e.Tx, e.Failure)
	case align.Enter:
		return "enter " + string(e.Event)
	case align.Flush:
		return fmt.Sprintf("flush cp=%d", e.Checkpoint)
	case align.Freeze:
		return fmt.Sprintf("freeze cp=%d tx=%d", e.Checkpoint, e.Tx)
	case align.Forward:
		return fmt.Sprintf("forward cp=%d tx=%d deadline=%d", e.Checkpoint, e.Tx, e.Deadline)
	case align.Write:
		return fmt.Sprintf("write cp=%d", e.Checkpoint)
	case align.OpenInputs:
		return fmt.Sprintf("open inputs cp=%d", e.Checkpoint)
	case align.Settle:
		return fmt.Sprintf("settle cp=%d", e.Checkpoint)
	case align.AskTriggers:
		return fmt.Sprintf("ask triggers cp=%d tx=%d %v", e.Checkpoint, e.Tx, e.From)
	case align.Report:
		if e.Failure != nil {
			return fmt.Sprintf("report cp=%d tx=%d failed %s", e.Checkpoint, e.Tx, e.Failure)
		}
		return fmt.Sprintf("report cp=%d tx=%d done", e.Checkpoint, e.Tx)
	case align.Commit:
		return fmt.Sprintf("commit cp=%d", e.Checkpoint)
	case align.Discard:
		return fmt.Sprintf("discard cp=%d", e.Checkpoint)
	}
	return fmt.Sprintf("%#v", e)
}
