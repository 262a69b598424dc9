package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Group starts services in the order of their dependencies and stops them in reverse. It is built by one goroutine
// before Start.
type Group struct {
	observer Observer
	services []*Service // in order: a service comes after what it depends on
}

// NewGroup returns a group without services; observe may be nil.
func NewGroup(observe Observer) *Group { return &Group{observer: observe} }

// Add adds a service that starts after those it depends on. A dependency that was not added before is a mistake in the
// wiring and panics; so no circle can be built.
func (g *Group) Add(s *Service, dependsOn ...*Service) *Service {
	for _, d := range dependsOn {
		if !slices.Contains(g.services, d) {
			panic(fmt.Sprintf("lifecycle: %s depends on %s, which is not in the group yet", s.name, d.name))
		}
	}
	if g.observer != nil {
		s.observer = g.observer
	}
	g.services = append(g.services, s)
	return s
}

// Start starts all services, one after the other. When one fails, those that run are stopped before it returns; the
// context bounds both.
func (g *Group) Start(ctx context.Context) error {
	for _, s := range g.services {
		if err := s.Start(ctx); err != nil {
			return errors.Join(err, g.Stop(context.WithoutCancel(ctx)))
		}
	}
	return nil
}

// Stop stops all services in reverse order and returns what went wrong in any. Each is asked, also when one before it
// does not end in time.
func (g *Group) Stop(ctx context.Context) error {
	var errs []error
	for _, s := range slices.Backward(g.services) {
		wasDown := s.State().Ended()
		if err := s.Stop(ctx); err != nil && !wasDown {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Wait returns when a service has ended, with why it failed (nil when it ended by itself), or when the context ends,
// with nil.
func (g *Group) Wait(ctx context.Context) error {
	ended := make(chan *Service, len(g.services))
	watch, stop := context.WithCancel(ctx)
	defer stop()
	for _, s := range g.services {
		go func() {
			select {
			case <-s.Done():
				ended <- s
			case <-watch.Done():
			}
		}()
	}
	select {
	case s := <-ended:
		return s.Err()
	case <-ctx.Done():
		return nil
	}
}

// Run starts the group, waits until the context ends or a service does, and stops it within the grace period. It
// returns the first failure.
func (g *Group) Run(ctx context.Context, grace time.Duration) error {
	if err := g.Start(ctx); err != nil {
		return err
	}
	failure := g.Wait(ctx)
	stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	return errors.Join(failure, g.Stop(stopCtx))
}

// States returns the state of every service by name, for readiness.
func (g *Group) States() map[string]State {
	out := make(map[string]State, len(g.services))
	for _, s := range g.services {
		out[s.name] = s.State()
	}
	return out
}
