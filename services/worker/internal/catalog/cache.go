package catalog

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/pondage/pondage/internal/problem"
)

const (
	// FreshFor is how long an answer of the coordinator is used again: short enough that a changed definition is seen
	// soon, long enough that the requests of a busy client cost one call.
	FreshFor = 2 * time.Second
	// maxKept bounds the names of a kind that are kept.
	maxKept = 1024
	// askTimeout bounds one call. It is not the caller's context: others may wait for the same answer.
	askTimeout = 5 * time.Second
)

// cache remembers what names mean.
type cache[V any] struct {
	flights singleflight.Group
	now     func() time.Time

	mu      sync.Mutex
	entries map[string]entry[V]
}

type entry[V any] struct {
	value V
	asked time.Time
}

func newCache[V any]() *cache[V] {
	return &cache[V]{now: time.Now, entries: map[string]entry[V]{}}
}

// get returns what the name means, asking if that is not known or was asked long ago.
func (c *cache[V]) get(ctx context.Context, name string, ask func(context.Context) (V, error)) (V, error) {
	if e, ok := c.known(name); ok && c.now().Sub(e.asked) < FreshFor {
		return e.value, nil
	}
	flight := c.flights.DoChan(name, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTimeout)
		defer cancel()
		v, err := ask(ctx)
		return c.learn(name, v, err)
	})
	var zero V
	select {
	case <-ctx.Done():
		return zero, ctx.Err()
	case f := <-flight:
		if f.Err != nil {
			return zero, f.Err
		}
		return f.Val.(V), nil
	}
}

// learn keeps an answer. One that says that the name is unknown is believed; without an answer what was known holds.
func (c *cache[V]) learn(name string, v V, err error) (V, error) {
	var told *problem.Error
	switch {
	case err == nil:
		c.keep(name, v)
		return v, nil
	case errors.As(err, &told):
		c.forget(name)
		return v, err
	}
	if e, ok := c.known(name); ok {
		c.keep(name, e.value) // not asked again by every request of an outage
		return e.value, nil
	}
	return v, noCoordinator(err)
}

func (c *cache[V]) known(name string) (entry[V], bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[name]
	return e, ok
}

// keep makes room by forgetting any one name: which does not matter, asking again is cheap.
func (c *cache[V]) keep(name string, v V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.entries[name]; !ok && len(c.entries) >= maxKept {
		for other := range c.entries {
			delete(c.entries, other)
			break
		}
	}
	c.entries[name] = entry[V]{value: v, asked: c.now()}
}

func (c *cache[V]) forget(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.entries, name)
}
