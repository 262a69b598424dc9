package kafka

import (
	"context"
	"math/rand/v2"
	"time"
)

// Bounds of the pause between two attempts. The cap keeps everything working again well within 10 s after the network is
// (trap T20).
const (
	backoffFirst = 50 * time.Millisecond
	backoffMax   = 2 * time.Second
)

// backoff is the pause before the next attempt: doubling, capped, jittered so that a crowd does not march in step.
type backoff struct{ last time.Duration }

func (b *backoff) next() time.Duration {
	b.last = min(max(2*b.last, backoffFirst), backoffMax)
	return b.last/2 + rand.N(b.last/2)
}

func (b *backoff) reset() { b.last = 0 }

// pause waits for d or for the end of ctx, and tells whether ctx goes on.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
