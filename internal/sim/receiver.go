package sim

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/pondage/pondage/internal/align"
	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/dispatch"
	"github.com/pondage/pondage/internal/failpoint"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/pipeline"
	"github.com/pondage/pondage/internal/state"
	"github.com/pondage/pondage/internal/watermark"
)

// receiver is an aggregating task with two sinks chained into it.
type receiver struct {
	s        *stage
	self     dispatch.Self
	core     *dispatch.Receiver
	wm       *watermark.Merge
	rows     pipeline.Receiving
	decoder  *block.Decoder
	bodies   map[dispatch.Handle][]byte
	last     dispatch.Handle
	queue    []dispatch.Arrived
	position int
	chain    [][]byte
	passed   map[ident.Task]passed
	highest  map[ident.Task]ident.EventMs // watermark that an upstream has said
	closing  ident.EventMs                // watermark that windows were closed by
	session  *session
	producer *producer
	part     *part
	finished bool
}

// mostDeltas is after how many deltas a chain begins anew: small, so that runs see it.
const mostDeltas = 3

func newReceiver(s *stage, t ident.Task, from *snapshot) (*receiver, error) {
	p := s.w.plan
	rows, err := pipeline.NewReceiving(p, s.w.rand.Uint64())
	if err != nil {
		return nil, err
	}
	upstreams, c := peers(ident.LevelSource), s.config
	for _, u := range upstreams {
		c.Upstreams = append(c.Upstreams, u.Task)
	}
	merge := pipeline.MergeWatermark(p, c.Upstreams)
	r := &receiver{
		s: s, self: self(t, s.number), rows: rows, decoder: block.NewDecoder(), bodies: map[dispatch.Handle][]byte{}, position: len(s.w.logs[t]),
		passed: map[ident.Task]passed{}, highest: map[ident.Task]ident.EventMs{}, closing: ident.WatermarkNone,
		session: &session{s: s, vgroup: t.VGroup, cp: s.from}, producer: &producer{s: s, vgroup: t.VGroup},
	}
	if from != nil {
		merge.Restored = from.merge
		r.closing, r.passed, r.producer.intervals = from.merge.Watermark, maps.Clone(from.passed), slices.Clone(from.intervals)
		r.highest = maps.Clone(from.merge.Upstreams) // at the cut; nobody says less afterwards
		if err := r.restore(from); err != nil {
			return nil, err
		}
	}
	r.rows.State().Track()
	r.wm = watermark.NewMerge(merge)
	r.core = dispatch.NewReceiver(dispatch.ReceiverConfig{Self: r.self, Upstreams: upstreams, Settled: c.Settled, HeldBytes: heldBytes})
	r.part = &part{s: s, task: t, core: align.New(c), hands: r}
	return r, nil
}

// heldBytes is how much of closed inputs is held: little, so that runs skip and seek.
const heldBytes = 1 << 10

// restore reads the chain, the newest file first.
func (r *receiver) restore(from *snapshot) error {
	operator, _ := r.s.w.plan.Operator()
	back := r.rows.State().Restore(from.merge.Watermark)
	b := &block.Batch{}
	for _, file := range slices.Backward(from.chain) {
		back.NextFile()
		if err := state.Read(bytes.NewReader(file), operator, func() *block.Batch { return b }, back.Take); err != nil {
			return err
		}
	}
	back.End()
	r.chain = slices.Clone(from.chain)
	return nil
}

func (r *receiver) channel(upstream ident.Task) dispatch.Channel {
	return dispatch.Channel{Stream: streamID, Stage: r.s.number, Upstream: upstream, Task: r.self.Task}
}

// poll reads some of what has come.
func (r *receiver) poll() error {
	const most = 8
	for range 1 + r.s.w.rand.IntN(most) {
		log := r.s.w.logs[r.self.Task]
		if r.position >= len(log) || r.s.over || r.core.Over() {
			break
		}
		m, at := log[r.position], r.position
		r.position++
		r.last++
		r.bodies[r.last] = m.value
		h := m.header
		err := r.step(dispatch.Arrived{Header: &h, Body: r.last, Bytes: len(m.value), Offset: ident.NextOffset(at)})
		for err == nil && len(r.queue) > 0 {
			next := r.queue[0]
			r.queue = r.queue[1:]
			err = r.process(next)
		}
		if err != nil {
			return err
		}
	}
	if r.core.Over() {
		return nil
	}
	return r.rows.Settle(r)
}

func (r *receiver) step(e dispatch.ReceiveEvent) error {
	effects, err := r.core.Step(e)
	if err != nil {
		return err
	}
	now := r.s.w.now
	for _, f := range slices.Clone(effects) {
		switch f := f.(type) {
		case dispatch.Enqueue:
			r.queue = append(r.queue, f.Arrived)
		case dispatch.Drop:
			delete(r.bodies, f.Body)
			switch f.Reason {
			case dispatch.DropOldStage:
				r.s.w.reach(OldStageMessage)
			case dispatch.DropDuplicate:
				r.s.w.reach(Duplicate)
			default:
			}
		case dispatch.Seek:
			r.position = int(f.Offset)
			r.s.w.reach(ReadAgain)
		case dispatch.AlignmentBegan:
			left := ident.MonoMs(binary.BigEndian.Uint64(r.bodies[f.Trigger.Body]))
			err = r.part.step(align.Began{Checkpoint: f.Checkpoint, Tx: f.Tx, Deadline: now + left, Now: now})
		case dispatch.TriggerIn:
			err = r.part.step(align.TriggerIn{From: f.From, Checkpoint: f.Checkpoint})
		case dispatch.AllIn:
			err = r.part.step(align.AllIn{Checkpoint: f.Checkpoint})
		case dispatch.NeedReset:
			r.s.needReset(f)
		case dispatch.EndStage:
			r.s.lost, r.s.over = true, true
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// process takes a message that is its upstream's next one.
func (r *receiver) process(a dispatch.Arrived) error {
	h, value := a.Header, r.bodies[a.Body]
	delete(r.bodies, a.Body)
	rows := 0
	if h.Type == block.MsgData {
		b := r.rows.Batch()
		if err := r.decoder.Decode(value, b); err != nil {
			return err
		}
		rows = b.Rows()
		r.passed[h.Upstream] = r.passed[h.Upstream].with(hash(value))
		if err := r.rows.Take(b); err != nil {
			return err
		}
	}
	if h.Type != block.MsgCheckpointTrigger {
		if at, there := r.highest[h.Upstream]; there && h.Watermark != ident.WatermarkNone && h.Watermark < at {
			r.s.w.violated("I7", "%s: the watermark of %s goes back from %d to %d", r.self.Task, h.Upstream, at, h.Watermark)
		} else if h.Watermark != ident.WatermarkNone {
			r.highest[h.Upstream] = h.Watermark
		}
		err := r.obey(watermark.Heard{
			From: h.Upstream, Watermark: h.Watermark, Idle: h.Idle, Question: watermark.Question(h.Related), Rows: rows, Now: r.s.w.now,
		})
		if err != nil {
			return err
		}
	}
	r.s.credits.Step(dispatch.Consumed{Channel: r.channel(h.Upstream), Msg: h.Msg})
	return r.step(dispatch.Done{Header: h})
}

func (r *receiver) obey(e watermark.Event) error {
	effects, err := r.wm.Step(e)
	if err != nil {
		return err
	}
	for _, f := range slices.Clone(effects) {
		switch f := f.(type) {
		case watermark.Advance:
			if f.Watermark < r.closing {
				r.s.w.violated("I7", "%s: the watermark goes back from %d to %d", r.self.Task, r.closing, f.Watermark)
			}
			r.closing = f.Watermark
			if err := r.rows.Advance(f.Watermark, r); err != nil {
				return err
			}
		case watermark.Answer:
			r.s.credits.Step(dispatch.FloorAnswered{Channel: r.channel(f.To), Question: int64(f.Question), Watermark: f.Watermark})
		case watermark.Finished:
			r.finished = true
		}
	}
	return nil
}

func (r *receiver) tick() error {
	return errors.Join(r.obey(watermark.Tick{Now: r.s.w.now}), r.part.step(align.Tick{Now: r.s.w.now}))
}

// closed tells whether the task has closed every window there is.
func (r *receiver) closed() bool {
	if r.s.w.shape.bounded {
		return r.finished
	}
	return r.closing >= r.s.w.lastEnd()
}

// Rows implements pipeline.Results: the chained sinks.
func (r *receiver) Rows(b *block.Batch) error {
	var results []result
	for i := range b.Rows() {
		results = append(results, newResult(string(b.Cols[0].Bytes(i)), b.Cols[1].Int[i], b.Cols[2].Int[i], b.Cols[3].Float[i]))
	}
	r.session.write(results)
	r.producer.write(results)
	return nil
}

// Reject implements pipeline.Results.
func (r *receiver) Reject(row []byte, code, reason string) error {
	return fmt.Errorf("result %s has no value: %s %s", row, code, reason)
}

func (r *receiver) flush() error { return r.rows.Settle(r) }

// freeze lets the trigger pass the sink, and freezes the state.
func (r *receiver) freeze(c ident.CheckpointID) (write func() snapshot, giveBack func()) {
	r.session.trigger(c)
	r.producer.trigger(c)
	intervals, through := r.producer.listed(c), maps.Clone(r.passed)
	merge := r.wm.State(r.s.w.now)
	base := len(r.chain) == 0 || len(r.chain) > mostDeltas
	frozen := r.rows.State().FreezeTouched
	if base {
		frozen = r.rows.State().FreezeAll
	}
	f := frozen()
	write = func() snapshot {
		operator, _ := r.s.w.plan.Operator()
		var file bytes.Buffer
		if _, err := state.Write(&file, state.Header{Operator: operator}, f); err != nil {
			panic(err) // memory does not fail
		}
		if base {
			r.chain = nil
		}
		r.chain = append(slices.Clip(r.chain), file.Bytes())
		return snapshot{merge: &merge, chain: slices.Clone(r.chain), intervals: intervals, passed: through}
	}
	return write, func() { r.rows.State().GiveBack(f) }
}

// prepared tells whether the table has what came before the trigger; what the output has to show is in the manifest.
func (r *receiver) prepared(c ident.CheckpointID) (ready, fenced bool) {
	ready = r.session.durable(c)
	if ready && r.s.w.on(failpoint.CommitEarly) {
		r.producer.complete(c, func(bool) error { return nil })
	}
	return ready, r.session.fenced
}

func (r *receiver) commit(c ident.CheckpointID, done func(bool) error) { r.producer.complete(c, done) }

func (r *receiver) forward(align.Forward) error { return nil } // the last level

func (r *receiver) openInputs(c ident.CheckpointID) error {
	return r.step(dispatch.OpenInputs{Checkpoint: c})
}

func (r *receiver) settle(c ident.CheckpointID) error { return r.step(dispatch.Settled{Checkpoint: c}) }

func (r *receiver) askTriggers(a align.AskTriggers) {
	r.s.w.reach(TriggerAsked)
	for _, from := range a.From {
		r.s.w.tell("trigger question", r.s, func() error {
			answer := r.s.source(from).answer(r.self.Task, a.Checkpoint, a.Tx)
			r.s.w.tell("trigger answer", r.s, func() error {
				return r.part.step(align.TriggerAnswered{
					Checkpoint: a.Checkpoint, From: from, Answer: answer,
					Mine: align.Position{Msg: r.core.Received(from), Offset: ident.NextOffset(r.position)}, Now: r.s.w.now,
				})
			})
			return nil
		})
	}
}
