package task

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/decode"
	"github.com/pondage/pondage/internal/dispatch"
	"github.com/pondage/pondage/internal/failpoint"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/kafka"
	"github.com/pondage/pondage/internal/pipeline"
	"github.com/pondage/pondage/internal/task"
	"github.com/pondage/pondage/internal/watermark"
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
	// Targets are the destinations of the edge, EdgeTopic its topic; none when the sinks are chained.
	Targets   []Target
	EdgeTopic string
	// MaxBatch bounds a request of the edge, bytes.
	MaxBatch int
}

// command is what reaches a source task from outside.
type command struct {
	event     task.Event       // pause or resume
	partition *SourcePartition // found while running
}

// Source is the shell of a source task.
type Source struct {
	shell
	cfg        SourceConfig
	credits    *mailbox[dispatch.Credited]
	commands   *mailbox[command]
	partitions map[ident.Partition]*partition
	inbox      *inbox
	decoder    *decode.Decoder
	records    kafka.Iterator
	batch      *block.Batch
	rows       *pipeline.Source
	wm         *watermark.Source
	edge       *edge       // nil: chained
	level      ident.Level // of the destinations
	flushInput int         // bytes of input that make a flush due

	// Since the last flush.
	input  int       // bytes
	taken  int64     // records
	since  time.Time // of the first input
	polled *polled   // its trace, when it is sampled

	wanted       task.Event // the last pause or resume; "": none
	pausedBefore bool       // a checkpoint is taken of a paused task

	rate     rate
	finished bool // the watermark has reached its end and every destination was told
	data     []ident.Task
	messages []dispatch.Message
}

// partition is what the task keeps of one of its partitions.
type partition struct {
	SourcePartition
	port     *port
	sub      Subscription // nil: nothing to read
	next     ident.NextOffset
	end      ident.NextOffset
	held     []arrival // wait for the partition's floor
	waiting  bool
	done     bool
	counters Counters
	repeats  *repeats // ingest keys seen; nil when dedup is off
	replays  replays  // dead letters taken once more
}

// NewSource returns a source task that has not started.
func NewSource(cfg SourceConfig) (*Source, error) {
	p := cfg.Plan
	wrap := func(err error) error { return fmt.Errorf("source task %s: %w", cfg.Self.Task, err) }
	decoder, err := p.Input.NewDecoder(p.Source)
	if err != nil {
		return nil, wrap(err)
	}
	rows, err := pipeline.NewSource(p, pipeline.SourceOptions{Chained: len(cfg.Targets) == 0, VGroup: cfg.Self.Task.VGroup, Seed: rand.Uint64()})
	if err != nil {
		return nil, wrap(err)
	}
	var destinations []ident.Task
	for _, t := range cfg.Targets {
		destinations = append(destinations, t.Peer.Task)
	}
	wm, err := pipeline.SourceWatermark(p, destinations)
	if err != nil {
		return nil, wrap(err)
	}
	wm.Restored = restoredSource(cfg.Checkpoints)
	s := &Source{
		shell: newShell(cfg.Common), cfg: cfg, credits: newCredits(), commands: newMailbox[command](), partitions: map[ident.Partition]*partition{}, inbox: newInbox(), decoder: decoder,
		batch: block.NewBatch(p.Input.Schema, batchRows), rows: rows, wm: watermark.NewSource(wm), flushInput: flushInput,
	}
	s.participant = newParticipant(&s.shell, s, nil)
	if !p.Windowed() {
		s.flushInput = flushRows
	}
	if len(cfg.Targets) > 0 {
		s.level = cfg.Targets[0].Peer.Task.Level
		s.edge = newEdge(&s.cfg, s.meter, s.mono())
	}
	return s, nil
}

// Credited brings what a receiving node says of the task's destinations. From any goroutine.
func (s *Source) Credited(c dispatch.Credited) { s.credits.put(c) }

// newCredits keeps one word of each destination: all that an entry says is the latest (package dispatch), and a task that
// waits for a broker may hear the same every second for long. A notice that ends the stage is said once, so it stays.
func newCredits() *mailbox[dispatch.Credited] {
	m := newMailbox[dispatch.Credited]()
	m.replaces = func(value, older dispatch.Credited) bool {
		said := older.Entry.Notice == dispatch.NoticeNone || older.Entry.Notice == dispatch.NoticeHeld
		return said && value.From == older.From && value.Entry.Task == older.Entry.Task
	}
	return m
}

// Pause stops the reading, Resume goes on with it. From any goroutine.
func (s *Source) Pause() { s.commands.put(command{event: task.Pause}) }

// Resume ends a Pause.
func (s *Source) Resume() { s.commands.put(command{event: task.Resume}) }

// AddPartition gives the task a partition that was found while it runs; one that it has changes nothing. From any
// goroutine.
func (s *Source) AddPartition(p SourcePartition) { s.commands.put(command{partition: &p}) }

// Run does the task's work until the context ends or the task does, and gives everything back.
func (s *Source) Run(ctx context.Context) {
	err := s.run(ctx)
	s.close()
	s.end(ctx, err, s.progress())
}

func (s *Source) run(ctx context.Context) error {
	for _, p := range s.cfg.Partitions {
		if err := s.add(ctx, p); err != nil {
			return err
		}
	}
	s.apply(task.Init)
	tick := time.NewTicker(watermark.TickEvery)
	defer tick.Stop()
	for {
		if err := s.turn(ctx, tick.C); err != nil {
			return err
		}
		if !s.finished || s.paused() || s.edge != nil && !s.edge.sender.Settled() {
			continue
		}
		if s.participant == nil {
			return s.finish(ctx)
		}
		s.boundReached(s.progress) // and takes part in checkpoints until the stage ends
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
	var work, answers <-chan struct{}
	if len(s.inbox.queue) > 0 && s.takes() {
		work = always
	}
	if s.edge != nil {
		answers = s.edge.results.notice
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-s.inbox.notice:
		s.inbox.fill()
		return nil
	case <-answers:
		return s.answered(ctx)
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
	case <-s.participant.notice():
		if err := s.participant.hear(ctx); err != nil {
			return err
		}
		return s.participant.drain(ctx)
	case <-tick:
		return s.tick(ctx)
	case <-work:
		return s.take(ctx, s.inbox.next())
	}
}

// answered takes what the producer says of the blocks on their way.
func (s *Source) answered(ctx context.Context) error {
	for _, a := range s.edge.results.take() {
		if a.err != nil {
			return fmt.Errorf("dispatch from %s to %s: %w", s.cfg.Self.Task, a.To, a.err)
		}
		if err := failpoint.Hit(failpoint.EdgeAppended); err != nil {
			return err
		}
		a.Now = s.mono()
		s.edge.appended(a)
		if err := s.send(ctx, a.Sent); err != nil {
			return err
		}
	}
	return nil
}

func (s *Source) paused() bool { return s.machine.State() == task.Paused || s.pausedBefore }

// takes tells whether the task takes input: not while it is paused, while a flush waits for credit, or while the node's
// memory is full.
func (s *Source) takes() bool {
	return !s.paused() && s.flushes() && s.cfg.Memory.Room()
}

// flushes tells whether a flush may be handed over.
func (s *Source) flushes() bool { return s.edge == nil || s.edge.taking() }

// add begins to read a partition.
func (s *Source) add(ctx context.Context, sp SourcePartition) error {
	p := &partition{SourcePartition: sp, port: s.inbox.port(), next: sp.Start, end: sp.Start}
	if w := s.cfg.Plan.Input.DedupWindow; w != nil {
		p.repeats = newRepeats(*w)
	}
	if err := s.restore(p); err != nil {
		return err
	}
	sp = p.SourcePartition
	s.partitions[sp.Partition] = p
	if err := s.obey(ctx, watermark.Added{Partition: sp.Partition, Next: sp.Start, Until: sp.Until, Now: s.mono()}); err != nil {
		return err
	}
	if p.done {
		return nil
	}
	sub, err := s.cfg.Reader.Subscribe(kafka.SubscribeSpec{
		Topic: sp.Topic, Partition: sp.Partition, TopicID: sp.TopicID, From: sp.Start, Isolation: kafka.ReadCommitted, Inbox: p.port,
	})
	if err != nil {
		return err
	}
	p.sub = sub
	return nil
}

// command obeys what comes from outside: pause and resume, a partition found while running.
func (s *Source) command(ctx context.Context, c command) error {
	if c.partition == nil {
		s.wanted = c.event
		s.apply(c.event)
		return nil
	}
	if s.partitions[c.partition.Partition] != nil {
		return nil
	}
	return s.add(ctx, *c.partition)
}

// tick passes time: what is overdue is flushed, watermarks are told, requests repeated, the report made.
func (s *Source) tick(ctx context.Context) error {
	if err := s.cfg.Outputs.Stopped(); err != nil {
		return err
	}
	if err := s.participant.tick(ctx); err != nil {
		return err
	}
	now := s.mono()
	if s.paused() {
		for n := range s.partitions {
			if err := s.obey(ctx, watermark.Fetched{Partition: n, Lag: watermark.LagPaused, Now: now}); err != nil {
				return err
			}
		}
	}
	if s.rows.Pending() && time.Since(s.since) >= flushAfter && s.flushes() {
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
	if s.reportDue() {
		s.report(s.progress())
	}
	return nil
}

// finish makes everything durable; then the task is finished.
func (s *Source) finish(ctx context.Context) error {
	s.report(s.progress())
	if err := errors.Join(s.cfg.Aside.Flush(ctx), s.cfg.Outputs.Flush(ctx)); err != nil {
		return err
	}
	return errFinished
}

// progress is what the task reports of its partitions.
func (s *Source) progress() Progress {
	info := s.wm.Explain()
	out := Progress{Watermark: info.Watermark, Idle: info.Idle, Source: &info}
	if s.edge != nil {
		out.Silent = s.edge.silent
	}
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
	s.inbox.end()
	s.credits.close()
	s.commands.close()
	if s.edge != nil {
		s.edge.close()
	}
	s.polled.end(s.taken)
	s.shell.close()
}
