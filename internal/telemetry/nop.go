package telemetry

import (
	"log/slog"
	"net/http"

	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace/noop"
)

// Nop returns telemetry that keeps nothing: for tests, and for commands that are no service.
func Nop() *Telemetry {
	return &Telemetry{
		Logger: slog.New(slog.DiscardHandler), Tracer: noop.NewTracerProvider(), Roots: noop.NewTracerProvider(), Meter: metricnoop.NewMeterProvider(),
		Metrics: http.NotFoundHandler(), Propagator: propagation.TraceContext{},
	}
}
