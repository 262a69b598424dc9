package control

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/services/coordinator/internal/store"
	"github.com/pondage/pondage/services/coordinator/internal/store/lease"
)

// leaseTick is how often the lease's machine is asked. An attempt takes as long as it takes beside it, so that stepping
// down is never late because the metastore hangs.
const leaseTick = 100 * time.Millisecond

// leaseAttempt bounds one attempt to read, take or renew: after it, trust has run out anyway.
const leaseAttempt = 2 * time.Second

// Run takes part in the lease and leads while it holds it. It returns when ctx ends, after giving the lease up.
func (s *Service) Run(ctx context.Context) error {
	var leading sync.WaitGroup
	defer leading.Wait()
	end := func() {}
	defer func() { end() }()

	events := make(chan lease.Event)
	busy := false
	ticker := time.NewTicker(leaseTick)
	defer ticker.Stop()
	for {
		var ev lease.Event
		select {
		case <-ctx.Done():
			end()
			leading.Wait()
			return s.resign(context.WithoutCancel(ctx))
		case ev = <-events:
			busy = false
		case <-ticker.C:
			if ev = (lease.Tick{Now: s.Clock.Mono()}); busy && !s.expired() {
				continue
			}
		}
		for _, effect := range s.stepLease(ev) {
			switch e := effect.(type) {
			case lease.Lead:
				s.Log.Info("leading", "term", e.Term)
				lead, cancel := context.WithCancel(ctx)
				end = cancel
				leading.Go(func() { s.lead(lead, e.Term) })
			case lease.StepDown:
				s.Log.Warn("no longer leading", "term", e.Term)
				end()
				leading.Wait()
			case lease.Look, lease.TakeOver, lease.Renew:
				busy = true
				go func() {
					ev := s.attempt(ctx, e)
					select {
					case events <- ev:
					case <-ctx.Done():
					}
				}()
			}
		}
	}
}

// expired tells whether the trust in a held lease has run out: then even a pending attempt is not waited for.
func (s *Service) expired() bool {
	s.leading.Lock()
	defer s.leading.Unlock()
	_, trusted := s.machine.Trusted(s.Clock.Mono())
	return s.machine.Role() == lease.Holder && !trusted
}

func (s *Service) stepLease(ev lease.Event) []lease.Effect {
	s.leading.Lock()
	defer s.leading.Unlock()
	if r, ok := ev.(lease.Read); ok {
		s.seen = r.Seen
	}
	if ev == nil {
		return nil // a failed attempt: the next tick repeats it
	}
	return s.machine.Step(ev)
}

// attempt runs one statement of the lease and returns what came of it; nil when it failed, which is repeated every second.
func (s *Service) attempt(ctx context.Context, effect lease.Effect) lease.Event {
	ev, err := s.ask(ctx, effect)
	now := s.Clock.Mono()
	if err != nil {
		if ctx.Err() == nil && s.mute.failed(now) {
			s.Log.Warn("the lease cannot be read, renewed or taken; it is tried until it can", "error", err)
		}
		return nil
	}
	if after, ended := s.mute.over(now); ended {
		s.Log.Info("the lease is reached again", "after", after.Round(time.Second))
	}
	return ev
}

// ask runs one statement of the lease.
func (s *Service) ask(ctx context.Context, effect lease.Effect) (lease.Event, error) {
	ctx, cancel := context.WithTimeout(ctx, leaseAttempt)
	defer cancel()
	begun := s.Clock.Mono()
	switch e := effect.(type) {
	case lease.Look:
		seen, err := s.Leases.Lease(ctx)
		return lease.Read{At: s.Clock.Mono(), Seen: seen}, err
	case lease.TakeOver:
		term, err := s.takeOver(ctx, e.From)
		return lease.Taken{Begun: begun, Term: term}, err
	case lease.Renew:
		err := s.Leases.RenewLease(ctx, e.Term)
		if errors.Is(err, store.ErrStaleTerm) {
			return lease.Lost{}, nil
		}
		return lease.Renewed{Begun: begun, Term: e.Term}, err
	}
	return nil, fmt.Errorf("lease: unknown effect %T", effect)
}

// takeOver raises the term. When a session of the old holder is in the way (it sleeps with a lock), its sessions are
// ended and the attempt is repeated once.
func (s *Service) takeOver(ctx context.Context, from lease.Seen) (ident.Term, error) {
	term, err := s.Leases.TakeOver(ctx, s.config.Holder, from)
	if !errors.Is(err, store.ErrBusy) || from.Holder == "" || from.Holder == s.config.Holder {
		return term, err
	}
	if err := s.Leases.EndSessions(ctx, from.Holder); err != nil {
		return 0, err
	}
	return s.Leases.TakeOver(ctx, s.config.Holder, from)
}

// resign gives a held lease up, so that a standby need not wait for it.
func (s *Service) resign(ctx context.Context) error {
	for _, effect := range s.stepLease(lease.Resign{}) {
		if e, ok := effect.(lease.Release); ok {
			ctx, cancel := context.WithTimeout(ctx, leaseAttempt)
			defer cancel()
			return s.Leases.ReleaseLease(ctx, e.Term)
		}
	}
	return nil
}

// term returns the term that this process leads in, or CodeNotLeader. It is asked immediately before acting: a process
// that slept finds its trust run out here.
func (s *Service) term() (ident.Term, error) {
	s.leading.Lock()
	defer s.leading.Unlock()
	term, ok := s.machine.Trusted(s.Clock.Mono())
	if !ok {
		return 0, errorf(CodeNotLeader, "this coordinator does not lead; %s does", orNobody(s.seen.Holder)).
			retryable().hinted("ask the other replicas, or again in a few seconds")
	}
	return term, nil
}

func orNobody(holder string) string {
	if holder == "" {
		return "nobody"
	}
	return holder
}

// Leader tells who leads.
func (s *Service) Leader() Leader {
	s.leading.Lock()
	defer s.leading.Unlock()
	if term, ok := s.machine.Trusted(s.Clock.Mono()); ok {
		return Leader{Term: term, Holder: s.config.Holder, Self: true}
	}
	return Leader{Term: s.seen.Term, Holder: s.seen.Holder}
}
