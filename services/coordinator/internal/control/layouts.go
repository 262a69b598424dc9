package control

import (
	"maps"
	"sync"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/services/coordinator/internal/control/decide"
)

// layouts keeps the layout of each stream: its specifications never change, and planning is not free.
type layouts struct {
	mu  sync.Mutex
	all map[ident.StreamID]planned
}

// planned is a layout over a number of partitions, or why this binary cannot plan the stream.
type planned struct {
	Layout
	partitions int
	err        error
}

func newLayouts() *layouts { return &layouts{all: map[ident.StreamID]planned{}} }

// layout plans the stream, once for a number of partitions.
func (s *Service) layout(r row) planned {
	s.layouts.mu.Lock()
	defer s.layouts.mu.Unlock()
	l, known := s.layouts.all[r.ID]
	if !known || l.partitions != len(r.Partitions) {
		l.partitions = len(r.Partitions)
		l.Layout, l.err = s.Planner.Layout(r.SourceSpec, r.Spec, r.ID, partitionsOf(r.Partitions))
		s.layouts.all[r.ID] = l
	}
	return l
}

// limits are the configured limits with the stream's own.
func (s *Service) limits(l planned) decide.Limits {
	limits := s.config.Limits
	if l.err == nil && l.StartTimeout > 0 {
		limits.StartTimeout = ident.MonoMs(l.StartTimeout.Milliseconds())
		limits.MaxRestarts = l.MaxRestarts
	}
	return limits
}

// forget drops the layouts of streams that are no more.
func (l *layouts) forget(exists func(ident.StreamID) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.all, func(id ident.StreamID, _ planned) bool { return !exists(id) })
}

func partitionsOf(in []SourcePartition) []ident.Partition {
	out := make([]ident.Partition, len(in))
	for i, p := range in {
		out[i] = p.Partition
	}
	return out
}
