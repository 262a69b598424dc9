package task

import (
	"errors"
	"fmt"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/dispatch"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/kafka"
)

// Target is a destination of an edge: the task, where it runs, and the queue of its partition.
type Target struct {
	Peer  dispatch.Peer
	Queue *kafka.Queue
}

// edge is the sending end of a task's edge: the Sender core and the bodies that it numbers.
type edge struct {
	self    dispatch.Self
	sender  *dispatch.Sender
	targets map[ident.Task]Target
	bodies  map[dispatch.Handle][]byte
	last    dispatch.Handle
	encoder *block.Encoder
	header  block.HeaderEncoder
	kafka   []kafka.Header
	// results are the producer's answers; dones the callbacks that bring them, one a destination.
	results *mailbox[dispatch.Sent]
	dones   map[ident.Task]func(kafka.Result)

	over    *dispatch.NeedReset
	failed  error // a named stop of the producer
	silent  map[ident.Place]bool
	answers []dispatch.FloorAnswer // for the task's watermark, taken after each step
}

func newEdge(self dispatch.Self, targets []Target, results *mailbox[dispatch.Sent], maxBatch int, now ident.MonoMs) *edge {
	e := &edge{
		self: self, targets: map[ident.Task]Target{}, bodies: map[dispatch.Handle][]byte{}, encoder: block.NewEncoder(block.CompressionNone),
		results: results, dones: map[ident.Task]func(kafka.Result){}, silent: map[ident.Place]bool{},
	}
	cfg := dispatch.SenderConfig{Self: self, MaxBatch: maxBatch}
	for _, t := range targets {
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
		sent := dispatch.Sent{To: to, Stage: e.self.Stage, First: id, Last: id, Result: dispatch.ResultOK}
		switch {
		case r.Err == nil:
		case kafka.Transient(r.Err):
			sent.Result = dispatch.ResultError
		case kafka.CodeOf(r.Err) == kafka.CodeTopicUnknown || kafka.CodeOf(r.Err) == kafka.CodeTopicRecreated:
			// The edge is gone: scratch, so a reset makes it anew (DESIGN §4).
			sent.Result = dispatch.ResultNoSuchTask
		case kafka.CodeOf(r.Err) == kafka.CodeDiscarded || kafka.CodeOf(r.Err) == kafka.CodeClosed:
			return // the run ends
		default:
			sent.Result = dispatch.ResultRefused
		}
		e.results.put(sent)
	}
}

// taking tells whether a flush may be handed over, and so whether the task takes input.
func (e *edge) taking() bool { return e.sender.Taking() }

// message encodes a batch for a destination; the body is kept until it is produced.
func (e *edge) message(to ident.Task, rows *block.Batch) (dispatch.Message, error) {
	body, err := e.encoder.Append(nil, rows)
	if err != nil {
		return dispatch.Message{}, fmt.Errorf("encode a block of %s for %s: %w", e.self.Task, to, err)
	}
	e.last++
	e.bodies[e.last] = body
	return dispatch.Message{To: to, Type: block.MsgData, Body: e.last, Bytes: len(body), Watermark: ident.WatermarkNone}, nil
}

// step advances the sender by one event and obeys its effects.
func (e *edge) step(ev dispatch.SendEvent) error {
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
			for _, h := range f.Freed {
				delete(e.bodies, h)
			}
		case dispatch.SilentPeer:
			e.silent[f.Place] = true
		case dispatch.HeardPeer:
			delete(e.silent, f.Place)
		case dispatch.FloorAnswer:
			e.answers = append(e.answers, f)
		case dispatch.NeedReset:
			e.over = &f
		case dispatch.PauseInput, dispatch.ResumeInput: // asked for by taking
		}
	}
	return nil
}

// produce appends the messages of one request to the destination's queue. The queue keeps its own copy of the bytes and
// repeats them unchanged, so a body is not needed any more afterwards.
func (e *edge) produce(p dispatch.Produce) error {
	t := e.targets[p.To]
	for _, m := range p.Messages {
		body := e.bodies[m.Body]
		delete(e.bodies, m.Body)
		h := block.Header{
			Version: block.WireVersion, Stream: e.self.Stream, Stage: e.self.Stage, Msg: m.ID,
			Upstream: e.self.Task, UpNode: e.self.Place.Node, Downstream: p.To, Down: t.Peer.Place,
			Type: m.Type, Watermark: m.Watermark, Checkpoint: m.Checkpoint, Tx: m.Tx, Related: m.Related, Idle: m.Idle,
			CRC: block.ValueCRC(body),
		}
		e.kafka = e.kafka[:0]
		for _, r := range e.header.Encode(&h) {
			e.kafka = append(e.kafka, kafka.Header{Key: r.Key, Value: r.Value})
		}
		err := t.Queue.Push(kafka.Message{Value: body, Headers: e.kafka, Tag: uint64(m.ID), Done: e.dones[p.To]})
		switch code := kafka.CodeOf(err); {
		case err == nil:
		case code == kafka.CodeClosed || code == kafka.CodeDiscarded:
			return nil // the run ends
		case code == kafka.CodeTopicUnknown || code == kafka.CodeTopicRecreated:
			e.over = &dispatch.NeedReset{Stage: e.self.Stage, Peer: t.Peer, Reason: dispatch.ReasonNoSuchTask, Detail: err.Error()}
			return nil
		default:
			return fmt.Errorf("dispatch from %s to %s: %w", e.self.Task, p.To, err)
		}
	}
	return nil
}

// errStageOver says that this stage of the stream is over for the task; what keeps it from going on is in edge.over.
var errStageOver = errors.New("this stage is over")
