package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/pondage/pondage/internal/config"
)

// traces sets up the tracer providers. A trace that arrives keeps its decision; one that begins here is sampled by the
// configured ratio: by the provider, or before it by those who use Roots.
func (t *Telemetry) traces(ctx context.Context, c config.Telemetry, res *resource.Resource) error {
	if c.OTLPEndpoint == "" {
		t.Tracer, t.Roots = noop.NewTracerProvider(), noop.NewTracerProvider()
		return nil
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(c.OTLPEndpoint+"/v1/traces"))
	if err != nil {
		return err
	}
	processor := sdktrace.NewBatchSpanProcessor(exporter)
	with := func(s sdktrace.Sampler) *sdktrace.TracerProvider {
		return sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(processor), sdktrace.WithResource(res), sdktrace.WithSampler(s))
	}
	t.Tracer = with(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(c.SampleRatio)))
	t.Roots, t.SampleRatio = with(sdktrace.AlwaysSample()), c.SampleRatio
	t.shutdown = append(t.shutdown, processor.Shutdown)
	return nil
}
