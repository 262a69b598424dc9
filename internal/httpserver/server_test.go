package httpserver

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/pondage/pondage/internal/problem"
	"github.com/pondage/pondage/internal/telemetry"
)

// document has one operation of each kind.
const document = `{"info":{"title":"Test","version":"1"},"tags":[{"name":"t"}],"paths":{
"/v1/things/{name}":{
 "get":{"operationId":"get","tags":["t"],"x-pondage-role":"viewer","parameters":[
  {"name":"name","in":"path","required":true,"schema":{"type":"string","pattern":"^[a-z]+$"}},
  {"name":"limit","in":"query","schema":{"type":"integer","minimum":1,"maximum":10}},
  {"name":"If-Match","in":"header","schema":{"type":"string","maxLength":5}}],
  "responses":{"200":{"content":{"application/json":{},"text/csv":{}}}}},
 "put":{"operationId":"put","tags":["t"],"x-pondage-role":"editor","x-pondage-max-body":64,"parameters":[{"name":"name","in":"path","required":true,"schema":{"type":"string"}}],
  "requestBody":{"required":true,"content":{"application/json":{"schema":{"type":"object","required":["n"],"additionalProperties":false,"properties":{"n":{"type":"integer"}}}}}},"responses":{"200":{}}}},
"/v1/slow":{"get":{"operationId":"slow","x-pondage-role":"viewer","x-pondage-max-seconds":1,"responses":{"200":{}}}},
"/v1/panic":{"get":{"operationId":"panic","x-pondage-role":"viewer","responses":{"200":{}}}},
"/v1/ingest":{"post":{"operationId":"ingest","x-pondage-role":"editor","x-pondage-body":"stream","x-pondage-max-body":1048576,
 "requestBody":{"required":true,"content":{"application/json":{"schema":{}},"application/x-ndjson":{"schema":{"type":"string"}}}},"responses":{"200":{}}}},
"/v1/orders":{"post":{"operationId":"orders","x-pondage-role":"cluster","requestBody":{"required":true,"content":{"application/json":{"schema":{"type":"object"}}}},"responses":{"200":{}}}}
}}`

// newServer mounts handlers that show what reached them.
func newServer(t *testing.T, change func(*Config)) *Server {
	t.Helper()
	c := Config{Document: []byte(document), Telemetry: telemetry.Nop()}
	if change != nil {
		change(&c)
	}
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	echo := func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			s.Fail(w, r, err)
			return
		}
		w.Header().Set("X-Type", r.Header.Get("Content-Type")+AnswerType(r.Context()))
		w.Header().Set("X-Principal", PrincipalOf(r.Context()).Name)
		_, _ = w.Write(b)
	}
	s.API().Get("/v1/things/{name}", echo)
	s.API().Put("/v1/things/{name}", echo)
	s.API().Post("/v1/ingest", func(w http.ResponseWriter, r *http.Request) {
		if at := r.Header.Get("X-Elsewhere"); at != "" { // as a coordinator answers
			w.Header().Set("Location", at)
			w.WriteHeader(http.StatusTemporaryRedirect)
			return
		}
		echo(w, r)
	})
	s.API().Post("/v1/orders", echo)
	s.API().Get("/v1/slow", func(w http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		s.Fail(w, r, r.Context().Err())
	})
	s.API().Get("/v1/panic", func(http.ResponseWriter, *http.Request) { panic("boom") })
	return s
}

func do(s *Server, method, path string, body io.Reader, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, body)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w
}

// codeOf reads the code of a problem document; anything else is an error of the test.
func codeOf(t *testing.T, w *httptest.ResponseRecorder) problem.Code {
	t.Helper()
	var d problem.Document
	if err := json.Unmarshal(w.Body.Bytes(), &d); err != nil || w.Header().Get("Content-Type") != problem.MediaType || d.TraceID == "" {
		t.Fatalf("status %d: not a problem document with a trace id: %s", w.Code, w.Body)
	}
	return d.Code
}

func packed(t *testing.T, encoding, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser = gzip.NewWriter(&b)
	if encoding == "zstd" {
		z, err := zstd.NewWriter(&b)
		if err != nil {
			t.Fatal(err)
		}
		w = z
	}
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestBadRequestsAreProblemsAndNever5xx(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	jsonType := []string{"Content-Type", "application/json"}
	bomb := packed(t, "gzip", `{"n":`+strings.Repeat(" ", 10000)+`1}`)
	for _, c := range []struct {
		name, method, path, body string
		header                   []string
		status                   int
		code                     problem.Code
	}{
		{"no such path", "GET", "/nothing", "", nil, 404, problem.CodeNotFound},
		{"no such operation", "GET", "/v1/nothing", "", nil, 404, problem.CodeNotFound},
		{"wrong method", "POST", "/v1/things/a", "", nil, 405, problem.CodeMethodNotAllowed},
		{"wrong method of a service route", "POST", "/healthz", "", nil, 405, problem.CodeMethodNotAllowed},
		{"path parameter", "GET", "/v1/things/A", "", nil, 400, problem.CodeInvalidParameter},
		{"escaped path parameter", "GET", "/v1/things/a%2Fb", "", nil, 400, problem.CodeInvalidParameter},
		{"query parameter out of range", "GET", "/v1/things/a?limit=11", "", nil, 400, problem.CodeInvalidParameter},
		{"query parameter that is no number", "GET", "/v1/things/a?limit=x", "", nil, 400, problem.CodeInvalidParameter},
		{"query parameter twice", "GET", "/v1/things/a?limit=1&limit=2", "", nil, 400, problem.CodeInvalidParameter},
		{"unknown query parameter", "GET", "/v1/things/a?limt=1", "", nil, 400, problem.CodeUnknownParameter},
		{"bad query", "GET", "/v1/things/a?limit=%zz", "", nil, 400, problem.CodeInvalidParameter},
		{"header too long", "GET", "/v1/things/a", "", []string{"If-Match", `"123456"`}, 400, problem.CodeInvalidParameter},
		{"no body", "PUT", "/v1/things/a", "", nil, 400, problem.CodeBodyRequired},
		{"blank body", "PUT", "/v1/things/a", " \n", jsonType, 400, problem.CodeBodyRequired},
		{"not JSON", "PUT", "/v1/things/a", `{"n":`, jsonType, 400, problem.CodeMalformedJSON},
		{"more than JSON", "PUT", "/v1/things/a", `{"n":1}}`, jsonType, 400, problem.CodeMalformedJSON},
		{"not UTF-8", "PUT", "/v1/things/a", "{\"n\":1,\"\xff\":2}", jsonType, 400, problem.CodeMalformedJSON},
		{"wrong form", "PUT", "/v1/things/a", `{"n":"1"}`, jsonType, 400, problem.CodeInvalidBody},
		{"wrong type", "PUT", "/v1/things/a", `{"n":1}`, []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, problem.CodeUnsupportedMediaType},
		{"wrong charset", "PUT", "/v1/things/a", `{"n":1}`, []string{"Content-Type", "application/json; charset=latin1"}, 415, problem.CodeUnsupportedMediaType},
		{"too large", "PUT", "/v1/things/a", strings.Repeat(" ", 65), jsonType, 413, problem.CodeBodyTooLarge},
		{"unpacks to too much", "PUT", "/v1/things/a", string(bomb), append(jsonType, "Content-Encoding", "gzip"), 413, problem.CodeBodyTooLarge},
		{"truncated gzip", "PUT", "/v1/things/a", string(bomb[:len(bomb)/2]), append(jsonType, "Content-Encoding", "gzip"), 400, problem.CodeBodyUnreadable},
		{"not gzip", "PUT", "/v1/things/a", `{"n":1}`, append(jsonType, "Content-Encoding", "gzip"), 400, problem.CodeBodyUnreadable},
		{"not zstd", "PUT", "/v1/things/a", `{"n":1}`, append(jsonType, "Content-Encoding", "zstd"), 400, problem.CodeBodyUnreadable},
		{"unknown encoding", "PUT", "/v1/things/a", `{"n":1}`, append(jsonType, "Content-Encoding", "br"), 415, problem.CodeUnsupportedContentEncoding},
		{"truncated gzip in a stream", "POST", "/v1/ingest", string(bomb[:len(bomb)/2]), []string{"Content-Encoding", "gzip"}, 400, problem.CodeBodyUnreadable},
		{"no form that is accepted", "GET", "/v1/things/a", "", []string{"Accept", "image/png"}, 406, problem.CodeNotAcceptable},
	} {
		w := do(s, c.method, c.path, strings.NewReader(c.body), c.header...)
		if w.Code != c.status || codeOf(t, w) != c.code {
			t.Errorf("%s: status %d, %s", c.name, w.Code, w.Body)
		}
	}
	if allow := do(s, "POST", "/v1/things/a", nil).Header().Values("Allow"); strings.Join(allow, " ") != "GET PUT" {
		t.Errorf("Allow %q", allow)
	}
}

func TestWhatIsMalformedHasItsPlace(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	w := do(s, "PUT", "/v1/things/a", strings.NewReader("{\n \"ä\" 1}"), "Content-Type", "application/json")
	var d problem.Document
	if err := json.Unmarshal(w.Body.Bytes(), &d); err != nil || len(d.Errors) != 1 || *d.Errors[0].Span != (problem.Span{Offset: 8, Line: 2, Column: 6}) {
		t.Errorf("%s", w.Body)
	}
}

func TestBodiesReachTheHandlerPlain(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	for _, encoding := range []string{"", "identity", "gzip", "zstd"} {
		text := []byte(`{"n": 9007199254740993}`)
		if encoding == "gzip" || encoding == "zstd" {
			text = packed(t, encoding, string(text))
		}
		for _, path := range []string{"/v1/things/a", "/v1/ingest"} {
			method := map[string]string{"/v1/things/a": "PUT", "/v1/ingest": "POST"}[path]
			w := do(s, method, path, bytes.NewReader(text), "Content-Type", "application/json;charset=UTF-8", "Content-Encoding", encoding)
			if w.Code != 200 || w.Body.String() != `{"n": 9007199254740993}` {
				t.Errorf("%q to %s: status %d, %s", encoding, path, w.Code, w.Body)
			}
		}
	}
	if w := do(s, "POST", "/v1/ingest", strings.NewReader("{}")); w.Header().Get("X-Type") != "application/x-ndjson" {
		t.Errorf("a stream without a type is taken as %q", w.Header().Get("X-Type"))
	}
}

func TestAcceptChoosesTheForm(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	for accept, want := range map[string]string{
		"": "application/json", "*/*": "application/json", "text/csv": "text/csv", "text/*": "text/csv", "text/csv;q=0.5, application/json;q=0.1": "text/csv",
		"text/csv;q=0, */*": "application/json", "application/json, text/csv": "application/json", "garbage;;, text/csv": "text/csv",
	} {
		var header []string
		if accept != "" {
			header = []string{"Accept", accept}
		}
		if w := do(s, "GET", "/v1/things/a", nil, header...); w.Header().Get("X-Type") != want {
			t.Errorf("Accept %q: status %d, %q, want %q", accept, w.Code, w.Header().Get("X-Type"), want)
		}
	}
}

func TestAPanicIsOneRequestsProblem(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	if w := do(s, "GET", "/v1/panic", nil); w.Code != 500 || codeOf(t, w) != problem.CodeInternal || strings.Contains(w.Body.String(), "boom") {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
	if w := do(s, "GET", "/v1/things/a", nil); w.Code != 200 {
		t.Errorf("the next request: status %d", w.Code)
	}
}

func TestAnOperationEndsByItsDeadline(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	begun := time.Now()
	w := do(s, "GET", "/v1/slow", nil)
	if took := time.Since(begun); w.Code != 503 || codeOf(t, w) != problem.CodeDeadlineExceeded || took < time.Second || took > 5*time.Second {
		t.Errorf("status %d after %s", w.Code, took)
	}
}

func TestReadinessNamesWhatFails(t *testing.T) {
	t.Parallel()
	failing := errors.New("Kafka does not answer; check kafka.brokers")
	checks := []Check{{Name: "metastore"}, {Name: "kafka", Err: failing}}
	s := newServer(t, func(c *Config) { c.Checks = func(context.Context) []Check { return checks } })
	want := `{"status":"failing","checks":[{"name":"metastore","status":"ok"},{"name":"kafka","status":"failing","detail":"Kafka does not answer; check kafka.brokers"}]}`
	if w := do(s, "GET", "/readyz", nil); w.Code != 503 || strings.TrimSpace(w.Body.String()) != want {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
	checks = checks[:1]
	if w := do(s, "GET", "/readyz", nil); w.Code != 200 {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
	if w := do(s, "GET", "/healthz", nil); w.Code != 200 || strings.TrimSpace(w.Body.String()) != `{"status":"ok","checks":[]}` {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}

func TestDocumentsAreServed(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	if w := do(s, "GET", "/openapi.json", nil); w.Body.String() != document {
		t.Errorf("status %d", w.Code)
	}
	page := do(s, "GET", "/docs", nil).Body.String()
	if !strings.Contains(page, "/v1/things/{name}") || strings.Contains(page, "src=") || strings.Contains(page, "<link") {
		t.Errorf("the page lacks operations, or needs something else:\n%s", page)
	}
}

// TestT54_ARefusalReachesAClientThatStillSends sends far more than the limit over a real connection and expects the
// answer, not a broken pipe.
func TestT54_ARefusalReachesAClientThatStillSends(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	const size = 32 << 20
	for name, body := range map[string]func() io.Reader{ // one for each request: its client may still send it when the answer is there
		"of known length": func() io.Reader { return bytes.NewReader(make([]byte, size)) },
		"chunked":         func() io.Reader { return io.LimitReader(zeros{}, size) },
	} {
		for _, path := range []string{"/v1/things/a", "/v1/nothing"} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, server.URL+path, body())
			if err != nil {
				t.Fatal(err)
			}
			answer, err := server.Client().Do(r)
			if err != nil {
				t.Errorf("a body %s to %s: %v", name, path, err)
				continue
			}
			text, err := io.ReadAll(answer.Body)
			_ = answer.Body.Close()
			if err != nil || (answer.StatusCode != 413 && answer.StatusCode != 404) || !strings.Contains(string(text), `"code"`) {
				t.Errorf("a body %s to %s: status %d, %v: %s", name, path, answer.StatusCode, err, text)
			}
		}
	}
}

// TestT54_WritersWithoutReadingSeeTheRefusal uses a client that sends all before it reads, as many do.
func TestT54_WritersWithoutReadingSeeTheRefusal(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const size = 8 << 20
	if _, err := io.WriteString(conn, "PUT /v1/things/a HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 8388608\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write(make([]byte, size)); err != nil {
		t.Fatalf("the connection broke while the body was sent: %v", err)
	}
	answer := make([]byte, 12)
	if _, err := io.ReadFull(conn, answer); err != nil || string(answer) != "HTTP/1.1 413" {
		t.Errorf("%q, %v", answer, err)
	}
}

// TestT54_WhoStopsSendingHasTheWholeAnswer: a client that stops at a refusal or a redirect, as curl does, sees its end at
// once and does not wait until the server has given up on the rest.
func TestT54_WhoStopsSendingHasTheWholeAnswer(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(newServer(t, nil).Handler())
	t.Cleanup(server.Close)
	for request, want := range map[string]int{
		"PUT /v1/things/a HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 100000000\r\n":                                http.StatusRequestEntityTooLarge,
		"POST /v1/ingest HTTP/1.1\r\nContent-Type: application/x-ndjson\r\nContent-Length: 1000000\r\nX-Elsewhere: http://other/\r\n": http.StatusTemporaryRedirect,
	} {
		t.Run(http.StatusText(want), func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := io.WriteString(conn, request+"Host: x\r\n\r\n"+strings.Repeat("a", 1<<16)); err != nil {
				t.Fatal(err)
			}
			if err := conn.SetReadDeadline(time.Now().Add(drainTime / 2)); err != nil {
				t.Fatal(err)
			}
			answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			if text, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode != want {
				t.Errorf("status %d, %v: %s", answer.StatusCode, err, text)
			}
		})
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
