package stack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"time"

	"github.com/pondage/pondage/internal/api/common"
	"github.com/pondage/pondage/internal/config"
	"github.com/pondage/pondage/internal/connect"
	"github.com/pondage/pondage/internal/devstack"
	"github.com/pondage/pondage/internal/lifecycle"
	"github.com/pondage/pondage/internal/telemetry"
	"github.com/pondage/pondage/services/coordinator"
	"github.com/pondage/pondage/services/snapshotter"
	"github.com/pondage/pondage/services/worker"
)

// Options are what a stack is started with beside its configuration.
type Options struct {
	Version   common.Version
	Telemetry *telemetry.Telemetry
	// Durability of the private Postgres. The zero value is durable.
	Durability devstack.Durability
}

// Stack is a running Pondage.
type Stack struct {
	url      string
	worker   string
	brokers  []string
	dsn      string
	closers  []func(context.Context) error // in the order of starting
	services []*lifecycle.Service
}

// stopWithin bounds the end of one part (DESIGN §11: closing within 25 s, all parts together).
const stopWithin = 10 * time.Second

// Start starts everything and returns when the API answers. It cleans up what it made when it fails.
func Start(ctx context.Context, cfg config.Dev, o Options) (_ *Stack, err error) {
	s := &Stack{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Stop())
		}
	}()
	if err := s.outside(ctx, &cfg, o); err != nil {
		return nil, err
	}
	co := config.DefaultCoordinator()
	co.Cluster, co.VGroups, co.HTTP, co.Postgres, co.Kafka = cfg.Cluster, cfg.VGroups, cfg.HTTP, cfg.Postgres, cfg.Kafka
	co.Security, co.Log, co.Telemetry = cfg.Security, cfg.Log, cfg.Telemetry
	c, err := coordinator.New(co, o.Version, o.Telemetry)
	if err != nil {
		return nil, err
	}
	s.url = c.URL()
	if err := s.start(ctx, c.Services()); err != nil {
		return nil, err
	}
	wo := config.DefaultWorker()
	wo.Coordinators, wo.DataDir, wo.Memory = []string{c.URL()}, filepath.Join(cfg.DataDir, "node"), cfg.Memory
	wo.HTTP, wo.Postgres, wo.Kafka = config.HTTP{Listen: freePort(cfg.HTTP.Listen)}, cfg.Postgres, cfg.Kafka
	wo.Security, wo.Log, wo.Telemetry = cfg.Security, cfg.Log, cfg.Telemetry
	w, err := worker.New(wo, o.Version, o.Telemetry)
	if err != nil {
		return nil, err
	}
	s.worker = w.URL()
	if err := s.start(ctx, w.Services()); err != nil {
		return nil, err
	}
	so := config.DefaultSnapshotter()
	so.DataDir, so.HTTP, so.Security, so.Log, so.Telemetry = wo.DataDir, wo.HTTP, cfg.Security, cfg.Log, cfg.Telemetry
	sn, err := snapshotter.New(so, o.Version, o.Telemetry)
	if err != nil {
		return nil, err
	}
	if err := s.start(ctx, sn.Services()); err != nil {
		return nil, err
	}
	return s, s.awaitReady(ctx)
}

// Bounds of the wait for readiness: the metastore's schema, the lease, the node's registration.
const (
	readyWithin = time.Minute
	readyPoll   = 20 * time.Millisecond
)

// awaitReady returns when the coordinator says that it is ready, or a part has ended.
func (s *Stack) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	var why error // the last answer; not that the time was over while one was awaited
	for {
		err := ready(ctx, s.url)
		if err == nil {
			return nil
		}
		if why == nil || ctx.Err() == nil {
			why = err
		}
		if ended := s.Err(); ended != nil {
			return ended
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not ready within %s: %w", readyWithin, why)
		case <-time.After(readyPoll):
		}
	}
}

// ready asks a service's /readyz; the error has its answer, which names the checks that fail.
func ready(ctx context.Context, url string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/readyz", http.NoBody)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	const most = 1 << 16 // bytes; a few checks
	text, err := io.ReadAll(io.LimitReader(answer.Body, most))
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s", text)
	}
	return nil
}

// freePort is the host of an address with any port.
func freePort(listen string) string {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, "0")
}

// outside starts the broker and Postgres where none are given, and writes their addresses into the configuration. Those
// that are given are asked once: roles that run apart wait for them, who types `pondage dev --kafka …` wants to know now.
func (s *Stack) outside(ctx context.Context, cfg *config.Dev, o Options) error {
	if len(cfg.Kafka.Brokers) == 0 {
		port, err := portOf(cfg.BrokerListen)
		if err != nil {
			return err
		}
		b, err := devstack.StartBroker(ctx, filepath.Join(cfg.DataDir, "kafka"), devstack.BrokerOptions{Port: port, Log: o.Telemetry.Logger})
		if err != nil {
			return err
		}
		s.closers = append(s.closers, func(context.Context) error { return b.Stop() })
		cfg.Kafka.Brokers = b.Addrs()
	} else if err := connect.ProbeKafka(ctx, cfg.Kafka); err != nil {
		return orOurs(err, "without --kafka dev has a broker of its own")
	}
	if cfg.Postgres.URL == "" {
		p, err := devstack.StartPostgres(ctx, filepath.Join(cfg.DataDir, "postgres"), devstack.PostgresOptions{Durability: o.Durability, Log: o.Telemetry.Logger})
		if err != nil {
			return err
		}
		s.closers = append(s.closers, func(context.Context) error { return p.Stop() })
		cfg.Postgres.URL = p.DSN()
	} else if err := connect.ProbePostgres(ctx, cfg.Postgres); err != nil {
		return orOurs(err, "without --postgres dev has one of its own")
	}
	s.brokers, s.dsn = cfg.Kafka.Brokers, cfg.Postgres.URL
	return nil
}

// orOurs adds to what is wrong with something named that nothing need be named.
func orOurs(err error, ours string) error {
	var refused *connect.Refusal
	if errors.As(err, &refused) {
		refused.Hint += "; " + ours
	}
	return err
}

func portOf(listen string) (int, error) {
	if listen == "" {
		return 0, nil
	}
	_, port, err := net.SplitHostPort(listen)
	if err != nil {
		return 0, fmt.Errorf("broker_listen: %w", err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		return 0, fmt.Errorf("broker_listen: %q is no port", port)
	}
	return n, nil
}

func (s *Stack) start(ctx context.Context, services []*lifecycle.Service) error {
	for _, svc := range services {
		if err := svc.Start(ctx); err != nil {
			return err
		}
		s.services = append(s.services, svc)
		s.closers = append(s.closers, svc.Stop)
	}
	return nil
}

// URL is where the coordinator's API is reached.
func (s *Stack) URL() string { return s.url }

// WorkerURL is where the worker's API is reached.
func (s *Stack) WorkerURL() string { return s.worker }

// Brokers are the addresses of Kafka.
func (s *Stack) Brokers() []string { return s.brokers }

// DSN is the connection URL of Postgres.
func (s *Stack) DSN() string { return s.dsn }

// Failed returns a channel that is closed when a part has ended by itself.
func (s *Stack) Failed() <-chan struct{} {
	out := make(chan struct{})
	done := make(chan struct{}, len(s.services))
	for _, svc := range s.services {
		go func() {
			<-svc.Done()
			done <- struct{}{}
		}()
	}
	go func() {
		<-done
		close(out)
	}()
	return out
}

// Err returns why a part has failed; nil while all run.
func (s *Stack) Err() error {
	var errs []error
	for _, svc := range s.services {
		errs = append(errs, svc.Err())
	}
	return errors.Join(errs...)
}

// Stop ends everything, the last started first. Only the first call counts.
func (s *Stack) Stop() error {
	closers := s.closers
	s.closers = nil
	var errs []error
	for i := len(closers) - 1; i >= 0; i-- {
		ctx, cancel := context.WithTimeout(context.Background(), stopWithin)
		errs = append(errs, closers[i](ctx))
		cancel()
	}
	return errors.Join(errs...)
}
