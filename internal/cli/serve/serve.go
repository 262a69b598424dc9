// Package serve runs roles as a process: it starts their services, says when they are ready, waits, and closes them.
//
// It owns: the life of a role between its configuration and its end. It does not own: signals (the context ends), flags
// (package cli), what the services are (the services' wiring packages).
//
// Closing has its limit (DESIGN §11): what has not ended by then is named in the error.
//
// Start reading at Run.
package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/pondage/pondage/internal/api/common"
	"github.com/pondage/pondage/internal/config"
	"github.com/pondage/pondage/internal/lifecycle"
	"github.com/pondage/pondage/internal/telemetry"
)

// Grace is how long closing may take (DESIGN §11).
const Grace = 25 * time.Second

// Process is what a role runs in.
type Process struct {
	Version   common.Version
	Log       config.Log
	Telemetry config.Telemetry
	// Auth tells whether users are told apart; "" in a role that has none.
	Auth config.Auth
	// Logs is where the log goes.
	Logs io.Writer
	// Ready is called once, when everything answers.
	Ready func(Ready) error
}

// Ready says where a role is reached. Empty members do not exist in the role.
type Ready struct {
	Role        string   `json:"role"`
	Ready       bool     `json:"ready"`
	API         string   `json:"api,omitempty"`
	Worker      string   `json:"worker,omitempty"`
	Snapshotter string   `json:"snapshotter,omitempty"`
	Brokers     []string `json:"brokers,omitempty"`
	Postgres    string   `json:"postgres,omitempty"`
	DataDir     string   `json:"data_dir,omitempty"`
}

// parts makes the services of a role. What it returns is stopped by the caller, also with an error.
type parts func(ctx context.Context, tel *telemetry.Telemetry) ([]*lifecycle.Service, Ready, error)

// run starts the services of a role and runs them until the context ends or one of them does.
func run(ctx context.Context, p Process, build parts) (err error) {
	role := p.Version.Role
	tel, err := telemetry.New(ctx, telemetry.Process{Role: role, Version: p.Version.Version}, p.Log, p.Telemetry, p.Logs)
	if err != nil {
		return fmt.Errorf("%s: %w", role, err)
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), Grace)
		defer cancel()
		err = errors.Join(err, tel.Shutdown(closing))
	}()
	if p.Auth == config.AuthOff {
		tel.Logger.Warn("AUTHENTICATION IS OFF: everyone who reaches a port of this process may do everything")
	}
	services, ready, err := build(ctx, tel)
	if err != nil {
		return fmt.Errorf("%s: %w", role, err)
	}
	group := lifecycle.NewGroup(func(name string, from, to lifecycle.State, err error) {
		tel.Logger.Debug("service", "service", name, "from", from.String(), "to", to.String(), telemetry.KeyError, err)
	})
	for _, s := range services {
		group.Add(s)
	}
	if err := group.Start(ctx); err != nil {
		return fmt.Errorf("%s: %w", role, err)
	}
	failure := p.announce(ready)
	if failure == nil {
		failure = group.Wait(ctx)
	}
	if failure != nil {
		tel.Logger.Error("closing", telemetry.KeyError, failure)
	} else {
		tel.Logger.Info("closing")
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), Grace)
	defer cancel()
	return errors.Join(failure, group.Stop(closing))
}

func (p Process) announce(r Ready) error {
	r.Role, r.Ready = p.Version.Role, true
	return p.Ready(r)
}
