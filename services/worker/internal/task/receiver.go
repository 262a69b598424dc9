package task

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/dispatch"
	"github.com/pondage/pondage/internal/failpoint"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/kafka"
	"github.com/pondage/pondage/internal/pipeline"
	"github.com/pondage/pondage/internal/task"
	"github.com/pondage/pondage/internal/watermark"
)

// Credits is the node's accounting of what its tasks have consumed (package exchange). Its methods do not block.
type Credits interface {
	Consumed(ch dispatch.Channel, upTo ident.MsgID)
	// HeldBack and Released say that messages of the channel wait for the triggers of others, or no longer.
	HeldBack(ch dispatch.Channel)
	Released(ch dispatch.Channel)
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
	// Windows is the memory that the task's windows may use, and where the rest goes; the zero value: all there is.
	Windows Windows
	// Restored is called, from the task's goroutine, when the task has what it goes on from: only then its upstreams may
	// send. nil: nobody waits.
	Restored func()
}

// Receiver is the shell of a task behind an edge.
type Receiver struct {
	shell
	cfg      ReceiverConfig
	inbox    *inbox
	port     *port
	sub      Subscription
	core     *dispatch.Receiver
	wm       *watermark.Merge
	rows     pipeline.Receiving
	spill    Spill  // nil: the windows have not needed one
	keyed    *keyed // nil: none, or no checkpoints
	decoder  *block.Decoder
	records  kafka.Iterator
	headers  []block.RecordHeader
	bodies   map[dispatch.Handle]body
	last     dispatch.Handle
	queue    []dispatch.Arrived // to be processed, in order; empty between two records
	asks     *mailbox[chan<- Report]
	position ident.NextOffset // where the chunk at hand ends, and the next one begins
	read     ident.NextOffset // behind the last record that was read
	// sampled is the context of the last block of the chunk that belongs to a trace; nil: none does.
	sampled  context.Context
	finished bool
}

// body is the value of a message that the core has not released yet.
type body struct {
	value []byte // of the chunk at hand, unless it is held
	held  bool   // a copy, which counts as the task's memory
}

// NewReceiver returns a receiving task that has not started.
func NewReceiver(cfg ReceiverConfig) (*Receiver, error) {
	wrap := func(err error) error { return fmt.Errorf("task %s: %w", cfg.Self.Task, err) }
	rows, err := pipeline.NewReceiving(cfg.Plan, rand.Uint64())
	if err != nil {
		return nil, wrap(err)
	}
	upstreams := make([]ident.Task, len(cfg.Upstreams))
	for i, u := range cfg.Upstreams {
		upstreams[i] = u.Task
	}
	merge := pipeline.MergeWatermark(cfg.Plan, upstreams)
	if merge.Restored, err = restoredMerge(cfg.Checkpoints); err != nil {
		return nil, wrap(err)
	}
	rules := dispatch.ReceiverConfig{Self: cfg.Self, Upstreams: cfg.Upstreams}
	if c := cfg.Checkpoints; c != nil {
		rules.Settled = max(c.Settled, c.Complete)
	}
	r := &Receiver{
		shell: newShell(cfg.Common), cfg: cfg, inbox: newInbox(), decoder: block.NewDecoder(), bodies: map[dispatch.Handle]body{}, asks: newMailbox[chan<- Report](), position: cfg.From,
		core: dispatch.NewReceiver(rules), wm: watermark.NewMerge(merge), rows: rows, read: cfg.From,
	}
	r.keyed = newKeyed(&cfg, rows)
	r.participant = newParticipant(&r.shell, r, upstreams)
	r.port = r.inbox.port()
	r.bound()
	return r, nil
}

// Run does the task's work until the context ends or the task does, and gives everything back.
func (r *Receiver) Run(ctx context.Context) {
	err := r.run(ctx)
	r.close()
	r.end(ctx, err, r.progress(0))
}

func (r *Receiver) run(ctx context.Context) error {
	if err := r.keyed.restore(ctx, r.cfg.Checkpoints, r.cfg.Self.Stream); err != nil {
		return err
	}
	if err := failpoint.Hit(failpoint.RestoreDone); err != nil {
		return err
	}
	sub, err := r.cfg.Reader.Subscribe(kafka.SubscribeSpec{
		Topic: r.cfg.Topic, Partition: ident.Partition(r.cfg.Self.Task.VGroup), TopicID: r.cfg.TopicID, From: r.cfg.From,
		Isolation: kafka.ReadUncommitted, Inbox: r.port,
	})
	if err != nil {
		return err
	}
	r.sub = sub
	if r.cfg.Restored != nil {
		r.cfg.Restored()
	}
	r.apply(task.Init)
	tick := time.NewTicker(watermark.TickEvery)
	defer tick.Stop()
	for {
		if err := r.turn(ctx, tick.C); err != nil {
			return err
		}
		if r.finished && r.participant == nil {
			return r.finish(ctx)
		}
		if r.finished {
			r.boundReached(func() Progress { return r.progress(0) }) // and takes part in checkpoints until the stage ends
		}
	}
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
	case <-r.asks.notice:
		for _, answer := range r.asks.take() {
			r.report(r.progress(explainWindows))
			answer <- r.Report() // has room
		}
		return nil
	case <-r.participant.notice():
		if err := r.participant.hear(ctx); err != nil {
			return err
		}
		return r.work(ctx)
	case <-tick:
		if err := r.cfg.Outputs.Stopped(); err != nil {
			return err
		}
		if err := r.participant.tick(ctx); err != nil {
			return err
		}
		if err := r.work(ctx); err != nil {
			return err
		}
		if err := r.obey(ctx, watermark.Tick{Now: r.mono()}); err != nil {
			return err
		}
		if r.reportDue() {
			r.report(r.progress(0))
			r.bound()
		}
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
	it := &r.records
	it.Reset(c.Chunk)
	for r.position = c.Next; it.Next() && r.position == c.Next; { // a seek: what follows in the chunk is read again
		if err := r.record(ctx, &it.Record); err != nil {
			return err
		}
	}
	if err := it.Err(); err != nil {
		return r.corrupt(err)
	}
	if r.sampled != nil {
		ctx, r.sampled = r.sampled, nil
	}
	return r.rows.Settle(output{r, ctx})
}

// lostEdge: an edge that is gone, truncated or made anew is a reset of the stream, never the end of it (DESIGN §4).
func (r *Receiver) lostEdge(err error) error {
	switch code := kafka.CodeOf(err); {
	case edgeGone(code) || code == kafka.CodeOffsetsLost:
		return r.over(dispatch.ReasonGap, err)
	case code == kafka.CodeCorrupt:
		return r.corrupt(err)
	}
	return err
}

// corrupt: a block that cannot be read is a reset of the stream, never a skip (DESIGN §4).
func (r *Receiver) corrupt(err error) error { return r.over(dispatch.ReasonCorrupt, err) }

func (r *Receiver) over(why dispatch.Reason, err error) error {
	self := dispatch.Peer{Task: r.cfg.Self.Task, Place: r.cfg.Self.Place}
	return &over{reset: dispatch.NeedReset{Stage: r.cfg.Self.Stage, Peer: self, Reason: why, Detail: err.Error()}}
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
		err = fmt.Errorf("offset %d: %w", rec.Offset, err)
		if errors.Is(err, block.ErrVersion) {
			return r.over(dispatch.ReasonVersion, err)
		}
		return r.corrupt(err)
	}
	if h.Down == r.cfg.Self.Place && block.ValueCRC(rec.Value) != h.CRC {
		return r.corrupt(fmt.Errorf("offset %d: value of %d bytes has not the CRC of its header", rec.Offset, len(rec.Value)))
	}
	r.meter.arrived(ctx, len(rec.Value))
	r.last++
	r.bodies[r.last] = body{value: rec.Value}
	r.read = rec.Offset.Next()
	err = r.step(dispatch.Arrived{Header: &h, Body: r.last, Bytes: len(rec.Value), Offset: ident.NextOffset(rec.Offset), At: r.mono()})
	if err != nil {
		return err
	}
	return r.work(ctx)
}

// step advances the receiver by one event and obeys its effects.
func (r *Receiver) step(e dispatch.ReceiveEvent) error {
	effects, err := r.core.Step(e)
	if err != nil {
		return r.corrupt(err)
	}
	var end error
	for _, f := range effects {
		switch f := f.(type) {
		case dispatch.Enqueue:
			r.queue = append(r.queue, f.Arrived)
		case dispatch.Drop:
			r.release(f.Body)
		case dispatch.Hold:
			r.hold(f.Arrived)
		case dispatch.InputsOpen:
			for _, u := range r.cfg.Upstreams {
				r.cfg.Credits.Released(r.channel(u.Task))
			}
		case dispatch.Notice:
			r.cfg.Credits.Notice(f)
		case dispatch.AskOrders:
			r.cfg.Credits.AskOrders()
		case dispatch.AlignmentBegan, dispatch.TriggerIn, dispatch.AllIn:
			if err := r.aligned(f); err != nil {
				end = err
			}
		case dispatch.Seek:
			r.position, r.read = f.Offset, f.Offset
			r.sub.Seek(f.Offset)
		case dispatch.EndStage:
			end = errSuperseded
		case dispatch.NeedReset:
			end = &over{reset: f}
		}
	}
	return end
}

// hold keeps a message beyond its chunk.
func (r *Receiver) hold(a dispatch.Arrived) {
	b := r.bodies[a.Body]
	if !b.held {
		r.bodies[a.Body] = body{value: slices.Clone(b.value), held: true}
		r.cfg.Memory.Take(int64(len(b.value)))
	}
	r.cfg.Credits.HeldBack(r.channel(a.Header.Upstream))
}

// release gives a message's body back and returns it; it is valid until the chunk is released.
func (r *Receiver) release(h dispatch.Handle) []byte {
	b := r.bodies[h]
	delete(r.bodies, h)
	if b.held {
		r.cfg.Memory.Give(int64(len(b.value)))
	}
	return b.value
}

// process takes a message that is its upstream's next one: rows are merged first, then its watermark is heard.
func (r *Receiver) process(ctx context.Context, a dispatch.Arrived) error {
	ctx, span := r.cfg.Tracing.process(ctx, r.cfg.Self, r.cfg.Topic, a)
	if span != nil {
		r.sampled = ctx
	}
	err := failpoint.Hit(failpoint.EdgeBeforeMerge)
	if err == nil {
		err = r.merge(ctx, a)
	}
	if err == nil {
		err = failpoint.Hit(failpoint.EdgeMerged)
	}
	endSpan(span, err)
	if err != nil {
		return err
	}
	r.cfg.Credits.Consumed(r.channel(a.Header.Upstream), a.Header.Msg)
	return r.step(dispatch.Done{Header: a.Header})
}

func (r *Receiver) merge(ctx context.Context, a dispatch.Arrived) error {
	h, value := a.Header, r.release(a.Body)
	n := 0
	if h.Type == block.MsgData {
		rows := r.rows.Batch()
		if err := r.decoder.Decode(value, rows); err != nil {
			return r.corrupt(err)
		}
		n = rows.Rows()
		if err := r.rows.Take(rows); err != nil {
			return r.corrupt(err)
		}
	}
	return r.obey(ctx, watermark.Heard{
		From: h.Upstream, Watermark: h.Watermark, Idle: h.Idle, Question: watermark.Question(h.Related), Rows: n, Now: r.mono(),
	})
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
	for _, f := range effects {
		switch f := f.(type) {
		case watermark.Advance:
			if err := r.rows.Advance(f.Watermark, output{r, ctx}); err != nil {
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
	r.report(r.progress(0))
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

// Rows implements pipeline.Results.
func (o output) Rows(b *block.Batch) error {
	return split(b, func(piece *block.Batch) error { return o.r.emit(o.ctx, piece) })
}

// Events implements pipeline.EventTaker.
func (o output) Events(b *block.Batch) error {
	return split(b, func(piece *block.Batch) error { return o.r.cfg.Outputs.Events(o.ctx, piece) })
}

// Reject implements pipeline.Results.
func (o output) Reject(row []byte, code, reason string) error {
	return o.r.cfg.Aside.DeadResult(o.ctx, o.r.cfg.Self.Task.VGroup, row, code, reason)
}

// explainWindows is how many open windows Explain describes: those that close first.
const explainWindows = 32

// Explain returns a report with the open windows, which cost too much to be described for every report. A task that does
// not answer before the context ends (it waits for a sink, or has ended) is described by its last report. From any
// goroutine.
func (r *Receiver) Explain(ctx context.Context) Report {
	answer := make(chan Report, 1)
	if r.asks.put(answer) {
		select {
		case report := <-answer:
			return report
		case <-ctx.Done():
		}
	}
	return r.Report()
}

// progress is what the task reports, with the first open windows.
func (r *Receiver) progress(windows int) Progress {
	info := r.wm.Explain(r.mono())
	p := Progress{Watermark: info.Watermark, Merge: &info, Position: r.needed()}
	p.Windows, p.Open = r.rows.Open(windows)
	return p
}

func (r *Receiver) close() {
	if r.sub != nil {
		r.sub.Close()
	}
	r.inbox.end()
	r.asks.close()
	r.shell.close()
	r.unbound() // behind the asynchronous parts, which read there
}
