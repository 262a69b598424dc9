package vectors

import (
	"errors"
	"fmt"
	"slices"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/dispatch"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/pipeline"
	"github.com/pondage/pondage/internal/plan"
	"github.com/pondage/pondage/internal/watermark"
)

// receiver is an aggregating task in virtual time.
type receiver struct {
	cluster  *cluster
	self     dispatch.Self
	core     *dispatch.Receiver
	wm       *watermark.Merge
	operator pipeline.Receiving
	decoder  *block.Decoder
	bodies   map[dispatch.Handle][]byte
}

func newReceiver(c *cluster, p *plan.Plan, self ident.Task, upstreams []dispatch.Peer) (*receiver, error) {
	operator, err := pipeline.NewReceiving(p, 0)
	if err != nil {
		return nil, err
	}
	var tasks []ident.Task
	for _, u := range upstreams {
		tasks = append(tasks, u.Task)
	}
	r := &receiver{
		cluster: c, self: c.self(self), wm: watermark.NewMerge(pipeline.MergeWatermark(p, tasks)), operator: operator,
		decoder: block.NewDecoder(), bodies: map[dispatch.Handle][]byte{},
	}
	r.core = dispatch.NewReceiver(dispatch.ReceiverConfig{Self: r.self, Upstreams: upstreams})
	return r, nil
}

func (r *receiver) channel(upstream ident.Task) dispatch.Channel {
	return dispatch.Channel{Stream: virtualStream, Stage: virtualStage, Upstream: upstream, Task: r.self.Task}
}

// poll reads what has come to the task's partition, as one chunk.
func (r *receiver) poll() error {
	l := r.cluster.edge[r.self.Task]
	for ; l.read < len(l.messages); l.read++ {
		m := l.messages[l.read]
		h, err := block.ParseHeader(m.headers)
		if err != nil {
			return err
		}
		if block.ValueCRC(m.value) != h.CRC {
			return fmt.Errorf("offset %d: the value has not the CRC of its header", l.read)
		}
		body := dispatch.Handle(l.read + 1)
		r.bodies[body] = m.value
		if err := r.step(dispatch.Arrived{Header: &h, Body: body, Bytes: len(m.value), Offset: ident.NextOffset(l.read)}); err != nil {
			return err
		}
	}
	if err := r.operator.Settle(r.cluster.results); err != nil {
		return err
	}
	return r.obey(watermark.Tick{Now: r.cluster.now})
}

func (r *receiver) step(e dispatch.ReceiveEvent) error {
	effects, err := r.core.Step(e)
	if err != nil {
		return err
	}
	for _, f := range slices.Clone(effects) {
		switch f := f.(type) {
		case dispatch.Enqueue:
			if err := r.process(f.Header, f.Body); err != nil {
				return err
			}
		case dispatch.Drop:
			return fmt.Errorf("message %d of %s is dropped: %s", e.(dispatch.Arrived).Header.Msg, e.(dispatch.Arrived).Header.Upstream, f.Reason)
		case dispatch.NeedReset:
			return errors.New(f.String())
		}
	}
	return nil
}

// process merges the rows of a message, then hears its watermark.
func (r *receiver) process(h *block.Header, body dispatch.Handle) error {
	value := r.bodies[body]
	delete(r.bodies, body)
	rows := 0
	if h.Type == block.MsgData {
		batch := r.operator.Batch()
		if err := r.decoder.Decode(value, batch); err != nil {
			return err
		}
		rows = batch.Rows()
		if err := r.operator.Take(batch); err != nil {
			return err
		}
	}
	err := r.obey(watermark.Heard{
		From: h.Upstream, Watermark: h.Watermark, Idle: h.Idle, Question: watermark.Question(h.Related), Rows: rows, Now: r.cluster.now,
	})
	if err != nil {
		return err
	}
	r.cluster.credits.Step(dispatch.Consumed{Channel: r.channel(h.Upstream), Msg: h.Msg})
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
			if err := r.operator.Advance(f.Watermark, r.cluster.results); err != nil {
				return err
			}
		case watermark.Answer:
			r.cluster.credits.Step(dispatch.FloorAnswered{Channel: r.channel(f.To), Question: int64(f.Question), Watermark: f.Watermark})
		}
	}
	return nil
}
