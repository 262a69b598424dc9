package task

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/dispatch"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/kafka"
	"github.com/pondage/pondage/internal/telemetry"
)

// recording returns a Tracing that records the given part of all blocks.
func recording(ratio float64) (*Tracing, *tracetest.InMemoryExporter) {
	spans := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	return NewTracing(&telemetry.Telemetry{Tracer: provider, Roots: provider, SampleRatio: ratio}), spans
}

func TestI17_ASampledBlockIsOneTraceWithoutOrphans(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tracing, spans := recording(1)
		s := newStage(t, scene{stream: edged, vgroups: 3, partitions: 2, tracing: tracing})
		s.start()
		for i := range 5 {
			for _, device := range []string{"a", "b", "c", "d"} {
				s.record(ident.Partition(i%2), device, float64(i), i)
			}
			time.Sleep(time.Second)
		}
		// The last blocks never reach the brokers: their spans end with the task, and are no parents that are missing.
		s.kafka.set(func(c *cluster) {
			c.broken = func(string, ident.Partition, kafka.Message) error { return &kafka.Error{Code: kafka.CodeUnreachable} }
		})
		s.record(0, "a", 9, 9)
		time.Sleep(time.Second)
		s.end()

		edge := s.graph.Edges[0].Topic
		all := spans.GetSpans()
		byID := map[trace.SpanID]tracetest.SpanStub{}
		for _, span := range all {
			byID[span.SpanContext.SpanID()] = span
		}
		parents := map[string]string{"send " + edge: "poll readings", "process " + edge: "send " + edge}
		counts, traces := map[string]int{}, map[trace.TraceID]bool{}
		for _, span := range all {
			counts[span.Name]++
			parent, known := byID[span.Parent.SpanID()]
			switch {
			case span.Name == "poll readings":
				if span.Parent.IsValid() || traces[span.SpanContext.TraceID()] {
					t.Errorf("%s is not the one root of its trace", span.Name)
				}
				traces[span.SpanContext.TraceID()] = true
			case !known || parent.Name != parents[span.Name] || parent.SpanContext.TraceID() != span.SpanContext.TraceID():
				t.Errorf("%s has the parent %q", span.Name, parent.Name)
			}
			if span.EndTime.Before(span.StartTime) {
				t.Errorf("%s ends before it begins", span.Name)
			}
		}
		if counts["poll readings"] < 6 || counts["process "+edge] == 0 || counts["send "+edge] != counts["process "+edge]+1 {
			t.Errorf("spans %v", counts)
		}
		for _, span := range all {
			if strings.HasPrefix(span.Name, "send") && !hasAttribute(span, "pondage.msg_id") {
				t.Errorf("%s says no message id", span.Name)
			}
		}
	})
}

func hasAttribute(span tracetest.SpanStub, key string) bool {
	for _, a := range span.Attributes {
		if string(a.Key) == key {
			return true
		}
	}
	return false
}

func TestWhatIsNotSampledAllocatesNothing(t *testing.T) {
	off, none := (*Tracing)(nil), NewTracing(telemetry.Nop())
	never, spans := recording(1e-18)
	ctx := context.Background()
	c := arrival{Chunk: kafka.NewChunk(kafka.ChunkSpec{Topic: "t"})}
	h := &block.Header{}
	for name, tracing := range map[string]*Tracing{"off": off, "no exporter": none, "not sampled": never} {
		n := testing.AllocsPerRun(100, func() {
			p := tracing.poll(ctx, dispatch.Self{}, "s", c)
			carry(h, p.send("t", ident.Task{}, 1))
			p.end(1)
			_, span := tracing.process(p.within(ctx), dispatch.Self{}, "t", dispatch.Arrived{Header: h})
			endSpan(span, nil)
		})
		if n != 0 {
			t.Errorf("%s: %g allocations a block", name, n)
		}
	}
	if n := len(spans.GetSpans()); n != 0 {
		t.Errorf("%d spans", n)
	}
}
