package stage

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/pondage/pondage/internal/api/common"
	"github.com/pondage/pondage/internal/connect"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/storage"
	"github.com/pondage/pondage/internal/telemetry"
	"github.com/pondage/pondage/services/worker/internal/exchange"
	"github.com/pondage/pondage/services/worker/internal/live"
	"github.com/pondage/pondage/services/worker/internal/memory"
	"github.com/pondage/pondage/services/worker/internal/node"
	"github.com/pondage/pondage/services/worker/internal/sink"
	"github.com/pondage/pondage/services/worker/internal/task"
)

// Config is what the runs of a node are made with.
type Config struct {
	Place    ident.Place
	Cluster  node.Cluster
	Hub      *connect.Hub
	Exchange *exchange.Exchange
	Memory   *memory.Pool
	Live     live.Memory
	// Store keeps checkpoints, Checkpoints is the node's side of them; nil: streams take none.
	Store       storage.Store
	Checkpoints task.Node
	// Current asks the coordinator whether a stage is still the stream's; see sink.KafkaTransactional.
	Current func(ctx context.Context, stream string, id ident.StreamID, stage ident.Stage) error
	// Overflow is what windows may use; the zero value: all memory there is.
	Overflow Overflow
	// WebhookHosts are the hosts that webhooks may have (notify.Config).
	WebhookHosts []string
	MaxBatch     int // of a dispatch request on this node, bytes; a stream may ask for less
	Metrics      *Metrics
	Tasks        *task.Metrics
	Sinks        *sink.Metrics
	Tracing      *task.Tracing
	Tracer       trace.Tracer
	Log          *slog.Logger
}

// Engine starts the runs of a node. It implements node.Starter.
type Engine struct {
	Config
	started time.Time

	mu    sync.Mutex
	feeds map[ident.StreamID]*live.Feed
	runs  map[ident.StreamID]*Run
}

// NewEngine returns the engine of a node that knows its cluster.
func NewEngine(c Config) *Engine {
	e := &Engine{Config: c, started: time.Now(), feeds: map[ident.StreamID]*live.Feed{}, runs: map[ident.StreamID]*Run{}}
	c.Metrics.observe(e.live)
	return e
}

// Feed returns the live results of a stream on this node; nil while it has none here.
func (e *Engine) Feed(id ident.StreamID) *live.Feed {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.feeds[id]
}

// openFeed makes the live results of a stage that goes on from a checkpoint. Those of the stage before have ended with it.
func (e *Engine) openFeed(id ident.StreamID, stage ident.Stage, from ident.CheckpointID) *live.Feed {
	f := live.NewFeed(stage, e.Cluster.VGroups).Within(e.Live).From(from)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.feeds[id] = f
	return f
}

// closeFeed ends the live results of a stage: who watches looks for those of the next.
func (e *Engine) closeFeed(id ident.StreamID, f *live.Feed) {
	f.Close()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.feeds[id] == f {
		delete(e.feeds, id)
	}
}

// live returns the runs of the node.
func (e *Engine) live() []*Run {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Collect(maps.Values(e.runs))
}

// Start begins a run. It does not wait for anything; changed is called when a report says something new.
func (e *Engine) Start(o common.Order, changed func()) node.Run {
	ctx, cancel := context.WithCancel(context.Background())
	r := &Run{
		engine: e, id: ident.StreamID(o.StreamID), stage: ident.Stage(o.Stage), name: o.Name, order: o, changed: changed, cancel: cancel,
		tasks: map[ident.Task]running{}, retain: make(chan struct{}, 1), log: e.Log.With(telemetry.KeyStream, o.Name, telemetry.KeyStage, o.Stage),
	}
	r.mine, r.placed = placement(o, e.Place)
	e.Exchange.Locate(r.id, r.placed.addresses)
	e.Exchange.StageKnown(r.id, r.stage, r.mine)
	e.mu.Lock()
	e.runs[r.id] = r
	e.mu.Unlock()
	r.goroutines.Go(func() { r.bringUp(ctx) })
	if e.Store != nil {
		r.retain <- struct{}{} // what was to go while the stream did not run here
		r.goroutines.Go(func() { r.keepRetained(ctx) })
	}
	return r
}

// ended forgets a run.
func (e *Engine) ended(r *Run) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.runs[r.id] == r {
		delete(e.runs, r.id)
	}
}
