package task

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/dispatch"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/kafka"
	"github.com/pondage/pondage/internal/watermark"
)

// Credits is the node's accounting of what its tasks have consumed (package exchange). Its methods do not block.
type Credits interface {
	Consumed(ch dispatch.Channel, upTo ident.MsgID)
	Answer(ch dispatch.Channel, q watermark.Question, w ident.EventMs)
	Notice(n dispatch.Notice)
	// AskOrders makes the node ask the coordinator for its orders now.
	AskOrders()
}

// ReceiverConfig is what a receiving task (level agg or sink) is made of.
type ReceiverConfig struct {
	Common
	Upstreams []dispatch.Peer
	Topic     string
	TopicID   kafka.TopicID
	From      ident.NextOffset // the edge partition's end when the task took its position
	Credits   Credits
}

// Receiver is the shell of a task behind an edge.
type Receiver struct {
	shell
	cfg      ReceiverConfig
	inbox    *inbox
	port     *port
	sub      *kafka.Subscription
	core     *dispatch.Receiver
	wm       *watermark.Merge
	operator receiving
	decoder  *block.Decoder
	headers  []block.RecordHeader
	bodies   map[dispatch.Handle][]byte
	last     dispatch.Handle
	position ident.NextOffset
	finished bool
}

// NewReceiver returns a receiving task that has not started.
func NewReceiver(cfg ReceiverConfig) (*Receiver, error) {
	r := &Receiver{
		cfg: cfg, inbox: newInbox(), decoder: block.NewDecoder(), bodies: map[dispatch.Handle][]byte{}, position: cfg.From,
		core: dispatch.NewReceiver(dispatch.ReceiverConfig{Self: cfg.Self, Upstreams: cfg.Upstreams}),
	}
	r.shell = newShell(cfg.Common)
	r.port = r.inbox.port()
	wm := watermark.MergeConfig{CloseIdleAfter: cfg.Plan.Settings.CloseIdleAfter}
	for _, u := range cfg.Upstreams {
		wm.Upstreams = append(wm.Upstreams, u.Task)
	}
	if cfg.Plan.Windowed() {
		agg, err := newAggregate(cfg.Plan)
		if err != nil {
			return nil, fmt.Errorf("task %s: %w", cfg.Self.Task, err)
		}
		r.operator = agg
	} else {
		wm.Windows = watermark.Windowless
		r.operator = &pass{}
	}
	r.wm = watermark.NewMerge(wm)
	return r, nil
}

func (r *Receiver) run(ctx context.Context) error {
	sub, err := r.cfg.Fetcher.Subscribe(kafka.SubscribeSpec{
		Topic: r.cfg.Topic, Partition: ident.Partition(r.cfg.Self.Task.VGroup), TopicID: r.cfg.TopicID, From: r.cfg.From,
		Isolation: kafka.ReadUncommitted, Inbox: r.port,
	})
	if err != nil {
		return err
	}
	r.sub = sub
	r.entered()
	tick := time.NewTicker(watermark.TickEvery)
	defer tick.Stop()
	for {
		if err := r.turn(ctx, tick.C); err != nil {
			return err
		}
		if r.finished {
			return r.finish(ctx)
		}
	}
}

// Run does the task's work until the context ends.
func (r *Receiver) Run(ctx context.Context) {
	defer r.close()
	err := r.run(ctx)
	r.end(err, r.progress())
	<-ctx.Done()
}

func (r *Receiver) turn(ctx context.Context, tick <-chan time.Time) error {
	var work <-chan struct{}
	if len(r.inbox.queue) > 0 {
		work = always
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-r.inbox.notice:
		r.inbox.fill()
		return nil
	case <-r.commands.notice:
		for _, c := range r.commands.take() {
			if err := r.change(c.event); err != nil {
				return err
			}
		}
		return nil
	case <-tick:
		if err := r.obey(ctx, watermark.Tick{Now: r.mono()}); err != nil {
			return err
		}
		r.report(r.progress())
		return nil
	case <-work:
		return r.take(ctx, r.inbox.next())
	}
}

// take processes a chunk of the edge.
func (r *Receiver) take(ctx context.Context, c arrival) error {
	defer func() {
		c.Release()
		r.port.took()
		r.sub.Resume()
	}()
	if c.Err != nil {
		return r.lostEdge(c.Err)
	}
	if c.From != r.position {
		return nil // fetched before a seek
	}
	var it kafka.Iterator
	it.Reset(c.Chunk)
	r.position = c.Next
	for it.Next() {
		if err := r.record(ctx, &it.Record); err != nil {
			return err
		}
		if r.position != c.Next {
			break // a seek: what follows in this chunk is read again
		}
	}
	if err := it.Err(); err != nil {
		return r.corrupt(err)
	}
	return r.operator.settle(output{r, ctx})
}

// lostEdge: an edge that is gone, truncated or made anew is a reset of the stream, never the end of it (DESIGN §4).
func (r *Receiver) lostEdge(err error) error {
	switch kafka.CodeOf(err) {
	case kafka.CodeTopicUnknown, kafka.CodeTopicRecreated, kafka.CodeOffsetsLost:
		r.needReset(dispatch.NeedReset{Stage: r.cfg.Self.Stage, Reason: dispatch.ReasonGap, Detail: err.Error()})
		return errStageOver
	case kafka.CodeCorrupt:
		return r.corrupt(err)
	}
	return err
}

// corrupt: a block that cannot be read is a reset of the stream, never a skip (DESIGN §4).
func (r *Receiver) corrupt(err error) error {
	r.needReset(dispatch.NeedReset{Stage: r.cfg.Self.Stage, Reason: dispatch.ReasonCorrupt, Detail: err.Error()})
	return errStageOver
}

// record takes one message of the edge through the receiver's rules.
func (r *Receiver) record(ctx context.Context, rec *kafka.Record) error {
	r.headers = r.headers[:0]
	err := rec.Headers(func(key, value []byte) bool {
		r.headers = append(r.headers, block.RecordHeader{Key: string(key), Value: value})
		return true
	})
	if err != nil {
		return r.corrupt(err)
	}
	h, err := block.ParseHeader(r.headers)
	if err != nil {
		return r.corrupt(fmt.Errorf("offset %d: %w", rec.Offset, err))
	}
	if h.Down == r.cfg.Self.Place && block.ValueCRC(rec.Value) != h.CRC {
		return r.corrupt(fmt.Errorf("offset %d: value of %d bytes has not the CRC of its header", rec.Offset, len(rec.Value)))
	}
	r.last++
	r.bodies[r.last] = rec.Value
	return r.step(ctx, dispatch.Arrived{Header: &h, Body: r.last, Bytes: len(rec.Value), Offset: ident.NextOffset(rec.Offset)})
}

// step advances the receiver by one event and obeys its effects.
func (r *Receiver) step(ctx context.Context, e dispatch.ReceiveEvent) error {
	effects, err := r.core.Step(e)
	if err != nil {
		return r.corrupt(err)
	}
	for _, f := range slices.Clone(effects) {
		switch f := f.(type) {
		case dispatch.Enqueue:
			if err := r.process(ctx, f.Header, f.Body); err != nil {
				return err
			}
		case dispatch.Drop:
			delete(r.bodies, f.Body)
		case dispatch.Hold:
			r.bodies[f.Body] = slices.Clone(r.bodies[f.Body]) // it outlives its chunk
		case dispatch.Notice:
			r.cfg.Credits.Notice(f)
		case dispatch.AskOrders:
			r.cfg.Credits.AskOrders()
		case dispatch.Seek:
			r.position = f.Offset
			r.sub.Seek(f.Offset)
		case dispatch.EndStage:
			return errStageOver
		case dispatch.NeedReset:
			r.needReset(f)
			return errStageOver
		}
	}
	return nil
}

// process takes a message that is its upstream's next one: rows are merged first, then its watermark is heard.
func (r *Receiver) process(ctx context.Context, h *block.Header, body dispatch.Handle) error {
	value := r.bodies[body]
	delete(r.bodies, body)
	n := 0
	if h.Type == block.MsgData {
		rows := r.operator.batch()
		if err := r.decoder.Decode(value, rows); err != nil {
			return r.corrupt(err)
		}
		n = rows.Rows()
		if err := r.operator.take(rows); err != nil {
			return r.corrupt(err)
		}
	}
	err := r.obey(ctx, watermark.Heard{
		From: h.Upstream, Watermark: h.Watermark, Idle: h.Idle, Question: watermark.Question(h.Related), Rows: n, Now: r.mono(),
	})
	if err != nil {
		return err
	}
	r.cfg.Credits.Consumed(r.channel(h.Upstream), h.Msg)
	return r.step(ctx, dispatch.Done{Header: h})
}

func (r *Receiver) channel(upstream ident.Task) dispatch.Channel {
	return dispatch.Channel{Stream: r.cfg.Self.Stream, Stage: r.cfg.Self.Stage, Upstream: upstream, Task: r.cfg.Self.Task}
}

// obey advances the watermark by one event and obeys its effects.
func (r *Receiver) obey(ctx context.Context, e watermark.Event) error {
	effects, err := r.wm.Step(e)
	if err != nil {
		return err
	}
	for _, f := range slices.Clone(effects) {
		switch f := f.(type) {
		case watermark.Advance:
			if err := r.operator.advance(f.Watermark, output{r, ctx}); err != nil {
				return err
			}
		case watermark.Answer:
			r.cfg.Credits.Answer(r.channel(f.To), f.Question, f.Watermark)
		case watermark.Finished:
			r.finished = true
		}
	}
	return nil
}

// finish makes everything durable; then the task is finished.
func (r *Receiver) finish(ctx context.Context) error {
	if err := errors.Join(r.cfg.Aside.Flush(ctx), r.cfg.Outputs.Flush(ctx)); err != nil {
		return err
	}
	return errFinished
}

// output is the results of a receiver, for one call.
type output struct {
	r   *Receiver
	ctx context.Context
}

func (o output) rows(b *block.Batch) error { return o.r.emit(o.ctx, b) }

func (o output) reject(row []byte, code, reason string) error {
	return o.r.cfg.Aside.DeadResult(o.ctx, o.r.cfg.Self.Task.VGroup, row, code, reason)
}

func (r *Receiver) progress() Progress {
	info := r.wm.Explain(r.mono())
	p := Progress{Watermark: info.Watermark, Merge: &info, Position: r.position}
	r.operator.describe(&p)
	return p
}

func (r *Receiver) close() {
	if r.sub != nil {
		r.sub.Close()
	}
	r.inbox.drain()
	r.cfg.Outputs.Close()
}
