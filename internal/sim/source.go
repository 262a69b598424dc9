package sim

import (
	"encoding/binary"
	"errors"
	"slices"

	"github.com/pondage/pondage/internal/align"
	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/decode"
	"github.com/pondage/pondage/internal/dispatch"
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
	triggers  map[ident.CheckpointID]map[ident.Task]align.Position
	next      ident.NextOffset
	waiting   bool
	part      *part
}

func newSource(s *stage, t ident.Task, p ident.Partition, takers []dispatch.Peer, c align.Config, from *snapshot) (*source, error) {
	pl := s.w.plan
	decoder, err := pl.Input.NewDecoder(pl.Source)
	if err != nil {
		return nil, err
	}
	rows, err := pipeline.NewSource(pl, pipeline.SourceOptions{VGroup: t.VGroup})
	if err != nil {
		return nil, err
	}
	var destinations []ident.Task
	for _, d := range takers {
		destinations = append(destinations, d.Task)
	}
	wm, err := pipeline.SourceWatermark(pl, destinations)
	if err != nil {
		return nil, err
	}
	src := &source{
		s: s, self: s.w.self(t, s.number), partition: p, decoder: decoder, batch: block.NewBatch(pl.Input.Schema, 0), rows: rows,
		encoder: block.NewEncoder(block.CompressionNone), bodies: map[dispatch.Handle][]byte{}, inflight: map[ident.Task][]dispatch.Numbered{},
		triggers: map[ident.CheckpointID]map[ident.Task]align.Position{},
	}
	if from != nil {
		src.next, wm.Restored = from.next, from.source
	}
	src.wm = watermark.NewSource(wm)
	src.sender = dispatch.NewSender(dispatch.SenderConfig{Self: src.self, Destinations: takers}, s.w.now)
	src.part = &part{s: s, task: t, core: align.New(c), hands: src}
	return src, nil
}

func (s *source) records() [][]byte { return s.s.w.records[s.partition] }

func (s *source) begin() error {
	return s.obey(watermark.Added{
		Partition: s.partition, Next: s.next, Until: watermark.Until(ident.NextOffset(len(s.records()))), Now: s.s.w.now,
	})
}

// read takes some records, if the task takes any.
func (s *source) read() error {
	rest := s.records()[s.next:]
	if len(rest) == 0 || s.waiting || !s.sender.Taking() {
		return nil
	}
	const most = 6
	n := min(len(rest), 1+s.s.w.rand.IntN(most))
	lag := watermark.LagBehind
	if n == len(rest) {
		lag = watermark.LagNone
	}
	if err := s.obey(watermark.Fetched{Partition: s.partition, Records: n, Lag: lag, Now: s.s.w.now}); err != nil || s.waiting {
		return err
	}
	cols := len(s.batch.Cols)
	numbers, offsets := s.batch.Cols[cols-2], s.batch.Cols[cols-1] // _partition, _offset
	for _, line := range rest[:n] {
		if v := s.decoder.Append(line, decode.AnyTime(), s.batch); !v.OK() {
			return errors.New("a record of the simulation is a dead letter: " + string(line))
		}
		numbers.AppendInt(int64(s.partition))
		offsets.AppendInt(int64(s.next))
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
	var messages []dispatch.Message
	var data []ident.Task
	var failed error
	s.rows.Flush(func(vg ident.VGroup, partials *block.Batch) {
		body, err := s.encoder.Append(nil, partials)
		failed = errors.Join(failed, err)
		to := ident.Task{Level: ident.LevelAgg, VGroup: vg}
		data = append(data, to)
		messages = append(messages, dispatch.Message{To: to, Type: block.MsgData, Body: s.body(body), Bytes: len(body), Watermark: ident.WatermarkNone})
	})
	if failed != nil {
		return failed
	}
	effects, err := s.wm.Step(watermark.Flush{Data: data, Now: s.s.w.now})
	if err != nil {
		return err
	}
	for _, f := range slices.Clone(effects) {
		if stamp, ok := f.(watermark.Stamp); ok {
			if len(messages) == 0 {
				continue
			}
			for i := range messages {
				messages[i].Watermark = stamp.Watermark
			}
			err = s.send(dispatch.Flush{Messages: messages, Now: s.s.w.now})
		} else {
			err = s.effect(f)
		}
		if err != nil {
			return err
		}
	}
	return nil
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
			s.inflight[f.To] = f.Messages
			s.produce(f.To)
		case dispatch.Repeat:
			s.produce(f.To)
		case dispatch.FloorAnswer:
			err := s.obey(watermark.Answered{From: f.From, Question: watermark.Question(f.Question), Watermark: f.Watermark, Now: s.s.w.now})
			if err != nil {
				return err
			}
		case dispatch.NeedReset:
			return s.s.w.reset(f.String())
		}
	}
	return nil
}

// produce sends the destination's request once more. It may reach the log although nobody hears of it, also after the end
// of the stage.
func (s *source) produce(to ident.Task) {
	w, messages := s.s.w, s.inflight[to]
	done := false
	arrives := func() {
		if done {
			return
		}
		done = true
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
	s.s.underway = append(s.s.underway, arrives)
	w.later("produce", s.s, func() error {
		result := dispatch.ResultOK
		if w.chance(8) {
			result = dispatch.ResultError // nobody knows
		}
		if result == dispatch.ResultOK || w.chance(2) {
			arrives()
		}
		first, last := messages[0].ID, messages[len(messages)-1].ID
		return s.send(dispatch.Sent{To: to, Stage: s.self.Stage, First: first, Last: last, Result: result, Now: w.now})
	})
}

func (s *source) tick() error {
	return errors.Join(
		s.obey(watermark.Tick{Now: s.s.w.now}), s.send(dispatch.SenderTick{Now: s.s.w.now}), s.part.step(align.Tick{Now: s.s.w.now}),
	)
}

func (s *source) requested(id ident.CheckpointID, tx ident.TxID, left ident.MonoMs) error {
	return s.part.step(align.Requested{Stage: s.self.Stage, Checkpoint: id, Tx: tx, Deadline: s.s.w.now + left, Now: s.s.w.now})
}

// freeze is the synchronous part: everything that was taken has been flushed.
func (s *source) freeze(ident.CheckpointID) (write func() snapshot, giveBack func()) {
	state := s.wm.State()
	part := snapshot{next: s.next, source: &state}
	return func() snapshot { return part }, func() {}
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
