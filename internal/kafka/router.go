package kafka

import (
	"context"
	"time"
)

const (
	// routerGap is the shortest time between two looks at the metadata: many partitions fail at once when a broker goes.
	routerGap = 50 * time.Millisecond
	// missingGrace is how long a topic or partition may be unknown before that is believed: brokers hear of a new topic
	// one after the other, and one that is deleted to be made again is named by its new id. Within the 10 s of trap T24.
	missingGrace = 5 * time.Second
	// missingRetry is how often a missing topic or leader is asked for.
	missingRetry = 250 * time.Millisecond
)

// router decides when to look at the metadata: when it is kicked (something new, a leader that refused), every so often
// without a cause, and again with back-off where the brokers do not answer.
type router struct {
	kicked chan struct{} // one place
	every  time.Duration
	// look asks the brokers and obeys the answer; settled is false while something has no leader.
	look func(ctx context.Context) (settled bool, err error)
}

func newRouter(every time.Duration, look func(context.Context) (bool, error)) *router {
	return &router{kicked: make(chan struct{}, 1), every: every, look: look}
}

// kick asks for a look soon.
func (r *router) kick() {
	select {
	case r.kicked <- struct{}{}:
	default:
	}
}

// run looks until ctx ends.
func (r *router) run(ctx context.Context) {
	var wait backoff
	next := time.NewTimer(r.every)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.kicked:
		case <-next.C:
		}
		rest := routerGap
		settled, err := r.look(ctx)
		switch {
		case err != nil:
			rest = wait.next()
			r.kick()
		case !settled:
			wait.reset()
			next.Reset(missingRetry)
		default:
			wait.reset()
			next.Reset(r.every)
		}
		if !pause(ctx, rest) {
			return
		}
	}
}
