package stage

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pondage/pondage/internal/api/common"
	"github.com/pondage/pondage/internal/connect"
	"github.com/pondage/pondage/internal/dispatch"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/kafka"
	"github.com/pondage/pondage/internal/plan"
	"github.com/pondage/pondage/internal/spec"
	"github.com/pondage/pondage/internal/watermark"
	"github.com/pondage/pondage/services/worker/internal/live"
	"github.com/pondage/pondage/services/worker/internal/task"
)

// starting is what a bring-up gathers.
type starting struct {
	r      *Run
	order  common.Order // as it was at the start
	plan   *plan.Plan
	graph  plan.Graph
	source *connect.Kafka // the source topic's
	edges  *connect.Kafka // the cluster's
	topic  kafka.Topic    // of the edge
	ends   kafka.Offsets  // of the edge
	feed   *live.Feed
	aside  *aside
	outs   *outputs
}

// start does the steps of doc.go.
func (r *Run) start(ctx context.Context) error {
	r.mu.Lock()
	s := &starting{r: r, order: r.order}
	r.mu.Unlock()
	if err := s.understand(); err != nil {
		return err
	}
	r.mu.Lock()
	r.plan = s.plan
	r.mu.Unlock()
	s.feed = r.engine.feed(r.id, r.stage)
	s.aside = newAside(r.engine.cluster.Name, s.plan, s.edges.Producer)
	s.outs = &outputs{run: r, plan: s.plan, hub: r.engine.hub}
	if len(s.graph.Edges) > 0 {
		if err := r.retry(ctx, "edge topic", func() error { return s.lookAtEdge(ctx) }); err != nil {
			return err
		}
	}
	if err := s.receivers(ctx); err != nil {
		return err
	}
	if err := s.handshake(ctx); err != nil {
		return err
	}
	if err := s.sources(ctx); err != nil {
		return err
	}
	r.goroutines.Go(func() { s.keepHouse(ctx) })
	return nil
}

// understand builds the plan from the order.
func (s *starting) understand() error {
	r := s.r
	src, err := spec.ParseSource(s.order.Source)
	if err != nil {
		return planError{fmt.Errorf("source: %w", err)}
	}
	st, err := spec.ParseStream(s.order.Spec)
	if err != nil {
		return planError{fmt.Errorf("stream: %w", err)}
	}
	env := plan.Env{Cluster: r.engine.cluster.Name, VGroups: r.engine.cluster.VGroups, Zone: time.LoadLocation}
	if s.plan, err = plan.Build(src, st, env); err != nil {
		return planError{err}
	}
	s.graph = s.plan.Graph(r.id, len(s.order.Partitions))
	connection := spec.Connection{}
	if src.Kafka != nil {
		connection = src.Kafka.Connection
	}
	if s.source, err = r.engine.hub.Kafka(connection); err != nil {
		return planError{err}
	}
	s.edges, err = r.engine.hub.Cluster()
	return err
}

// lookAtEdge finds the edge's topic and where its partitions end.
func (s *starting) lookAtEdge(ctx context.Context) (err error) {
	name := s.graph.Edges[0].Topic
	if s.topic, err = s.edges.Client.Topic(ctx, name); err != nil {
		return err
	}
	if n := s.r.engine.cluster.VGroups; len(s.topic.Partitions) != n {
		return planError{fmt.Errorf("edge topic %s has %d partitions, the cluster has %d vgroups", name, len(s.topic.Partitions), n)}
	}
	s.ends, err = s.edges.Client.Ends(ctx, name)
	return err
}

// into is the level behind the sources; 0 when the sinks are chained into them.
func (s *starting) into() ident.Level {
	if len(s.graph.Edges) == 0 {
		return 0
	}
	return s.graph.Edges[0].Into
}

// common is what every task of the run has.
func (s *starting) common(id ident.Task) task.Common {
	r := s.r
	return task.Common{
		Self: dispatch.Self{Stream: r.id, Stage: r.stage, Task: id, Place: r.engine.place},
		Plan: s.plan, Aside: s.aside, Metrics: r.engine.metrics, Started: r.engine.started, Changed: r.changed,
	}
}

// chain gives a task its sinks.
func (s *starting) chain(ctx context.Context, c *task.Common) error {
	c.Live = s.feed
	return s.r.retry(ctx, "outputs", func() (err error) {
		c.Outputs, err = s.outs.open(ctx, c.Self.Task, s.aside)
		return err
	})
}

// receivers starts the tasks behind the edge that are placed here.
func (s *starting) receivers(ctx context.Context) error {
	r := s.r
	upstreams := r.placed.level(ident.LevelSource)
	for _, id := range r.mine {
		if id.Level != s.into() {
			continue
		}
		c := s.common(id)
		c.Fetcher = s.edges.Fetcher
		if err := s.chain(ctx, &c); err != nil {
			return err
		}
		t, err := task.NewReceiver(task.ReceiverConfig{
			Common: c, Upstreams: upstreams, Topic: s.topic.Name, TopicID: s.topic.ID, From: s.ends[ident.Partition(id.VGroup)], Credits: r.engine.exchange,
		})
		if err != nil {
			return planError{err}
		}
		for _, u := range upstreams {
			r.engine.exchange.OpenChannel(dispatch.Channel{Stream: r.id, Stage: r.stage, Upstream: u.Task, Task: id}, u.Place.Node)
		}
		r.run(ctx, id, t)
		r.engine.exchange.TaskReady(r.id, r.stage, id)
	}
	return nil
}

// handshake waits until all receivers of this node's sources are ready.
func (s *starting) handshake(ctx context.Context) error {
	r := s.r
	byPlace := map[ident.Place][]dispatch.Pair{}
	for _, up := range r.mine {
		if up.Level != ident.LevelSource {
			continue
		}
		for _, down := range r.placed.level(s.into()) {
			byPlace[down.Place] = append(byPlace[down.Place], dispatch.Pair{Upstream: up, Downstream: down.Task})
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	for place, pairs := range byPlace {
		g.Go(func() error {
			c := dispatch.Check{Stream: r.id, Stage: r.stage, From: r.engine.place, To: place, Pairs: pairs}
			return r.engine.exchange.Await(ctx, c, func(silent *dispatch.SilentRound) {
				if silent == nil {
					r.waitFor("")
					return
				}
				r.waitFor(fmt.Sprintf("node %s does not answer the handshake (round %d)", place, silent.Round))
			})
		})
	}
	return g.Wait()
}

// sources starts the source tasks that are placed here.
func (s *starting) sources(ctx context.Context) error {
	r := s.r
	queues, err := s.queues(ctx)
	if err != nil {
		return err
	}
	for _, t := range s.graph.Tasks {
		if t.Task.Level != ident.LevelSource || !slices.Contains(r.mine, t.Task) {
			continue
		}
		c := s.common(t.Task)
		c.Fetcher = s.source.Fetcher
		if s.into() == 0 {
			if err := s.chain(ctx, &c); err != nil {
				return err
			}
		}
		cfg := task.SourceConfig{Common: c}
		for _, p := range t.Partitions {
			part, err := s.partition(p)
			if err != nil {
				return planError{err}
			}
			cfg.Partitions = append(cfg.Partitions, part)
		}
		for _, down := range r.placed.level(s.into()) {
			cfg.Targets = append(cfg.Targets, task.Target{Peer: down, Queue: queues[down.Task.VGroup]})
		}
		src, err := task.NewSource(cfg)
		if err != nil {
			return planError{err}
		}
		if s.into() != 0 {
			r.engine.exchange.AddSender(c.Self, src.Credited)
		}
		r.run(ctx, t.Task, src)
	}
	return nil
}

// queues opens one produce queue a partition of the edge, shared by all sources of the run.
func (s *starting) queues(ctx context.Context) (map[ident.VGroup]*kafka.Queue, error) {
	out := map[ident.VGroup]*kafka.Queue{}
	if s.into() == 0 {
		return out, nil
	}
	for _, down := range s.r.placed.level(s.into()) {
		vg := down.Task.VGroup
		err := s.r.retry(ctx, "edge topic", func() (err error) {
			out[vg], err = s.edges.Producer.Open(ctx, s.topic.Name, ident.Partition(vg), kafka.QueueOptions{
				Mode: kafka.RetryByCaller, TopicID: s.topic.ID, MaxBatchBytes: int(s.plan.Settings.MaxDispatchBatch),
			})
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	s.r.goroutines.Go(func() {
		<-ctx.Done()
		for _, q := range out {
			q.Close()
		}
	})
	return out, nil
}

// partition reads the resolved bounds of a source partition from the order.
func (s *starting) partition(n ident.Partition) (task.SourcePartition, error) {
	for _, p := range s.order.Partitions {
		if ident.Partition(p.Partition) != n {
			continue
		}
		out := task.SourcePartition{Topic: p.Topic, Partition: n, Start: ident.NextOffset(p.Start)}
		var err error
		if out.TopicID, err = kafka.ParseTopicID(p.TopicID); err != nil {
			return out, err
		}
		if p.Until != nil {
			out.Until = watermark.Until(ident.NextOffset(*p.Until))
		}
		return out, nil
	}
	return task.SourcePartition{}, fmt.Errorf("the order has no bounds of source partition %d", n)
}
