package align_test

import (
	"slices"

	"github.com/pondage/pondage/internal/align"
	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/dispatch"
	"github.com/pondage/pondage/internal/ident"
)

// source takes rows, hands them on at the flush, and notes its barriers.
type source struct {
	member
	sender   *dispatch.Sender
	buffer   map[ident.Task][]int // taken and not flushed
	channels map[ident.Task]*channel
}

// channel is everything a source has handed over to one destination, in order, and the request under way.
type channel struct {
	items   []item
	request []dispatch.Numbered
}

// item is a message: rows, or a trigger.
type item struct {
	body       dispatch.Handle
	rows       []int
	checkpoint ident.CheckpointID
	tx         ident.TxID
	left       ident.MonoMs
	msg        ident.MsgID // of a trigger
}

func (w *world) source(self ident.Task) *source {
	s := &source{member: w.member(self, nil), buffer: map[ident.Task][]int{}, channels: map[ident.Task]*channel{}}
	cfg := dispatch.SenderConfig{Self: selfOf(self)}
	for _, a := range w.aggs {
		cfg.Destinations = append(cfg.Destinations, peer(a.self))
		s.channels[a.self] = &channel{}
	}
	s.sender = dispatch.NewSender(cfg, 0)
	s.effect = func(f align.Effect) {
		switch f := f.(type) {
		case align.Flush:
			s.flush()
		case align.Forward:
			s.trigger(f.Checkpoint, f.Tx, f.Deadline-w.now)
		case align.Refused:
			w.later(func() {
				if w.lead.running && f.Checkpoint == w.lead.last && f.Tx == w.lead.tx {
					w.lead.settle(false)
				}
			})
		}
		s.obeyed(f)
	}
	return s
}

// take takes rows in, while the sender does.
func (s *source) take() {
	if !s.sender.Taking() {
		return
	}
	for range 1 + s.w.draw("rows", 5) {
		to := s.w.aggs[s.w.draw("agg", len(s.w.aggs))].self
		s.w.rows++
		s.buffer[to] = append(s.buffer[to], s.w.rows)
	}
}

// flush hands on what is held back, two rows a message. Nothing is held back while a flush waits for credit.
func (s *source) flush() {
	f := dispatch.Flush{Now: s.w.now}
	for _, a := range s.w.aggs {
		for rows := range slices.Chunk(s.buffer[a.self], 2) {
			s.w.handle++
			s.channels[a.self].items = append(s.channels[a.self].items, item{body: s.w.handle, rows: rows})
			f.Messages = append(f.Messages, dispatch.Message{To: a.self, Type: block.MsgData, Body: s.w.handle, Bytes: dispatch.MaxBatch})
		}
		s.buffer[a.self] = nil
	}
	if len(f.Messages) > 0 {
		s.step(f)
	}
}

func (s *source) trigger(c ident.CheckpointID, tx ident.TxID, left ident.MonoMs) {
	s.w.handle++
	it := item{body: s.w.handle, checkpoint: c, tx: tx, left: left}
	s.step(dispatch.Control{Message: dispatch.Message{Type: block.MsgCheckpointTrigger, Body: it.body, Checkpoint: c, Tx: tx}, Now: s.w.now})
	for _, e := range s.sender.Entries() {
		it.msg = e.Sent
		s.channels[e.Peer.Task].items = append(s.channels[e.Peer.Task].items, it)
	}
}

// stray sends a trigger that nobody has asked for: of a checkpoint that is over, or of another transaction.
func (s *source) stray() {
	if over := int(s.w.lead.now().settled); over > 0 && s.sender.Taking() {
		c := ident.CheckpointID(1 + s.w.draw("over", over))
		s.flush()
		s.trigger(c, ident.TxID(1000+c), 60_000)
	} else if s.w.lead.running {
		s.flush()
		s.trigger(s.w.lead.last, 1, 60_000)
	}
}

func (s *source) step(e dispatch.SendEvent) {
	effects, err := s.sender.Step(e)
	if err != nil {
		s.w.t.Fatalf("%s: %T: %v", s.self, e, err)
	}
	for _, f := range slices.Clone(effects) {
		switch f := f.(type) {
		case dispatch.Produce:
			s.channels[f.To].request = f.Messages
			s.produce(f.To)
		case dispatch.Repeat:
			s.produce(f.To)
		case dispatch.NeedReset:
			s.w.t.Fatalf("%v", f)
		}
	}
}

// produce puts a copy of the request on its way; it may be appended late, and more than once.
func (s *source) produce(to ident.Task) {
	messages := s.channels[to].request
	s.w.later(func() {
		result := dispatch.ResultOK
		if s.w.chance("the broker does not take it", 6) {
			result = dispatch.ResultError
		} else {
			a := s.w.aggs[to.VGroup]
			for _, m := range messages {
				a.log = append(a.log, logged{s, m})
			}
			if s.w.chance("the answer is lost", 6) {
				return
			}
		}
		s.step(dispatch.Sent{To: to, Stage: stageNow, First: messages[0].ID, Last: messages[len(messages)-1].ID, Result: result, Now: s.w.now})
	})
}

// agg merges rows; its state is what it has merged of each source.
type agg struct {
	member
	log   []logged
	state map[ident.Task][]int
}

// logged is a message in an aggregating task's partition; its offset is its place.
type logged struct {
	from *source
	dispatch.Numbered
}

func (w *world) agg(i int, upstreams []ident.Task) *agg {
	self := ident.Task{Level: ident.LevelAgg, VGroup: ident.VGroup(i)}
	a := &agg{member: w.member(self, upstreams), state: map[ident.Task][]int{}}
	a.row = func(m dispatch.Arrived) {
		for _, it := range w.sources[m.Header.Upstream.VGroup].channels[self].items {
			if it.body == m.Body {
				a.state[m.Header.Upstream] = append(a.state[m.Header.Upstream], it.rows...)
			}
		}
	}
	a.effect = func(f align.Effect) {
		switch f := f.(type) {
		case align.Freeze:
			a.check(f)
		case align.AskTriggers:
			a.ask(f)
		}
		a.obeyed(f)
	}
	return a
}

// check is I5: the state is exactly what lies before the barrier of each input.
func (a *agg) check(f align.Freeze) {
	for _, s := range a.w.sources {
		var want []int
		for _, it := range s.channels[a.self].items {
			if it.checkpoint == f.Checkpoint && it.tx == f.Tx {
				break
			}
			want = append(want, it.rows...)
		}
		if !slices.Equal(a.state[s.self], want) {
			a.w.t.Fatalf("%s froze %d with rows %v of %s, before its barrier lie %v", a.self, f.Checkpoint, a.state[s.self], s.self, want)
		}
	}
}

// ask brings the question to each upstream, and its answer back.
func (a *agg) ask(f align.AskTriggers) {
	for _, from := range slices.Clone(f.From) {
		s := a.w.sources[from.VGroup]
		a.w.later(func() {
			answer := s.core.Trigger(f.Checkpoint, f.Tx)
			for _, it := range s.channels[a.self].items {
				if it.checkpoint == f.Checkpoint && it.tx == f.Tx && answer.Status == align.StatusSent {
					answer.At.Msg = it.msg
				}
			}
			a.align(align.TriggerAnswered{Checkpoint: f.Checkpoint, From: from, Answer: answer, Mine: a.mine(from), Now: a.w.now})
		})
	}
}

// read takes a fetch of so many messages: all of it, also what lies behind a seek.
func (a *agg) read(n int) {
	from := int(a.next)
	for i, m := range a.log[from:min(from+n, len(a.log))] {
		h := &block.Header{
			Version: block.WireVersion, Stream: streamID, Stage: stageNow, Msg: m.ID, Upstream: m.from.self, UpNode: "me",
			Downstream: a.self, Down: here, Type: m.Type, Checkpoint: m.Checkpoint, Tx: m.Tx,
		}
		var left ident.MonoMs
		for _, it := range m.from.channels[a.self].items {
			if it.body == m.Body {
				left = it.left
			}
		}
		bytes := 10 + 10*int(m.Body%2)
		a.arrive(dispatch.Arrived{Header: h, Body: m.Body, Bytes: bytes, Offset: ident.NextOffset(from + i)}, left)
	}
}

// credit tells the sources what has been consumed.
func (a *agg) credit() {
	for _, s := range a.w.sources {
		s.step(dispatch.Credited{From: here, Now: a.w.now, Entry: dispatch.CreditEntry{Stream: streamID, Stage: stageNow, Upstream: s.self, Task: a.self, Consumed: a.processed[s.self]}})
	}
}
