package task

import (
	"context"
	"time"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/kafka"
	"github.com/pondage/pondage/internal/pipeline"
	"github.com/pondage/pondage/internal/watermark"
)

// Bounds of a source task's work.
const (
	// batchRows is how many rows are decoded before they are evaluated: their columns stay in the processor's cache.
	batchRows = 2048
	// flushAfter and flushInput end a pre-aggregation that no empty fetch has ended (DESIGN §5).
	flushAfter = 200 * time.Millisecond
	flushInput = 64 << 20 // bytes of input
	// flushRows is flushInput of a stream without window: its rows do not become fewer by waiting. One full chunk.
	flushRows = kafka.DefaultChunkBytes
)

// take processes a chunk, unless its partition waits for a floor: then it keeps it.
func (s *Source) take(ctx context.Context, c arrival) error {
	p := s.partitions[c.Partition]
	if c.Err != nil {
		return unreadable(c.Err)
	}
	if p.done {
		s.give(p, c)
		return nil
	}
	p.end = max(p.end, c.HighWatermark)
	if !p.waiting {
		err := s.obey(ctx, watermark.Fetched{Partition: c.Partition, Records: min(c.Size(), 1), Lag: lag(c.Chunk), Now: s.monoAt(c.at)})
		if err != nil {
			c.Release()
			return err
		}
	}
	if p.waiting {
		p.held = append(p.held, c)
		return nil
	}
	return s.process(ctx, p, c)
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
func (s *Source) give(p *partition, c arrival) {
	c.Release()
	p.port.took()
	p.sub.Resume()
}

// process takes the records of a chunk through the pipeline and flushes where that is due.
func (s *Source) process(ctx context.Context, p *partition, c arrival) error {
	if s.input == 0 && c.Size() > 0 {
		s.since = time.Now()
		s.polled = s.cfg.Tracing.poll(ctx, s.cfg.Self, s.cfg.Plan.Stream.Name, c)
	}
	before := p.counters
	if err := s.decode(ctx, p, c.Chunk); err != nil {
		c.Release()
		return err
	}
	s.meter.processed(ctx, before, p.counters, c.Size())
	s.taken += p.counters.Accepted() - before.Accepted()
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
	if s.input == 0 && !p.done {
		return nil // nothing has come since the last flush
	}
	if !filled || p.done || s.input >= s.flushInput || s.rows.Full() || time.Since(s.since) >= flushAfter {
		return s.flush(ctx)
	}
	return nil
}

// decode decodes the records of a chunk and evaluates them, batch by batch.
func (s *Source) decode(ctx context.Context, p *partition, c *kafka.Chunk) error {
	limits := s.cfg.Plan.Input.Limits(time.Now().UnixMilli())
	// The last two columns of every source (plan.Input.Schema).
	n := len(s.batch.Cols)
	numbers, offsets := s.batch.Cols[n-2], s.batch.Cols[n-1]
	it := &s.records
	for it.Reset(c); it.Next(); {
		r := &it.Record
		if p.Until.Reached(ident.NextOffset(r.Offset)) {
			break
		}
		if r.HeaderCount() > 0 {
			take, err := s.admit(ctx, p, r)
			if err != nil {
				return err
			}
			if !take {
				continue
			}
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
		return unreadable(err)
	}
	return s.evaluate(ctx, p, c)
}

// admit tells whether a record with headers is to be decoded: not one that repeats another.
func (s *Source) admit(ctx context.Context, p *partition, r *kafka.Record) (bool, error) {
	if p.repeats.seen(r) {
		return false, nil
	}
	v := p.replays.judge(&p.SourcePartition, s.cfg.Plan.Stream.Name, r)
	if v == misplaced {
		p.counters.DeadLettered++
		return false, s.cfg.Aside.Dead(ctx, p.Topic, p.Partition, r, codeMisplaced, "it is the replay of a record of another topic or partition")
	}
	return v == takeIt, nil
}

// evaluate takes the decoded rows through the pipeline, and sets aside what that has listed.
func (s *Source) evaluate(ctx context.Context, p *partition, c *kafka.Chunk) error {
	s.rows.Take(s.batch, s.wm.Track(p.Partition), &p.counters)
	s.batch.Reset()
	if len(s.rows.Rejected()) == 0 && len(s.rows.Late()) == 0 {
		return nil
	}
	return s.setAside(ctx, c)
}

// setAside finds the records that the pipeline has listed in the chunk once more, and writes them to their topics. It is
// the rare path, and so the hot one keeps nothing of a record.
func (s *Source) setAside(ctx context.Context, c *kafka.Chunk) error {
	rejects, lates := map[ident.LastOffset]pipeline.Rejected{}, map[ident.LastOffset]pipeline.Late{}
	for _, r := range s.rows.Rejected() {
		rejects[r.Offset] = r
	}
	for _, l := range s.rows.Late() {
		lates[l.Offset] = l
	}
	var it kafka.Iterator // the task's own is in the middle of the chunk
	it.Reset(c)
	for left := len(rejects) + len(lates); left > 0 && it.Next(); {
		if r, ok := rejects[it.Record.Offset]; ok {
			left--
			if err := s.cfg.Aside.DeadRow(ctx, c.Topic, c.Partition, &it.Record, r.Code, r.Reason); err != nil {
				return err
			}
		}
		if l, ok := lates[it.Record.Offset]; ok {
			left--
			if err := s.cfg.Aside.Late(ctx, c.Topic, c.Partition, &it.Record, l.Watermark); err != nil {
				return err
			}
		}
	}
	return it.Err()
}
