package telemetry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/attribute"
	otelprom "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"

	"github.com/pondage/pondage/internal/config"
)

// Process says who speaks.
type Process struct {
	Role    string // coordinator, worker, …
	Version string
	Node    string // of workers and snapshotters; "" otherwise
}

// Telemetry is what a process logs, traces and measures with.
type Telemetry struct {
	Logger *slog.Logger
	Tracer trace.TracerProvider
	// Roots records every trace that begins with it. It is for hot paths, which draw by SampleRatio themselves before a
	// span is made, so that what is not recorded costs nothing.
	Roots trace.TracerProvider
	// SampleRatio is the part of the traces that are to be recorded, 0 … 1; 0 when nothing is.
	SampleRatio float64
	Meter       metric.MeterProvider
	// Metrics answers with the Prometheus exposition of everything made from Meter.
	Metrics http.Handler
	// Propagator reads and writes the W3C trace context.
	Propagator propagation.TextMapPropagator

	shutdown []func(context.Context) error
}

// New sets up telemetry; logs go to w. The context bounds the set-up only.
func New(ctx context.Context, p Process, log config.Log, tel config.Telemetry, w io.Writer) (*Telemetry, error) {
	logger, err := NewLogger(log, w)
	if err != nil {
		return nil, err
	}
	res := describe(p)
	t := &Telemetry{Logger: logger.With(KeyRole, p.Role), Propagator: propagation.TraceContext{}}
	if p.Node != "" {
		t.Logger = t.Logger.With(KeyNode, p.Node)
	}
	if err := t.traces(ctx, tel, res); err != nil {
		return nil, fmt.Errorf("set up traces: %w", err)
	}
	if err := t.metrics(res); err != nil {
		return nil, errors.Join(fmt.Errorf("set up metrics: %w", err), t.Shutdown(ctx))
	}
	return t, nil
}

// describe names the process in traces and metrics, by the semantic conventions of resources.
func describe(p Process) *resource.Resource {
	attrs := []attribute.KeyValue{attribute.String("service.name", "pondage-"+p.Role), attribute.String("service.version", p.Version)}
	if p.Node != "" {
		attrs = append(attrs, attribute.String("service.instance.id", p.Node))
	}
	return resource.NewSchemaless(attrs...)
}

// metrics sets up the meter provider and its exposition, with the metrics of the Go runtime and the process.
func (t *Telemetry) metrics(res *resource.Resource) error {
	registry := prometheus.NewRegistry()
	for _, c := range []prometheus.Collector{collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})} {
		if err := registry.Register(c); err != nil {
			return err
		}
	}
	exporter, err := otelprom.New(otelprom.WithRegisterer(registry), otelprom.WithoutScopeInfo())
	if err != nil {
		return err
	}
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(exporter), sdkmetric.WithResource(res))
	t.Meter = provider
	t.Metrics = promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	t.shutdown = append(t.shutdown, provider.Shutdown)
	return nil
}

// Shutdown sends what is still to be sent; the context bounds it. It may be called twice.
func (t *Telemetry) Shutdown(ctx context.Context) error {
	var errs []error
	for _, f := range t.shutdown {
		errs = append(errs, f(ctx))
	}
	t.shutdown = nil
	return errors.Join(errs...)
}
