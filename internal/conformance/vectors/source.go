package vectors

import (
	"errors"
	"fmt"
	"slices"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/decode"
	"github.com/pondage/pondage/internal/dispatch"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/pipeline"
	"github.com/pondage/pondage/internal/plan"
	"github.com/pondage/pondage/internal/watermark"
)

// source is the source task in virtual time. Its loop is that of package watermark's doc.go.
type source struct {
	cluster  *cluster
	self     dispatch.Self
	into     ident.Level
	decoder  *decode.Decoder
	batch    *block.Batch
	rows     *pipeline.Source
	wm       *watermark.Source
	sender   *dispatch.Sender
	encoder  *block.Encoder
	header   block.HeaderEncoder
	bodies   map[dispatch.Handle][]byte
	next     ident.NextOffset
	waiting  bool       // for the partition's floor
	held     [][][]byte // chunks that came meanwhile
	counters pipeline.Counters
}

// partition is the only one.
const partition ident.Partition = 0

func newSource(c *cluster, p *plan.Plan, self ident.Task, takers []dispatch.Peer) (*source, error) {
	decoder, err := p.Input.NewDecoder(p.Source)
	if err != nil {
		return nil, err
	}
	rows, err := pipeline.NewSource(p, pipeline.SourceOptions{VGroup: self.VGroup})
	if err != nil {
		return nil, err
	}
	var destinations []ident.Task
	for _, t := range takers {
		destinations = append(destinations, t.Task)
	}
	wm, err := pipeline.SourceWatermark(p, destinations)
	if err != nil {
		return nil, err
	}
	s := &source{
		cluster: c, self: c.self(self), into: takers[0].Task.Level, decoder: decoder, batch: block.NewBatch(p.Input.Schema, 0), rows: rows,
		wm: watermark.NewSource(wm), encoder: block.NewEncoder(block.CompressionNone), bodies: map[dispatch.Handle][]byte{},
	}
	s.sender = dispatch.NewSender(dispatch.SenderConfig{Self: s.self, Destinations: takers}, c.now)
	return s, nil
}

func (s *source) begin() error {
	return s.obey(watermark.Added{Partition: partition, Now: s.cluster.now})
}

// take processes one fetch, or keeps it until the partition has its floor.
func (s *source) take(chunk [][]byte) error {
	if !s.waiting {
		if err := s.obey(watermark.Fetched{Partition: partition, Records: len(chunk), Now: s.cluster.now}); err != nil {
			return err
		}
	}
	if s.waiting {
		s.held = append(s.held, chunk)
		return nil
	}
	return s.process(chunk)
}

func (s *source) process(chunk [][]byte) error {
	n := len(s.batch.Cols)
	numbers, offsets := s.batch.Cols[n-2], s.batch.Cols[n-1] // _partition, _offset
	for _, line := range chunk {
		if v := s.decoder.Append(line, decode.AnyTime(), s.batch); !v.OK() {
			return fmt.Errorf("record %s is a dead letter: %s %s %s", line, v.Code, v.Field, v.Reason)
		}
		numbers.AppendInt(int64(partition))
		offsets.AppendInt(int64(s.next))
		s.next++
	}
	s.rows.Take(s.batch, s.wm.Track(partition), &s.counters)
	s.batch.Reset()
	if r := s.rows.Rejected(); len(r) > 0 {
		return fmt.Errorf("record at offset %d is a dead letter: %s %s", r[0].Offset, r[0].Code, r[0].Reason)
	}
	if err := s.obey(watermark.Processed{Partition: partition, Next: s.next}); err != nil {
		return err
	}
	return s.flush()
}

// flush hands the partials over, stamped with the watermark.
func (s *source) flush() error {
	if !s.sender.Taking() {
		return errors.New("a flush waits for credit: the case is larger than what a receiver may have unconsumed")
	}
	var messages []dispatch.Message
	var data []ident.Task
	var failed error
	s.rows.Flush(func(vg ident.VGroup, partials *block.Batch) {
		body, err := s.encoder.Append(nil, partials)
		failed = errors.Join(failed, err)
		to := ident.Task{Level: s.into, VGroup: vg}
		handle := dispatch.Handle(len(s.bodies) + 1)
		s.bodies[handle] = body
		data = append(data, to)
		messages = append(messages, dispatch.Message{To: to, Type: block.MsgData, Body: handle, Bytes: len(body), Watermark: ident.WatermarkNone})
	})
	if failed != nil {
		return failed
	}
	effects, err := s.wm.Step(watermark.Flush{Data: data, Now: s.cluster.now})
	if err != nil {
		return err
	}
	for _, f := range slices.Clone(effects) {
		stamp, ok := f.(watermark.Stamp)
		if !ok {
			if err := s.effect(f); err != nil {
				return err
			}
			continue
		}
		for i := range messages {
			messages[i].Watermark = stamp.Watermark
		}
		if err := s.send(dispatch.Flush{Messages: messages, Now: s.cluster.now}); err != nil {
			return err
		}
	}
	return nil
}

// obey advances the watermark by one event other than a flush.
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
		held := s.held
		s.held = nil
		for _, chunk := range held {
			if err := s.process(chunk); err != nil {
				return err
			}
		}
	case watermark.Say:
		return s.send(dispatch.Speak{To: f.To, Watermark: f.Watermark, Idle: f.Idle, Related: int64(f.Question), Now: s.cluster.now})
	}
	return nil
}

// send advances the sender. Its requests are appended to the edge at once, and answered.
func (s *source) send(e dispatch.SendEvent) error {
	effects, err := s.sender.Step(e)
	if err != nil {
		return err
	}
	for _, f := range slices.Clone(effects) {
		switch f := f.(type) {
		case dispatch.Produce:
			if err := s.produce(f); err != nil {
				return err
			}
		case dispatch.FloorAnswer:
			err := s.obey(watermark.Answered{From: f.From, Question: watermark.Question(f.Question), Watermark: f.Watermark, Now: s.cluster.now})
			if err != nil {
				return err
			}
		case dispatch.NeedReset:
			return errors.New(f.String())
		}
	}
	return nil
}

func (s *source) produce(p dispatch.Produce) error {
	to := s.cluster.edge[p.To]
	for _, m := range p.Messages {
		body := s.bodies[m.Body]
		h := block.Header{
			Version: block.WireVersion, Stream: s.self.Stream, Stage: s.self.Stage, Msg: m.ID, Upstream: s.self.Task, UpNode: s.self.Place.Node,
			Downstream: p.To, Down: s.cluster.place, Type: m.Type, Watermark: m.Watermark, Related: m.Related, Idle: m.Idle, CRC: block.ValueCRC(body),
		}
		to.append(s.header.Encode(&h), body)
	}
	first, last := p.Messages[0].ID, p.Messages[len(p.Messages)-1].ID
	return s.send(dispatch.Sent{To: p.To, Stage: s.self.Stage, First: first, Last: last, Result: dispatch.ResultOK, Now: s.cluster.now})
}

func (s *source) tick() error {
	if err := s.obey(watermark.Tick{Now: s.cluster.now}); err != nil {
		return err
	}
	return s.send(dispatch.SenderTick{Now: s.cluster.now})
}
