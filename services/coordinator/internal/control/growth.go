package control

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/task"
	"github.com/pondage/pondage/services/coordinator/internal/store"
)

// growthPeriod is how often a stream's source topic is asked for new partitions, in ms (DESIGN §2).
const growthPeriod ident.MonoMs = 10_000

// growth is when each stream's source topic is asked next.
type growth struct {
	mu   sync.Mutex
	next map[ident.StreamID]ident.MonoMs
}

func newGrowth() *growth { return &growth{next: map[ident.StreamID]ident.MonoMs{}} }

// reset forgets, for a new term.
func (g *growth) reset() {
	g.mu.Lock()
	defer g.mu.Unlock()
	clear(g.next)
}

// forget drops the streams that are no more.
func (g *growth) forget(exists func(ident.StreamID) bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	maps.DeleteFunc(g.next, func(id ident.StreamID, _ ident.MonoMs) bool { return !exists(id) })
}

// due tells whether the stream is to be asked for now; then the next time is a period away.
func (g *growth) due(id ident.StreamID, now ident.MonoMs) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	next, known := g.next[id]
	if known && now < next {
		return false
	}
	g.next[id] = now + growthPeriod
	return known // a stream has just resolved its partitions when it is seen first
}

// lookForPartitions asks, beside the loop, whether the topic of a running stream has grown (trap T26). A bounded stream
// reads what there was when it was created.
func (s *Service) lookForPartitions(ctx context.Context, p *picture, r row, wg *sync.WaitGroup) {
	unbounded := len(r.Partitions) > 0 && r.Partitions[0].Until == nil
	if !working(r.State) || !unbounded || !s.growth.due(r.ID, s.Clock.Mono()) {
		return
	}
	wg.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
		defer cancel()
		if err := s.addPartitions(ctx, p, r); err != nil && ctx.Err() == nil {
			s.Log.Warn("look for new partitions", "stream", r.Name, "error", err) // what is wrong with the topic, its tasks report
		}
	})
}

func (s *Service) addPartitions(ctx context.Context, p *picture, r row) error {
	source, err := s.Planner.Source(r.SourceSpec)
	if err != nil {
		return err
	}
	found, err := s.Kafka.Resolve(ctx, source.Topic, Position{Kind: PositionEarliest}, nil)
	if err != nil || len(added(r.Partitions, found)) == 0 {
		return err
	}
	err = s.guarded(ctx, p.term, func(ctx context.Context, tx store.Tx) error {
		row, err := tx.LockStream(ctx, r.ID)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		return s.grow(ctx, tx, row, found)
	})
	s.changed()
	return err
}

// added returns the partitions that are new, to be read from offset 0. Those of another topic under the name are not
// the stream's: its tasks will say so.
func added(have, found []SourcePartition) []SourcePartition {
	var out []SourcePartition
	for _, f := range found {
		known := slices.ContainsFunc(have, func(h SourcePartition) bool { return h.Partition == f.Partition })
		if !known && f.TopicID == have[0].TopicID {
			f.Start, f.Until = 0, nil
			out = append(out, f)
		}
	}
	return out
}

// grow adds the partitions to the row. Where each has its task already, the tasks take them with the next order. Where
// one makes a new task the stream is placed anew: its receivers have upstreams that they did not know (DESIGN §2).
func (s *Service) grow(ctx context.Context, tx store.Tx, row store.Stream, found []SourcePartition) error {
	more := added(row.Partitions, found)
	if len(more) == 0 || !working(row.State) {
		return nil // one that was stopped meanwhile is asked for again when it runs
	}
	before, err := s.tasks(row)
	if err != nil {
		return err
	}
	row.Partitions = append(slices.Clone(row.Partitions), more...)
	after, err := s.tasks(row)
	if err != nil {
		return err
	}
	if len(after) > len(before) {
		status, err := task.StreamStatus{State: row.State, Wanted: row.Wanted}.Step(task.StreamReset)
		if err != nil {
			return fmt.Errorf("stream %s: %w", row.Name, err)
		}
		row.State, row.Wanted, row.StageDue, row.Ready = status.State, status.Wanted, true, false
		row.Cause = &store.Cause{Code: CodePartitionsAdded, Message: "the source topic has grown"}
	}
	row.Generation++
	if row, err = tx.UpdateStream(ctx, row); err != nil {
		return err
	}
	return tx.InsertEvent(ctx, streamEvent(row, store.Info, CodePartitionsAdded, "reads %s from here on", counted(len(row.Partitions), "partition")))
}

// tasks are the different tasks of a stream that reads the row's partitions.
func (s *Service) tasks(row store.Stream) (map[ident.Task]bool, error) {
	l, err := s.Planner.Layout(row.SourceSpec, row.Spec, row.ID, partitionsOf(row.Partitions))
	if err != nil {
		return nil, fmt.Errorf("stream %s: plan for %d partitions: %w", row.Name, len(row.Partitions), err)
	}
	tasks := map[ident.Task]bool{}
	for _, t := range l.Tasks {
		tasks[t] = true
	}
	return tasks, nil
}
