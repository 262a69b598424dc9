package bench

import (
	"context"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/metric"
)

// progress listens to the product's own count of the records that its source tasks have processed. It stands before the
// process's meter provider: what is measured is counted and exposed as ever.
type progress struct {
	metric.MeterProvider
	records atomic.Int64 // since the process began
}

// processedMetric is the instrument of the source tasks.
const processedMetric = "pondage.source.records"

// Meter returns a meter that listens.
func (p *progress) Meter(name string, options ...metric.MeterOption) metric.Meter {
	return meter{p.MeterProvider.Meter(name, options...), p}
}

type meter struct {
	metric.Meter
	progress *progress
}

// Int64Counter returns the counter; the one of processedMetric is listened to.
func (m meter) Int64Counter(name string, options ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	c, err := m.Meter.Int64Counter(name, options...)
	if err != nil || name != processedMetric {
		return c, err
	}
	return counter{c, m.progress}, nil
}

type counter struct {
	metric.Int64Counter
	progress *progress
}

// Add counts and is heard.
func (c counter) Add(ctx context.Context, n int64, options ...metric.AddOption) {
	c.progress.records.Add(n)
	c.Int64Counter.Add(ctx, n, options...)
}

// lookEvery is how often progress is looked at: the error of the steady span at either end, as at the peers.
const lookEvery = 5 * time.Millisecond

// reach waits until that many records have been processed.
func (p *progress) reach(ctx context.Context, wanted int64) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for p.records.Load() < wanted {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}
