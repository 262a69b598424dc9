package worker

import (
	"context"
	"net/http"

	"github.com/pondage/pondage/internal/api/common"
	"github.com/pondage/pondage/internal/config"
	"github.com/pondage/pondage/internal/httpserver"
	"github.com/pondage/pondage/internal/problem"
	"github.com/pondage/pondage/openapi"
	"github.com/pondage/pondage/services/worker/internal/catalog"
	"github.com/pondage/pondage/services/worker/internal/explain"
	"github.com/pondage/pondage/services/worker/internal/httpapi"
	"github.com/pondage/pondage/services/worker/internal/ingest"
	"github.com/pondage/pondage/services/worker/internal/peers"
	"github.com/pondage/pondage/services/worker/internal/readiness"
	"github.com/pondage/pondage/services/worker/internal/results"
	"github.com/pondage/pondage/services/worker/internal/setaside"
	"github.com/pondage/pondage/services/worker/internal/watch"
)

// serve mounts the API on the handler.
func (w *Worker) serve(handler *http.ServeMux, cfg config.Worker, version common.Version, secret []byte, p *peers.Peers) error {
	signed := &http.Client{Transport: w.signer}
	replicas, err := catalog.NewReplicas(cfg.Coordinators, signed)
	if err != nil {
		return err
	}
	w.replicas = replicas
	document, err := openapi.Document(openapi.Worker)
	if err != nil {
		return err
	}
	server, err := httpserver.New(httpserver.Config{
		Document: document, Telemetry: w.tel, ClusterSecret: secret, Checks: readiness.Checks(w.agent.Check, w.hub, w.runs),
		Authenticate: authenticator(cfg.Security, newCoordinators(cfg.Coordinators, signed)),
	})
	if err != nil {
		return err
	}
	names := catalog.New(replicas, w.runs, w.agent.Cluster)
	records, answers := ingest.New(names, w.hub), results.New(names, w.hub)
	w.closers = append(w.closers, records.Close, answers.Close)
	httpapi.Mount(server, httpapi.Config{
		Node:   common.Place{Node: string(w.identity.Node), Instance: w.identity.Instance.String()},
		Orders: w.agent, Edges: w.exchange, Checkpoints: w.engine, Version: version,
		Ingest: records, Results: answers, SetAside: setaside.New(names, w.hub, w.agent.Cluster),
		Live:    watch.New(w.identity.Node, names, w.engine, p, w.tel.Logger),
		Explain: explain.New(w.identity.Node, names, p),
	})
	handler.Handle("/", server.Handler())
	return nil
}

// authenticator asks the coordinator whom a token belongs to, and remembers the answer for a while. It is nil where
// everyone may do everything.
func authenticator(s config.Security, c *coordinators) httpserver.Authenticator {
	if s.Auth == config.AuthOff {
		return nil
	}
	return httpserver.Remember(func(ctx context.Context, token string) (httpserver.Principal, error) {
		known, err := c.CheckToken(ctx, token)
		if err != nil {
			return httpserver.Principal{}, err
		}
		role, ok := httpserver.ParseRole(known.Role)
		if !ok {
			return httpserver.Principal{}, problem.New(problem.CodeForbidden, "token %s has the unknown role %q", known.Name, known.Role)
		}
		return httpserver.Principal{Name: known.Name, Role: role}, nil
	})
}
