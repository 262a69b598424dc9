package telemetry

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"go.opentelemetry.io/otel/trace"

	"github.com/pondage/pondage/internal/config"
)

// Keys of log lines; the same words as in the API.
const (
	KeyRole    = "role"
	KeyNode    = "node"
	KeyStream  = "stream"
	KeySource  = "source"
	KeyStage   = "stage"
	KeyTask    = "task"
	KeyError   = "error"
	KeyCode    = "code"
	KeyTraceID = "trace_id"
	KeySpanID  = "span_id"
)

// NewLogger returns a logger that writes to w and adds the trace of the context to each line.
func NewLogger(c config.Log, w io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.Level)); err != nil {
		return nil, fmt.Errorf("log level %q: %w", c.Level, err)
	}
	options := &slog.HandlerOptions{Level: level}
	if c.Format == config.LogText {
		return slog.New(traced{slog.NewTextHandler(w, options)}), nil
	}
	return slog.New(traced{slog.NewJSONHandler(w, options)}), nil
}

// traced adds the trace and span id of the context.
type traced struct{ slog.Handler }

func (h traced) Handle(ctx context.Context, r slog.Record) error {
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		r.AddAttrs(slog.String(KeyTraceID, span.TraceID().String()), slog.String(KeySpanID, span.SpanID().String()))
	}
	return h.Handler.Handle(ctx, r)
}

func (h traced) WithAttrs(attrs []slog.Attr) slog.Handler { return traced{h.Handler.WithAttrs(attrs)} }

func (h traced) WithGroup(name string) slog.Handler { return traced{h.Handler.WithGroup(name)} }
