package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/pondage/pondage/internal/config"
)

// traces sets up the tracer provider. A trace that arrives keeps its decision; one that begins here is sampled by the
// configured ratio.
func (t *Telemetry) traces(ctx context.Context, c config.Telemetry, res *resource.Resource) error {
	if c.OTLPEndpoint == "" {
		t.Tracer = noop.NewTracerProvider()
		return nil
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(c.OTLPEndpoint+"/v1/traces"))
	if err != nil {
		return err
	}
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter),
		sdktrace.WithResource(res),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(c.SampleRatio))),
	)
	t.Tracer = provider
	t.shutdown = append(t.shutdown, provider.Shutdown)
	return nil
}
