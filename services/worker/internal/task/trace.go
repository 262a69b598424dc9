package task

import (
	"context"
	"math/rand/v2"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/dispatch"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/telemetry"
)

// Tracing makes one trace of each sampled block, from the source to its sinks (DESIGN §13):
//
//	poll T      source task: from the broker's answer until the flush
//	 └ send T   from the encoding of a block until the broker has it; its context rides in the block's header
//	    └ process T   receiving task: decode, merge, close windows
//	       └ write    the output (package sink)
//
// What is not sampled costs a comparison and a drawing of lots a flush at the source, and a comparison a block behind it.
// nil traces nothing.
type Tracing struct {
	tracer trace.Tracer // goes on with what others have begun
	roots  trace.Tracer
	ratio  float64
}

// NewTracing traces with the process's telemetry.
func NewTracing(t *telemetry.Telemetry) *Tracing {
	const scope = "github.com/pondage/pondage/services/worker/internal/task"
	return &Tracing{tracer: t.Tracer.Tracer(scope), roots: t.Roots.Tracer(scope), ratio: t.SampleRatio}
}

// polled is the trace of a sampled flush. nil: it is not sampled.
type polled struct {
	tracing *Tracing
	ctx     context.Context // of the poll span
	self    dispatch.Self
}

// poll draws lots for the flush that begins with the chunk, and begins its trace.
func (t *Tracing) poll(ctx context.Context, self dispatch.Self, stream string, c arrival) *polled {
	if t == nil || t.ratio == 0 || rand.Float64() >= t.ratio {
		return nil
	}
	ctx, _ = t.roots.Start(ctx, "poll "+c.Topic, trace.WithSpanKind(trace.SpanKindConsumer), trace.WithTimestamp(c.at), trace.WithAttributes(
		telemetry.MessagingSystem.String(telemetry.SystemKafka), telemetry.MessagingOperationName.String("poll"),
		telemetry.MessagingOperationType.String("receive"), telemetry.MessagingDestination.String(c.Topic),
		telemetry.MessagingPartition.Int(int(c.Partition)), telemetry.MessagingKafkaOffset.Int64(int64(c.From)),
		telemetry.Stream.String(stream), telemetry.Stage.Int64(int64(self.Stage)), telemetry.Task.String(self.Task.String()),
	))
	return &polled{tracing: t, ctx: ctx, self: self}
}

// within returns the context of what belongs to the trace.
func (p *polled) within(ctx context.Context) context.Context {
	if p == nil {
		return ctx
	}
	return trace.ContextWithSpan(ctx, trace.SpanFromContext(p.ctx))
}

// end ends the poll span: what was fetched is decoded and flushed.
func (p *polled) end(records int64) {
	if p != nil {
		span := trace.SpanFromContext(p.ctx)
		span.SetAttributes(telemetry.MessagingBatchCount.Int64(records))
		span.End()
	}
}

// send begins the span of a block; nil when the flush is not sampled.
func (p *polled) send(topic string, to ident.Task, bytes int) trace.Span {
	if p == nil {
		return nil
	}
	_, span := p.tracing.tracer.Start(p.ctx, "send "+topic, trace.WithSpanKind(trace.SpanKindProducer), trace.WithAttributes(
		telemetry.MessagingSystem.String(telemetry.SystemKafka), telemetry.MessagingOperationName.String("send"),
		telemetry.MessagingOperationType.String("send"), telemetry.MessagingDestination.String(topic),
		telemetry.MessagingPartition.Int(int(to.VGroup)), telemetry.MessagingMessageBodySize.Int(bytes),
		telemetry.Task.String(p.self.Task.String()),
	))
	return span
}

// carry writes the span's context into a block's header, for the task that receives it.
func carry(h *block.Header, span trace.Span) {
	if span == nil {
		return
	}
	span.SetAttributes(telemetry.MsgID.Int64(int64(h.Msg)))
	propagation.TraceContext{}.Inject(trace.ContextWithSpan(context.Background(), span), (*headerCarrier)(h))
}

// process begins the span of a block that belongs to a trace; the context is ctx and the span nil when it does not.
func (t *Tracing) process(ctx context.Context, self dispatch.Self, topic string, a dispatch.Arrived) (context.Context, trace.Span) {
	h := a.Header
	if t == nil || h.TraceParent == "" {
		return ctx, nil
	}
	return t.tracer.Start(propagation.TraceContext{}.Extract(ctx, (*headerCarrier)(h)), "process "+topic,
		trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(
			telemetry.MessagingSystem.String(telemetry.SystemKafka), telemetry.MessagingOperationName.String("process"),
			telemetry.MessagingOperationType.String("process"), telemetry.MessagingDestination.String(topic),
			telemetry.MessagingPartition.Int(int(self.Task.VGroup)), telemetry.MessagingMessageBodySize.Int(a.Bytes),
			telemetry.MessagingKafkaOffset.Int64(int64(a.Offset)), telemetry.MsgID.Int64(int64(h.Msg)), telemetry.Stage.Int64(int64(self.Stage)), telemetry.Task.String(self.Task.String()),
		))
}

// endSpan ends a span that may be nil.
func endSpan(span trace.Span, err error, attrs ...attribute.KeyValue) {
	if span == nil {
		return
	}
	if err != nil {
		span.RecordError(err)
		span.SetStatus(codes.Error, err.Error())
	}
	span.SetAttributes(attrs...)
	span.End()
}

// headerCarrier lets the trace context ride in a block's header.
type headerCarrier block.Header

// The names of the W3C trace context.
const (
	traceParent = block.HeaderTraceParent
	traceState  = block.HeaderTraceState
)

// Get implements propagation.TextMapCarrier.
func (c *headerCarrier) Get(key string) string {
	switch key {
	case traceParent:
		return c.TraceParent
	case traceState:
		return c.TraceState
	}
	return ""
}

// Set implements propagation.TextMapCarrier.
func (c *headerCarrier) Set(key, value string) {
	switch key {
	case traceParent:
		c.TraceParent = value
	case traceState:
		c.TraceState = value
	}
}

// Keys implements propagation.TextMapCarrier.
func (c *headerCarrier) Keys() []string { return []string{traceParent, traceState} }
