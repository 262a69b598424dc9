package chaos

import (
	"context"
	"crypto/sha256"
	"slices"
	"sync"
	"time"
)

// gauge measures, beside a run, how long a fixed piece of work takes: how fast the machine is for it.
type gauge struct {
	mu    sync.Mutex
	spans []time.Duration
}

const (
	gaugeEvery = 500 * time.Millisecond
	gaugeBytes = 1 << 20
)

// measure works until the context ends.
func (g *gauge) measure(ctx context.Context) {
	work := make([]byte, gaugeBytes)
	for sleep(ctx, gaugeEvery) {
		begun := time.Now()
		sum := sha256.Sum256(work)
		span := time.Since(begun)
		copy(work, sum[:])
		g.mu.Lock()
		g.spans = append(g.spans, span)
		g.mu.Unlock()
	}
}

// median is the usual time; 0: never measured.
func (g *gauge) median() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.spans) == 0 {
		return 0
	}
	slices.Sort(g.spans)
	return g.spans[len(g.spans)/2]
}

// Twin is what the fault-free run of a configuration has shown.
type Twin struct {
	// Work is the gauge's usual time, Drain how long the streams took from the last record to their end.
	Work  time.Duration `json:"work_ns"`
	Drain time.Duration `json:"drain_ns"`
}

// slower is the part of the twin's speed below which a machine is too slow to be judged by its times.
const slower = 0.5

// slow tells whether a run was on a machine slower than half of the twin's.
func (t Twin) slow(work time.Duration) bool {
	return t.Work > 0 && float64(t.Work) < slower*float64(work)
}
