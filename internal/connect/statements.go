package connect

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Attributes of spans of statements, by the semantic conventions of databases.
const (
	dbSystem    = attribute.Key("db.system.name")
	dbOperation = attribute.Key("db.operation.name")
	dbQuery     = attribute.Key("db.query.text") // with $1, $2, …: values are not shown
	dbRows      = attribute.Key("db.response.returned_rows")
)

// statements makes a span of each statement within a recorded one. It implements pgx.QueryTracer; outside of a trace it
// costs a look into the context.
type statements struct{ tracer trace.Tracer }

// TraceQueryStart implements pgx.QueryTracer.
func (s statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if !trace.SpanFromContext(ctx).IsRecording() {
		return ctx
	}
	operation, _, _ := strings.Cut(strings.ToUpper(strings.TrimSpace(data.SQL)), " ")
	ctx, span := s.tracer.Start(ctx, operation, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(dbSystem.String("postgresql"), dbOperation.String(operation), dbQuery.String(data.SQL)))
	return context.WithValue(ctx, statementKey{}, span)
}

// statementKey is where a statement's span is in its context: what is in the context otherwise is the caller's.
type statementKey struct{}

// TraceQueryEnd implements pgx.QueryTracer.
func (s statements) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	span, ok := ctx.Value(statementKey{}).(trace.Span)
	if !ok {
		return
	}
	if data.Err != nil {
		span.RecordError(data.Err)
		span.SetStatus(codes.Error, data.Err.Error())
	} else {
		span.SetAttributes(dbRows.Int64(data.CommandTag.RowsAffected()))
	}
	span.End()
}
