package httpapi

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/invalid"
	"github.com/pondage/pondage/internal/problem"
	"github.com/pondage/pondage/services/coordinator/internal/control"
)

// problemOf reads an error answer.
func problemOf(t *testing.T, contentType string, body []byte) problem.Document {
	t.Helper()
	var d problem.Document
	if err := json.Unmarshal(body, &d); err != nil || contentType != problem.MediaType {
		t.Fatalf("not a problem document (%s): %s", contentType, body)
	}
	return d
}

func TestErrorsOfControlBecomeProblems(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err    error
		status int
		code   problem.Code
	}{
		{&control.Error{Code: control.CodeStreamExists, Message: "there is one"}, 409, "stream_exists"},
		{&control.Error{Code: control.CodeVersionMismatch, Message: "moved on"}, 412, "version_mismatch"},
		{&control.Error{Code: control.CodeIdempotencyReused, Message: "other body"}, 422, "idempotency_key_reused"},
		{&control.Error{Code: control.CodeRequestInProgress, Message: "wait", Retryable: true}, 409, "request_in_progress"},
		{&control.Error{Code: control.CodeMetastoreDown, Message: "gone", Err: errors.New("password=x"), Retryable: true}, 503, "metastore_unreachable"},
		{invalid.New("unknown_column", "/where", "no column"), 400, "unknown_column"},
		{errors.New("pq: password=x"), 500, "internal"},
	} {
		app := newFake()
		app.fail = c.err
		w := call(newServer(t, app, nil), "POST", "/v1/streams", streamJSON)
		d := problemOf(t, w.Header().Get("Content-Type"), w.Body.Bytes())
		if w.Code != c.status || d.Code != c.code || d.TraceID == "" || strings.Contains(w.Body.String(), "password") {
			t.Errorf("%v: status %d, %+v", c.err, w.Code, d)
		}
		var e *control.Error
		if errors.As(c.err, &e) && e.Retryable && (!d.Retryable || w.Header().Get("Retry-After") == "") {
			t.Errorf("%v: not said to be retryable: %v", c.err, w.Header())
		}
	}
}

func TestVersionsTravelAsETags(t *testing.T) {
	t.Parallel()
	app := newFake()
	s := newServer(t, app, nil)
	if tag := call(s, "GET", "/v1/streams/flights_1h", "").Header().Get("ETag"); tag != `"12"` {
		t.Errorf("ETag %s", tag)
	}
	w := call(s, "POST", "/v1/streams/flights_1h/pause", "", "If-Match", `"12"`, "Idempotency-Key", "k1")
	if w.Code != 202 || app.request != (control.Request{IfMatch: 12, IdempotencyKey: "k1"}) || app.action != "pause" || w.Header().Get("Location") != "/v1/streams/flights_1h" {
		t.Errorf("status %d, request %+v, action %s, location %s", w.Code, app.request, app.action, w.Header().Get("Location"))
	}
	if w := call(s, "DELETE", "/v1/streams/flights_1h", "", "If-Match", "*"); w.Code != 202 || app.request.IfMatch != 0 {
		t.Errorf("If-Match *: status %d, request %+v", w.Code, app.request)
	}
	for _, foreign := range []string{`W/"12"`, "12", `"x"`, `"0"`} {
		if w := call(s, "DELETE", "/v1/sources/flights", "", "If-Match", foreign); w.Code != http.StatusPreconditionFailed {
			t.Errorf("If-Match %s: status %d", foreign, w.Code)
		}
	}
}

func TestT62_AnOptionalBodyMayBeLeftOut(t *testing.T) {
	t.Parallel()
	s := newServer(t, newFake(), nil)
	for body, want := range map[string]int{"": 202, "{}": 202, " \n": 202, "null": 400, "[]": 400, `{"a`: 400, `{"a":1}`: 400, "{} {}": 400} {
		w := call(s, "POST", "/v1/streams/flights_1h/pause", body)
		if w.Code != want {
			t.Errorf("body %q: status %d, want %d: %s", body, w.Code, want, w.Body)
		}
		if want >= 400 && problemOf(t, w.Header().Get("Content-Type"), w.Body.Bytes()).Code == "" {
			t.Errorf("body %q: no code", body)
		}
	}
	if w := call(s, "POST", "/v1/streams/flights_1h/pause", "{}", "Content-Type", "text/plain"); w.Code != 415 {
		t.Errorf("text/plain: status %d", w.Code)
	}
	if w := call(s, "POST", "/v1/streams/flights_1h/pause", "", "Content-Type", "text/plain"); w.Code != 202 {
		t.Errorf("nothing as text/plain: status %d", w.Code)
	}
}

func TestT61_ATimeWithoutAZoneIsRefused(t *testing.T) {
	t.Parallel()
	s := newServer(t, newFake(), nil)
	for _, bad := range []string{"2026-07-28T08:00:00", "2026-02-30T00:00:00Z", "2026-07-28T08:00:00%2B25:00", "now"} {
		w := call(s, "GET", "/v1/streams/flights_1h/explain-window?time="+bad, "")
		d := problemOf(t, w.Header().Get("Content-Type"), w.Body.Bytes())
		if w.Code != 400 || d.Code != problem.CodeInvalidParameter || !strings.Contains(d.Detail, "time") || d.Errors[0].Code != problem.CodeInvalidFormat {
			t.Errorf("%s: status %d, %+v", bad, w.Code, d)
		}
	}
}

func TestDataIsRedirectedToAWorkerThatLives(t *testing.T) {
	t.Parallel()
	app := newFake()
	dead := app.nodes[0]
	dead.State, dead.Address = "suspect", "http://dead:1"
	app.nodes = []control.Node{dead, app.nodes[0], dead}
	s := newServer(t, app, nil)
	for path, want := range map[string]string{
		"/v1/streams/flights_1h/results?filter=count%20%3E%201&limit=5": "http://worker:7421/v1/streams/flights_1h/results?filter=count+%3E+1&limit=5",
		"/v1/streams/flights_1h/results/live":                           "http://worker:7421/v1/streams/flights_1h/results/live",
		"/v1/sources/flights/dead-letters?cursor=x":                     "http://worker:7421/v1/sources/flights/dead-letters?cursor=x",
	} {
		if w := call(s, "GET", path, ""); w.Code != 307 || w.Header().Get("Location") != want {
			t.Errorf("%s: status %d, location %s", path, w.Code, w.Header().Get("Location"))
		}
	}
	w := call(s, "GET", "/v1/streams/nosuch/results", "")
	if d := problemOf(t, w.Header().Get("Content-Type"), w.Body.Bytes()); w.Code != 404 || d.Code != "stream_unknown" || d.Hint != "list them" {
		t.Errorf("unknown stream: status %d, %+v", w.Code, d)
	}
	app.nodes = nil
	w = call(s, "POST", "/v1/ingest/flights", "{}")
	if d := problemOf(t, w.Header().Get("Content-Type"), w.Body.Bytes()); w.Code != 503 || d.Code != problem.CodeNoWorker || !d.Retryable {
		t.Errorf("no worker: status %d, %+v", w.Code, d)
	}
}

func TestAHeartbeatReachesControlWhole(t *testing.T) {
	t.Parallel()
	app := newFake()
	s := newServer(t, app, nil)
	if w := call(s, "POST", "/v1/heartbeats", heartbeatJSON); w.Code != 200 {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	b := app.beat
	task := b.Tasks[0]
	if b.Message != 5 || b.HighestTerm != 4 || b.Instance.String() != "12-0a1b2c3d" || b.Streams[0] != (control.StreamReport{Stream: 7, Term: 4, Generation: 1, Stage: 2}) {
		t.Errorf("beat %+v", b)
	}
	if task.Task != (ident.Task{Level: ident.LevelSource, VGroup: 1}) || task.Watermark != ident.WatermarkNone || task.Cause.Code != "task_failed" ||
		task.Partitions[0].Watermark != 9007199254740993 || task.Partitions[0].Counters.Accepted() != 15 {
		t.Errorf("task %+v", task)
	}
	if task.Committed != 11 {
		t.Errorf("committed %d", task.Committed)
	}
	if u := b.Updates[0]; u.Task != (ident.Task{Level: ident.LevelAgg, VGroup: 3}) || u.Cause.Code != "corrupt_batch" {
		t.Errorf("update %+v", u)
	}
	w := call(s, "POST", "/v1/heartbeats", strings.Replace(heartbeatJSON, "agg-3", "agg-x", 1))
	if d := problemOf(t, w.Header().Get("Content-Type"), w.Body.Bytes()); w.Code != 400 || d.Errors[0].Pointer != "/updates/0/task" {
		t.Errorf("bad task name: status %d, %+v", w.Code, d)
	}
	w = call(s, "POST", "/v1/heartbeats", strings.Replace(heartbeatJSON, `"message":"5"`, `"message":5`, 1))
	if d := problemOf(t, w.Header().Get("Content-Type"), w.Body.Bytes()); w.Code != 400 || d.Errors[0].Pointer != "/message" {
		t.Errorf("a number where a string is wanted: status %d, %+v", w.Code, d)
	}
}

func TestRolesOfTokens(t *testing.T) {
	t.Parallel()
	app := newFake()
	s := newServer(t, app, Authenticator(app))
	for _, c := range []struct {
		token, method, path, body string
		want                      int
	}{
		{"", "GET", "/v1/streams", "", 401}, {"nobody", "GET", "/v1/streams", "", 401}, {"v", "GET", "/v1/streams", "", 200},
		{"v", "POST", "/v1/streams", streamJSON, 403}, {"e", "POST", "/v1/streams", streamJSON, 201}, {"e", "GET", "/v1/tokens", "", 403},
		{"a", "GET", "/v1/tokens", "", 200}, {"", "GET", "/healthz", "", 200},
	} {
		header := []string{}
		if c.token != "" {
			header = []string{"Authorization", "Bearer " + c.token}
		}
		w := call(s, c.method, c.path, c.body, header...)
		if w.Code != c.want {
			t.Errorf("%q %s %s: status %d, want %d", c.token, c.method, c.path, w.Code, c.want)
		}
		if w.Code == 201 && app.request.Principal != "user-e" {
			t.Errorf("principal %q", app.request.Principal)
		}
	}
}
