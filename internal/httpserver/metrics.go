package httpserver

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/metric"
)

// metrics are the instruments of this package.
type metrics struct{ duration metric.Float64Histogram }

func newMetrics(p metric.MeterProvider) (*metrics, error) {
	// The name and the unit are those of the semantic conventions.
	d, err := p.Meter("github.com/pondage/pondage/internal/httpserver").Float64Histogram("http.server.request.duration",
		metric.WithUnit("s"), metric.WithDescription("Duration of HTTP requests."))
	if err != nil {
		return nil, fmt.Errorf("http metrics: %w", err)
	}
	return &metrics{duration: d}, nil
}

func (m *metrics) request(ctx context.Context, method, route string, status int, took time.Duration) {
	m.duration.Record(ctx, took.Seconds(), metric.WithAttributes(attrMethod.String(method), attrRoute.String(route), attrStatus.Int(status)))
}
