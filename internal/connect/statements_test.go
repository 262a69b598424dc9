package connect

import (
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/pondage/pondage/internal/devstack/testpg"
)

func TestStatementsOfARecordedTraceAreSpans(t *testing.T) {
	t.Parallel()
	spans := tracetest.NewInMemoryExporter()
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)).Tracer("test")
	hub := New(Config{Postgres: testpg.DSN(t), Tracer: tracer})
	t.Cleanup(hub.Close)
	pool, err := hub.Postgres(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Exec(t.Context(), "SELECT 1"); err != nil {
		t.Fatal(err)
	}
	if n := len(spans.GetSpans()); n != 0 {
		t.Errorf("%d spans outside of a trace", n)
	}
	ctx, root := tracer.Start(t.Context(), "write postgres")
	if _, err := pool.Exec(ctx, "SELECT $1::int", 7); err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Exec(ctx, "INSERT INTO nowhere VALUES (1)"); err == nil {
		t.Fatal("there is a table nowhere")
	}
	root.End()
	got := spans.GetSpans()
	if len(got) != 3 || got[0].Name != "SELECT" || got[1].Name != "INSERT" {
		t.Fatalf("spans %v", got.Snapshots())
	}
	for _, s := range got[:2] {
		if s.Parent.SpanID() != root.SpanContext().SpanID() {
			t.Errorf("%s is not within the write", s.Name)
		}
	}
	if len(got[1].Events) != 1 || len(got[0].Events) != 0 {
		t.Errorf("errors are on %+v", got)
	}
}
