package stage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/pondage/pondage/internal/api/common"
	"github.com/pondage/pondage/internal/connect"
	"github.com/pondage/pondage/internal/devstack/testkafka"
	"github.com/pondage/pondage/internal/dispatch"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/kafka"
	"github.com/pondage/pondage/internal/plan"
	"github.com/pondage/pondage/internal/rowjson"
	"github.com/pondage/pondage/internal/spec"
	"github.com/pondage/pondage/internal/task"
	"github.com/pondage/pondage/services/worker/internal/exchange"
	"github.com/pondage/pondage/services/worker/internal/live"
	"github.com/pondage/pondage/services/worker/internal/memory"
	"github.com/pondage/pondage/services/worker/internal/node"
	"github.com/pondage/pondage/services/worker/internal/sink"
	shells "github.com/pondage/pondage/services/worker/internal/task"
)

const vgroups = 2

// cluster is one broker and the nodes of a test.
type cluster struct {
	t     *testing.T
	hub   *connect.Hub
	mu    sync.Mutex
	nodes map[string]*exchange.Exchange // by address
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{t: t, nodes: map[string]*exchange.Exchange{}}
	c.hub = hub(t, testkafka.Shared(t))
	return c
}

func hub(t *testing.T, brokers []string) *connect.Hub {
	h := connect.New(connect.Config{
		Kafka:  kafka.Config{Brokers: brokers, DialTimeout: time.Second, RequestTimeout: time.Second},
		Secret: func(r spec.SecretRef) (string, error) { return "", fmt.Errorf("%s %s is not set", r.From, r.Name) },
	})
	t.Cleanup(h.Close)
	return h
}

// Credits implements exchange.Peers.
func (c *cluster) Credits(_ context.Context, address string, m dispatch.CreditMessage) error {
	x := c.at(address)
	if x == nil {
		return errors.New("connection refused")
	}
	x.Take(m)
	return nil
}

// Check implements exchange.Peers.
func (c *cluster) Check(ctx context.Context, address string, check dispatch.Check) (dispatch.CheckAnswer, error) {
	x := c.at(address)
	if x == nil {
		return dispatch.CheckAnswer{}, errors.New("connection refused")
	}
	return x.Check(ctx, check)
}

func (c *cluster) at(address string) *exchange.Exchange {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nodes[address]
}

// member is a node's engine.
type member struct {
	*Engine
	t       *testing.T
	changed chan struct{}
	reader  *sdkmetric.ManualReader
}

// join adds a node; its connections are those of the hub.
func (c *cluster) join(name string, h *connect.Hub) *member {
	c.t.Helper()
	return c.joinWith(name, h, func(*Config) {})
}

// joinWith adds a node that is made differently.
func (c *cluster) joinWith(name string, h *connect.Hub, different func(*Config)) *member {
	c.t.Helper()
	m := &member{t: c.t, changed: make(chan struct{}, 1), reader: sdkmetric.NewManualReader()}
	p := ident.Place{Node: ident.NodeID(name), Instance: ident.Instance{Counter: 1}}
	x := exchange.New(p, c, func() {})
	c.mu.Lock()
	c.nodes["http://"+name] = x
	c.mu.Unlock()
	ctx, cancel := context.WithCancel(c.t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		x.Run(ctx)
	}()
	c.t.Cleanup(func() {
		cancel()
		<-ended
	})
	meter := sdkmetric.NewMeterProvider(sdkmetric.WithReader(m.reader))
	metrics, errM := NewMetrics(meter)
	tasks, errT := shells.NewMetrics(meter)
	sinks, errS := sink.NewMetrics(meter)
	if err := errors.Join(errM, errT, errS); err != nil {
		c.t.Fatal(err)
	}
	const pool, rings = 64 << 20, 16 << 20
	config := Config{
		Place: p, Cluster: node.Cluster{ID: "id", Name: "c", VGroups: vgroups}, Hub: h, Exchange: x, Memory: memory.New(pool), Live: kafka.NewLimit(rings), MaxBatch: dispatch.MaxBatch,
		Metrics: metrics, Tasks: tasks, Sinks: sinks, Tracer: tracenoop.NewTracerProvider().Tracer(""), Log: slog.New(slog.DiscardHandler),
	}
	different(&config)
	m.Engine = NewEngine(config)
	return m
}

// begin starts a run of the order; it ends with the test.
func (m *member) begin(o common.Order) *Run {
	m.t.Helper()
	r := m.Start(o, func() {
		select {
		case m.changed <- struct{}{}:
		default:
		}
	}).(*Run)
	m.t.Cleanup(r.End)
	return r
}

// metrics adds up what each instrument has over all its attributes.
func (m *member) metrics() map[string]float64 {
	m.t.Helper()
	var all metricdata.ResourceMetrics
	if err := m.reader.Collect(m.t.Context(), &all); err != nil {
		m.t.Fatal(err)
	}
	out := map[string]float64{}
	for _, scope := range all.ScopeMetrics {
		for _, x := range scope.Metrics {
			switch data := x.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					out[x.Name] += float64(p.Value)
				}
			case metricdata.Gauge[int64]:
				for _, p := range data.DataPoints {
					out[x.Name] += float64(p.Value)
				}
			case metricdata.Gauge[float64]:
				for _, p := range data.DataPoints {
					out[x.Name] += p.Value
				}
			}
		}
	}
	return out
}

// patience is how long a test waits for what must come.
const patience = 20 * time.Second

// await waits until the condition holds; it is looked at when something has changed, and now and then.
func (m *member) await(what string, holds func() bool) {
	m.t.Helper()
	const look = 20 * time.Millisecond
	deadline := time.After(patience)
	for !holds() {
		select {
		case <-m.changed:
		case <-time.After(look):
		case <-deadline:
			m.t.Fatalf("after %s still not: %s", patience, what)
		}
	}
}

// states returns the states of a run's tasks, by name.
func states(r *Run) map[string]string {
	out := map[string]string{}
	for _, t := range r.Reports() {
		out[t.Task] = t.State
	}
	return out
}

func all(r *Run, s task.State) bool {
	for _, state := range states(r) {
		if state != string(s) {
			return false
		}
	}
	return true
}

var streamIDs atomic.Int64

const counts = `"select":[{"expr":"tbname","as":"device"},{"expr":"_wstart","as":"start"},{"expr":"count(*)","as":"n"}],
	"partition_by":["tbname"],"window":{"kind":"interval","size":"10s"},"watermark":"0s","results":{"retain":"0s"}`

// order makes a stream over a new source topic, with its edge; where says on which node a task is placed.
func (c *cluster) order(stream string, partitions int, where func(ident.Task) string) common.Order {
	c.t.Helper()
	id := streamIDs.Add(1)
	name := fmt.Sprint("s", id)
	topic := c.topic(testkafka.Topic(c.t), partitions)
	source := fmt.Sprintf(`{"name":"src","format":"json","kafka":{"topic":%q},"table":"device","event_time":"ts","columns":[{"name":"device","type":"string"}]}`, topic.Name)
	o := common.Order{
		StreamID: common.Int64(id), Name: name, Term: 1, Generation: 1, Stage: 1, Wanted: "running", Source: json.RawMessage(source),
		Spec: json.RawMessage(fmt.Sprintf(`{"name":%q,"source":"src",%s}`, name, stream)),
	}
	for n := range partitions {
		o.Partitions = append(o.Partitions, common.OrderPartition{Topic: topic.Name, TopicID: topic.ID.String(), Partition: int32(n)})
	}
	p := c.plan(o)
	graph := p.Graph(ident.StreamID(id), partitions)
	for _, e := range graph.Edges {
		c.topic(e.Topic, vgroups)
	}
	for _, t := range graph.Tasks {
		n := where(t.Task)
		o.Tasks = append(o.Tasks, common.PlacedTask{Task: t.Task.String(), Node: n, Instance: ident.Instance{Counter: 1}.String(), Address: "http://" + n})
	}
	return o
}

func (c *cluster) plan(o common.Order) *plan.Plan {
	c.t.Helper()
	src, errS := spec.ParseSource(o.Source)
	st, errT := spec.ParseStream(o.Spec)
	if err := errors.Join(errS, errT); err != nil {
		c.t.Fatal(err)
	}
	p, err := plan.Build(src, st, plan.Env{Cluster: "c", VGroups: vgroups, Zone: time.LoadLocation})
	if err != nil {
		c.t.Fatal(err)
	}
	return p
}

func (c *cluster) topic(name string, partitions int) kafka.Topic {
	c.t.Helper()
	k, err := c.hub.Cluster()
	if err != nil {
		c.t.Fatal(err)
	}
	topic, err := k.Client.CreateTopic(c.t.Context(), kafka.TopicSpec{Name: name, Partitions: partitions, ReplicationFactor: 1})
	if err != nil {
		c.t.Fatal(err)
	}
	return topic
}

// record writes records of one device into a partition of the order's source.
func (c *cluster) record(o common.Order, p int, seconds ...int) {
	c.t.Helper()
	k, err := c.hub.Cluster()
	if err != nil {
		c.t.Fatal(err)
	}
	q, err := k.Producer.Open(c.t.Context(), o.Partitions[0].Topic, ident.Partition(p), kafka.QueueOptions{Mode: kafka.RetryItself})
	if err != nil {
		c.t.Fatal(err)
	}
	defer q.Close()
	for _, s := range seconds {
		if err := q.Send(c.t.Context(), kafka.Message{Value: fmt.Appendf(nil, `{"device":"a","ts":%d}`, s*1000)}); err != nil {
			c.t.Fatal(err)
		}
	}
	if err := q.Flush(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
}

// results follows the live results of a stream at a member.
type results struct {
	m    *member
	plan *plan.Plan
	feed *live.Feed
	at   live.Position
	rows []string
}

func (m *member) results(p *plan.Plan, id common.Int64) *results {
	feed := m.Feed(ident.StreamID(id))
	m.mu.Lock()
	stage := m.runs[ident.StreamID(id)].stage
	m.mu.Unlock()
	return &results{m: m, plan: p, feed: feed, at: live.Position{Stage: stage, Next: make([]uint64, vgroups)}}
}

// await waits for the rows, in any order.
func (r *results) await(want ...string) {
	r.m.t.Helper()
	enc := rowjson.NewEncoder(r.plan.Result.Fields())
	r.m.await(fmt.Sprintf("results %q, have %q", want, r.rows), func() bool {
		got, _, _ := r.feed.Read(&r.at)
		for _, x := range got {
			for i := x.From; i < x.To; i++ {
				r.rows = append(r.rows, string(enc.AppendRow(nil, x.Batch.Cols, i)))
			}
		}
		slices.Sort(r.rows)
		return slices.Equal(r.rows, want)
	})
}
