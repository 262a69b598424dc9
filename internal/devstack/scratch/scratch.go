package scratch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pondage/pondage/internal/api/common"
	"github.com/pondage/pondage/internal/config"
	"github.com/pondage/pondage/internal/devstack"
	"github.com/pondage/pondage/internal/devstack/stack"
	"github.com/pondage/pondage/internal/telemetry"
)

// Stack is a stack with its directory.
type Stack struct {
	*stack.Stack
	Dir string

	log *os.File
	tel *telemetry.Telemetry
}

// anyPort listens on loopback, on a free port.
const anyPort = "127.0.0.1:0"

// Start starts a stack. The role is what its log calls the process. adapt may change the configuration; it may be nil.
func Start(ctx context.Context, role string, adapt func(*config.Dev)) (_ *Stack, err error) {
	s := &Stack{}
	defer func() {
		if err != nil {
			err = fmt.Errorf("start a stack: %w", errors.Join(err, s.Stop()))
		}
	}()
	if s.Dir, err = os.MkdirTemp("", "pondage-"+role+"-"); err != nil {
		return nil, err
	}
	// A Postgres that runs as another user must pass through.
	const passable = 0o711
	if err := os.Chmod(s.Dir, passable); err != nil {
		return nil, err
	}
	if s.log, err = os.Create(s.LogFile()); err != nil {
		return nil, err
	}
	cfg := config.DefaultDev()
	cfg.DataDir, cfg.HTTP.Listen, cfg.BrokerListen = s.Dir, anyPort, anyPort
	if adapt != nil {
		adapt(&cfg)
	}
	version := common.Version{Version: "devel", Role: role}
	if s.tel, err = telemetry.New(ctx, telemetry.Process{Role: role, Version: version.Version}, cfg.Log, cfg.Telemetry, s.log); err != nil {
		return nil, err
	}
	s.Stack, err = stack.Start(ctx, cfg, stack.Options{Version: version, Telemetry: s.tel, Durability: devstack.Volatile})
	return s, err
}

// LogFile is where the stack's log goes.
func (s *Stack) LogFile() string { return filepath.Join(s.Dir, "log") }

// Stop ends the stack and removes its directory.
func (s *Stack) Stop() error {
	var errs []error
	if s.Stack != nil {
		errs = append(errs, s.Stack.Stop())
	}
	if s.tel != nil {
		errs = append(errs, s.tel.Shutdown(context.Background()))
	}
	if s.log != nil {
		errs = append(errs, s.log.Close())
	}
	if s.Dir != "" {
		errs = append(errs, os.RemoveAll(s.Dir))
	}
	return errors.Join(errs...)
}
