package task

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/decode"
	"github.com/pondage/pondage/internal/dispatch"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/kafka"
	"github.com/pondage/pondage/internal/plan"
	"github.com/pondage/pondage/internal/spec"
	"github.com/pondage/pondage/internal/watermark"
	"github.com/pondage/pondage/internal/window"
)

// Bounds of a source task's work.
const (
	// batchRows is how many rows are decoded before they are evaluated: their columns stay in the processor's cache.
	batchRows = 2048
	// flushAfter and flushInput end a pre-aggregation that no empty fetch has ended (DESIGN §5).
	flushAfter = 200 * time.Millisecond
	flushInput = 64 << 20 // bytes of input
)

// SourcePartition is a partition of the source with its resolved bounds.
type SourcePartition struct {
	Topic     string
	TopicID   kafka.TopicID
	Partition ident.Partition
	Start     ident.NextOffset
	Until     watermark.Bound
}

// SourceConfig is what a source task is made of.
type SourceConfig struct {
	Common
	Partitions []SourcePartition
	// Targets are the destinations of the edge; none when the sinks are chained.
	Targets []Target
}

// Source is the shell of a source task.
type Source struct {
	shell
	cfg        SourceConfig
	partitions map[ident.Partition]*partition
	inbox      *inbox
	decoder    *decode.Decoder
	batch      *block.Batch
	rows       *rows
	wm         *watermark.Source
	edge       *edge // nil: chained
	results    *mailbox[dispatch.Sent]
	level      ident.Level // of the destinations

	stream   metric.AddOption // names the stream in metrics
	input    int              // bytes since the last flush
	since    time.Time
	rate     rate
	finished bool // the watermark has reached its end and every destination was told
	data     []ident.Task
	messages []dispatch.Message
}

// partition is what the task keeps of one of its partitions.
type partition struct {
	SourcePartition
	port     *port
	sub      *kafka.Subscription
	next     ident.NextOffset
	end      ident.NextOffset
	held     []*kafka.Chunk // wait for the partition's floor
	waiting  bool
	done     bool
	counters Counters
	repeats  *repeats // ingest keys seen; nil when dedup is off
}

// NewSource returns a source task that has not started.
func NewSource(cfg SourceConfig) (*Source, error) {
	decoder, err := cfg.Plan.Input.NewDecoder(cfg.Plan.Source)
	if err != nil {
		return nil, fmt.Errorf("source task %s: %w", cfg.Self.Task, err)
	}
	s := &Source{
		cfg: cfg, partitions: map[ident.Partition]*partition{}, inbox: newInbox(), decoder: decoder,
		batch: block.NewBatch(cfg.Plan.Input.Schema, batchRows), results: newMailbox[dispatch.Sent](),
	}
	s.shell = newShell(cfg.Common)
	s.stream = ofStream(cfg.Plan.Stream.Name)
	now := s.mono()
	if len(cfg.Targets) > 0 {
		s.level = cfg.Targets[0].Peer.Task.Level
		s.edge = newEdge(cfg.Self, cfg.Targets, s.results, int(cfg.Plan.Settings.MaxDispatchBatch), now)
	}
	if err := s.build(); err != nil {
		return nil, fmt.Errorf("source task %s: %w", cfg.Self.Task, err)
	}
	return s, nil
}

// build makes the cores from the plan.
func (s *Source) build() error {
	p := s.cfg.Plan
	set := p.Settings
	wm := watermark.SourceConfig{
		Delay: set.Watermark, AllowedLateness: lateness(p), TableTTL: set.TableTTL, IdleTimeout: set.IdleTimeout,
	}
	if p.Windowed() {
		wm.WindowSpan = p.Window.Size.Longest()
	}
	if set.LateBy == spec.LateByTable {
		wm.LateBy = watermark.LateByTable
	}
	for _, t := range s.cfg.Targets {
		wm.Destinations = append(wm.Destinations, t.Peer.Task)
	}
	router := p.NewRouter()
	if !p.Windowed() {
		route := router.VGroup
		if s.edge == nil {
			own := s.cfg.Self.Task.VGroup
			route = func([]*block.Column, int) ident.VGroup { return own }
		}
		s.rows = newRows(p, nil, newProject(p, route))
		s.wm = watermark.NewSource(wm)
		return nil
	}
	windows, err := window.NewWindows(*p.Window)
	if err != nil {
		return err
	}
	pre, err := window.NewWindows(*p.Window)
	if err != nil {
		return err
	}
	if wm.NextEnd, err = nextEnd(p.Window); err != nil {
		return err
	}
	s.wm = watermark.NewSource(wm)
	s.rows = newRows(p, windows, &preAggregate{pre: window.NewPreAgg(window.PreAggConfig{
		Windows: pre, Keys: p.KeySchema(), Aggs: p.Aggs, Args: p.ArgTypes(), Route: router.VGroup, Seed: rand.Uint64(),
	})})
	return nil
}

func lateness(p *plan.Plan) time.Duration {
	if p.Settings.Lateness.Unbounded {
		return watermark.Unbounded
	}
	return p.Settings.Lateness.For
}

// nextEnd returns the function that finds the lowest window end above a time.
func nextEnd(w *window.Spec) (func(ident.EventMs) ident.EventMs, error) {
	windows, err := window.NewWindows(*w)
	if err != nil {
		return nil, err
	}
	return func(after ident.EventMs) ident.EventMs {
		start, ok := windows.FirstEndingAfter(windows.Pane(after), after)
		if !ok { // in a gap between windows
			return windows.End(windows.Next(windows.Pane(after)))
		}
		return windows.End(start)
	}, nil
}

// Run does the task's work until the context ends or the task does. Start has been reported before.
func (s *Source) Run(ctx context.Context) {
	defer s.close()
	err := s.run(ctx)
	s.end(err, s.progress())
	<-ctx.Done()
}

func (s *Source) run(ctx context.Context) error {
	for _, p := range s.cfg.Partitions {
		if err := s.add(ctx, p); err != nil {
			return err
		}
	}
	s.entered()
	tick := time.NewTicker(watermark.TickEvery)
	defer tick.Stop()
	for {
		if err := s.turn(ctx, tick.C); err != nil {
			return err
		}
		if s.finished && (s.edge == nil || s.edge.sender.Settled()) {
			return s.finish(ctx)
		}
	}
}

// always is ready at once: the case of a select that stands for work at hand.
var always = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// turn waits for one thing to happen and deals with it.
func (s *Source) turn(ctx context.Context, tick <-chan time.Time) error {
	var work <-chan struct{}
	if len(s.inbox.queue) > 0 && s.takes() {
		work = always
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-s.inbox.notice:
		s.inbox.fill()
		return nil
	case <-s.results.notice:
		for _, r := range s.results.take() {
			r.Now = s.mono()
			if err := s.send(ctx, r); err != nil {
				return err
			}
		}
		return nil
	case <-s.credits.notice:
		for _, c := range s.credits.take() {
			c.Now = s.mono()
			if err := s.send(ctx, c); err != nil {
				return err
			}
		}
		return nil
	case <-s.commands.notice:
		for _, c := range s.commands.take() {
			if err := s.command(ctx, c); err != nil {
				return err
			}
		}
		return nil
	case <-tick:
		return s.tick(ctx)
	case <-work:
		return s.take(ctx, s.inbox.next())
	}
}

// takes tells whether the task takes input: not while a flush waits for credit, and not while it is paused.
func (s *Source) takes() bool { return !s.paused() && (s.edge == nil || s.edge.taking()) }

// add begins to read a partition.
func (s *Source) add(ctx context.Context, sp SourcePartition) error {
	p := &partition{SourcePartition: sp, port: s.inbox.port(), next: sp.Start, end: sp.Start}
	if w := s.cfg.Plan.Input.DedupWindow; w != nil {
		p.repeats = newRepeats(*w)
	}
	s.partitions[sp.Partition] = p
	if err := s.obey(ctx, watermark.Added{Partition: sp.Partition, Next: sp.Start, Until: sp.Until, Now: s.mono()}); err != nil {
		return err
	}
	if p.done {
		return nil
	}
	sub, err := s.cfg.Fetcher.Subscribe(kafka.SubscribeSpec{
		Topic: sp.Topic, Partition: sp.Partition, TopicID: sp.TopicID, From: sp.Start, Isolation: kafka.ReadCommitted, Inbox: p.port,
	})
	if err != nil {
		return err
	}
	p.sub = sub
	return nil
}

// take processes a chunk, unless its partition waits for a floor: then it keeps it.
func (s *Source) take(ctx context.Context, c arrival) error {
	p := s.partitions[c.Partition]
	if c.Err != nil {
		return c.Err
	}
	if p.done {
		s.give(p, c.Chunk)
		return nil
	}
	p.end = max(p.end, c.HighWatermark)
	if p.waiting {
		p.held = append(p.held, c.Chunk)
		return nil
	}
	err := s.obey(ctx, watermark.Fetched{Partition: c.Partition, Records: min(c.Size(), 1), Lag: lag(c.Chunk), Now: s.monoAt(c.at)})
	if err != nil || p.waiting {
		p.held = append(p.held, c.Chunk)
		return err
	}
	return s.process(ctx, p, c.Chunk)
}

// lag says what lies behind a chunk that is not read yet.
func lag(c *kafka.Chunk) watermark.Lag {
	switch {
	case c.Lag() > 0:
		return watermark.LagBehind
	case c.LastStable < c.HighWatermark:
		return watermark.LagOpenTransaction
	}
	return watermark.LagNone
}

// give returns a chunk's memory and its place in the fetch.
func (s *Source) give(p *partition, c *kafka.Chunk) {
	c.Release()
	p.port.took()
	p.sub.Resume()
}

// process takes the records of a chunk through the pipeline and flushes where that is due.
func (s *Source) process(ctx context.Context, p *partition, c *kafka.Chunk) error {
	before := p.counters.Accepted()
	if err := s.records(ctx, p, c); err != nil {
		c.Release()
		return err
	}
	s.cfg.Metrics.processed(ctx, s.stream, p.counters.Accepted()-before)
	s.input += c.Size()
	next, filled := c.Next, c.Filled
	s.give(p, c)
	if p.Until.Set() {
		next = min(next, p.Until.Next())
	}
	p.next = next
	if err := s.obey(ctx, watermark.Processed{Partition: p.Partition, Next: next}); err != nil {
		return err
	}
	if !filled || p.done || s.input >= flushInput || time.Since(s.since) >= flushAfter {
		return s.flush(ctx)
	}
	return nil
}

// records decodes the records of a chunk and evaluates them, batch by batch.
func (s *Source) records(ctx context.Context, p *partition, c *kafka.Chunk) error {
	if s.input == 0 {
		s.since = time.Now()
	}
	limits := s.cfg.Plan.Input.Limits(time.Now().UnixMilli())
	offsets := s.batch.Cols[len(s.batch.Cols)-offsetFromEnd]
	numbers := s.batch.Cols[len(s.batch.Cols)-partitionFromEnd]
	var it kafka.Iterator
	it.Reset(c)
	for it.Next() {
		r := &it.Record
		if p.Until.Reached(ident.NextOffset(r.Offset)) {
			break
		}
		if r.HeaderCount() > 0 && p.repeats.seen(r) {
			continue
		}
		v := s.decoder.Append(r.Value, limits, s.batch)
		if !v.OK() {
			p.counters.DeadLettered++
			if err := s.cfg.Aside.Dead(ctx, c.Topic, c.Partition, r, string(v.Code), v.Reason); err != nil {
				return err
			}
			continue
		}
		numbers.AppendInt(int64(c.Partition))
		offsets.AppendInt(int64(r.Offset))
		if offsets.Len() >= batchRows {
			if err := s.evaluate(ctx, p, c); err != nil {
				return err
			}
		}
	}
	if err := it.Err(); err != nil {
		return err
	}
	return s.evaluate(ctx, p, c)
}

// evaluate takes the decoded rows through rows.take, and sets aside what that has listed.
func (s *Source) evaluate(ctx context.Context, p *partition, c *kafka.Chunk) error {
	s.rows.take(s.batch, s.wm.Track(p.Partition), &p.counters)
	s.batch.Reset()
	if len(s.rows.rejected) == 0 && len(s.rows.late) == 0 {
		return nil
	}
	return s.setAside(ctx, c)
}

// setAside finds the records that rows.take has listed in the chunk once more, and writes them to their topics. It is the
// rare path, and so the hot one keeps nothing of a record.
func (s *Source) setAside(ctx context.Context, c *kafka.Chunk) error {
	rejects, lates := map[ident.LastOffset]rejected{}, map[ident.LastOffset]late{}
	for _, r := range s.rows.rejected {
		rejects[r.offset] = r
	}
	for _, l := range s.rows.late {
		lates[l.offset] = l
	}
	var it kafka.Iterator
	it.Reset(c)
	for left := len(rejects) + len(lates); left > 0 && it.Next(); {
		if r, ok := rejects[it.Record.Offset]; ok {
			left--
			if err := s.cfg.Aside.Dead(ctx, c.Topic, c.Partition, &it.Record, r.code, r.reason); err != nil {
				return err
			}
		}
		if l, ok := lates[it.Record.Offset]; ok {
			left--
			if err := s.cfg.Aside.Late(ctx, c.Topic, c.Partition, &it.Record, l.watermark); err != nil {
				return err
			}
		}
	}
	return it.Err()
}

// flush hands everything held back to the edge or to the sinks, in the order that doc.go promises.
func (s *Source) flush(ctx context.Context) error {
	s.input = 0
	s.data, s.messages = s.data[:0], s.messages[:0]
	var err error
	s.rows.operator.flush(func(to ident.VGroup, rows *block.Batch) {
		if err == nil {
			err = s.hand(ctx, to, rows)
		}
	})
	if err != nil {
		return err
	}
	return s.obey(ctx, watermark.Flush{Data: s.data, Now: s.mono()})
}

// hand takes a batch of the flush.
func (s *Source) hand(ctx context.Context, to ident.VGroup, rows *block.Batch) error {
	if s.edge == nil {
		return s.emit(ctx, rows)
	}
	task := ident.Task{Level: s.level, VGroup: to}
	m, err := s.edge.message(task, rows)
	if err != nil {
		return err
	}
	s.messages = append(s.messages, m)
	s.data = append(s.data, task)
	return nil
}

// obey advances the watermark by one event and obeys its effects.
func (s *Source) obey(ctx context.Context, e watermark.Event) error {
	effects, err := s.wm.Step(e)
	if err != nil {
		return err
	}
	var gone []ident.Partition
	// Obeying one effect may step the core again, which reuses its slice.
	for _, f := range slices.Clone(effects) {
		switch f := f.(type) {
		case watermark.Wait:
			s.partitions[f.Partition].waiting = true
		case watermark.Go:
			s.partitions[f.Partition].waiting = false
			gone = append(gone, f.Partition)
		case watermark.PartitionDone:
			p := s.partitions[f.Partition]
			p.done = true
			if p.sub != nil {
				p.sub.Close()
			}
		case watermark.Stamp:
			if err := s.stamp(ctx, f.Watermark); err != nil {
				return err
			}
		case watermark.Say:
			if err := s.send(ctx, dispatch.Speak{To: f.To, Watermark: f.Watermark, Idle: f.Idle, Related: int64(f.Question), Now: s.mono()}); err != nil {
				return err
			}
		case watermark.Finished:
			s.finished = true
		}
	}
	for _, p := range gone {
		if err := s.resume(ctx, s.partitions[p]); err != nil {
			return err
		}
	}
	return nil
}

// resume processes the chunks that waited for a partition's floor.
func (s *Source) resume(ctx context.Context, p *partition) error {
	for len(p.held) > 0 && !p.waiting {
		c := p.held[0]
		p.held = p.held[1:]
		if p.done {
			s.give(p, c)
			continue
		}
		if err := s.process(ctx, p, c); err != nil {
			return err
		}
	}
	return nil
}

// stamp gives the flush's messages their watermark and hands them to the sender. Of several blocks for one destination
// only the last one carries it: the rows of the others would come behind the watermark that closes their windows.
func (s *Source) stamp(ctx context.Context, w ident.EventMs) error {
	if len(s.messages) == 0 {
		return nil
	}
	for i := range s.messages {
		if i+1 == len(s.messages) || s.messages[i+1].To != s.messages[i].To {
			s.messages[i].Watermark = w
		}
	}
	messages := s.messages
	s.messages = s.messages[:0]
	return s.send(ctx, dispatch.Flush{Messages: messages, Now: s.mono()})
}

// send advances the sender, and hands its destinations' answers to the watermark.
func (s *Source) send(ctx context.Context, e dispatch.SendEvent) error {
	if s.edge == nil {
		return nil
	}
	if err := s.edge.step(e); err != nil {
		return err
	}
	if s.edge.over != nil {
		s.needReset(*s.edge.over)
		return errStageOver
	}
	answers := s.edge.answers
	s.edge.answers = nil
	for _, a := range answers {
		if err := s.obey(ctx, watermark.Answered{From: a.From, Question: watermark.Question(a.Question), Watermark: a.Watermark, Now: s.mono()}); err != nil {
			return err
		}
	}
	return nil
}

func (s *Source) tick(ctx context.Context) error {
	now := s.mono()
	if s.paused() {
		for n := range s.partitions {
			if err := s.obey(ctx, watermark.Fetched{Partition: n, Lag: watermark.LagPaused, Now: now}); err != nil {
				return err
			}
		}
	}
	if s.rows.operator.pending() && time.Since(s.since) >= flushAfter && s.takes() {
		if err := s.flush(ctx); err != nil {
			return err
		}
	}
	if err := s.obey(ctx, watermark.Tick{Now: now}); err != nil {
		return err
	}
	if err := s.send(ctx, dispatch.SenderTick{Now: now}); err != nil {
		return err
	}
	s.report(s.progress())
	return nil
}

// command obeys what comes from outside: pause and resume, a partition found while running.
func (s *Source) command(ctx context.Context, c command) error {
	switch {
	case c.partition != nil:
		if s.partitions[c.partition.Partition] == nil {
			return s.add(ctx, *c.partition)
		}
		return nil
	default:
		return s.change(c.event)
	}
}

// finish makes everything durable; then the task is finished.
func (s *Source) finish(ctx context.Context) error {
	if err := errors.Join(s.cfg.Aside.Flush(ctx), s.cfg.Outputs.Flush(ctx)); err != nil {
		return err
	}
	return errFinished
}

// progress is what the task reports of its partitions.
func (s *Source) progress() Progress {
	info := s.wm.Explain()
	out := Progress{Watermark: info.Watermark, Idle: info.Idle, Source: &info}
	total := int64(0)
	for _, x := range info.Partitions {
		p := s.partitions[x.Partition]
		total += p.counters.Accepted()
		out.Partitions = append(out.Partitions, PartitionProgress{
			Topic: p.Topic, Partition: p.Partition, Next: p.next, End: p.end, Watermark: x.Watermark, Idle: x.Phase == "idle", Done: p.done,
			Counters: p.counters,
		})
	}
	out.RecordsPerSecond = s.rate.over(total, time.Now())
	return out
}

// close gives everything back.
func (s *Source) close() {
	for _, p := range s.partitions {
		if p.sub != nil {
			p.sub.Close()
		}
		for _, c := range p.held {
			c.Release()
		}
	}
	s.inbox.drain()
	s.cfg.Outputs.Close()
}
