package control

import (
	"sync"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/services/coordinator/internal/control/decide"
)

// layouts keeps the layout of each stream: what a stream was created with never changes, and planning is not free.
type layouts struct {
	mu  sync.Mutex
	all map[ident.StreamID]planned
}

// planned is a layout, or why this binary cannot plan the stream.
type planned struct {
	Layout
	err error
}

func newLayouts() *layouts { return &layouts{all: map[ident.StreamID]planned{}} }

// layout plans the stream, once.
func (s *Service) layout(r row) planned {
	s.layouts.mu.Lock()
	defer s.layouts.mu.Unlock()
	l, known := s.layouts.all[r.ID]
	if !known {
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
	for id := range l.all {
		if !exists(id) {
			delete(l.all, id)
		}
	}
}

func partitionsOf(in []SourcePartition) []ident.Partition {
	out := make([]ident.Partition, len(in))
	for i, p := range in {
		out[i] = p.Partition
	}
	return out
}
