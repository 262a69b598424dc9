package problem

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/pondage/pondage/internal/invalid"
)

func TestEveryErrorHasItsStatusAndCode(t *testing.T) {
	t.Parallel()
	oneFault := invalid.New("unknown_member", "/wher", "unknown member %q", "wher")
	twoKinds := &invalid.Error{Details: append(oneFault.Details, invalid.Detail{Code: "syntax", Message: "x"})}
	for _, c := range []struct {
		name   string
		err    error
		status int
		code   Code
	}{
		{"own", New(CodeStreamUnknown, "no stream"), 404, CodeStreamUnknown},
		{"wrapped", fmt.Errorf("get: %w", New(CodeBusy, "busy")), 409, CodeBusy},
		{"one fault", fmt.Errorf("plan: %w", oneFault), 400, CodeUnknownMember},
		{"several kinds of faults", twoKinds, 400, CodeInvalidInput},
		{"fault of an unknown code", invalid.New("brand_new", "", "x"), 400, "brand_new"},
		{"fault with the code of a 5xx", invalid.New("kafka_unreachable", "", "x"), 400, "kafka_unreachable"},
		{"deadline", fmt.Errorf("read: %w", context.DeadlineExceeded), 503, CodeDeadlineExceeded},
		{"client gone", context.Canceled, 503, CodeDeadlineExceeded},
		{"too large", &http.MaxBytesError{Limit: 5}, 413, CodeBodyTooLarge},
		{"truncated", io.ErrUnexpectedEOF, 400, CodeBodyUnreadable},
		{"anything else", errors.New("secret: hunter2"), 500, CodeInternal},
		{"own with a code that is no answer", New("source_topic_recreated", "x"), 500, "source_topic_recreated"},
	} {
		if d := From(c.err); d.Status != c.status || d.Code != c.code {
			t.Errorf("%s: %d %s, want %d %s", c.name, d.Status, d.Code, c.status, c.code)
		}
	}
}

func TestAnswerIsAProblemDocument(t *testing.T) {
	t.Parallel()
	span := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}})
	r := httptest.NewRequest(http.MethodPost, "/v1/sql?x=1", nil)
	r = r.WithContext(trace.ContextWithSpanContext(r.Context(), span))
	w := httptest.NewRecorder()
	w.Header().Set("ETag", `"1"`)
	e := Wrap(errors.New("dial 10.0.0.1: refused"), CodeKafkaUnreachable, "Kafka does not answer")
	e.RetryAfter = 1500 * time.Millisecond
	Write(w, r, e)
	if w.Code != 503 || w.Header().Get("Content-Type") != MediaType || w.Header().Get("Retry-After") != "2" || w.Header().Get("ETag") != "" {
		t.Errorf("status %d, headers %v", w.Code, w.Header())
	}
	want := `{"type":"https://pondage.dev/errors#kafka_unreachable","title":"Kafka does not answer","status":503,"code":"kafka_unreachable",` +
		`"detail":"Kafka does not answer","instance":"/v1/sql","trace_id":"01000000000000000000000000000000","retryable":true}` + "\n"
	if got := w.Body.String(); got != want {
		t.Errorf("got  %swant %s", got, want)
	}
}

func TestFaultsKeepTheirPlaces(t *testing.T) {
	t.Parallel()
	err := &invalid.Error{Details: []invalid.Detail{
		{Code: "syntax", Span: &invalid.Span{Offset: 7, Length: 2, Line: 1, Column: 8}, Message: "expected FROM", Hint: "add FROM source"},
		{Code: "syntax", Pointer: "/where", Message: "empty"},
	}}
	got, jsonErr := json.Marshal(From(err).Errors)
	if jsonErr != nil {
		t.Fatal(jsonErr)
	}
	want := `[{"code":"syntax","span":{"offset":7,"length":2,"line":1,"column":8},"detail":"expected FROM","hint":"add FROM source"},{"code":"syntax","pointer":"/where","detail":"empty"}]`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
