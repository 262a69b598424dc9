package control

import (
	"context"
	"fmt"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/services/coordinator/internal/control/decide"
	"github.com/pondage/pondage/services/coordinator/internal/store"
)

// picture is the metastore as the leader last read it, on one snapshot. Nobody changes one; a newer one replaces it.
// Nodes are answered from it, so that they hear what was last decided while the metastore is away.
type picture struct {
	term    ident.Term
	cluster store.Cluster
	rows    []row // by name
	byID    map[ident.StreamID]int
	nodes   map[ident.NodeID]store.Node
	owners  []ident.NodeID // by vgroup; "" is none
	// retained are the complete checkpoints of each stream, by id.
	retained map[ident.StreamID][]ident.CheckpointID
}

// settled is which of the owners stay. Without a stream none does: nothing runs that a move could end, and so nodes that
// join one after the other share the vgroups. A stream that is created meanwhile is placed by the loop, after this.
func (p *picture) settled(owners []ident.NodeID) []ident.NodeID {
	if len(p.rows) > 0 {
		return owners
	}
	return make([]ident.NodeID, len(owners))
}

// row is a stream with the placement of its stage.
type row struct {
	store.Stream
	tasks []store.Task
	// restored are the parts of the checkpoint that the stage has begun from. Its row may go while the stage lasts; nobody
	// needs them any more then.
	restored []store.CheckpointTask
	// waiting and running are its checkpoints that have not ended; nil: none.
	waiting, running *store.Checkpoint
	// newest is the complete one that the next stage restores; zero: none.
	newest store.Checkpoint
}

// life tells what became of a placed instance, as far as the metastore knows.
func (p *picture) life(place ident.Place) decide.Life {
	n, ok := p.nodes[place.Node]
	if !ok || n.Instance != place.Instance || n.State == store.NodeLeft {
		return decide.Gone
	}
	return decide.Alive
}

// live returns the instances that tasks can be placed on.
func (p *picture) live() map[ident.NodeID]ident.Instance {
	out := map[ident.NodeID]ident.Instance{}
	for id, n := range p.nodes {
		if n.State == store.NodeAlive {
			out[id] = n.Instance
		}
	}
	return out
}

// look reads the metastore and makes what it finds the picture.
func (s *Service) look(ctx context.Context, term ident.Term) (*picture, error) {
	s.reading.Lock()
	defer s.reading.Unlock()
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	s.stale.Store(false)
	p := &picture{
		term: term, byID: map[ident.StreamID]int{}, nodes: map[ident.NodeID]store.Node{}, retained: map[ident.StreamID][]ident.CheckpointID{},
	}
	last := s.picture.Load()
	err := s.Store.View(ctx, func(r store.Reader) error { return p.read(ctx, r, last) })
	if err != nil {
		s.stale.Store(true)
		return nil, fmt.Errorf("look at the metastore: %w", err)
	}
	s.picture.Store(p)
	return p, nil
}

// streamsAtOnce is how many rows a read of the list takes.
const streamsAtOnce = 500

// read fills the picture; what cannot have changed is taken from the last one, which may be nil.
func (p *picture) read(ctx context.Context, r store.Reader, last *picture) (err error) {
	if p.cluster, err = r.Cluster(ctx); err != nil {
		return err
	}
	if err := p.readStreams(ctx, r, last); err != nil {
		return err
	}
	if err := p.readOpen(ctx, r); err != nil {
		return err
	}
	complete, err := r.CompleteCheckpoints(ctx)
	if err != nil {
		return err
	}
	for _, c := range complete {
		p.retained[c.Stream] = append(p.retained[c.Stream], c.Checkpoint)
	}
	nodes, err := r.Nodes(ctx)
	if err != nil {
		return err
	}
	for _, n := range nodes {
		p.nodes[n.ID] = n
	}
	vgroups, err := r.VGroups(ctx)
	if err != nil {
		return err
	}
	p.owners = make([]ident.NodeID, len(vgroups))
	for i, v := range vgroups {
		p.owners[i] = v.Owner
	}
	return nil
}

func (p *picture) readStreams(ctx context.Context, r store.Reader, last *picture) error {
	for after := ""; ; {
		streams, err := r.Streams(ctx, after, streamsAtOnce)
		if err != nil {
			return err
		}
		for _, s := range streams {
			next := row{Stream: s}
			if next.tasks, err = r.StreamTasks(ctx, s.ID); err != nil {
				return err
			}
			if next.restored, err = restoredBy(ctx, r, s, last); err != nil {
				return err
			}
			if next.newest, err = newestOf(ctx, r, s, last); err != nil {
				return err
			}
			p.byID[s.ID] = len(p.rows)
			p.rows = append(p.rows, next)
		}
		if len(streams) < streamsAtOnce {
			return nil
		}
		after = streams[len(streams)-1].Name
	}
}

// restoredBy returns the parts that the stream's stage has begun from.
func restoredBy(ctx context.Context, r store.Reader, s store.Stream, last *picture) ([]store.CheckpointTask, error) {
	if s.Start == 0 {
		return nil, nil
	}
	if last != nil {
		if old, ok := last.row(s.ID); ok && old.Start == s.Start && len(old.restored) > 0 {
			return old.restored, nil
		}
	}
	return r.CheckpointTasks(ctx, s.ID, s.Start)
}

// newestOf returns the complete checkpoint that the stream's next stage restores. A complete one does not change.
func newestOf(ctx context.Context, r store.Reader, s store.Stream, last *picture) (store.Checkpoint, error) {
	if s.Complete == 0 {
		return store.Checkpoint{}, nil
	}
	if last != nil {
		if old, ok := last.row(s.ID); ok && old.newest.ID == s.Complete {
			return old.newest, nil
		}
	}
	return r.Checkpoint(ctx, s.ID, s.Complete)
}

// readOpen notes what waits and what runs of each stream's checkpoints.
func (p *picture) readOpen(ctx context.Context, r store.Reader) error {
	open, err := r.OpenCheckpoints(ctx, 0)
	if err != nil {
		return err
	}
	for _, c := range open {
		i, ok := p.byID[c.Stream]
		switch {
		case !ok:
		case c.State == store.CheckpointRunning:
			p.rows[i].running = &c
		default:
			p.rows[i].waiting = &c
		}
	}
	return nil
}

// row returns the stream with the id.
func (p *picture) row(id ident.StreamID) (row, bool) {
	i, ok := p.byID[id]
	if !ok {
		return row{}, false
	}
	return p.rows[i], true
}
