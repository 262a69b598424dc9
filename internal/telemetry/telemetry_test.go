package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/pondage/pondage/internal/config"
)

var jsonLog = config.Log{Level: "info", Format: config.LogJSON}

func TestMetricsOfTheMeterAreExposed(t *testing.T) {
	t.Parallel()
	tel, err := New(t.Context(), Process{Role: "worker", Version: "1"}, jsonLog, config.Telemetry{}, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	counter, err := tel.Meter.Meter("test").Int64Counter("pondage.source.records", metric.WithUnit("{record}"))
	if err != nil {
		t.Fatal(err)
	}
	counter.Add(t.Context(), 3)
	w := httptest.NewRecorder()
	tel.Metrics.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if body := w.Body.String(); w.Code != http.StatusOK || !strings.Contains(body, "pondage_source_records_total 3") || !strings.Contains(body, "go_goroutines") {
		t.Errorf("status %d, body:\n%s", w.Code, body)
	}
	for range 2 {
		if err := tel.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestLogLinesCarryTheTrace(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	tel, err := New(t.Context(), Process{Role: "worker", Node: "n1"}, jsonLog, config.Telemetry{}, &out)
	if err != nil {
		t.Fatal(err)
	}
	span := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}})
	tel.Logger.With("a", 1).InfoContext(trace.ContextWithSpanContext(context.Background(), span), "hello")
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatalf("%v: %s", err, out.Bytes())
	}
	for key, want := range map[string]any{"trace_id": span.TraceID().String(), "span_id": span.SpanID().String(), "role": "worker", "node": "n1", "msg": "hello"} {
		if line[key] != want {
			t.Errorf("%s is %v, want %v", key, line[key], want)
		}
	}
}

func TestWithoutAnEndpointSpansRecordNothing(t *testing.T) {
	t.Parallel()
	tel, err := New(t.Context(), Process{Role: "worker"}, jsonLog, config.Telemetry{SampleRatio: 1}, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	tracer := tel.Tracer.Tracer("test")
	ctx := t.Context()
	if _, span := tracer.Start(ctx, "x"); span.IsRecording() {
		t.Error("a span records though nobody asked")
	}
}

func TestSpansReachTheCollector(t *testing.T) {
	t.Parallel()
	got := make(chan string, 1)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got <- r.URL.Path }))
	defer collector.Close()
	tel, err := New(t.Context(), Process{Role: "worker"}, jsonLog, config.Telemetry{OTLPEndpoint: collector.URL, SampleRatio: 1}, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	_, span := tel.Tracer.Tracer("test").Start(t.Context(), "x")
	span.End()
	if err := tel.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if path := <-got; path != "/v1/traces" {
		t.Errorf("sent to %s", path)
	}
}
