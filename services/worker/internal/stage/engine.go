package stage

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/pondage/pondage/internal/api/common"
	"github.com/pondage/pondage/internal/connect"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/services/worker/internal/exchange"
	"github.com/pondage/pondage/services/worker/internal/live"
	"github.com/pondage/pondage/services/worker/internal/node"
	"github.com/pondage/pondage/services/worker/internal/task"
)

// Engine starts the runs of a node. It implements node.Starter.
type Engine struct {
	place    ident.Place
	cluster  node.Cluster
	hub      *connect.Hub
	exchange *exchange.Exchange
	metrics  *task.Metrics
	log      *slog.Logger
	started  time.Time

	mu    sync.Mutex
	feeds map[ident.StreamID]*live.Feed
}

// NewEngine returns the engine of a node that knows its cluster.
func NewEngine(place ident.Place, c node.Cluster, hub *connect.Hub, x *exchange.Exchange, metrics *task.Metrics, log *slog.Logger) *Engine {
	return &Engine{place: place, cluster: c, hub: hub, exchange: x, metrics: metrics, log: log, started: time.Now(), feeds: map[ident.StreamID]*live.Feed{}}
}

// Feed returns the live results of a stream on this node; nil while it has none here.
func (e *Engine) Feed(id ident.StreamID) *live.Feed {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.feeds[id]
}

// feed makes the live results of a stage. Those of the stage before end with it: its watchers are told of the new one.
func (e *Engine) feed(id ident.StreamID, stage ident.Stage) *live.Feed {
	f := live.NewFeed(stage, e.cluster.VGroups)
	e.mu.Lock()
	defer e.mu.Unlock()
	if old := e.feeds[id]; old != nil {
		old.Close()
	}
	e.feeds[id] = f
	return f
}

// Start begins a run. It does not wait for anything; changed is called when a report says something new.
func (e *Engine) Start(o common.Order, changed func()) node.Run {
	ctx, cancel := context.WithCancel(context.Background())
	r := &Run{
		engine: e, id: ident.StreamID(o.StreamID), stage: ident.Stage(o.Stage), name: o.Name, order: o, changed: changed, cancel: cancel,
		log: e.log.With("stream", o.Name, "stage", o.Stage),
	}
	r.mine, r.placed = placement(o, e.place)
	for node, address := range r.placed.addresses {
		e.exchange.Locate(node, address)
	}
	e.exchange.StageKnown(r.id, r.stage, r.mine)
	r.goroutines.Go(func() { r.bringUp(ctx) })
	return r
}
