package task

import (
	"context"
	"fmt"
	"slices"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/dispatch"
	"github.com/pondage/pondage/internal/failpoint"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/rowjson"
	"github.com/pondage/pondage/internal/watermark"
)

// codeRowTooLarge is the code of a single row that is larger than a block may be.
const codeRowTooLarge = "row_too_large"

// flush hands everything held back to the edge or to the sinks, in the order that doc.go promises.
func (s *Source) flush(ctx context.Context) error {
	p, records := s.polled, s.taken
	s.input, s.taken, s.polled = 0, 0, nil
	s.data, s.messages = s.data[:0], s.messages[:0]
	var err error
	s.rows.Flush(func(to ident.VGroup, rows *block.Batch) {
		if err == nil {
			err = split(rows, func(piece *block.Batch) error { return s.handOnce(ctx, p, to, piece) })
		}
	})
	p.end(records)
	if err != nil {
		return err
	}
	s.meter.flushed(ctx)
	return s.obey(ctx, watermark.Flush{Data: s.data, Now: s.mono()})
}

// handOnce takes a piece of the flush once, unless a failpoint has it otherwise.
func (s *Source) handOnce(ctx context.Context, p *polled, to ident.VGroup, rows *block.Batch) error {
	if failpoint.On(failpoint.DropOneBlock) {
		return nil
	}
	if failpoint.On(failpoint.DupOneBlock) {
		if err := s.hand(ctx, p, to, rows); err != nil {
			return err
		}
	}
	return s.hand(ctx, p, to, rows)
}

// hand takes a piece of the flush.
func (s *Source) hand(ctx context.Context, p *polled, to ident.VGroup, rows *block.Batch) error {
	if s.edge == nil {
		return s.emit(p.within(ctx), rows)
	}
	task := ident.Task{Level: s.level, VGroup: to}
	m, ok, err := s.edge.message(task, rows, p)
	switch {
	case err != nil:
		return err
	case !ok:
		return s.tooLarge(ctx, p, to, rows)
	}
	s.messages = append(s.messages, m)
	s.data = append(s.data, task)
	return nil
}

// tooLarge halves a piece that does not fit into a request, and sets aside the row that does not fit alone.
func (s *Source) tooLarge(ctx context.Context, p *polled, to ident.VGroup, rows *block.Batch) error {
	if n := rows.Rows(); n > 1 {
		if err := s.hand(ctx, p, to, rows.Slice(0, n/2)); err != nil {
			return err
		}
		return s.hand(ctx, p, to, rows.Slice(n/2, n))
	}
	row := rowjson.NewEncoder(rows.Schema).AppendRow(nil, rows.Cols, 0)
	reason := fmt.Sprintf("a request of the stream's edge may have %d bytes", s.edge.maxBatch)
	return s.cfg.Aside.DeadResult(ctx, to, row, codeRowTooLarge, reason)
}

// obey advances the watermark by one event and obeys its effects.
func (s *Source) obey(ctx context.Context, e watermark.Event) error {
	effects, err := s.wm.Step(e)
	if err != nil {
		return err
	}
	// Obeying one effect may step the core again, which uses its slice anew.
	for _, f := range slices.Clone(effects) {
		switch f := f.(type) {
		case watermark.Wait:
			s.partitions[f.Partition].waiting = true
		case watermark.Go:
			// What waited is taken in its turn: a flush may be waiting for credit at this moment.
			p := s.partitions[f.Partition]
			p.waiting = false
			s.inbox.putBack(p.held)
			p.held = nil
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
	if err := s.edge.step(ctx, e); err != nil {
		return err
	}
	if s.edge.over != nil {
		return &over{reset: *s.edge.over}
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
