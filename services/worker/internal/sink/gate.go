package sink

import "context"

// Gate bounds how many connections the outputs of one stream have at a time, of a pool that all streams share: what hangs
// in one stream's table must not hold them all (trap T33). nil lets everyone through.
type Gate struct{ places chan struct{} }

// NewGate returns a gate to a pool of so many connections: a stream has at most half of them.
func NewGate(connections int) *Gate { return &Gate{places: make(chan struct{}, max(1, connections/2))} }

// pass runs a piece of work in one of the places. An error is the context's, or that of the work.
func (g *Gate) pass(ctx context.Context, work func() error) error {
	if g == nil {
		return work()
	}
	select {
	case g.places <- struct{}{}:
		defer func() { <-g.places }()
		return work()
	case <-ctx.Done():
		return ctx.Err()
	}
}
