package worker

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/pondage/pondage/internal/api/common"
	"github.com/pondage/pondage/internal/config"
	"github.com/pondage/pondage/internal/connect"
	"github.com/pondage/pondage/internal/httpserver"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/kafka"
	"github.com/pondage/pondage/internal/lifecycle"
	"github.com/pondage/pondage/internal/storage/dirstore"
	"github.com/pondage/pondage/internal/telemetry"
	"github.com/pondage/pondage/services/worker/internal/catalog"
	"github.com/pondage/pondage/services/worker/internal/checkpointing"
	"github.com/pondage/pondage/services/worker/internal/exchange"
	"github.com/pondage/pondage/services/worker/internal/memory"
	"github.com/pondage/pondage/services/worker/internal/node"
	"github.com/pondage/pondage/services/worker/internal/peers"
	"github.com/pondage/pondage/services/worker/internal/results"
	"github.com/pondage/pondage/services/worker/internal/sink"
	"github.com/pondage/pondage/services/worker/internal/stage"
	"github.com/pondage/pondage/services/worker/internal/task"
)

// Worker is one node's worker.
type Worker struct {
	tel      *telemetry.Telemetry
	identity *node.Identity
	hub      *connect.Hub
	exchange *exchange.Exchange
	runs     *node.Runs
	agent    *node.Agent
	engine   *lateEngine
	replicas *catalog.Replicas
	parts    *checkpointing.Node
	memory   *memory.Pool
	live     *kafka.Limit
	overflow stage.Overflow
	maxBatch int
	hooks    []string           // hosts of webhooks
	signer   *httpserver.Signer // the transport of calls to other services
	listener *httpserver.Listener
	url      string
	services []*lifecycle.Service
	closers  []func() // of what the API stands on; before the connections end
}

// New wires a worker, takes its data directory and opens its port. Nothing else is reached before Services are started.
func New(cfg config.Worker, version common.Version, tel *telemetry.Telemetry) (_ *Worker, err error) {
	w := &Worker{tel: tel, maxBatch: int(cfg.DispatchMaxBatch), hooks: cfg.WebhookHosts}
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	if w.identity, err = node.OpenIdentity(cfg.DataDir); err != nil {
		return nil, err
	}
	settings, err := connect.Settings(cfg.Kafka, cfg.Postgres)
	if err != nil {
		return nil, err
	}
	w.memory = memory.New(int64(cfg.Memory) - int64(cfg.Memory)/liveShare)
	w.live = kafka.NewLimit(int64(cfg.Memory) / liveShare)
	if w.overflow, err = emptyOverflow(cfg); err != nil {
		return nil, err
	}
	settings.Fetch = kafka.FetcherConfig{Budget: w.memory}
	settings.Tracer = w.tracer()
	secret, err := cfg.Security.SharedSecret()
	if err != nil {
		return nil, err
	}
	w.hub = connect.New(settings)
	store, err := dirstore.Open(checkpointDir(cfg))
	if err != nil {
		return nil, err
	}
	w.engine = &lateEngine{janitor: results.NewJanitor(w.hub, tel.Logger), store: store, log: tel.Logger}
	w.signer = &httpserver.Signer{Secret: secret}
	others := peers.New(w.signer)
	place := ident.Place{Node: w.identity.Node, Instance: w.identity.Instance}
	w.exchange = exchange.New(place, others, func() { w.agent.Nudge() })
	w.runs = node.NewRuns(place, w.engine, tel.Logger)

	handler := &http.ServeMux{}
	if w.listener, err = httpserver.Listen(cfg.HTTP.Listen, handler, tel.Logger); err != nil {
		return nil, err
	}
	w.url = cfg.HTTP.Advertise
	if w.url == "" {
		w.url = "http://" + w.listener.Addr().String()
	}
	replicas := newCoordinators(cfg.Coordinators, &http.Client{Transport: w.signer})
	w.agent = node.NewAgent(w.identity, w.url, version.Version, replicas, w.runs, tel.Logger)
	w.parts = checkpointing.New(reporter{replicas, w.agent, place}, asker{w.engine, others, place}, tel.Logger)
	if err := w.serve(handler, cfg, version, secret, others); err != nil {
		return nil, err
	}
	w.services = []*lifecycle.Service{
		w.listener.Service("worker http"),
		lifecycle.NewService("worker node", lifecycle.Parts{Run: w.run, Stop: func() error { w.close(); return nil }}),
	}
	return w, nil
}

// checkpointDir is where the node keeps checkpoints: a directory that all nodes share, or one of its own.
func checkpointDir(cfg config.Worker) string {
	if cfg.CheckpointDir != "" {
		return cfg.CheckpointDir
	}
	const own = "checkpoints"
	return filepath.Join(cfg.DataDir, own)
}

// emptyOverflow is what windows may use. What another process has left on disk is deleted: a restore begins anew.
func emptyOverflow(cfg config.Worker) (stage.Overflow, error) {
	const own = "overflow"
	dir := filepath.Join(cfg.DataDir, own)
	if err := os.RemoveAll(dir); err != nil {
		return stage.Overflow{}, fmt.Errorf("delete what an earlier process has left: %w", err)
	}
	return stage.Overflow{Memory: memory.NewShares(cfg.StateMemory()), Dir: dir}, nil
}

// liveShare is the part of the worker's memory that the rings of live results have: a sixteenth. The rest is the pool of
// what is on its way from sources to sinks.
const liveShare = 16

// run registers the node, then lets heartbeats, orders and credits go on until the context ends. The node says that it
// leaves before its tasks end, so that they move at once (DESIGN §11).
func (w *Worker) run(ctx context.Context) error {
	starts, err := w.stages()
	if err != nil {
		return err
	}
	err = w.agent.Register(ctx, func(c node.Cluster) error {
		starts.Cluster = c
		w.engine.set(stage.NewEngine(starts))
		return nil
	})
	if err != nil {
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the end of the process interrupted it
		}
		return err
	}
	background, end := context.WithCancel(context.WithoutCancel(ctx))
	var loops sync.WaitGroup
	loops.Go(func() { w.runs.Loop(background.Done()) })
	loops.Go(func() { w.exchange.Run(background) })
	loops.Go(func() { w.engine.janitor.Run(background) })
	loops.Go(func() { w.parts.Run(background) })
	err = w.beat(ctx)
	end()
	loops.Wait()
	w.parts.Close()
	w.engine.deletes.Wait()
	if errors.Is(err, node.ErrSuperseded) {
		return fmt.Errorf("%w: this process exits", err)
	}
	return err
}

// closeWithin is how long checkpoints under way may take to get through when the node closes (DESIGN §11).
const closeWithin = 10 * time.Second

// beat lets heartbeats go on until the context ends, and then until no checkpoint is under way here any more: a node that says
// that it leaves makes them fail.
func (w *Worker) beat(ctx context.Context) error {
	beating, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	stop := context.AfterFunc(ctx, func() {
		defer end()
		within, cancel := context.WithTimeout(beating, closeWithin)
		defer cancel()
		w.engine.engine.Load().Settle(within)
	})
	defer stop()
	return w.agent.Run(beating)
}

// stages is what the runs of streams are made with, but for the cluster, which the node learns when it registers.
func (w *Worker) stages() (stage.Config, error) {
	c := stage.Config{
		Place: ident.Place{Node: w.identity.Node, Instance: w.identity.Instance}, Hub: w.hub, Exchange: w.exchange, Memory: w.memory, Live: w.live, MaxBatch: w.maxBatch, WebhookHosts: w.hooks,
		Overflow: w.overflow, Store: w.engine.store, Checkpoints: w.parts, Current: w.current,
		Tracing: task.NewTracing(w.tel), Tracer: w.tracer(), Log: w.tel.Logger,
	}
	var errs [4]error
	c.Metrics, errs[0] = stage.NewMetrics(w.tel.Meter)
	c.Tasks, errs[1] = task.NewMetrics(w.tel.Meter)
	c.Sinks, errs[2] = sink.NewMetrics(w.tel.Meter)
	errs[3] = w.memory.Measure(w.tel.Meter)
	return c, errors.Join(errs[:]...)
}

// tracer is for the spans of outputs and their statements.
func (w *Worker) tracer() trace.Tracer {
	return w.tel.Tracer.Tracer("github.com/pondage/pondage/services/worker")
}

// URL is where the API is reached.
func (w *Worker) URL() string { return w.url }

// Services are the parts to start, in order.
func (w *Worker) Services() []*lifecycle.Service { return w.services }

func (w *Worker) close() {
	for _, c := range w.closers {
		c()
	}
	if w.hub != nil {
		w.hub.Close()
	}
	if w.identity != nil {
		w.identity.Close()
	}
}
