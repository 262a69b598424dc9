package httpserver

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/pondage/pondage/internal/problem"
	"github.com/pondage/pondage/internal/telemetry"
)

// Attributes of HTTP spans and metrics, by the semantic conventions.
const (
	attrMethod = attribute.Key("http.request.method")
	attrRoute  = attribute.Key("http.route")
	attrStatus = attribute.Key("http.response.status_code")
	attrPath   = attribute.Key("url.path")
)

// unrouted is the route of requests for paths that do not exist: their number is not bounded, so they share a name.
const unrouted = "unrouted"

// observe is the outermost middleware: it gives the request a trace, recovers from panics, and tells how it ended.
func (s *Server) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun := time.Now()
		ctx, span := s.startSpan(r)
		defer span.End()
		state := &request{wire: r.Body}
		ctx = context.WithValue(ctx, requestKey{}, state)
		ww := middleware.NewWrapResponseWriter(w, r.ProtoMajor)
		r = r.WithContext(ctx)
		openBoth(ww, r)
		s.recovering(ww, r, next)
		took := time.Since(begun) // to the answer; what the client still sends is its own affair
		drain(ww, r, state)
		s.report(ctx, span, ww.Status(), r, state, took)
	})
}

// startSpan begins the request's span. A request always has a trace id, also where nothing is traced, so that an error
// can be found in the log.
func (s *Server) startSpan(r *http.Request) (context.Context, trace.Span) {
	ctx := s.config.Telemetry.Propagator.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	ctx, span := s.tracer.Start(ctx, r.Method, trace.WithSpanKind(trace.SpanKindServer))
	if span.SpanContext().IsValid() {
		return ctx, span
	}
	var id trace.TraceID
	var own trace.SpanID
	_, _ = rand.Read(id[:]) // never fails
	_, _ = rand.Read(own[:])
	return trace.ContextWithSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{TraceID: id, SpanID: own})), span
}

// recovering turns a panic into one request's 500. One that comes after the answer began breaks the connection, so that
// the client sees that it is not whole.
func (s *Server) recovering(w middleware.WrapResponseWriter, r *http.Request, next http.Handler) {
	defer func() {
		caught := recover()
		if caught == nil {
			return
		}
		if err, ok := caught.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(caught)
		}
		s.config.Telemetry.Logger.ErrorContext(r.Context(), "panic in a request", "panic", caught, "path", r.URL.Path, "stack", string(debug.Stack()))
		if w.Status() != 0 {
			panic(http.ErrAbortHandler)
		}
		s.refuse(w, r, problem.New(problem.CodeInternal, "an unexpected error; the log has it under the trace id"))
	}()
	if r.ContentLength != 0 {
		next.ServeHTTP(whole{w}, r)
		return
	}
	next.ServeHTTP(w, r)
}

// report writes the span's end, the log line and the metrics.
func (s *Server) report(ctx context.Context, span trace.Span, status int, r *http.Request, state *request, took time.Duration) {
	if status == 0 {
		status = http.StatusOK
	}
	route := chi.RouteContext(r.Context()).RoutePattern()
	if route == "" || route == "/*" {
		route = unrouted
	}
	span.SetName(r.Method + " " + route)
	span.SetAttributes(attrMethod.String(r.Method), attrRoute.String(route), attrStatus.Int(status), attrPath.String(r.URL.Path))
	if status >= http.StatusInternalServerError {
		span.SetStatus(codes.Error, http.StatusText(status))
	}
	s.metrics.request(ctx, r.Method, route, status, took)
	s.log(ctx, status, r, state, took)
}

func (s *Server) log(ctx context.Context, status int, r *http.Request, state *request, took time.Duration) {
	level := slog.LevelDebug
	switch {
	case status >= http.StatusInternalServerError && status != http.StatusServiceUnavailable:
		level = slog.LevelError
	case r.Method != http.MethodGet && state.op != nil && state.op.Role != roleCluster:
		level = slog.LevelInfo
	}
	logger := s.config.Telemetry.Logger
	if !logger.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{slog.String("method", r.Method), slog.String("path", r.URL.Path), slog.Int("status", status), slog.Duration("took", took)}
	if state.principal.Name != "" {
		attrs = append(attrs, slog.String("principal", state.principal.Name))
	}
	if state.refused != nil {
		attrs = append(attrs, slog.String(telemetry.KeyCode, string(state.refused.Code)), slog.Any(telemetry.KeyError, state.cause))
	}
	logger.LogAttrs(ctx, level, "request", attrs...)
}
