package task

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"go.opentelemetry.io/otel/trace"

	"github.com/pondage/pondage/internal/align"
	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/dispatch"
	"github.com/pondage/pondage/internal/failpoint"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/kafka"
	"github.com/pondage/pondage/services/worker/internal/memory"
)

// Target is a destination of an edge: the task, where it runs, and the queue of its partition.
type Target struct {
	Peer  dispatch.Peer
	Queue Queue
}

// Queue is the produce queue of an edge's partition (a kafka.Queue that is repeated by its caller).
type Queue interface {
	Push(m kafka.Message) error
	Retry()
}

// edge is the sending end of a task's edge: the Sender core and the bodies that it numbers.
type edge struct {
	self     dispatch.Self
	topic    string
	sender   *dispatch.Sender
	targets  map[ident.Task]Target
	bodies   map[dispatch.Handle]*outgoing // handed over and not acknowledged
	last     dispatch.Handle
	maxBatch int // bytes of a body
	encoder  *block.Encoder
	header   block.HeaderEncoder
	kafka    []kafka.Header
	memory   *memory.Account
	meter    *meter
	// results are the producer's answers; dones the callbacks that bring them, one a destination.
	results *mailbox[answer]
	dones   map[ident.Task]func(kafka.Result)

	// triggers is where the newest trigger lies in each channel, for those who ask.
	triggers map[ident.Task]align.Position
	// reused is how many numbers of a channel a failpoint has given twice.
	reused  map[ident.Task]ident.MsgID
	over    *dispatch.NeedReset
	silent  []ident.Place
	answers []dispatch.FloorAnswer // for the task's watermark, taken after each step
}

// outgoing is a block on its way.
type outgoing struct {
	body  *[]byte // of spareBodies; nil once the queue has its own copy
	bytes int
	span  trace.Span // nil: not sampled
	// to is how many destinations a control message has still to reach: they share its body.
	to int
}

// answer is what became of an attempt to write a message; err is a named stop of the queue.
type answer struct {
	dispatch.Sent
	offset ident.NextOffset // where the message lies, when it was taken
	err    error
}

func newEdge(c *SourceConfig, m *meter, now ident.MonoMs) *edge {
	e := &edge{
		self: c.Self, topic: c.EdgeTopic, targets: map[ident.Task]Target{}, bodies: map[dispatch.Handle]*outgoing{},
		maxBatch: c.MaxBatch, encoder: block.NewEncoder(block.CompressionNone), memory: c.Memory, meter: m,
		results: newMailbox[answer](), dones: map[ident.Task]func(kafka.Result){}, reused: map[ident.Task]ident.MsgID{},
	}
	cfg := dispatch.SenderConfig{Self: c.Self, MaxBatch: e.maxBatch}
	for _, t := range c.Targets {
		cfg.Destinations = append(cfg.Destinations, t.Peer)
		e.targets[t.Peer.Task] = t
		e.dones[t.Peer.Task] = e.done(t.Peer.Task)
	}
	e.sender = dispatch.NewSender(cfg, now)
	return e
}

// done returns the callback for a destination's messages. The producer calls it; it may only put into the mailbox.
func (e *edge) done(to ident.Task) func(kafka.Result) {
	return func(r kafka.Result) {
		id := ident.MsgID(r.Tag)
		a := answer{Sent: dispatch.Sent{To: to, Stage: e.self.Stage, First: id, Last: id, Result: dispatch.ResultOK}}
		switch code := kafka.CodeOf(r.Err); {
		case r.Err == nil:
			a.offset = ident.NextOffset(r.Offset)
		case kafka.Transient(r.Err):
			a.Result = dispatch.ResultError
		case edgeGone(code):
			a.Result = dispatch.ResultNoSuchTask
		case code == kafka.CodeDiscarded || code == kafka.CodeClosed:
			return // the run ends
		default:
			a.err = r.Err
		}
		e.results.put(a)
	}
}

// edgeGone tells whether the edge's topic is not there any more: scratch, so a reset makes it anew (DESIGN §4).
func edgeGone(c kafka.Code) bool {
	return c == kafka.CodeTopicUnknown || c == kafka.CodeTopicRecreated
}

// taking tells whether a flush may be handed over, and so whether the task takes input.
func (e *edge) taking() bool { return e.sender.Taking() }

// message encodes a batch for a destination; the body is kept until it is acknowledged. ok is false when the batch is
// too large to be sent.
func (e *edge) message(to ident.Task, rows *block.Batch, p *polled) (m dispatch.Message, ok bool, err error) {
	spare := spareBodies.Get().(*[]byte)
	body, err := e.encoder.Append((*spare)[:0], rows)
	*spare = body
	if err != nil {
		return m, false, fmt.Errorf("encode a block of %s for %s: %w", e.self.Task, to, err)
	}
	if len(body) > e.maxBatch {
		return m, false, nil
	}
	e.memory.Take(int64(len(body)))
	e.last++
	e.bodies[e.last] = &outgoing{body: spare, bytes: len(body), span: p.send(e.topic, to, len(body))}
	return dispatch.Message{To: to, Type: block.MsgData, Body: e.last, Bytes: len(body), Watermark: ident.WatermarkNone}, true, nil
}

// spareBodies is the memory of bodies that their queues have copied, of all tasks: what nobody uses is collected.
var spareBodies = sync.Pool{New: func() any { return new([]byte) }}

// step advances the sender by one event and obeys its effects.
func (e *edge) step(ctx context.Context, ev dispatch.SendEvent) error {
	effects, err := e.sender.Step(ev)
	if err != nil {
		return err
	}
	for _, f := range effects {
		switch f := f.(type) {
		case dispatch.Produce:
			if err := e.produce(f); err != nil {
				return err
			}
		case dispatch.Repeat:
			e.targets[f.To].Queue.Retry()
		case dispatch.Delivered:
			e.delivered(ctx, f.Freed)
		case dispatch.SilentPeer:
			e.silent = append(e.silent, f.Place)
		case dispatch.HeardPeer:
			e.silent = without(e.silent, f.Place)
		case dispatch.FloorAnswer:
			e.answers = append(e.answers, f)
		case dispatch.NeedReset:
			e.over = &f
		case dispatch.PauseInput, dispatch.ResumeInput: // asked for by taking
		}
	}
	return nil
}

// without returns a copy of the places that lacks one: the report that shows the old list keeps it.
func without(all []ident.Place, gone ident.Place) []ident.Place {
	var kept []ident.Place
	for _, p := range all {
		if p != gone {
			kept = append(kept, p)
		}
	}
	return kept
}

// delivered gives back what the brokers have. Words without rows have no body.
func (e *edge) delivered(ctx context.Context, bodies []dispatch.Handle) {
	for _, h := range bodies {
		out := e.bodies[h]
		if out == nil {
			continue
		}
		if out.to--; out.to > 0 {
			continue
		}
		delete(e.bodies, h)
		e.memory.Give(int64(out.bytes))
		e.meter.delivered(ctx, out.bytes)
		endSpan(out.span, nil)
	}
}

// produce appends the messages of one request to the destination's queue. The queue keeps its own copy of the bytes and
// repeats them unchanged, so a body is not needed any more afterwards.
func (e *edge) produce(p dispatch.Produce) error {
	t := e.targets[p.To]
	if err := failpoint.Hit(failpoint.EdgeBeforeAppend); err != nil {
		return err
	}
	for _, m := range p.Messages {
		var body []byte
		var span trace.Span
		out := e.bodies[m.Body] // nil: a word without rows
		if out != nil {
			body, span = *out.body, out.span
		}
		h := block.Header{
			Version: block.WireVersion, Stream: e.self.Stream, Stage: e.self.Stage, Msg: e.number(p.To, m),
			Upstream: e.self.Task, UpNode: e.self.Place.Node, Downstream: p.To, Down: t.Peer.Place,
			Type: m.Type, Watermark: m.Watermark, Checkpoint: m.Checkpoint, Tx: m.Tx, Related: m.Related, Idle: m.Idle,
			CRC: block.ValueCRC(body),
		}
		carry(&h, span)
		e.kafka = e.kafka[:0]
		for _, r := range e.header.Encode(&h) {
			e.kafka = append(e.kafka, kafka.Header{Key: r.Key, Value: r.Value})
		}
		err := t.Queue.Push(kafka.Message{Value: body, Headers: e.kafka, Tag: uint64(m.ID), Done: e.dones[p.To]})
		if out != nil && !m.Type.Control() {
			spareBodies.Put(out.body)
			out.body = nil
		}
		switch code := kafka.CodeOf(err); {
		case err == nil:
		case code == kafka.CodeClosed || code == kafka.CodeDiscarded:
			return nil // the run ends
		case edgeGone(code):
			e.over = &dispatch.NeedReset{Stage: e.self.Stage, Peer: t.Peer, Reason: dispatch.ReasonNoSuchTask, Detail: err.Error()}
			return nil
		default:
			return fmt.Errorf("dispatch from %s to %s: %w", e.self.Task, p.To, err)
		}
	}
	return nil
}

// number is the number that a message goes out with: its own, unless a failpoint has one given twice.
func (e *edge) number(to ident.Task, m dispatch.Numbered) ident.MsgID {
	if failpoint.Built && m.Type == block.MsgData && m.ID > e.reused[to]+1 && failpoint.On(failpoint.ReuseMsgID) {
		e.reused[to]++
	}
	return m.ID - e.reused[to]
}

// errNotAcknowledged is the end of a block whose task ends first.
var errNotAcknowledged = errors.New("the task ended before the brokers had the block")

// close ends the spans of what is still on its way: nobody waits for the answers any more.
func (e *edge) close() {
	e.results.close()
	for _, out := range e.bodies {
		endSpan(out.span, errNotAcknowledged)
	}
}
