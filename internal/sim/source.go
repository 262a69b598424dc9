package sim

import (
	"encoding/binary"
	"errors"
	"hash/fnv"
	"maps"
	"slices"

	"github.com/pondage/pondage/internal/align"
	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/decode"
	"github.com/pondage/pondage/internal/dispatch"
	"github.com/pondage/pondage/internal/failpoint"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/pipeline"
	"github.com/pondage/pondage/internal/watermark"
)

// source is a source task: one partition.
type source struct {
	s         *stage
	self      dispatch.Self
	partition ident.Partition
	decoder   *decode.Decoder
	batch     *block.Batch
	rows      *pipeline.Source
	counters  pipeline.Counters
	wm        *watermark.Source
	sender    *dispatch.Sender
	encoder   *block.Encoder
	bodies    map[dispatch.Handle][]byte
	last      dispatch.Handle
	inflight  map[ident.Task][]dispatch.Numbered
	shift     map[ident.Task]ident.MsgID // how many numbers were given twice
	triggers  map[ident.CheckpointID]map[ident.Task]align.Position
	next      ident.NextOffset
	frozen    map[ident.CheckpointID]ident.NextOffset // not known to be committed
	passed    map[ident.Task]passed
	waiting   bool
	cut       ident.MonoMs // until then no request reaches the brokers
	part      *part
}

func newSource(s *stage, t ident.Task, from *snapshot) (*source, error) {
	pl := s.w.plan
	decoder, err := pl.Input.NewDecoder(pl.Source)
	if err != nil {
		return nil, err
	}
	rows, err := pipeline.NewSource(pl, pipeline.SourceOptions{VGroup: t.VGroup})
	if err != nil {
		return nil, err
	}
	takers := peers(ident.LevelAgg)
	var destinations []ident.Task
	for _, d := range takers {
		destinations = append(destinations, d.Task)
	}
	wm, err := pipeline.SourceWatermark(pl, destinations)
	if err != nil {
		return nil, err
	}
	src := &source{
		s: s, self: self(t, s.number), partition: ident.Partition(t.VGroup), decoder: decoder, batch: block.NewBatch(pl.Input.Schema, 0), rows: rows,
		encoder: block.NewEncoder(block.CompressionNone), bodies: map[dispatch.Handle][]byte{}, inflight: map[ident.Task][]dispatch.Numbered{},
		shift: map[ident.Task]ident.MsgID{}, triggers: map[ident.CheckpointID]map[ident.Task]align.Position{},
		frozen: map[ident.CheckpointID]ident.NextOffset{}, passed: map[ident.Task]passed{},
	}
	if from != nil {
		src.next, wm.Restored, src.counters = from.next, from.source, from.counters
		src.passed = maps.Clone(from.passed)
		src.frozen[s.from] = from.next
	}
	src.wm = watermark.NewSource(wm)
	src.sender = dispatch.NewSender(dispatch.SenderConfig{Self: src.self, Destinations: takers}, s.w.now)
	src.part = &part{s: s, task: t, core: align.New(s.config), hands: src}
	return src, nil
}

// rest are the records that are not read yet.
func (s *source) rest() [][]byte { return s.s.w.records[s.partition][s.next:] }

func (s *source) begin() error {
	e := watermark.Added{Partition: s.partition, Next: s.next, Now: s.s.w.now}
	if s.s.w.shape.bounded {
		e.Until = watermark.Until(s.next + ident.NextOffset(len(s.rest())))
	}
	return s.obey(e)
}

// read takes some records, if the task takes any. An empty answer of the broker is an answer too.
func (s *source) read() error {
	if s.waiting || !s.sender.Taking() {
		return nil
	}
	rest := s.rest()
	const most = 6
	n := min(len(rest), 1+s.s.w.rand.IntN(most))
	lag := watermark.LagBehind
	if n == len(rest) {
		lag = watermark.LagNone
	}
	if err := s.obey(watermark.Fetched{Partition: s.partition, Records: n, Lag: lag, Now: s.s.w.now}); err != nil || s.waiting || n == 0 {
		return err
	}
	cols := len(s.batch.Cols)
	numbers, offsets := s.batch.Cols[cols-2], s.batch.Cols[cols-1] // _partition, _offset
	for _, line := range rest[:n] {
		if s.decoder.Append(line, decode.AnyTime(), s.batch).OK() {
			numbers.AppendInt(int64(s.partition))
			offsets.AppendInt(int64(s.next))
		} else {
			s.counters.DeadLettered++
		}
		s.next++
	}
	s.rows.Take(s.batch, s.wm.Track(s.partition), &s.counters)
	s.batch.Reset()
	if err := s.obey(watermark.Processed{Partition: s.partition, Next: s.next}); err != nil {
		return err
	}
	return s.flush()
}

// flush hands on what is held back. Of several blocks for a destination there is one here: they are small.
func (s *source) flush() error {
	w := s.s.w
	var messages []dispatch.Message
	var data []ident.Task
	var failed error
	s.rows.Flush(func(vg ident.VGroup, partials *block.Batch) {
		body, err := s.encoder.Append(nil, partials)
		failed = errors.Join(failed, err)
		to := ident.Task{Level: ident.LevelAgg, VGroup: vg}
		s.passed[to] = s.passed[to].with(hash(body))
		if w.on(failpoint.DropOneBlock) {
			return
		}
		data = append(data, to)
		messages = append(messages, s.message(to, body))
		if w.on(failpoint.DupOneBlock) {
			messages = append(messages, s.message(to, body))
		}
	})
	if failed != nil {
		return failed
	}
	effects, err := s.wm.Step(watermark.Flush{Data: data, Now: w.now})
	if err != nil {
		return err
	}
	for _, f := range slices.Clone(effects) {
		if stamp, ok := f.(watermark.Stamp); ok {
			err = s.stamp(messages, stamp.Watermark)
		} else {
			err = s.effect(f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *source) message(to ident.Task, body []byte) dispatch.Message {
	return dispatch.Message{To: to, Type: block.MsgData, Body: s.body(body), Bytes: len(body), Watermark: ident.WatermarkNone}
}

// stamp sends the flush; the last block for a destination carries the watermark.
func (s *source) stamp(messages []dispatch.Message, w ident.EventMs) error {
	if len(messages) == 0 {
		return nil
	}
	for i := range messages {
		if i+1 == len(messages) || messages[i+1].To != messages[i].To {
			messages[i].Watermark = w
		}
	}
	return s.send(dispatch.Flush{Messages: messages, Now: s.s.w.now})
}

// hash is that of a body.
func hash(body []byte) uint64 {
	h := fnv.New64a()
	h.Write(body) // never fails
	return h.Sum64()
}

func (s *source) body(value []byte) dispatch.Handle {
	s.last++
	s.bodies[s.last] = value
	return s.last
}

func (s *source) obey(e watermark.Event) error {
	effects, err := s.wm.Step(e)
	if err != nil {
		return err
	}
	for _, f := range slices.Clone(effects) {
		if err := s.effect(f); err != nil {
			return err
		}
	}
	return nil
}

func (s *source) effect(f watermark.Effect) error {
	switch f := f.(type) {
	case watermark.Wait:
		s.waiting = true
	case watermark.Go:
		s.waiting = false
	case watermark.Say:
		if f.Idle {
			s.s.w.reach(Idle)
		}
		return s.send(dispatch.Speak{To: f.To, Watermark: f.Watermark, Idle: f.Idle, Related: int64(f.Question), Now: s.s.w.now})
	}
	return nil
}

func (s *source) send(e dispatch.SendEvent) error {
	effects, err := s.sender.Step(e)
	if err != nil {
		return err
	}
	for _, f := range slices.Clone(effects) {
		switch f := f.(type) {
		case dispatch.Produce:
			s.inflight[f.To] = s.number(f.To, f.Messages)
			s.produce(f.To, f.Messages[0].ID, f.Messages[len(f.Messages)-1].ID)
		case dispatch.Repeat:
			s.produce(f.To, f.First, f.Last)
		case dispatch.FloorAnswer:
			err := s.obey(watermark.Answered{From: f.From, Question: watermark.Question(f.Question), Watermark: f.Watermark, Now: s.s.w.now})
			if err != nil {
				return err
			}
		case dispatch.NeedReset:
			s.s.needReset(f)
		}
	}
	return nil
}

// number leaves the numbers as they were given, unless one is to be given to a second block.
func (s *source) number(to ident.Task, messages []dispatch.Numbered) []dispatch.Numbered {
	messages = slices.Clone(messages)
	for i := range messages {
		if m := &messages[i]; m.ID-s.shift[to] > 1 && m.Type == block.MsgData && s.s.w.on(failpoint.ReuseMsgID) {
			s.shift[to]++
		}
		messages[i].ID -= s.shift[to]
	}
	return messages
}

// produce sends the destination's request once more. It may reach the log although nobody hears of it, also after the end
// of the stage.
func (s *source) produce(to ident.Task, first, last ident.MsgID) {
	w, messages := s.s.w, s.inflight[to]
	done := false
	arrives := func() {
		if !done {
			done = true
			s.append(to, messages)
		}
	}
	w.later(word{what: "produce", to: s.s, late: arrives, say: func() error {
		if w.now < s.cut {
			s.produce(to, first, last)
			return nil
		}
		const noAnswer = 8
		result := dispatch.ResultOK
		if w.chance(noAnswer) {
			result = dispatch.ResultError // nobody knows
		}
		if result == dispatch.ResultOK || w.chance(2) {
			arrives()
		} else {
			w.later(word{what: "late append", say: func() error { arrives(); return nil }})
		}
		return s.send(dispatch.Sent{To: to, Stage: s.self.Stage, First: first, Last: last, Result: result, Now: w.now})
	}})
}

// append is the broker's side.
func (s *source) append(to ident.Task, messages []dispatch.Numbered) {
	w := s.s.w
	for _, m := range messages {
		h := block.Header{
			Version: block.WireVersion, Stream: streamID, Stage: s.self.Stage, Msg: m.ID, Upstream: s.self.Task, UpNode: s.self.Place.Node,
			Downstream: to, Down: s.self.Place, Type: m.Type, Watermark: m.Watermark, Related: m.Related, Idle: m.Idle,
			Checkpoint: m.Checkpoint, Tx: m.Tx,
		}
		if m.Type == block.MsgCheckpointTrigger {
			s.triggers[m.Checkpoint][to] = align.Position{Msg: m.ID, Offset: ident.NextOffset(len(w.logs[to]))}
		}
		w.logs[to] = append(w.logs[to], message{h, s.bodies[m.Body]})
	}
}

func (s *source) tick() error {
	return errors.Join(
		s.obey(watermark.Tick{Now: s.s.w.now}), s.send(dispatch.SenderTick{Now: s.s.w.now}), s.part.step(align.Tick{Now: s.s.w.now}),
	)
}

func (s *source) requested(a attempt, left ident.MonoMs) error {
	return s.part.step(align.Requested{Stage: a.stage, Checkpoint: a.id, Tx: a.tx, Deadline: s.s.w.now + left, Now: s.s.w.now})
}

// freeze is the synchronous part: everything that was taken has been flushed.
func (s *source) freeze(c ident.CheckpointID) (write func() snapshot, giveBack func()) {
	state := s.wm.State()
	part := snapshot{next: s.next, source: &state, counters: s.counters, passed: maps.Clone(s.passed)}
	s.frozen[c] = s.next
	return func() snapshot { return part }, func() {}
}

func (s *source) prepared(ident.CheckpointID) (ready, fenced bool) { return true, false }

// commit publishes the position.
func (s *source) commit(c ident.CheckpointID, done func(bool) error) {
	publish := func() {
		if c > 0 {
			s.s.w.published.put(s.s.number, s.partition, s.frozen[c])
		}
	}
	s.s.w.later(word{what: "publish", to: s.s, late: publish, say: func() error {
		publish()
		maps.DeleteFunc(s.frozen, func(id ident.CheckpointID, _ ident.NextOffset) bool { return id < c })
		return done(true)
	}})
}

// forward sends the trigger, with the time left in its body.
func (s *source) forward(f align.Forward) error {
	s.triggers[f.Checkpoint] = map[ident.Task]align.Position{}
	left := binary.BigEndian.AppendUint64(nil, uint64(f.Deadline-s.s.w.now))
	return s.send(dispatch.Control{Now: s.s.w.now, Message: dispatch.Message{
		Type: block.MsgCheckpointTrigger, Body: s.body(left), Bytes: len(left), Checkpoint: f.Checkpoint, Tx: f.Tx, Watermark: ident.WatermarkNone,
	}})
}

func (s *source) openInputs(ident.CheckpointID) error { return nil }
func (s *source) settle(ident.CheckpointID) error     { return nil }
func (s *source) askTriggers(align.AskTriggers)       {}

// answer says what became of the trigger for a receiver.
func (s *source) answer(to ident.Task, id ident.CheckpointID, tx ident.TxID) align.Answer {
	a := s.part.core.Trigger(id, tx)
	if a.Status == align.StatusSent {
		at, there := s.triggers[id][to]
		if !there {
			at = align.Position{Offset: align.NoOffset}
		}
		a.At = at
	}
	return a
}
