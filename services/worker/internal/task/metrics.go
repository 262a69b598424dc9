package task

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Metrics are the instruments of all tasks of a node.
type Metrics struct {
	records metric.Int64Counter
}

// NewMetrics makes the instruments.
func NewMetrics(p metric.MeterProvider) (*Metrics, error) {
	records, err := p.Meter("github.com/pondage/pondage/services/worker/internal/task").Int64Counter("pondage.source.records",
		metric.WithUnit("{record}"), metric.WithDescription("Records that source tasks have processed, whatever became of them."))
	if err != nil {
		return nil, fmt.Errorf("task metrics: %w", err)
	}
	return &Metrics{records: records}, nil
}

// processed counts records of a stream's source; stream holds its name.
func (m *Metrics) processed(ctx context.Context, stream metric.AddOption, n int64) {
	m.records.Add(ctx, n, stream)
}

// ofStream is the attribute of everything counted for a stream.
func ofStream(name string) metric.AddOption {
	return metric.WithAttributeSet(attribute.NewSet(attribute.String("stream", name)))
}
