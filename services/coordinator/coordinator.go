package coordinator

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/pondage/pondage/internal/api/common"
	"github.com/pondage/pondage/internal/config"
	"github.com/pondage/pondage/internal/connect"
	"github.com/pondage/pondage/internal/httpserver"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/lifecycle"
	"github.com/pondage/pondage/internal/plan"
	"github.com/pondage/pondage/internal/telemetry"
	"github.com/pondage/pondage/openapi"
	"github.com/pondage/pondage/services/coordinator/internal/control"
	"github.com/pondage/pondage/services/coordinator/internal/control/planning"
	"github.com/pondage/pondage/services/coordinator/internal/httpapi"
	"github.com/pondage/pondage/services/coordinator/internal/language"
	"github.com/pondage/pondage/services/coordinator/internal/outside"
	"github.com/pondage/pondage/services/coordinator/internal/store/pgstore"
	"github.com/pondage/pondage/services/coordinator/internal/store/schema"
)

// Coordinator is one replica.
type Coordinator struct {
	services []*lifecycle.Service
	listener *httpserver.Listener
	url      string
	store    *pgstore.Store
	hub      *connect.Hub
	app      *control.Service
	dsn      string
	tel      *telemetry.Telemetry
}

// migratePause is the pause between two attempts to bring the metastore's schema up, migrateSay between two words about it.
const (
	migratePause = time.Second
	migrateSay   = 10 * time.Second
)

// New wires a replica and opens its port. Nothing else is reached before Services are started: a metastore or broker that is
// down shows in /readyz, it does not keep the process from starting.
func New(cfg config.Coordinator, version common.Version, tel *telemetry.Telemetry) (*Coordinator, error) {
	dsn, err := connect.DSN(cfg.Postgres)
	if err != nil {
		return nil, err
	}
	settings, err := connect.Settings(cfg.Kafka, cfg.Postgres)
	if err != nil {
		return nil, err
	}
	secret, err := cfg.Security.SharedSecret()
	if err != nil {
		return nil, err
	}
	c := &Coordinator{hub: connect.New(settings), dsn: dsn, tel: tel}
	holder, err := c.wire(cfg, version, secret)
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("coordinator %s: %w", holder, err)
	}
	return c, nil
}

// wire makes the parts; holder names the replica.
func (c *Coordinator) wire(cfg config.Coordinator, version common.Version, secret []byte) (holder string, err error) {
	// The server needs the address for the name of the replica, the listener the server: so the port is opened first.
	handler := &http.ServeMux{}
	if c.listener, err = httpserver.Listen(cfg.HTTP.Listen, handler, c.tel.Logger); err != nil {
		return cfg.HTTP.Listen, err
	}
	c.url = cfg.HTTP.Advertise
	if c.url == "" {
		c.url = "http://" + c.listener.Addr().String()
	}
	holder = strings.TrimPrefix(c.url, "http://") // where the other replicas reach it
	if c.store, err = pgstore.Open(pgstore.Config{DSN: c.dsn, Cluster: cfg.Cluster, Holder: holder, MaxConns: int32(cfg.Postgres.MaxConnections)}); err != nil {
		return holder, err
	}
	env := plan.Env{Cluster: ident.Cluster(cfg.Cluster), VGroups: cfg.VGroups, Zone: time.LoadLocation}
	settings := control.Default()
	settings.Cluster, settings.VGroups, settings.Holder, settings.Secret = env.Cluster, cfg.VGroups, holder, secret
	settings.Checkpoints.MaxConcurrent = cfg.MaxConcurrentCheckpoints
	metrics, err := control.NewMetrics(c.tel.Meter)
	if err != nil {
		return holder, err
	}
	c.app = control.New(settings, control.Seams{
		Store: c.store, Leases: c.store, Planner: planning.Planner{Env: env},
		Kafka: outside.Offsets{Hub: c.hub}, Sinks: outside.Sinks{Hub: c.hub, Env: env}, Edges: outside.Topics{Hub: c.hub, VGroups: cfg.VGroups},
		Nodes: outside.Workers{HTTP: &http.Client{Transport: &httpserver.Signer{Secret: secret}}, Doc: httpapi.OrdersDoc},
		Clock: control.SystemClock{}, Log: c.tel.Logger, Metrics: metrics,
	})
	document, err := openapi.Document(openapi.Coordinator)
	if err != nil {
		return holder, err
	}
	users, err := authenticator(cfg.Security, c.app)
	if err != nil {
		return holder, err
	}
	server, err := httpserver.New(httpserver.Config{
		Document: document, Telemetry: c.tel, Checks: c.checks, Authenticate: users, ClusterSecret: secret,
	})
	if err != nil {
		return holder, err
	}
	httpapi.Mount(server, httpapi.Config{App: c.app, Language: language.Language{Env: env}, Version: version, Brokers: cfg.Kafka.Brokers, Users: users})
	handler.Handle("/", server.Handler())
	c.services = []*lifecycle.Service{
		c.listener.Service("coordinator http"),
		lifecycle.NewService("coordinator control", lifecycle.Parts{Run: c.run, Stop: func() error { c.Close(); return nil }}),
	}
	return holder, nil
}

// authenticator is nil where everyone may do everything. The token of the configuration holds whatever the metastore says.
func authenticator(s config.Security, app *control.Service) (httpserver.Authenticator, error) {
	if s.Auth == config.AuthOff {
		return nil, nil
	}
	known := httpapi.Authenticator(app)
	if !s.AdminToken.Set() {
		return known, nil
	}
	token, err := s.AdminToken.Resolve()
	if err != nil {
		return nil, fmt.Errorf("security.admin_token: %w", err)
	}
	return httpserver.StaticToken(token, httpserver.Principal{Name: "admin", Role: httpserver.RoleAdmin}, known), nil
}

func (c *Coordinator) checks(ctx context.Context) []httpserver.Check {
	var out []httpserver.Check
	for _, check := range c.app.Checks(ctx) {
		out = append(out, httpserver.Check{Name: check.Name, Err: check.Err})
	}
	return append(out, httpserver.Check{Name: "kafka", Err: c.pingKafka(ctx)})
}

func (c *Coordinator) pingKafka(ctx context.Context) error {
	k, err := c.hub.Cluster()
	if err != nil {
		return err
	}
	return k.Client.Ping(ctx)
}

// run brings the schema up, however long the metastore takes to answer, then leads or stands by. A metastore that
// refuses who asks, or has no such database, ends the process: repeating does not help.
func (c *Coordinator) run(ctx context.Context) error {
	began := time.Now()
	var said time.Time
	for {
		err := schema.Up(ctx, c.dsn)
		switch {
		case err == nil:
			if !said.IsZero() {
				c.tel.Logger.Info("the metastore answers", "after", time.Since(began).Round(time.Second))
			}
			return c.app.Run(ctx)
		case ctx.Err() != nil:
			return nil // the end of the process interrupted it
		case connect.Lasting(err):
			return connect.RefusedPostgres(c.dsn, err)
		case time.Since(said) >= migrateSay:
			c.tel.Logger.Warn("the metastore's schema cannot be brought up; it is tried again until it can", "error", err)
			said = time.Now()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(migratePause):
		}
	}
}

// URL is where the API is reached.
func (c *Coordinator) URL() string { return c.url }

// Services are the parts to start, in order.
func (c *Coordinator) Services() []*lifecycle.Service { return c.services }

// Close ends the connections. The stop of the services does it too.
func (c *Coordinator) Close() {
	if c.store != nil {
		c.store.Close()
	}
	c.hub.Close()
}
