package memstore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/services/coordinator/internal/store"
	"github.com/pondage/pondage/services/coordinator/internal/store/lease"
)

// Store is a store.Store and a store.Leases in memory.
type Store struct {
	writing sync.Mutex // held by the one Update under way
	state   atomic.Pointer[state]

	mu       sync.Mutex // guards watchers
	watchers map[chan struct{}]bool
}

var (
	_ store.Store  = (*Store)(nil)
	_ store.Leases = (*Store)(nil)
)

// New returns an empty metastore, as after the migrations.
func New() *Store {
	s := &Store{watchers: map[chan struct{}]bool{}}
	s.state.Store(&state{
		seen: lease.Seen{Beat: lease.Released}, sources: map[string]store.Source{}, streams: map[ident.StreamID]store.Stream{},
		tasks: map[ident.StreamID][]store.Task{}, nodes: map[ident.NodeID]store.Node{},
		answers: map[store.AnswerKey]answer{}, tokens: map[string]store.Token{},
		checkpoints: map[store.CheckpointRef]store.Checkpoint{}, parts: map[store.CheckpointRef][]store.CheckpointTask{},
		savepoints: map[savepointKey]savepoint{},
	})
	return s
}

// state is all tables. A committed one is never changed.
type state struct {
	seen    lease.Seen
	cluster *store.Cluster
	lastID  int64 // of all tables
	sources map[string]store.Source
	streams map[ident.StreamID]store.Stream
	tasks   map[ident.StreamID][]store.Task
	nodes   map[ident.NodeID]store.Node
	vgroups []store.VGroup
	events  []store.Event // oldest first
	answers map[store.AnswerKey]answer
	tokens  map[string]store.Token

	checkpoints map[store.CheckpointRef]store.Checkpoint
	parts       map[store.CheckpointRef][]store.CheckpointTask
	savepoints  map[savepointKey]savepoint
}

type answer struct {
	store.Answer
	at time.Time
}

func (s *state) clone() *state {
	c := *s
	c.sources, c.streams, c.tasks = maps.Clone(s.sources), maps.Clone(s.streams), maps.Clone(s.tasks)
	c.nodes, c.answers, c.tokens = maps.Clone(s.nodes), maps.Clone(s.answers), maps.Clone(s.tokens)
	c.checkpoints, c.parts, c.savepoints = maps.Clone(s.checkpoints), maps.Clone(s.parts), maps.Clone(s.savepoints)
	c.vgroups, c.events = slices.Clone(s.vgroups), slices.Clip(s.events)
	return &c
}

// View runs fn on the newest committed state.
func (s *Store) View(ctx context.Context, fn func(store.Reader) error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("read metastore: %w: %w", store.ErrDown, ctx.Err())
	}
	return fn(&tx{state: s.state.Load()})
}

// Update runs fn on a copy and makes it the state.
func (s *Store) Update(ctx context.Context, term ident.Term, fn func(store.Tx) error) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if ctx.Err() != nil {
		return fmt.Errorf("begin update: %w: %w", store.ErrDown, ctx.Err())
	}
	t := &tx{state: s.state.Load().clone()}
	if term != store.AnyTerm && term != t.state.seen.Term {
		return fmt.Errorf("%w: %d, the current one is %d", store.ErrStaleTerm, term, t.state.seen.Term)
	}
	if err := fn(t); err != nil {
		return err
	}
	s.state.Store(t.state)
	if t.wrote {
		s.wake()
	}
	return nil
}

// Watch wakes its reader after commits.
func (s *Store) Watch(ctx context.Context) <-chan struct{} {
	woken := make(chan struct{}, 1)
	s.mu.Lock()
	s.watchers[woken] = true
	s.mu.Unlock()
	context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watchers, woken)
		close(woken)
	})
	return woken
}

func (s *Store) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.watchers {
		select {
		case w <- struct{}{}:
		default:
		}
	}
}

// Ping always answers.
func (s *Store) Ping(context.Context) error { return nil }

// Lease reads the lease.
func (s *Store) Lease(context.Context) (lease.Seen, error) { return s.state.Load().seen, nil }

// TakeOver raises the term when the lease is as it was seen.
func (s *Store) TakeOver(_ context.Context, holder string, from lease.Seen) (ident.Term, error) {
	err := s.changeLease(func(l *lease.Seen) bool {
		if *l != from {
			return false
		}
		*l = lease.Seen{Term: from.Term + 1, Holder: holder}
		return true
	})
	return from.Term + 1, err
}

// RenewLease raises the beat.
func (s *Store) RenewLease(_ context.Context, term ident.Term) error {
	return s.changeLease(func(l *lease.Seen) bool {
		l.Beat++
		return l.Term == term && l.Beat > 0
	})
}

// ReleaseLease gives the lease up.
func (s *Store) ReleaseLease(_ context.Context, term ident.Term) error {
	return s.changeLease(func(l *lease.Seen) bool {
		l.Beat = lease.Released
		return l.Term == term
	})
}

// EndSessions has nothing to end.
func (s *Store) EndSessions(context.Context, string) error { return nil }

// changeLease changes a copy of the lease and keeps it when change says so.
func (s *Store) changeLease(change func(*lease.Seen) bool) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	next := s.state.Load().clone()
	if !change(&next.seen) {
		return store.ErrStaleTerm
	}
	s.state.Store(next)
	return nil
}
