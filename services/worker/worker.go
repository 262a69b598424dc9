// Package worker wires a worker: the tasks of the vgroups that its node owns, ingest, results (DESIGN §2).
//
// It owns: which parts there are, how they hang together, and the order in which they begin and end. It does not own: any of
// their behaviour. Start reading at New; a record's path is in internal/task.
package worker

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/pondage/pondage/internal/api/common"
	"github.com/pondage/pondage/internal/config"
	"github.com/pondage/pondage/internal/connect"
	"github.com/pondage/pondage/internal/httpserver"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/kafka"
	"github.com/pondage/pondage/internal/lifecycle"
	"github.com/pondage/pondage/internal/telemetry"
	"github.com/pondage/pondage/services/worker/internal/exchange"
	"github.com/pondage/pondage/services/worker/internal/node"
	"github.com/pondage/pondage/services/worker/internal/peers"
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
	signer   *httpserver.Signer // the transport of calls to other services
	listener *httpserver.Listener
	url      string
	services []*lifecycle.Service
}

// New wires a worker, takes its data directory and opens its port. Nothing else is reached before Services are started.
func New(cfg config.Worker, version common.Version, tel *telemetry.Telemetry) (_ *Worker, err error) {
	w := &Worker{tel: tel, engine: &lateEngine{}}
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
	settings.Fetch = kafka.FetcherConfig{Budget: kafka.NewLimit(int64(cfg.Memory) / fetchShare)}
	secret, err := clusterSecret(cfg.Security)
	if err != nil {
		return nil, err
	}
	w.hub = connect.New(settings)
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
	w.agent = node.NewAgent(w.identity, w.url, version.Version, newCoordinators(cfg.Coordinators, &http.Client{Transport: w.signer}), w.runs, tel.Logger)
	if err := w.serve(handler, cfg, version, secret, others); err != nil {
		return nil, err
	}
	w.services = []*lifecycle.Service{
		w.listener.Service("worker http"),
		lifecycle.NewService("worker node", lifecycle.Parts{Run: w.run, Stop: func() error { w.close(); return nil }}),
	}
	return w, nil
}

// fetchShare is the part of the worker's memory that chunks may hold: a quarter. The rest is for blocks in both
// directions (bounded by credit), result batches, and window state.
const fetchShare = 4

func clusterSecret(s config.Security) ([]byte, error) {
	if !s.ClusterSecret.Set() {
		return nil, nil
	}
	text, err := s.ClusterSecret.Resolve()
	if err != nil {
		return nil, fmt.Errorf("security.cluster_secret: %w", err)
	}
	return []byte(text), nil
}

// run registers the node, then lets heartbeats, orders and credits go on until the context ends. What a stream does ends
// before the node says that it leaves.
func (w *Worker) run(ctx context.Context) error {
	place := ident.Place{Node: w.identity.Node, Instance: w.identity.Instance}
	metrics, err := task.NewMetrics(w.tel.Meter)
	if err != nil {
		return err
	}
	err = w.agent.Register(ctx, func(c node.Cluster) error {
		w.engine.set(stage.NewEngine(place, c, w.hub, w.exchange, metrics, w.tel.Logger))
		return nil
	})
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	orders, credits := make(chan struct{}), make(chan struct{})
	background, end := context.WithCancel(context.WithoutCancel(ctx))
	go func() { defer close(orders); w.runs.Loop(background.Done()) }()
	go func() { defer close(credits); w.exchange.Run(background) }()
	err = w.agent.Run(ctx)
	end()
	<-orders
	<-credits
	if errors.Is(err, node.ErrSuperseded) {
		return fmt.Errorf("%w: this process exits", err)
	}
	return err
}

// URL is where the API is reached.
func (w *Worker) URL() string { return w.url }

// Services are the parts to start, in order.
func (w *Worker) Services() []*lifecycle.Service { return w.services }

func (w *Worker) close() {
	if w.hub != nil {
		w.hub.Close()
	}
	if w.identity != nil {
		w.identity.Close()
	}
}
