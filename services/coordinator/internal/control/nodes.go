package control

import (
	"context"
	"errors"
	"fmt"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/services/coordinator/internal/store"
)

// RegisterNode writes a node's new instance. All tasks of its older instances are dead from here on: the loop, woken,
// resets their streams at once. It may be repeated.
func (s *Service) RegisterNode(ctx context.Context, r Registration) (Registered, error) {
	term, err := s.term()
	if err != nil {
		return Registered{}, err
	}
	p := s.picture.Load()
	if p == nil || p.term != term {
		return Registered{}, errNotReady()
	}
	if err := checkPeer(p, r.Cluster, r.Node, r.HighestTerm); err != nil {
		return Registered{}, err
	}
	if err := s.register(ctx, term, r); err != nil {
		return Registered{}, s.failure(err, CodeBusy)
	}
	s.board.register(r, s.Clock.Mono())
	if p, err = s.look(ctx, term); err != nil { // what was just written must be in what beats are answered from
		return Registered{}, s.failure(err, CodeBusy)
	}
	s.changed()
	return Registered{Cluster: p.cluster.ID, Name: p.cluster.Name, VGroups: p.cluster.VGroups, Term: term, Orders: s.orders(p, r.Node)}, nil
}

func errNotReady() error {
	return errorf(CodeNotLeader, "this coordinator has just begun to lead").retryable().hinted("ask again in a moment")
}

// checkPeer refuses a node of another cluster, and refuses to lead nodes that have seen a future of this metastore.
func checkPeer(p *picture, cluster string, node ident.NodeID, highest ident.Term) error {
	switch {
	case cluster != "" && cluster != p.cluster.ID:
		return errorf(CodeOtherCluster, "node %s belongs to cluster %s, this is %s", node, cluster, p.cluster.ID).
			hinted("give the node an empty data directory to let it join")
	case highest > p.term:
		return errorf(CodeMetastoreWentBack, "node %s has obeyed term %d, the metastore is at %d: it was restored from the past", node, highest, p.term).
			hinted("restore a newer copy of the metastore")
	}
	return nil
}

func (s *Service) register(ctx context.Context, term ident.Term, r Registration) error {
	return s.guarded(ctx, term, func(ctx context.Context, tx store.Tx) error {
		old, err := tx.LockNode(ctx, r.Node)
		known := err == nil
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if known && old.Instance != r.Instance && r.Instance.Counter <= old.Instance.Counter {
			return errorf(CodeSuperseded, "node %s has registered as instance %s, %s is older", r.Node, old.Instance, r.Instance).
				hinted("two processes use copies of one data directory; end one of them")
		}
		next := store.Node{ID: r.Node, Instance: r.Instance, Address: r.Address, Version: r.Version, State: store.NodeAlive}
		if err := tx.PutNode(ctx, next); err != nil || (known && old.Instance == r.Instance) {
			return err
		}
		return tx.InsertEvent(ctx, store.Event{Severity: store.Info, Code: "node_registered", Node: r.Node,
			Message: fmt.Sprintf("instance %s at %s", r.Instance, r.Address)})
	})
}

// Heartbeat takes a node's report and answers with its orders. It needs no metastore: beats go on while that is away.
func (s *Service) Heartbeat(_ context.Context, hb Heartbeat) (HeartbeatAnswer, error) {
	term, err := s.term()
	if err != nil {
		return HeartbeatAnswer{}, err
	}
	p := s.picture.Load()
	if p == nil || p.term != term {
		return HeartbeatAnswer{}, errNotReady()
	}
	if err := checkPeer(p, hb.Cluster, hb.Node, hb.HighestTerm); err != nil {
		return HeartbeatAnswer{}, err
	}
	answer := HeartbeatAnswer{Message: hb.Message, Term: term}
	n, known := p.nodes[hb.Node]
	switch {
	case !known || (n.Instance != hb.Instance && hb.Instance.Counter > n.Instance.Counter):
		answer.Unregistered = true
		return answer, nil
	case n.Instance != hb.Instance:
		answer.Superseded = true
		return answer, nil
	}
	if s.board.hear(hb, s.Clock.Mono()) {
		s.wake()
	}
	answer.Orders = s.orders(p, hb.Node)
	answer.Orphans = orphans(p, hb.Tasks)
	return answer, nil
}

// orphans are the streams that a node runs tasks of and nobody knows. The node knows streams only from orders made of
// pictures, and this picture is at least as new.
func orphans(p *picture, tasks []TaskReport) []ident.StreamID {
	var out []ident.StreamID
	seen := map[ident.StreamID]bool{}
	for _, t := range tasks {
		if _, known := p.row(t.Stream); !known && !seen[t.Stream] {
			seen[t.Stream] = true
			out = append(out, t.Stream)
		}
	}
	return out
}

// ListNodes lists the nodes with what was last heard of them.
func (s *Service) ListNodes(ctx context.Context) ([]Node, error) {
	var nodes []store.Node
	var vgroups []store.VGroup
	err := s.Store.View(ctx, func(r store.Reader) (err error) {
		if nodes, err = r.Nodes(ctx); err != nil {
			return err
		}
		vgroups, err = r.VGroups(ctx)
		return err
	})
	if err != nil {
		return nil, s.failure(err, CodeBusy)
	}
	_, notLeading := s.term()
	out := make([]Node, len(nodes))
	for i, n := range nodes {
		out[i] = Node{ID: n.ID, Instance: n.Instance, Address: n.Address, Version: n.Version, State: string(n.State),
			Registered: n.Registered, SilenceMs: -1}
		if notLeading == nil {
			out[i].SilenceMs = int64(s.board.silence(n.ID, s.Clock.Mono()))
			out[i].Tasks = s.board.taskCount(n.ID)
		}
		for _, v := range vgroups {
			if v.Owner == n.ID {
				out[i].VGroups = append(out[i].VGroups, v.VGroup)
			}
		}
	}
	return out, nil
}

// ListVGroups lists the vgroups with their owners.
func (s *Service) ListVGroups(ctx context.Context) ([]VGroup, error) {
	var out []VGroup
	err := s.Store.View(ctx, func(r store.Reader) error {
		rows, err := r.VGroups(ctx)
		for _, v := range rows {
			out = append(out, VGroup(v))
		}
		return err
	})
	return out, s.failure(err, CodeBusy)
}

// Cluster tells what is known of the cluster.
func (s *Service) Cluster(ctx context.Context) (ClusterInfo, error) {
	var c store.Cluster
	err := s.Store.View(ctx, func(r store.Reader) (err error) {
		c, err = r.Cluster(ctx)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return ClusterInfo{}, errNotReady()
	}
	return ClusterInfo{ID: c.ID, Name: c.Name, VGroups: c.VGroups, Leader: s.Leader()}, s.failure(err, CodeBusy)
}

// Checks are the readiness checks of a coordinator. A standby is ready while somebody leads.
func (s *Service) Checks(ctx context.Context) []Check {
	checks := []Check{{Name: "metastore", Err: s.failure(s.Store.Ping(ctx), CodeBusy)}}
	lead := Check{Name: "lease"}
	l := s.Leader()
	if !l.Self && l.Holder == "" {
		lead.Err = errorf(CodeNotLeader, "nobody leads")
	}
	checks = append(checks, lead)
	if !l.Self {
		return checks
	}
	nodes := Check{Name: "nodes"}
	p := s.picture.Load()
	if p == nil || p.term != l.Term {
		// The lease was taken and the first pass has not looked yet: who were told "ready" here would find no node, although
		// one is about to register.
		nodes.Err = errNotReady()
		return append(checks, nodes)
	}
	alive := len(p.live())
	if alive < s.config.MinNodes {
		nodes.Err = errorf(CodeNodesMissing, "%d nodes are alive, %d are wanted", alive, s.config.MinNodes)
	}
	failed := Check{Name: "streams"}
	for _, r := range p.rows {
		if d := s.decision(p, r); r.State == StreamRecovering && d.Why != "" {
			failed.Err = errorf(CodeStreamsWaiting, "stream %s: %s", r.Name, d.Why)
			break
		}
	}
	return append(checks, nodes, failed)
}
