package stage

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/kafka"
	"github.com/pondage/pondage/internal/pgtable"
	"github.com/pondage/pondage/internal/plan"
	"github.com/pondage/pondage/internal/rowjson"
	"github.com/pondage/pondage/internal/spec"
	"github.com/pondage/pondage/services/worker/internal/sink"
	"github.com/pondage/pondage/services/worker/internal/task"
)

// chain gives a task its sinks. They need not be reachable: each begins with its first row.
func (s *starting) chain(ctx context.Context, c *task.Common) error {
	c.Live = s.feed
	vg := c.Self.Task.VGroup
	env := sink.Env{
		Stream: s.r.name, Memory: c.Memory, Metrics: s.r.engine.Sinks, Tracer: s.r.engine.Tracer,
		Reject: func(r sink.Rejected) error {
			row := rowjson.NewEncoder(r.Rows.Schema).AppendRow(nil, r.Rows.Cols, r.Row)
			return s.aside.DeadResult(ctx, vg, row, codePoison, r.Reason)
		},
	}
	if table, dsn, ok := ResultTable(s.plan, s.r.id); ok {
		pool, err := s.r.engine.Hub.Postgres(dsn)
		if err != nil {
			return fmt.Errorf("the Postgres output: %w", err)
		}
		if s.gate == nil {
			s.gate = sink.NewGate(int(pool.Config().MaxConns))
		}
		env.Gate = s.gate
		fence := pgtable.Fence{Cluster: s.r.engine.Cluster.Name, Stream: s.r.id, VGroup: vg, Stage: s.r.stage}
		out, err := s.postgres(c, pool, table, fence, env)
		if err != nil {
			return err
		}
		c.Outputs = append(c.Outputs, out)
	}
	if out := s.plan.Stream.Outputs.Kafka; out != nil {
		o, err := s.kafka(c, out, env)
		if err != nil {
			c.Outputs.Close()
			return err
		}
		c.Outputs = append(c.Outputs, o)
	}
	if w := s.plan.Webhook; w != nil {
		c.Outputs = append(c.Outputs, s.webhook(w, env))
	}
	return nil
}

// errNoCheckpoints is met where a transactional output would wait for a checkpoint for ever.
var errNoCheckpoints = errors.New("a transactional output needs checkpoints")

// postgres gives a task its Postgres output.
func (s *starting) postgres(c *task.Common, pool *pgxpool.Pool, table *pgtable.Table, fence pgtable.Fence, env sink.Env) (sink.Output, error) {
	if table.Delivery != pgtable.Transactional {
		return sink.NewPostgres(pool, table, fence, startOf(c, sink.KindPostgres), env), nil
	}
	start := startOf(c, sink.KindPostgresTransactional)
	if start == nil {
		return nil, errNoCheckpoints
	}
	var group []ident.VGroup
	for _, p := range s.r.placed.level(c.Self.Task.Level) {
		group = append(group, p.Task.VGroup)
	}
	return sink.NewPostgresTransactional(pool, table, fence, group, *start, env), nil
}

// kafka gives a task its Kafka output.
func (s *starting) kafka(c *task.Common, out *spec.KafkaOut, env sink.Env) (sink.Output, error) {
	k, err := s.r.engine.Hub.Kafka(out.Connection)
	if err != nil {
		return nil, fmt.Errorf("the Kafka output: %w", err)
	}
	if out.Delivery == spec.DeliveryTransactional {
		return s.kafkaTransactional(c, k.Client, out.Topic, env)
	}
	open := func(ctx context.Context) (*kafka.Queue, error) {
		topic, err := s.outputTopics(k.Client, out.Topic).Topic(ctx, out.Topic)
		if err != nil {
			return nil, err
		}
		return k.Producer.Open(ctx, out.Topic, ident.Partition(int(c.Self.Task.VGroup)%len(topic.Partitions)), kafka.QueueOptions{
			Mode: kafka.RetryItself, MaxPendingBytes: outputPending,
		})
	}
	return sink.NewKafka(open, s.plan.Result.Fields(), s.plan.Result.Key, env), nil
}

// kafkaTransactional gives a task its transactional Kafka output.
func (s *starting) kafkaTransactional(c *task.Common, k *kafka.Client, topic string, env sink.Env) (sink.Output, error) {
	start := startOf(c, sink.KindKafkaTransactional)
	if start == nil {
		return nil, errNoCheckpoints
	}
	r, cluster := s.r, s.r.engine.Cluster.Name
	return sink.NewKafkaTransactional(sink.KafkaTransactional{
		Brokers: s.outputTopics(k, topic), Topic: topic, Commits: cluster.CommitsTopic(), ID: cluster.TransactionalID(r.name, c.Self.Task), Stream: r.id, Task: c.Self.Task,
		Columns: s.plan.Result.Fields(), Keys: s.plan.Result.Key, Store: c.Checkpoints.Store, Start: *start, Bounds: sink.DefaultTransactionalBounds(),
		Current: func(ctx context.Context) error { return r.engine.Current(ctx, r.name, r.id, r.stage) },
	}, env), nil
}

// outputTopics makes the topics of an output where they are missing: the coordinator has, unless the output's brokers were away
// when the stage began.
type outputTopics struct {
	*kafka.Client
	made map[string]kafka.TopicSpec
}

func (s *starting) outputTopics(k *kafka.Client, topic string) outputTopics {
	e := s.r.engine
	markers := e.Cluster.Name.CommitsTopic()
	return outputTopics{k, map[string]kafka.TopicSpec{
		topic: kafka.OutputSpec(topic, e.Cluster.VGroups), markers: kafka.MarkersSpec(markers, e.Cluster.VGroups),
	}}
}

// Topic implements sink.Brokers.
func (o outputTopics) Topic(ctx context.Context, name string) (kafka.Topic, error) {
	if err := o.MakeMissing(ctx, o.made[name]); err != nil {
		return kafka.Topic{}, err
	}
	return o.Client.Topic(ctx, name)
}

// startOf is what an output of a kind goes on from; nil: the stream takes no checkpoints.
func startOf(c *task.Common, kind string) *sink.Start {
	if c.Checkpoints == nil {
		return nil
	}
	start := sink.StartFrom(c.Self.Stage, c.Checkpoints.From, c.Checkpoints.Restored, kind)
	start.Retain, start.Settled = int(c.Plan.Settings.RetainCheckpoints), c.Checkpoints.Settled
	return start
}

// outputPending is how much of a task's Kafka output may be unanswered, bytes: one full request, and the next one ready.
const outputPending = 4 << 20

// codePoison is the code of a result that a sink will never take.
const codePoison = "poison_row"

// ResultsSchema is the Postgres schema of the tables that streams without a Postgres output keep their results in.
const ResultsSchema = "pondage"

// OwnTable is the table that a stream without a Postgres output keeps its results in. It is named by the stream's id, so
// that a stream made again begins with an empty one.
func OwnTable(id ident.StreamID) *pgtable.Table {
	return &pgtable.Table{Schema: ResultsSchema, Name: fmt.Sprintf("results_%d", id)}
}

// ResultTable is the table that holds the results of a stream: its Postgres output, or a table of its own, whose rows
// expire. dsn nil is the cluster's database. ok is false when the stream keeps none (results.retain 0).
func ResultTable(p *plan.Plan, id ident.StreamID) (t *pgtable.Table, dsn *spec.SecretRef, ok bool) {
	columns, key := p.Result.Fields(), p.Result.KeyNames()
	if out := p.Stream.Outputs.Postgres; out != nil {
		t = pgtable.Of(out.Table, columns, key)
		if out.Delivery == spec.DeliveryTransactional {
			t.Delivery = pgtable.Transactional
		}
		return t, out.DSN, true
	}
	if p.Settings.Retain == 0 {
		return nil, nil, false
	}
	t = OwnTable(id)
	t.Columns, t.Key, t.Retain = columns, key, p.Settings.Retain
	return t, nil, true
}
