package httpapi

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pondage/pondage/internal/api/common"
	"github.com/pondage/pondage/internal/httpserver"
	"github.com/pondage/pondage/internal/plan"
	"github.com/pondage/pondage/internal/telemetry"
	"github.com/pondage/pondage/openapi"
	"github.com/pondage/pondage/services/coordinator/internal/language"
)

var update = flag.Bool("update", false, "write the golden files anew")

// newServer serves a fake application. Without auth everyone is an administrator.
func newServer(t *testing.T, app *fake, auth httpserver.Authenticator) *httpserver.Server {
	t.Helper()
	doc, err := openapi.Document(openapi.Coordinator)
	if err != nil {
		t.Fatal(err)
	}
	s, err := httpserver.New(httpserver.Config{Document: doc, Telemetry: telemetry.Nop(), Authenticate: auth})
	if err != nil {
		t.Fatal(err)
	}
	Mount(s, Config{
		App: app, Language: language.Language{Env: plan.Env{Cluster: "pondage", VGroups: 8, Zone: time.LoadLocation}},
		Version: common.Version{Version: "1", Commit: "abc", Role: "coordinator", Go: "go1"},
	})
	return s
}

// call makes a request; a body that is no reader of its own is JSON.
func call(s *httpserver.Server, method, path, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w
}

// operation is one call of each operation of the document, in the order of the path.
var operations = []struct {
	method, path, template, body string
	status                       int
}{
	{"POST", "/v1/checkpoint-reports", "", reportsJSON, 200},
	{"GET", "/v1/checkpoints?stream=flights_1h&limit=3", "/v1/checkpoints", "", 200},
	{"GET", "/v1/cluster", "", "", 200},
	{"GET", "/v1/events?stream=flights_1h", "/v1/events", "", 200},
	{"POST", "/v1/heartbeats", "", heartbeatJSON, 200},
	{"POST", "/v1/ingest/flights", "/v1/ingest/{source}", `{"ts":1}`, 307},
	{"GET", "/v1/nodes", "", "", 200},
	{"POST", "/v1/nodes", "", `{"cluster_id":"","node":"n1","instance":"12-0a1b2c3d","address":"http://worker:7421","version":"1","highest_term":"0"}`, 200},
	{"GET", "/v1/sources?limit=5", "/v1/sources", "", 200},
	{"POST", "/v1/sources", "", sourceJSON, 201},
	{"DELETE", "/v1/sources/flights", "/v1/sources/{name}", "", 204},
	{"GET", "/v1/sources/flights", "/v1/sources/{name}", "", 200},
	{"PUT", "/v1/sources/flights", "/v1/sources/{name}", sourceJSON, 200},
	{"GET", "/v1/sources/flights/dead-letters?limit=3", "/v1/sources/{name}/dead-letters", "", 307},
	{"POST", "/v1/sources/flights/dead-letters/replay", "/v1/sources/{name}/dead-letters/replay", `{"codes":["wrong_type"],"from":"0"}`, 307},
	{"POST", "/v1/sql", "", `{"statement":"DESCRIBE flights_1h"}`, 200},
	{"GET", "/v1/streams", "", "", 200},
	{"POST", "/v1/streams", "", streamJSON, 201},
	{"DELETE", "/v1/streams/flights_1h", "/v1/streams/{name}", "", 202},
	{"GET", "/v1/streams/flights_1h", "/v1/streams/{name}", "", 200},
	{"GET", "/v1/streams/flights_1h/checkpoints", "/v1/streams/{name}/checkpoints", "", 200},
	{"POST", "/v1/streams/flights_1h/checkpoints", "/v1/streams/{name}/checkpoints", "", 202},
	{"GET", "/v1/streams/flights_1h/checkpoints/12", "/v1/streams/{name}/checkpoints/{checkpoint}", "", 200},
	{"GET", "/v1/streams/flights_1h/explain-window?time=2026-07-28T08:00:00Z", "/v1/streams/{name}/explain-window", "", 307},
	{"GET", "/v1/streams/flights_1h/graph", "/v1/streams/{name}/graph", "", 200},
	{"GET", "/v1/streams/flights_1h/late-records", "/v1/streams/{name}/late-records", "", 307},
	{"POST", "/v1/streams/flights_1h/pause", "/v1/streams/{name}/pause", "", 202},
	{"POST", "/v1/streams/flights_1h/recover", "/v1/streams/{name}/recover", `{"checkpoint":"9","accept_duplicates":true}`, 202},
	{"POST", "/v1/streams/flights_1h/reset", "/v1/streams/{name}/reset", "", 202},
	{"GET", "/v1/streams/flights_1h/results?filter=count%20%3E%201&order=count", "/v1/streams/{name}/results", "", 307},
	{"GET", "/v1/streams/flights_1h/results/live", "/v1/streams/{name}/results/live", "", 307},
	{"POST", "/v1/streams/flights_1h/resume", "/v1/streams/{name}/resume", "", 202},
	{"GET", "/v1/streams/flights_1h/savepoints", "/v1/streams/{name}/savepoints", "", 200},
	{"POST", "/v1/streams/flights_1h/savepoints", "/v1/streams/{name}/savepoints", `{"name":"before_upgrade"}`, 202},
	{"DELETE", "/v1/streams/flights_1h/savepoints/before_upgrade", "/v1/streams/{name}/savepoints/{savepoint}", "", 204},
	{"GET", "/v1/streams/flights_1h/savepoints/before_upgrade", "/v1/streams/{name}/savepoints/{savepoint}", "", 200},
	{"POST", "/v1/streams/flights_1h/start", "/v1/streams/{name}/start", "", 202},
	{"POST", "/v1/streams/flights_1h/stop", "/v1/streams/{name}/stop", "", 202},
	{"GET", "/v1/streams/flights_1h/tasks", "/v1/streams/{name}/tasks", "", 200},
	{"GET", "/v1/tokens", "", "", 200},
	{"POST", "/v1/tokens", "", `{"name":"ci","role":"editor"}`, 201},
	{"POST", "/v1/tokens/check", "", `{"token":"e"}`, 200},
	{"DELETE", "/v1/tokens/ci", "/v1/tokens/{name}", "", 204},
	{"POST", "/v1/validate", "", `{"spec":` + streamJSON + `}`, 200},
	{"POST", "/v1/validate/source", "", `{"spec":` + sourceJSON + `}`, 200},
	{"GET", "/v1/version", "", "", 200},
	{"GET", "/v1/vgroups", "", "", 200},
}

const heartbeatJSON = `{"cluster_id":"c-1","node":"n1","instance":"12-0a1b2c3d","address":"http://worker:7421","message":"5","leaving":false,"highest_term":"4",
"streams":[{"stream_id":"7","term":"4","generation":"1","stage":"2"}],
"tasks":[{"stream_id":"7","stage":"2","task":"source-1","state":"failed","cause":{"code":"task_failed","message":"no"},"watermark":"-9223372036854775808","idle":true,
 "records_per_second":1.5,"queue_bytes":"10","committed":"11","note":"",
 "partitions":[{"topic":"flights","partition":0,"next":"25","end":"500","watermark":"9007199254740993","idle":false,"done":false,
  "counters":{"counted":"1","filtered":"2","no_window":"3","late":"4","dead_lettered":"5"}}]}],
"updates":[{"stream_id":"7","stage":"2","task":"agg-3","cause":{"code":"corrupt_batch","message":"crc"}}]}`

// TestEveryOperationAnswersAsDocumented calls every operation with full and with bare answers, compares them with the
// document, and keeps the bodies as golden files: null, absent and empty stay three things (T60).
func TestEveryOperationAnswersAsDocumented(t *testing.T) {
	t.Parallel()
	exercised := map[string]bool{}
	for _, form := range []string{"full", "bare"} {
		app := newFake()
		app.bare = form == "bare"
		s := newServer(t, app, nil)
		for _, o := range operations {
			template := o.template
			if template == "" {
				template = o.path
			}
			op, ok := s.Contract().Operation(o.method, template)
			if !ok {
				t.Fatalf("%s %s is not in the document", o.method, template)
			}
			exercised[op.ID] = true
			w := call(s, o.method, o.path, o.body)
			want := o.status
			if app.bare && want == http.StatusTemporaryRedirect {
				want = http.StatusServiceUnavailable // no node is alive
			}
			if w.Code != want {
				t.Errorf("%s %s: status %d, want %d: %s", form, op.ID, w.Code, want, w.Body)
				continue
			}
			if err := op.CheckResponse(w.Code, w.Header(), w.Body.Bytes()); err != nil {
				t.Errorf("%s: %v\n%s", form, err, w.Body)
			}
			if w.Code < http.StatusBadRequest && w.Body.Len() > 0 {
				golden(t, op.ID+"_"+form, w.Body.Bytes())
			}
		}
	}
	doc := newServer(t, newFake(), nil).Contract()
	for _, op := range doc.Operations() {
		if strings.HasPrefix(op.Path, "/v1/") && !exercised[op.ID] {
			t.Errorf("operation %s is not exercised", op.ID)
		}
	}
}

// golden compares a JSON body with its file, or writes it.
func golden(t *testing.T, name string, body []byte) {
	t.Helper()
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, body, "", "  "); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, pretty.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, pretty.Bytes()) {
		t.Errorf("%s differs from its golden file (go test -update writes it anew):\n%s", name, pretty.Bytes())
	}
}
