package task

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/metric/noop"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/dispatch"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/kafka"
	"github.com/pondage/pondage/internal/plan"
	"github.com/pondage/pondage/internal/rowjson"
	"github.com/pondage/pondage/internal/spec"
	"github.com/pondage/pondage/internal/task"
	"github.com/pondage/pondage/internal/watermark"
	"github.com/pondage/pondage/services/worker/internal/exchange"
	"github.com/pondage/pondage/services/worker/internal/live"
	"github.com/pondage/pondage/services/worker/internal/memory"
	"github.com/pondage/pondage/services/worker/internal/sink"
)

// The cast: one stream in stage 1, all its tasks on one node, in one bubble of virtual time. Kafka is a log in memory
// (cluster), credits go through the real exchange, results into outlets.

const sourceSpec = `{"name":"readings","format":"json","kafka":{"topic":"readings"},"table":"device","event_time":"ts",
	"columns":[{"name":"device","type":"string"},{"name":"v","type":"int64"}]}`

const (
	sourceTopic = "readings"
	poolBytes   = 64 << 20
)

var node1 = ident.Place{Node: "n1", Instance: ident.Instance{Counter: 1}}

// scene is what a test asks for.
type scene struct {
	stream     string // members of the stream's spec
	vgroups    int
	partitions int
	bounded    bool         // until: what is there when the tasks start
	pool       *memory.Pool // of several stages; nil: one of its own
	tracing    *Tracing
	id         ident.StreamID // 0: a new one
	// checkpoints gives each task its way to take part; nil: none does.
	checkpoints func(id ident.Task) *Checkpoints
	windows     Windows // of each receiver
}

// streams numbers the streams of all tests.
var streams atomic.Int64

// stage is a running stage of a stream.
type stage struct {
	// changed hears that a task's report has changed, from the task's goroutine; nil: nobody.
	changed   func(ident.Task)
	t         *testing.T
	scene     scene
	id        ident.StreamID
	plan      *plan.Plan
	graph     plan.Graph
	kafka     *cluster
	pool      *memory.Pool
	exchange  *exchange.Exchange
	aside     *asideLog
	sources   map[ident.Task]*Source
	receivers map[ident.Task]*Receiver
	outlets   map[ident.Task]*outlet
	ctx       context.Context
	cancel    context.CancelFunc
	running   sync.WaitGroup
}

func buildPlan(t *testing.T, stream string, vgroups int) *plan.Plan {
	t.Helper()
	src, err := spec.ParseSource([]byte(sourceSpec))
	if err != nil {
		t.Fatal(err)
	}
	st, err := spec.ParseStream([]byte(`{"name":"s","source":"readings",` + stream + `}`))
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Build(src, st, plan.Env{Cluster: "c", VGroups: vgroups, Zone: time.LoadLocation})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// newStage makes the stage's parts; start runs its tasks.
func newStage(t *testing.T, sc scene) *stage {
	t.Helper()
	if sc.pool == nil {
		sc.pool = memory.New(poolBytes)
	}
	if sc.id == 0 {
		sc.id = ident.StreamID(streams.Add(1))
	}
	s := &stage{
		t: t, scene: sc, id: sc.id, plan: buildPlan(t, sc.stream, sc.vgroups), pool: sc.pool, aside: &asideLog{},
		sources: map[ident.Task]*Source{}, receivers: map[ident.Task]*Receiver{}, outlets: map[ident.Task]*outlet{},
	}
	s.graph = s.plan.Graph(s.id, sc.partitions)
	s.kafka = newCluster(s.pool)
	s.kafka.create(sourceTopic, sc.partitions)
	s.ctx, s.cancel = context.WithCancel(t.Context())
	s.exchange = exchange.New(node1, nil, func() {})
	for _, gt := range s.graph.Tasks {
		if gt.Sinks {
			s.outlets[gt.Task] = &outlet{}
		}
	}
	t.Cleanup(s.end)
	return s
}

// end ends everything and looks for what was left behind. It may be called twice.
func (s *stage) end() {
	s.cancel()
	s.running.Wait()
	s.kafka.close()
	for _, x := range s.sources {
		if n := x.cfg.Memory.Held(); n != 0 {
			s.t.Errorf("%s holds %d bytes after the end", x.cfg.Self.Task, n)
		}
	}
	for _, sub := range s.kafka.subs {
		if sub.held != 0 {
			s.t.Errorf("%d chunks of %s/%d were not released", sub.held, sub.spec.Topic, sub.spec.Partition)
		}
	}
}

func (s *stage) common(id ident.Task) Common {
	metrics, err := NewMetrics(noop.NewMeterProvider())
	if err != nil {
		s.t.Fatal(err)
	}
	c := Common{
		Self: dispatch.Self{Stream: s.id, Stage: 1, Task: id, Place: node1}, Plan: s.plan, Reader: s.kafka, Aside: s.aside,
		Memory: s.pool.Open(dispatch.Holder{Stream: s.id, Task: id}), Metrics: metrics, Tracing: s.scene.tracing,
		Log: slog.New(slog.DiscardHandler), Started: time.Now(), Changed: func() {
			if s.changed != nil {
				s.changed(id)
			}
		},
	}
	if s.scene.checkpoints != nil {
		c.Checkpoints = s.scene.checkpoints(id)
	}
	if out := s.outlets[id]; out != nil {
		out.begin(c.Memory)
		c.Outputs, c.Live = sink.Chain{out}, live.NewFeed(1, s.scene.vgroups)
	}
	return c
}

// start runs the tasks in the order of a bring-up.
func (s *stage) start() {
	var upstreams, downstreams []dispatch.Peer
	for _, gt := range s.graph.Tasks {
		p := dispatch.Peer{Task: gt.Task, Place: node1}
		if gt.Task.Level == ident.LevelSource {
			upstreams = append(upstreams, p)
		} else {
			downstreams = append(downstreams, p)
		}
	}
	edge := ""
	if len(s.graph.Edges) > 0 {
		edge = s.graph.Edges[0].Topic
		s.kafka.create(edge, s.scene.vgroups)
	}
	for _, d := range downstreams {
		s.receiver(d.Task, edge, upstreams)
	}
	for _, gt := range s.graph.Tasks {
		if gt.Task.Level == ident.LevelSource {
			s.source(gt, edge, downstreams)
		}
	}
	s.running.Go(func() { s.exchange.Run(s.ctx) })
}

func (s *stage) receiver(id ident.Task, edge string, upstreams []dispatch.Peer) {
	r, err := NewReceiver(ReceiverConfig{Common: s.common(id), Upstreams: upstreams, Topic: edge, Credits: s.exchange, Windows: s.scene.windows})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, u := range upstreams {
		s.exchange.OpenChannel(r.channel(u.Task), node1.Node)
	}
	s.receivers[id] = r
	s.running.Go(func() { r.Run(s.ctx) })
}

func (s *stage) source(gt plan.GraphTask, edge string, downstreams []dispatch.Peer) {
	cfg := SourceConfig{Common: s.common(gt.Task), EdgeTopic: edge, MaxBatch: int(s.plan.Settings.MaxDispatchBatch)}
	for _, p := range gt.Partitions {
		part := SourcePartition{Topic: sourceTopic, Partition: p}
		if s.scene.bounded {
			part.Until = watermark.Until(s.kafka.end(sourceTopic, p))
		}
		cfg.Partitions = append(cfg.Partitions, part)
	}
	for _, d := range downstreams {
		cfg.Targets = append(cfg.Targets, Target{Peer: d, Queue: s.kafka.queue(edge, ident.Partition(d.Task.VGroup))})
	}
	src, err := NewSource(cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	s.exchange.AddSender(cfg.Self, src.Credited)
	s.sources[gt.Task] = src
	s.running.Go(func() { src.Run(s.ctx) })
}

// record writes a record of a device to a partition of the source.
func (s *stage) record(p ident.Partition, device string, ts float64, v int) {
	s.kafka.append(sourceTopic, p, kafka.Message{
		Key: []byte(device), Value: fmt.Appendf(nil, `{"device":%q,"ts":%d,"v":%d}`, device, int64(ts*1000), v), TimestampMs: time.Now().UnixMilli(),
	})
}

// results returns the rows of all outputs, sorted.
func (s *stage) results() []string {
	var out []string
	for _, o := range s.outlets {
		out = append(out, o.rows(s.plan)...)
	}
	slices.Sort(out)
	return out
}

// counters adds up what the source tasks report.
func (s *stage) counters() (c Counters) {
	for _, src := range s.sources {
		for _, p := range src.Report().Progress.Partitions {
			c.Counted += p.Counters.Counted
			c.Filtered += p.Counters.Filtered
			c.NoWindow += p.Counters.NoWindow
			c.Late += p.Counters.Late
			c.DeadLettered += p.Counters.DeadLettered
		}
	}
	return c
}

// reports returns the report of every task, by name.
func (s *stage) reports() map[string]Report {
	out := map[string]Report{}
	for id, x := range s.sources {
		out[id.String()] = x.Report()
	}
	for id, x := range s.receivers {
		out[id.String()] = x.Report()
	}
	return out
}

// wantFinished lets time pass until all tasks have finished.
func (s *stage) wantFinished() {
	s.t.Helper()
	const within = 2 * time.Minute
	for range within / time.Second {
		time.Sleep(time.Second)
		synctest.Wait()
		open := 0
		for _, r := range s.reports() {
			if r.State != task.Finished {
				open++
			}
		}
		if open == 0 {
			return
		}
	}
	s.t.Errorf("not finished after %s: %s", within, s.describe())
}

// wantWell tells of tasks that have failed or want a reset.
func (s *stage) wantWell() {
	s.t.Helper()
	for name, r := range s.reports() {
		if r.Cause != nil || r.Reset != nil {
			s.t.Errorf("%s: %s", name, s.describe())
		}
	}
}

func (s *stage) describe() string {
	var b strings.Builder
	reports := s.reports()
	for _, name := range slices.Sorted(maps.Keys(reports)) {
		r := reports[name]
		fmt.Fprintf(&b, "\n  %s %s", name, r.State)
		if r.Cause != nil {
			fmt.Fprintf(&b, " %+v", *r.Cause)
		}
		if r.Reset != nil {
			fmt.Fprintf(&b, " %s", r.Reset)
		}
	}
	return b.String()
}

// outlet is an output in memory. It may be shut: then nothing is written until it opens.
type outlet struct {
	memory sink.Memory
	queue  chan *block.Batch
	ended  chan struct{}

	mu      sync.Mutex
	fails   error         // of Write, from now on
	stopped error         // what has ended it behind the last Write
	shut    chan struct{} // closed when it opens; nil: it is open
	pace    time.Duration // of a row
	got     []*block.Batch
	writes  int
	handed  int                        // rows
	cuts    map[ident.CheckpointID]int // handed over before each trigger
	shown   ident.CheckpointID         // the newest complete checkpoint
}

// begin is called by the rig for each task that has the outlet.
func (o *outlet) begin(m sink.Memory) {
	o.memory, o.queue, o.ended = m, make(chan *block.Batch, 4), make(chan struct{})
	go o.run(o.queue, o.ended)
}

func (o *outlet) run(queue chan *block.Batch, ended chan struct{}) {
	for {
		select {
		case <-ended:
			return
		case b := <-queue:
			o.mu.Lock()
			shut, pace := o.shut, o.pace
			o.mu.Unlock()
			if shut != nil {
				select {
				case <-shut:
				case <-ended:
					return
				}
			}
			time.Sleep(pace * time.Duration(b.Rows()))
			o.mu.Lock()
			o.got = append(o.got, b)
			o.mu.Unlock()
			o.memory.Give(int64(b.MemBytes()))
		}
	}
}

// Write implements sink.Output.
func (o *outlet) Write(ctx context.Context, b *block.Batch) error {
	for {
		changed := o.memory.Changed()
		if o.memory.TryTake(int64(b.MemBytes())) {
			break
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	o.mu.Lock()
	fails := o.fails
	if fails == nil {
		o.writes++
		o.handed += b.Rows()
	}
	o.mu.Unlock()
	if fails != nil {
		return fails
	}
	select {
	case o.queue <- b:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Flush implements sink.Output.
func (o *outlet) Flush(ctx context.Context) error {
	for {
		o.mu.Lock()
		done := len(o.got) == o.writes
		o.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
}

// Stopped implements sink.Output.
func (o *outlet) Stopped() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.stopped
}

// Status implements sink.Output.
func (o *outlet) Status() sink.Status {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := sink.Status{Kind: "test", Pending: len(o.queue)}
	if o.shut != nil {
		s.Problem = "shut"
	}
	return s
}

// Close implements sink.Output.
func (o *outlet) Close() { close(o.ended) }

func (o *outlet) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.shut = make(chan struct{})
}

func (o *outlet) open() {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.shut)
	o.shut = nil
}

// rows returns the rows as JSON, in the order of writing.
func (o *outlet) rows(p *plan.Plan) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	enc := rowjson.NewEncoder(p.Result.Fields())
	var out []string
	for _, b := range o.got {
		for i := range b.Rows() {
			out = append(out, string(enc.AppendRow(nil, b.Cols, i)))
		}
	}
	return out
}

// asideLog is what was set aside: "dead readings/0@5 code" and "late readings/0@7".
type asideLog struct {
	mu    sync.Mutex
	lines []string
}

func (a *asideLog) note(format string, args ...any) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lines = append(a.lines, fmt.Sprintf(format, args...))
	return nil
}

func (a *asideLog) Dead(_ context.Context, topic string, p ident.Partition, r *kafka.Record, code, _ string) error {
	return a.note("dead %s/%d@%d %s", topic, p, r.Offset, code)
}

func (a *asideLog) DeadRow(ctx context.Context, topic string, p ident.Partition, r *kafka.Record, code, reason string) error {
	return a.Dead(ctx, topic, p, r, code, reason)
}

func (a *asideLog) Late(_ context.Context, topic string, p ident.Partition, r *kafka.Record, _ ident.EventMs) error {
	return a.note("late %s/%d@%d", topic, p, r.Offset)
}

func (a *asideLog) DeadResult(_ context.Context, _ ident.VGroup, row []byte, code, _ string) error {
	return a.note("result %s %.40s", code, row)
}

func (a *asideLog) Flush(context.Context) error { return nil }

func (a *asideLog) sorted() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := slices.Clone(a.lines)
	slices.Sort(out)
	return out
}

func wantLines(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got\n  %s\nwant\n  %s", what, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}
