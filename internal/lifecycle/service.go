package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Parts are the functions of a service; each may be nil.
type Parts struct {
	// Start makes the service ready and returns. It gives up when the context ends, and cleans up what it made when it
	// fails: Stop is not called then.
	Start func(ctx context.Context) error
	// Run works until the context ends. Returning earlier ends the service; with an error it has failed.
	Run func(ctx context.Context) error
	// Stop takes down what Start made. It is called once, after Run has returned.
	Stop func() error
}

// Observer sees every transition, in order, under the service's lock: it must not call the service. err is set when to
// is Failed.
type Observer func(name string, from, to State, err error)

// Service runs its parts through the states. Its methods may be called by any goroutine.
type Service struct {
	name     string
	parts    Parts
	observer Observer
	done     chan struct{} // closed when the state has ended

	mu     sync.Mutex
	state  State
	err    error              // why it failed
	cancel context.CancelFunc // ends Start or Run
	asked  bool               // Stop was called
}

// NewService returns a service in state New.
func NewService(name string, parts Parts) *Service {
	return &Service{name: name, parts: parts, done: make(chan struct{}), cancel: func() {}, observer: func(string, State, State, error) {}}
}

// Name returns the service's name.
func (s *Service) Name() string { return s.name }

// State returns the present state.
func (s *Service) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// Done is closed when the service has terminated or failed.
func (s *Service) Done() <-chan struct{} { return s.done }

// Err returns why the service failed; nil in every other state.
func (s *Service) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Start starts the service and returns when it is Running or has failed. A service starts once.
func (s *Service) Start(ctx context.Context) error {
	startCtx, cancel := context.WithCancel(ctx)
	if err := s.begin(cancel); err != nil {
		cancel()
		return err
	}
	var err error
	if s.parts.Start != nil {
		err = s.parts.Start(startCtx)
	}
	cancel()
	if err != nil {
		err = fmt.Errorf("start %s: %w", s.name, err)
		s.end(err)
		return err
	}
	// What runs outlives the start's deadline.
	runCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	if !s.running(cancel) {
		s.finish(nil)
		return fmt.Errorf("start %s: it was stopped meanwhile", s.name)
	}
	go s.run(runCtx)
	return nil
}

// Stop asks the service to end and waits until it has, or until the context ends. It returns why the service failed.
func (s *Service) Stop(ctx context.Context) error {
	s.mu.Lock()
	s.asked = true
	s.cancel()
	if s.state == New {
		s.to(Terminated, nil)
	}
	s.mu.Unlock()
	select {
	case <-s.done:
		return s.Err()
	case <-ctx.Done():
		return fmt.Errorf("stop %s: still %s: %w", s.name, s.State(), ctx.Err())
	}
}

// begin enters Starting.
func (s *Service) begin(cancel context.CancelFunc) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != New {
		return fmt.Errorf("start %s: it is %s", s.name, s.state)
	}
	s.cancel = cancel
	s.to(Starting, nil)
	return nil
}

// running enters Running, or Stopping when Stop came during the start; it tells which.
func (s *Service) running(cancel context.CancelFunc) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked {
		cancel()
		s.to(Stopping, nil)
		return false
	}
	s.cancel = cancel
	s.to(Running, nil)
	return true
}

func (s *Service) run(ctx context.Context) {
	var err error
	if s.parts.Run != nil {
		err = s.parts.Run(ctx)
	} else {
		<-ctx.Done()
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = nil // it was asked to end
	}
	s.mu.Lock()
	s.cancel()
	s.to(Stopping, nil)
	s.mu.Unlock()
	s.finish(err)
}

// finish takes down what Start made and ends.
func (s *Service) finish(err error) {
	if s.parts.Stop != nil {
		err = errors.Join(err, s.parts.Stop())
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", s.name, err)
	}
	s.end(err)
}

// end enters the last state.
func (s *Service) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.to(Terminated, nil)
		return
	}
	s.to(Failed, err)
}

// to makes a transition. The caller holds mu.
func (s *Service) to(next State, err error) {
	if !allowed(s.state, next) {
		panic(fmt.Sprintf("lifecycle: service %s cannot go from %s to %s", s.name, s.state, next))
	}
	previous := s.state
	s.state, s.err = next, err
	s.observer(s.name, previous, next, err)
	if next.Ended() {
		close(s.done)
	}
}
