package dispatch

import (
	"fmt"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/ident"
)

// ReceiverConfig is what a receiver knows from the placement of its stage.
type ReceiverConfig struct {
	Self      Self
	Upstreams []Peer
	// Settled is the newest checkpoint known to be complete or failed when the stage begins.
	Settled ident.CheckpointID
	// HeldBytes is the limit of what is held during alignment; the constant HeldBytes when 0.
	HeldBytes int
}

// Receiver takes the messages of one task within one stage, by the five rules of DESIGN §5 in their order.
type Receiver struct {
	self   Self
	inputs map[ident.Task]*inbound
	align  alignment
	held   holding
	seek   *ident.NextOffset // asked for, and the message at it has not come yet
	over   bool
	newest ident.Stage // the highest stage seen, so that orders are asked for once
	out    []ReceiveEffect
}

// inbound is one upstream.
type inbound struct {
	peer Peer
	last ident.MsgID // received: enqueued, or consumed by rule 5
	// closed from the receipt of its trigger until the inputs open.
	closed bool
	// in: everything ahead of its trigger is processed.
	in bool
	// skipping: a block of it did not fit into what is held, so that all later ones are read again (DESIGN §7).
	skipping bool
}

// NewReceiver returns a receiver whose upstreams have sent nothing in this stage.
func NewReceiver(c ReceiverConfig) *Receiver {
	r := &Receiver{self: c.Self, inputs: map[ident.Task]*inbound{}, newest: c.Self.Stage}
	r.align.passed = c.Settled
	r.held.limit = c.HeldBytes
	if r.held.limit == 0 {
		r.held.limit = HeldBytes
	}
	for _, u := range c.Upstreams {
		r.inputs[u.Task] = &inbound{peer: u}
	}
	return r
}

// Over tells whether this stage is over for the task.
func (r *Receiver) Over() bool { return r.over }

// Received returns the id of the last message taken from the upstream; 0 when there was none.
func (r *Receiver) Received(upstream ident.Task) ident.MsgID {
	if in := r.inputs[upstream]; in != nil {
		return in.last
	}
	return 0
}

// Step takes an event in. The effects are to be obeyed in the order returned; the slice is valid until the next call.
// An error is a message of this stage from a task that the placement does not name: corruption, and a reset.
func (r *Receiver) Step(e ReceiveEvent) ([]ReceiveEffect, error) {
	r.out = r.out[:0]
	var err error
	switch e := e.(type) {
	case Arrived:
		err = r.arrived(e)
	case Done:
		r.done(e)
	case OpenInputs:
		r.open(e.Checkpoint)
	case Settled:
		r.settled(e.Checkpoint)
	}
	return r.out, err
}

func (r *Receiver) emit(e ReceiveEffect) { r.out = append(r.out, e) }

func (r *Receiver) drop(a Arrived, why DropReason) { r.emit(Drop{Body: a.Body, Reason: why}) }

// arrived applies rules 1 and 2, which need nothing but the header, then those of the upstream's input.
func (r *Receiver) arrived(a Arrived) error {
	h := a.Header
	switch {
	case h.Down != r.self.Place: // rule 1
		r.drop(a, DropNotMine)
	case h.Stream != r.self.Stream || h.Stage == r.self.Stage && h.Downstream != r.self.Task:
		r.emit(Notice{To: h.UpNode, Stream: r.self.Stream, Stage: r.self.Stage, Entry: CreditEntry{
			Stream: h.Stream, Stage: h.Stage, Upstream: h.Upstream, Task: h.Downstream,
			Notice: NoticeNoSuchTask, Watermark: ident.WatermarkNone,
		}})
		r.drop(a, DropNotRun)
	case h.Stage < r.self.Stage: // rule 2
		r.drop(a, DropOldStage)
	case h.Stage > r.self.Stage:
		r.newStage(a)
	case r.over:
		r.drop(a, DropStageOver)
	default:
		return r.take(a)
	}
	return nil
}

// newStage ends what runs here: the placement of the message's stage is not the one that these tasks were started by.
func (r *Receiver) newStage(a Arrived) {
	if !r.over {
		r.over = true
		r.emit(EndStage{Stage: r.self.Stage})
	}
	if a.Header.Stage > r.newest {
		r.newest = a.Header.Stage
		r.emit(AskOrders{Stream: r.self.Stream, Seen: a.Header.Stage})
	}
	r.drop(a, DropNewStage)
}

// take finds the input that the message belongs to.
func (r *Receiver) take(a Arrived) error {
	h := a.Header
	in := r.inputs[h.Upstream]
	if in == nil {
		return fmt.Errorf("receive at %s in stage %d, offset %d: %s is no upstream of the placement", r.self.Task, r.self.Stage, a.Offset, h.Upstream)
	}
	if r.seek != nil && a.Offset != *r.seek {
		r.drop(a, DropSkipped)
		return nil
	}
	r.seek = nil
	r.rules(in, a)
	return nil
}

// rules applies rules 3 to 5.
func (r *Receiver) rules(in *inbound, a Arrived) {
	switch h := a.Header; {
	case h.Version > block.WireVersion:
		r.emit(Hold{a})
		r.end(in, ReasonVersion, fmt.Sprintf("wire version %d, this binary reads up to %d", h.Version, block.WireVersion))
	case in.closed: // rule 3
		r.hold(in, a)
	case h.Msg <= in.last: // rule 4
		r.drop(a, DropDuplicate)
	case h.Msg > in.last+1:
		r.drop(a, DropStageOver)
		r.end(in, ReasonGap, fmt.Sprintf("message %d after %d, at offset %d", h.Msg, in.last, a.Offset))
	case h.Type == block.MsgCheckpointTrigger: // rule 5
		in.last = h.Msg
		r.trigger(in, a)
	default:
		in.last = h.Msg
		r.emit(Enqueue{a})
	}
}

// end is the end of the stage for this task.
func (r *Receiver) end(in *inbound, why Reason, detail string) {
	r.over = true
	r.emit(NeedReset{Stage: r.self.Stage, Peer: in.peer, Reason: why, Detail: detail})
}
