package control

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/services/coordinator/internal/control/decide"
	"github.com/pondage/pondage/services/coordinator/internal/placement"
	"github.com/pondage/pondage/services/coordinator/internal/store"
)

// poll is how often the loop looks when nothing wakes it: wake-ups may be lost.
const poll = time.Second

// housekeeping is how often old events and answers are removed.
const housekeeping = 10 * time.Minute

// What housekeeping keeps.
const (
	keepEvents  = 10_000
	keepAnswers = 24 * time.Hour
)

// lead drives the streams under the term until ctx ends: look at the metastore, step every stream, push what changed,
// wait for something to happen. An error of the metastore is waited out; the term is given up by who called.
func (s *Service) lead(ctx context.Context, term ident.Term) {
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	s.board.reset(s.Clock.Mono())
	s.parts.reset()
	s.courses.reset()
	s.jobs.reset()
	s.push.reset()
	s.growth.reset()
	s.stale.Store(true)
	changes := s.Store.Watch(ctx)
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	alarm := time.NewTimer(poll) // what time alone makes due
	defer alarm.Stop()
	cleaning := time.NewTicker(housekeeping)
	defer cleaning.Stop()
	for initialised := false; ; {
		if !initialised {
			initialised = s.report(ctx, "initialise the cluster", s.initialise(ctx, term))
		}
		if initialised {
			at, err := s.pass(ctx, term, &wg)
			s.report(ctx, "control loop", err)
			if at != 0 {
				alarm.Reset(time.Duration(max(0, at-s.Clock.Mono())) * time.Millisecond)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-changes:
			s.stale.Store(true)
		case <-ticker.C:
			s.stale.Store(true)
		case <-cleaning.C:
			s.report(ctx, "remove old events and answers", s.clean(ctx, term))
		case <-alarm.C:
		case <-s.woken:
		}
	}
}

// report logs a failed action of the loop, and tells whether it went well.
func (s *Service) report(ctx context.Context, what string, err error) bool {
	if err != nil && ctx.Err() == nil {
		s.Log.Warn(what, "error", err)
	}
	return err == nil
}

// initialise writes the cluster's row, or compares it with the configuration.
func (s *Service) initialise(ctx context.Context, term ident.Term) error {
	want := store.Cluster{ID: rand.Text(), Name: s.config.Cluster, VGroups: s.config.VGroups}
	var got store.Cluster
	err := s.guarded(ctx, term, func(ctx context.Context, tx store.Tx) (err error) {
		got, err = tx.InitCluster(ctx, want)
		return err
	})
	if err == nil && (got.Name != want.Name || got.VGroups != want.VGroups) {
		return fmt.Errorf("the metastore belongs to cluster %s with %d vgroups, the configuration says %s with %d",
			got.Name, got.VGroups, want.Name, want.VGroups)
	}
	return err
}

// guarded is one step in the metastore, with a deadline.
func (s *Service) guarded(ctx context.Context, term ident.Term, fn func(context.Context, store.Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	return s.Store.Update(ctx, term, func(tx store.Tx) error { return fn(ctx, tx) })
}

func (s *Service) clean(ctx context.Context, term ident.Term) error {
	return s.guarded(ctx, term, func(ctx context.Context, tx store.Tx) error {
		return errors.Join(tx.TrimEvents(ctx, keepEvents), tx.TrimAnswers(ctx, keepAnswers))
	})
}

// pass looks, and steps nodes, vgroups, streams and checkpoints until there is nothing left to write. It returns when
// time alone makes something due; 0: not before something changes.
func (s *Service) pass(ctx context.Context, term ident.Term, wg *sync.WaitGroup) (at ident.MonoMs, err error) {
	for ctx.Err() == nil {
		p := s.picture.Load()
		if p == nil || p.term != term || s.stale.Load() {
			if p, err = s.look(ctx, term); err != nil {
				return 0, err
			}
		}
		wrote, err := s.steps(ctx, p, wg)
		if err != nil {
			return 0, err
		}
		did, at, err := s.stepCheckpoints(ctx, p, wg)
		if err != nil {
			return 0, err
		}
		wrote = wrote || did
		s.pushOrders(ctx, p, wg)
		if !wrote {
			exists := func(id ident.StreamID) bool { _, ok := p.row(id); return ok }
			s.board.forget(exists)
			s.parts.forget(exists)
			s.courses.forget(exists)
			s.layouts.forget(exists)
			s.growth.forget(exists)
			s.jobs.forget(exists)
			return at, nil
		}
		s.stale.Store(true)
	}
	return 0, nil
}

func (s *Service) steps(ctx context.Context, p *picture, wg *sync.WaitGroup) (wrote bool, err error) {
	wrote, err = s.stepNodes(ctx, p)
	if err != nil || wrote {
		return wrote, err
	}
	for _, r := range p.rows {
		did, stepErr := s.stepStream(ctx, p, r, wg)
		if errors.Is(stepErr, store.ErrStaleTerm) || errors.Is(stepErr, store.ErrDown) {
			return wrote, stepErr
		}
		s.report(ctx, "step stream "+r.Name, stepErr) // one stream's trouble is not its neighbour's
		s.lookForPartitions(ctx, p, r, wg)
		wrote = wrote || did
	}
	return wrote, nil
}

// stepNodes writes what the beats say about nodes, and gives owners to vgroups.
func (s *Service) stepNodes(ctx context.Context, p *picture) (wrote bool, err error) {
	for _, n := range p.nodes {
		next := s.judge(n, s.Clock.Mono())
		if next == n {
			continue
		}
		if err := s.writeNode(ctx, p.term, n, next); err != nil {
			return wrote, err
		}
		wrote = true
	}
	if wrote {
		return true, nil
	}
	return s.fillVGroups(ctx, p)
}

// judge says what a node's row should say.
func (s *Service) judge(n store.Node, now ident.MonoMs) store.Node {
	address, leaving, heard := s.board.node(n.ID, n.Instance)
	if heard && address != "" {
		n.Address = address
	}
	switch {
	case n.State == store.NodeLeft: // until it registers again
	case heard && leaving:
		n.State = store.NodeLeft
	case s.board.silence(n.ID, now) > SuspectAfter:
		n.State = store.NodeSuspect
	case heard:
		n.State = store.NodeAlive
	}
	return n
}

// nodeEvents are the events of a node's new state.
var nodeEvents = map[store.NodeState]store.Event{
	store.NodeSuspect: {Severity: store.Warning, Code: "node_suspect", Message: "three heartbeats are missing; its streams wait for it"},
	store.NodeAlive:   {Severity: store.Info, Code: "node_back", Message: "heard again in the same instance; its tasks go on"},
	store.NodeLeft:    {Severity: store.Info, Code: "node_left", Message: "closed; its streams wait for it"},
}

// writeNode writes the row unless the node has registered anew meanwhile.
func (s *Service) writeNode(ctx context.Context, term ident.Term, seen, next store.Node) error {
	return s.guarded(ctx, term, func(ctx context.Context, tx store.Tx) error {
		now, err := tx.LockNode(ctx, seen.ID)
		if err != nil || now != seen {
			return err
		}
		if err := tx.PutNode(ctx, next); err != nil || next.State == seen.State {
			return err
		}
		e := nodeEvents[next.State]
		e.Node = seen.ID
		return tx.InsertEvent(ctx, e)
	})
}

// fillVGroups gives owners to the vgroups without, once enough nodes have registered.
func (s *Service) fillVGroups(ctx context.Context, p *picture) (wrote bool, err error) {
	var nodes []ident.NodeID
	for id := range p.live() {
		nodes = append(nodes, id)
	}
	if len(nodes) < s.config.MinNodes {
		return false, nil
	}
	if filled, _ := placement.Fill(p.settled(p.owners), nodes); slices.Equal(filled, p.owners) {
		return false, nil
	}
	return true, s.guarded(ctx, p.term, func(ctx context.Context, tx store.Tx) error {
		rows, err := tx.LockVGroups(ctx)
		if err != nil {
			return err
		}
		owners := make([]ident.NodeID, len(rows))
		for i, v := range rows {
			owners[i] = v.Owner
		}
		filled, _ := placement.Fill(p.settled(owners), nodes)
		for i := range rows {
			rows[i].Owner = filled[i]
		}
		return tx.PutVGroups(ctx, rows)
	})
}

// decision is what the core says about a stream.
func (s *Service) decision(p *picture, r row) decide.Decision {
	return decide.Step(s.facts(p, r), s.limits(s.layout(r)))
}

// facts is all that the core is told about a stream.
func (s *Service) facts(p *picture, r row) decide.Facts {
	f := s.board.facts(r, p, s.Clock.Mono())
	if r.StageDue {
		_, f.Absent, f.Unplaced = s.place(p, r)
	}
	kind := ensureTopics
	if f.State == StreamDropping {
		kind = deleteTopics
	}
	f.Topics = s.jobs.topics(r.ID, kind, r.Stage)
	f.Concluded = s.concluded(r)
	return f
}

// place computes the placement of the stage that is due. A specification that cannot be planned has no tasks; making
// its topics, which comes before a stage is placed, fails it by name.
func (s *Service) place(p *picture, r row) ([]placement.Placed, []ident.NodeID, bool) {
	layout := s.layout(r)
	if layout.err != nil {
		return nil, nil, false
	}
	return placement.Tasks(layout.Tasks, p.owners, p.live())
}
