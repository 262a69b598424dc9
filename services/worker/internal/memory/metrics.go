package memory

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/metric"
)

// Measure shows the pool in the process's metrics.
func (p *Pool) Measure(provider metric.MeterProvider) error {
	m := provider.Meter("github.com/pondage/pondage/services/worker/internal/memory")
	used, errU := m.Int64ObservableGauge("pondage.memory.used", metric.WithUnit("By"),
		metric.WithDescription("Bytes of worker.memory in use: chunks, blocks on their way, held blocks, results that wait."))
	limit, errL := m.Int64ObservableGauge("pondage.memory.limit", metric.WithUnit("By"), metric.WithDescription("What worker.memory allows to be in use."))
	if err := errors.Join(errU, errL); err != nil {
		return fmt.Errorf("memory metrics: %w", err)
	}
	_, err := m.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		o.ObserveInt64(used, p.Used())
		o.ObserveInt64(limit, p.Limit())
		return nil
	}, used, limit)
	if err != nil {
		return fmt.Errorf("memory metrics: %w", err)
	}
	return nil
}
