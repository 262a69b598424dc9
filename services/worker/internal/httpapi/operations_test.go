package httpapi

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

const (
	ordersJSON     = `{"cluster_id":"c1","node":"n1","instance":"3-0a1b2c3d","term":"4","orders":[]}`
	creditsJSON    = `{"from":{"node":"n2","instance":"1-00000001"},"to":"n1","seq":"5","entries":[{"stream_id":"7","stage":"2","upstream":"source-1","downstream":"agg-0","consumed":"9","notice":"","question":"0","watermark":"-9223372036854775808"}]}`
	checkpointJSON = `{"term":"3","node":"n1","instance":"3-0a1b2c3d","stream_id":"7","stage":"2","checkpoint":"5","tx":"77","left_ms":"60000","tasks":["source-1","source-2"]}`
	triggersJSON   = `{"questions":[{"stream_id":"7","stage":"2","checkpoint":"5","tx":"77","upstream":"source-1","asker":"agg-0"}]}`
	handshakeJSON  = `{"from":{"node":"n2","instance":"1-00000001"},"to":{"node":"n1","instance":"3-0a1b2c3d"},"stream_id":"7","stage":"2","pairs":[{"upstream":"source-1","downstream":"agg-0"}]}`
)

// operations is one call of each operation of the document but the live one, which does not end.
var operations = []struct {
	method, path, template, body string
	status                       int
}{
	{"POST", "/v1/edges/credits", "", creditsJSON, 204},
	{"POST", "/v1/edges/handshake", "", handshakeJSON, 200},
	{"POST", "/v1/checkpoints", "", checkpointJSON, 200},
	{"POST", "/v1/edges/triggers", "", triggersJSON, 200},
	{"POST", "/v1/ingest/readings", "/v1/ingest/{source}", `[{"device":"a","ts":0}]`, 200},
	{"POST", "/v1/orders", "", ordersJSON, 200},
	{"GET", "/v1/sources/readings/dead-letters?limit=3", "/v1/sources/{name}/dead-letters", "", 200},
	{"POST", "/v1/sources/readings/dead-letters/replay", "/v1/sources/{name}/dead-letters/replay", `{"stream":"per_minute","from":"0","to":"9223372036854775807"}`, 200},
	{"GET", "/v1/streams/per_minute/explain-window?time=1970-01-01T00:00:01Z&table=a", "/v1/streams/{name}/explain-window", "", 200},
	{"GET", "/v1/streams/per_minute/late-records", "/v1/streams/{name}/late-records", "", 200},
	{"GET", "/v1/streams/per_minute/results?limit=10000&order=n%20desc&filter=n%20%3E%200", "/v1/streams/{name}/results", "", 200},
	{"GET", "/v1/version", "", "", 200},
	{"GET", "/healthz", "", "", 200},
	{"GET", "/readyz", "", "", 200},
	{"GET", "/metrics", "", "", 200},
	{"GET", "/openapi.json", "", "", 200},
	{"GET", "/docs", "", "", 200},
}

func TestEveryOperationAnswersAsTheDocumentSays(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.keep(rows(t, r, 9007199254740993))
	called := map[string]bool{"GET /v1/streams/{name}/results/live": true} // TestLiveResults
	for _, c := range operations {
		path := c.template
		if path == "" {
			path = c.path
		}
		called[c.method+" "+path] = true
		op, ok := r.server.Contract().Operation(c.method, path)
		if !ok {
			t.Errorf("%s %s is not in the document", c.method, path)
			continue
		}
		header := []string{}
		if c.body != "" {
			header = []string{"Content-Type", "application/json"}
		}
		answer, body := r.call(c.method, c.path, strings.NewReader(c.body), header...)
		if answer.StatusCode != c.status {
			t.Errorf("%s %s: status %d: %s", c.method, c.path, answer.StatusCode, body)
		}
		if err := op.CheckResponse(answer.StatusCode, answer.Header, body); err != nil {
			t.Errorf("%s %s: %v\n%s", c.method, c.path, err, body)
		}
	}
	for _, op := range r.server.Contract().Operations() {
		if !called[op.Method+" "+op.Path] {
			t.Errorf("%s %s is in the document and was not called", op.Method, op.Path)
		}
	}
}

func TestUnknownNamesAreNamed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, c := range []struct{ method, path, code string }{
		{"POST", "/v1/ingest/nosuch", "source_unknown"}, {"GET", "/v1/sources/nosuch/dead-letters", "source_unknown"},
		{"GET", "/v1/streams/nosuch/results", "stream_unknown"}, {"GET", "/v1/streams/nosuch/results/live", "stream_unknown"},
		{"GET", "/v1/streams/nosuch/explain-window", "stream_unknown"}, {"GET", "/v1/streams/nosuch/late-records", "stream_unknown"},
	} {
		answer, body := r.call(c.method, c.path, strings.NewReader("{}\n"))
		wantProblem(t, answer, body, 404, c.code)
	}
}

func TestT61_TimesWithoutAZoneAreRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, bad := range []string{"2026-07-28T08:00:00", "2026-02-30T00:00:00Z", "2026-07-28T08:00:00%2B25:00"} {
		answer, body := r.call("GET", "/v1/streams/per_minute/explain-window?time="+bad, nil)
		wantProblem(t, answer, body, 400, "invalid_parameter")
		for _, path := range []string{"/v1/streams/per_minute/results", "/v1/streams/per_minute/results/live"} {
			answer, body = r.call("GET", path+"?filter=window_start+%3E+%27"+bad+"%27", nil)
			if d := wantProblem(t, answer, body, 400, "bad_literal"); d.Errors[0].Pointer != "/filter" || d.Errors[0].Span == nil {
				t.Errorf("%s: %+v", path, d.Errors)
			}
		}
	}
}

func TestInternalCallsReachTheirPackages(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	json := []string{"Content-Type", "application/json"}
	if answer, body := r.call("POST", "/v1/edges/credits", strings.NewReader(creditsJSON), json...); answer.StatusCode != 204 {
		t.Errorf("credits: %d %s", answer.StatusCode, body)
	}
	if m := r.taken[0]; m.Seq != 5 || m.To != "n1" || m.From.String() != "n2/1-00000001" || m.Entries[0].Consumed != 9 || m.Entries[0].Task.String() != "agg-0" {
		t.Errorf("credits: %+v", m)
	}
	answer, body := r.call("POST", "/v1/edges/credits", strings.NewReader(strings.Replace(creditsJSON, `"source-1"`, `"source-99999"`, 1)), json...)
	if d := wantProblem(t, answer, body, 400, "invalid_format"); d.Errors[0].Pointer != "/entries/0/upstream" {
		t.Errorf("%+v", d)
	}
	if answer, body := r.call("POST", "/v1/edges/handshake", strings.NewReader(handshakeJSON), json...); !strings.Contains(string(body), `"answer":"ready"`) {
		t.Errorf("handshake: %d %s", answer.StatusCode, body)
	}
	if answer, body := r.call("POST", "/v1/checkpoints", strings.NewReader(checkpointJSON), json...); string(body) != "{\"refused\":[{\"cause\":{\"code\":\"busy\",\"message\":\"\"},\"task\":\"source-2\"}],\"taken\":[\"source-1\"]}\n" {
		t.Errorf("checkpoint: %d %s", answer.StatusCode, body)
	}
	if answer, body := r.call("POST", "/v1/edges/triggers", strings.NewReader(triggersJSON), json...); !strings.Contains(string(body), `"status":"not_running"`) {
		t.Errorf("triggers: %d %s", answer.StatusCode, body)
	}
	r.refuse = errors.New("orders of term 4, this node has heard of term 5")
	answer, body = r.call("POST", "/v1/orders", strings.NewReader(ordersJSON), json...)
	if d := wantProblem(t, answer, body, 409, "orders_refused"); !strings.Contains(d.Detail, "term 5") {
		t.Errorf("%+v", d)
	}
	if len(r.orders) != 1 || r.orders[0].Term != 4 {
		t.Errorf("orders %+v", r.orders)
	}
}

func gzipped(text string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return b.Bytes()
}

func zstandard(text string) []byte {
	w, _ := zstd.NewWriter(nil)
	return w.EncodeAll([]byte(text), nil)
}

func TestIngestTakesEachForm(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	lines := "{\"device\":\"a\"}\n{\"device\":\"b\"}\n"
	for _, c := range []struct {
		mediaType, encoding string
		body                []byte
		want                string
	}{
		{"", "", []byte(lines), `{"accepted":2}`}, {"application/x-ndjson", "", []byte(lines), `{"accepted":2}`}, {"application/json", "", []byte(`[1,2,3]`), `{"accepted":3}`},
		{"application/x-ndjson", "gzip", gzipped(lines), `{"accepted":2}`}, {"application/x-ndjson", "zstd", zstandard(lines), `{"accepted":2}`},
		{"application/json; charset=utf-8", "gzip", gzipped("[1]"), `{"accepted":1}`}, {"application/x-ndjson", "", nil, `{"accepted":0}`},
	} {
		header := []string{"Idempotency-Key", "k"}
		if c.mediaType != "" {
			header = append(header, "Content-Type", c.mediaType)
		}
		if c.encoding != "" {
			header = append(header, "Content-Encoding", c.encoding)
		}
		answer, body := r.call("POST", "/v1/ingest/readings", bytes.NewReader(c.body), header...)
		if answer.StatusCode != 200 || strings.TrimSpace(string(body)) != c.want {
			t.Errorf("%s %s: %d %s", c.mediaType, c.encoding, answer.StatusCode, body)
		}
	}
}

func TestBodiesThatAreNoneAreTheClients(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	whole := gzipped(strings.Repeat("{\"device\":\"a\"}\n", 1000))
	for _, c := range []struct {
		mediaType, encoding string
		body                []byte
		status              int
		code                string
	}{
		{"application/x-ndjson", "gzip", whole[:len(whole)/2], 400, "body_unreadable"}, {"application/x-ndjson", "gzip", []byte("{}\n"), 400, "body_unreadable"},
		{"application/x-ndjson", "zstd", zstandard("{}\n")[:6], 400, "body_unreadable"}, {"application/x-ndjson", "br", nil, 415, "unsupported_content_encoding"},
		{"text/plain", "", []byte("x"), 415, "unsupported_media_type"}, {"application/json", "", []byte(`[1,`), 400, "malformed_json"}, {"application/json", "", nil, 400, "body_required"},
		// A small body that unpacks to a large one.
		{"application/x-ndjson", "gzip", gzipped(strings.Repeat(strings.Repeat("x", 1000)+"\n", 40_000)), 413, "body_too_large"},
		{"application/x-ndjson", "", bytes.Repeat([]byte("x"), 9<<20), 413, "record_too_large"},
	} {
		header := []string{"Content-Type", c.mediaType}
		if c.encoding != "" {
			header = append(header, "Content-Encoding", c.encoding)
		}
		answer, body := r.call("POST", "/v1/ingest/readings", bytes.NewReader(c.body), header...)
		wantProblem(t, answer, body, c.status, c.code)
	}
}

// endless is a body that only ends with its connection, and notes how much of it was taken.
type endless struct{ sent, most int }

func (e *endless) Read(p []byte) (int, error) {
	if e.sent >= e.most {
		return 0, io.EOF
	}
	for i := range p {
		p[i] = 'x'
	}
	p[len(p)-1] = '\n'
	e.sent += len(p)
	return len(p), nil
}

func TestT54_ARefusalReachesAClientThatStillSends(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const limit = 32 << 20
	answer, body := r.call("POST", "/v1/ingest/readings", &endless{most: 2 * limit}, "Content-Type", "application/x-ndjson") // chunked
	wantProblem(t, answer, body, 413, "body_too_large")
	answer, body = r.call("POST", "/v1/ingest/nosuch", &endless{most: limit}, "Content-Type", "application/x-ndjson")
	wantProblem(t, answer, body, 404, "source_unknown")
	answer, body = r.call("POST", "/v1/ingest/readings", bytes.NewReader(make([]byte, limit+1)), "Content-Type", "application/x-ndjson") // with its length
	wantProblem(t, answer, body, 413, "body_too_large")
}

func TestWhatMayPassHasARetryAfter(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.hub.Close()
	answer, body := r.call("POST", "/v1/ingest/readings", strings.NewReader("{}\n"))
	wantProblem(t, answer, body, 503, "kafka_unreachable")
	op, _ := r.server.Contract().Operation("POST", "/v1/ingest/{source}")
	if err := op.CheckResponse(answer.StatusCode, answer.Header, body); err != nil {
		t.Error(err)
	}
}
