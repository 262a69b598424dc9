package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/pondage/pondage/internal/config"
	"github.com/pondage/pondage/internal/connect"
	"github.com/pondage/pondage/internal/devstack"
	"github.com/pondage/pondage/internal/devstack/stack"
	"github.com/pondage/pondage/internal/lifecycle"
	"github.com/pondage/pondage/internal/telemetry"
	"github.com/pondage/pondage/services/coordinator"
	"github.com/pondage/pondage/services/snapshotter"
	"github.com/pondage/pondage/services/worker"
)

// Coordinator runs a coordinator.
func Coordinator(ctx context.Context, cfg config.Coordinator, p Process) error {
	p.Log, p.Telemetry, p.Auth = cfg.Log, cfg.Telemetry, cfg.Security.Auth
	return run(ctx, p, func(_ context.Context, tel *telemetry.Telemetry) ([]*lifecycle.Service, Ready, error) {
		c, err := coordinator.New(cfg, p.Version, tel)
		if err != nil {
			return nil, Ready{}, err
		}
		return c.Services(), Ready{API: c.URL(), Brokers: cfg.Kafka.Brokers}, nil
	})
}

// Worker runs a worker.
func Worker(ctx context.Context, cfg config.Worker, p Process) error {
	p.Log, p.Telemetry, p.Auth = cfg.Log, cfg.Telemetry, cfg.Security.Auth
	return run(ctx, p, func(_ context.Context, tel *telemetry.Telemetry) ([]*lifecycle.Service, Ready, error) {
		w, err := worker.New(cfg, p.Version, tel)
		if err != nil {
			return nil, Ready{}, err
		}
		return append(w.Services(), database(cfg.Postgres, tel)), Ready{Worker: w.URL(), Brokers: cfg.Kafka.Brokers, DataDir: cfg.DataDir}, nil
	})
}

// Snapshotter runs a snapshotter.
func Snapshotter(ctx context.Context, cfg config.Snapshotter, p Process) error {
	p.Log, p.Telemetry, p.Auth = cfg.Log, cfg.Telemetry, cfg.Security.Auth
	return run(ctx, p, func(_ context.Context, tel *telemetry.Telemetry) ([]*lifecycle.Service, Ready, error) {
		s, err := snapshotter.New(cfg, p.Version, tel)
		if err != nil {
			return nil, Ready{}, err
		}
		return s.Services(), Ready{Snapshotter: s.URL(), DataDir: cfg.DataDir}, nil
	})
}

// Node runs a worker and the snapshotter beside it.
func Node(ctx context.Context, cfg config.Node, p Process) error {
	p.Log, p.Telemetry, p.Auth = cfg.Log, cfg.Telemetry, cfg.Security.Auth
	return run(ctx, p, func(_ context.Context, tel *telemetry.Telemetry) ([]*lifecycle.Service, Ready, error) {
		s, err := snapshotter.New(config.Snapshotter{
			DataDir: cfg.DataDir, HTTP: cfg.Snapshotter, Security: cfg.Security, Log: cfg.Log, Telemetry: cfg.Telemetry,
		}, p.Version, tel)
		if err != nil {
			return nil, Ready{}, err
		}
		w, err := worker.New(cfg.Worker, p.Version, tel)
		if err != nil {
			return nil, Ready{}, err
		}
		// The worker first: it takes the lock on the data directory.
		services := append(w.Services(), s.Services()...)
		return append(services, database(cfg.Postgres, tel)),
			Ready{Worker: w.URL(), Snapshotter: s.URL(), Brokers: cfg.Kafka.Brokers, DataDir: cfg.DataDir}, nil
	})
}

// Broker runs the embedded broker.
func Broker(ctx context.Context, cfg config.Broker, p Process) error {
	p.Log = cfg.Log
	return run(ctx, p, func(ctx context.Context, tel *telemetry.Telemetry) ([]*lifecycle.Service, Ready, error) {
		port, err := loopbackPort(cfg.Listen)
		if err != nil {
			return nil, Ready{}, err
		}
		b, err := devstack.StartBroker(ctx, cfg.DataDir, devstack.BrokerOptions{Port: port, Log: tel.Logger})
		if err != nil {
			return nil, Ready{}, err
		}
		running := lifecycle.NewService("broker", lifecycle.Parts{Run: untilDone, Stop: b.Stop})
		return []*lifecycle.Service{running}, Ready{Brokers: b.Addrs(), DataDir: cfg.DataDir}, nil
	})
}

// database is a service that looks at a worker's database of results until it can be used. A worker runs without it: so the
// wait holds nothing up. Only a database that refuses this user, or does not exist, ends the process: repeating does not help,
// and each output would meet it for itself, later.
func database(cfg config.Postgres, tel *telemetry.Telemetry) *lifecycle.Service {
	return lifecycle.NewService("database", lifecycle.Parts{Run: func(ctx context.Context) error {
		if cfg.URL != "" {
			if err := connect.AwaitPostgres(ctx, cfg, tel.Logger); err != nil {
				return err
			}
		}
		return untilDone(ctx)
	}})
}

// untilDone is the work of a service that works by itself.
func untilDone(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// loopbackPort is the port of an address of this machine: the embedded broker has no other.
func loopbackPort(listen string) (int, error) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return 0, fmt.Errorf("listen: %w", err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return 0, fmt.Errorf("listen: %s: the embedded broker is for one machine and listens on 127.0.0.1 only; take a real Kafka for more", listen)
	}
	return strconv.Atoi(port)
}

// errPartEnded is why a stack closes when one of its parts ended without an error.
var errPartEnded = errors.New("a part of the stack has ended")

// Dev runs everything in one process.
func Dev(ctx context.Context, cfg config.Dev, p Process) error {
	p.Log, p.Telemetry, p.Auth = cfg.Log, cfg.Telemetry, cfg.Security.Auth
	return run(ctx, p, func(ctx context.Context, tel *telemetry.Telemetry) ([]*lifecycle.Service, Ready, error) {
		s, err := stack.Start(ctx, cfg, stack.Options{Version: p.Version, Telemetry: tel})
		if err != nil {
			return nil, Ready{}, err
		}
		running := lifecycle.NewService("stack", lifecycle.Parts{Stop: s.Stop, Run: func(ctx context.Context) error {
			select {
			case <-ctx.Done():
				return nil
			case <-s.Failed():
				return errors.Join(errPartEnded, s.Err())
			}
		}})
		return []*lifecycle.Service{running},
			Ready{API: s.URL(), Worker: s.WorkerURL(), Brokers: s.Brokers(), Postgres: s.DSN(), DataDir: cfg.DataDir}, nil
	})
}
