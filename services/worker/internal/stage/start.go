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
	"github.com/pondage/pondage/internal/failpoint"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/kafka"
	"github.com/pondage/pondage/internal/plan"
	"github.com/pondage/pondage/internal/spec"
	"github.com/pondage/pondage/internal/watermark"
	"github.com/pondage/pondage/services/worker/internal/live"
	"github.com/pondage/pondage/services/worker/internal/offsets"
	"github.com/pondage/pondage/services/worker/internal/sink"
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
	gate   *sink.Gate // to the database of the results; nil before the first task has it
}

// start does the steps of doc.go.
func (r *Run) start(ctx context.Context) error {
	if err := failpoint.Hit(failpoint.OrderTaken); err != nil {
		return err
	}
	r.mu.Lock()
	s := &starting{r: r, order: r.order}
	r.mu.Unlock()
	if err := s.understand(); err != nil {
		return err
	}
	s.open()
	if err := s.fence(ctx); err != nil {
		return err
	}
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
	env := plan.Env{Cluster: r.engine.Cluster.Name, VGroups: r.engine.Cluster.VGroups, Zone: time.LoadLocation}
	if s.plan, err = plan.Build(src, st, env); err != nil {
		return planError{err}
	}
	s.graph = s.plan.Graph(r.id, len(s.order.Partitions))
	connection := spec.Connection{}
	if src.Kafka != nil {
		connection = src.Kafka.Connection
	}
	// What the node cannot resolve (a secret, a certificate) is no fault of the plan: the node is to be mended.
	if s.source, err = r.engine.Hub.Kafka(connection); err != nil {
		return fmt.Errorf("the source's Kafka: %w", err)
	}
	if s.edges, err = r.engine.Hub.Cluster(); err != nil {
		return fmt.Errorf("the cluster's Kafka: %w", err)
	}
	r.mu.Lock()
	r.plan = s.plan
	r.mu.Unlock()
	return nil
}

// open makes what all tasks of the run share.
func (s *starting) open() {
	r := s.r
	var from ident.CheckpointID
	if s.order.Restore != nil {
		from = ident.CheckpointID(s.order.Restore.Checkpoint)
	}
	s.feed = r.engine.openFeed(r.id, r.stage, from)
	r.atEnd(func() { r.engine.closeFeed(r.id, s.feed) })
	s.aside = newAside(r.engine.Cluster.Name, s.plan, s.edges.Producer)
	r.atEnd(s.aside.close)
}

// lookAtEdge finds the edge's topic and where its partitions end.
func (s *starting) lookAtEdge(ctx context.Context) (err error) {
	name := s.graph.Edges[0].Topic
	if s.topic, err = s.edges.Client.Topic(ctx, name); err != nil {
		return err
	}
	if n := s.r.engine.Cluster.VGroups; len(s.topic.Partitions) != n {
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

// common is what every task of the run has. What it holds is the task's to close, once there is one.
func (s *starting) common(id ident.Task, from *connect.Kafka) task.Common {
	r := s.r
	return task.Common{
		Self: dispatch.Self{Stream: r.id, Stage: r.stage, Task: id, Place: r.engine.Place},
		Plan: s.plan, Reader: task.From(from.Fetcher), Aside: s.aside, Memory: r.engine.Memory.Open(dispatch.Holder{Stream: r.id, Task: id}),
		Metrics: r.engine.Tasks, Tracing: r.engine.Tracing, Log: r.log, Started: r.engine.started, Changed: r.changed,
	}
}

// receivers starts the tasks behind the edge that are placed here.
func (s *starting) receivers(ctx context.Context) error {
	r := s.r
	upstreams := r.placed.level(ident.LevelSource)
	for _, id := range r.mine {
		if id.Level != s.into() {
			continue
		}
		checkpoints, err := s.checkpoints(ctx, id)
		if err != nil {
			return err
		}
		c := s.common(id, s.edges)
		c.Checkpoints = checkpoints
		if err := s.chain(ctx, &c); err != nil {
			return err
		}
		t, err := task.NewReceiver(task.ReceiverConfig{
			Common: c, Upstreams: upstreams, Topic: s.topic.Name, TopicID: s.topic.ID, From: s.ends[ident.Partition(id.VGroup)], Credits: r.engine.Exchange,
			Windows: s.windows(id), Restored: func() { r.engine.Exchange.TaskReady(r.id, r.stage, id) },
		})
		if err != nil {
			c.Outputs.Close()
			return planError{err}
		}
		for _, u := range upstreams {
			r.engine.Exchange.OpenChannel(dispatch.Channel{Stream: r.id, Stage: r.stage, Upstream: u.Task, Task: id}, u.Place.Node)
		}
		r.run(ctx, id, t)
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
			what := "handshake with " + place.String()
			defer r.waitFor(what, nil)
			c := dispatch.Check{Stream: r.id, Stage: r.stage, From: r.engine.Place, To: place, Pairs: pairs}
			return r.engine.Exchange.Await(ctx, c, func(silent *dispatch.SilentRound) {
				if silent == nil {
					r.waitFor(what, nil)
					return
				}
				r.waitFor(what, fmt.Errorf("no answer, round %d", silent.Round))
				r.changed()
			})
		})
	}
	return g.Wait()
}

// sources starts the source tasks that are placed here.
func (s *starting) sources(ctx context.Context) error {
	r := s.r
	var targets []task.Target
	for _, t := range s.graph.Tasks {
		if t.Task.Level != ident.LevelSource || !slices.Contains(r.mine, t.Task) {
			continue
		}
		if targets == nil && s.into() != 0 {
			var err error
			if targets, err = s.targets(ctx); err != nil {
				return err
			}
		}
		if err := s.startSource(ctx, t, targets); err != nil {
			return err
		}
	}
	return nil
}

func (s *starting) startSource(ctx context.Context, t plan.GraphTask, targets []task.Target) error {
	r := s.r
	checkpoints, err := s.checkpoints(ctx, t.Task)
	if err != nil {
		return err
	}
	cfg := task.SourceConfig{Common: s.common(t.Task, s.source), Targets: targets, EdgeTopic: s.topic.Name, MaxBatch: s.maxBatch()}
	cfg.Checkpoints = checkpoints
	if checkpoints != nil {
		checkpoints.Positions = s.positions(ctx, t.Task)
	}
	for _, n := range t.Partitions {
		p, err := s.partition(n)
		if err != nil {
			return planError{err}
		}
		cfg.Partitions = append(cfg.Partitions, p)
	}
	if s.into() == 0 {
		if err := s.chain(ctx, &cfg.Common); err != nil {
			return err
		}
	}
	src, err := task.NewSource(cfg)
	if err != nil {
		cfg.Outputs.Close()
		return planError{err}
	}
	if s.into() != 0 {
		r.engine.Exchange.AddSender(cfg.Self, src.Credited)
	}
	r.run(ctx, t.Task, src)
	return nil
}

// positions publishes those of a source task, from now on until the run is over.
func (s *starting) positions(ctx context.Context, id ident.Task) *offsets.Publisher {
	r := s.r
	group := r.engine.Cluster.Name.OffsetsGroup(r.name)
	p := offsets.New(offsets.Config{
		Open: func(ctx context.Context, topic string) (offsets.Group, error) {
			return s.source.Client.NewGroupOffsets(ctx, offsets.ID(group, id.VGroup), group, topic)
		},
		Current: func(ctx context.Context) error { return r.engine.Current(ctx, r.name, r.id, r.stage) },
		Log:     r.log,
	})
	r.goroutines.Go(func() { p.Run(ctx) })
	return p
}

// maxBatch is the largest dispatch request: the node's or the stream's limit.
func (s *starting) maxBatch() int {
	return min(s.r.engine.MaxBatch, int(s.plan.Settings.MaxDispatchBatch))
}

// targets opens one produce queue a partition of the edge, shared by all sources of the run.
func (s *starting) targets(ctx context.Context) ([]task.Target, error) {
	var out []task.Target
	for _, down := range s.r.placed.level(s.into()) {
		var q *kafka.Queue
		err := s.r.retry(ctx, "edge topic", func() (err error) {
			q, err = s.edges.Producer.Open(ctx, s.topic.Name, ident.Partition(down.Task.VGroup), kafka.QueueOptions{
				Mode: kafka.RetryByCaller, TopicID: s.topic.ID, MaxBatchBytes: s.maxBatch(),
			})
			return err
		})
		if err != nil {
			return nil, err
		}
		s.r.atEnd(q.Close)
		out = append(out, task.Target{Peer: down, Queue: q})
	}
	return out, nil
}

// partition finds the resolved bounds of a source partition in the order.
func (s *starting) partition(n ident.Partition) (task.SourcePartition, error) {
	for _, p := range s.order.Partitions {
		if ident.Partition(p.Partition) == n {
			return partition(p)
		}
	}
	return task.SourcePartition{}, fmt.Errorf("the order has no bounds of source partition %d", n)
}

// partition reads the resolved bounds of a source partition.
func partition(p common.OrderPartition) (task.SourcePartition, error) {
	out := task.SourcePartition{Topic: p.Topic, Partition: ident.Partition(p.Partition), Start: ident.NextOffset(p.Start)}
	var err error
	if out.TopicID, err = kafka.ParseTopicID(p.TopicID); err != nil {
		return out, err
	}
	if p.Until != nil {
		out.Until = watermark.Until(ident.NextOffset(*p.Until))
	}
	return out, nil
}
