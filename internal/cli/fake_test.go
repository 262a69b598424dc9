package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pondage/pondage/internal/api/common"
	api "github.com/pondage/pondage/internal/api/coordinator"
	"github.com/pondage/pondage/internal/cli"
	"github.com/pondage/pondage/internal/problem"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// golden compares with testdata/NAME.golden.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *rewrite {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s (-rewrite makes it anew)\ngot:\n%s\nwant:\n%s", path, got, want)
	}
}

// result is what a command left behind.
type result struct {
	status   int
	out, err string
}

// run runs a command with text on standard input.
func run(t *testing.T, ctx context.Context, stdin string, args ...string) result {
	t.Helper()
	var out, errs bytes.Buffer
	status := cli.Run(ctx, cli.Shell{In: strings.NewReader(stdin), Out: &out, Err: &errs}, args)
	return result{status, out.String(), errs.String()}
}

// fakeAPI is a coordinator and worker in one, over maps.
type fakeAPI struct {
	*httptest.Server
	mux     *http.ServeMux
	mu      sync.Mutex
	sources map[string]json.RawMessage
	streams map[string]json.RawMessage
	calls   []string // of changes: "PUT /v1/sources/flights"
}

var someTime = time.Date(2001, 4, 1, 5, 0, 0, 0, time.UTC)

func newAPI(t *testing.T) *fakeAPI {
	t.Helper()
	f := &fakeAPI{mux: http.NewServeMux(), sources: map[string]json.RawMessage{}, streams: map[string]json.RawMessage{}}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if r.Method != http.MethodGet {
			f.calls = append(f.calls, r.Method+" "+r.URL.Path)
		}
		f.mux.ServeHTTP(w, r)
	}))
	t.Cleanup(f.Close)
	f.resource("sources", f.sources, problem.CodeSourceExists, problem.CodeSourceUnknown, func(name string, spec json.RawMessage) any {
		return api.Source{Name: name, Spec: spec, CreatedAt: someTime, UpdatedAt: someTime}
	})
	f.resource("streams", f.streams, problem.CodeStreamExists, problem.CodeStreamUnknown, func(name string, spec json.RawMessage) any { return aStream(name, spec) })
	return f
}

// resource serves the collection of a kind.
func (f *fakeAPI) resource(kind string, all map[string]json.RawMessage, exists, unknown problem.Code, doc func(string, json.RawMessage) any) {
	f.mux.HandleFunc("POST /v1/"+kind, func(w http.ResponseWriter, r *http.Request) {
		spec, _ := io.ReadAll(r.Body)
		name := nameOf(spec)
		if _, ok := all[name]; ok {
			problem.Write(w, r, problem.New(exists, "there is a %s", name))
			return
		}
		all[name] = spec
		answer(w, http.StatusCreated, doc(name, spec))
	})
	f.mux.HandleFunc("GET /v1/"+kind, func(w http.ResponseWriter, _ *http.Request) {
		items := []any{}
		for name, spec := range all {
			items = append(items, doc(name, spec))
		}
		answer(w, http.StatusOK, map[string]any{"items": items, "next_cursor": nil})
	})
	f.mux.HandleFunc("/v1/"+kind+"/{name}", func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("name")
		spec, ok := all[name]
		if !ok {
			problem.Write(w, r, problem.New(unknown, "there is no %s", name))
			return
		}
		switch r.Method {
		case http.MethodPut:
			spec, _ = io.ReadAll(r.Body)
			all[name] = spec
			if r.Header.Get("If-Match") != `"1"` {
				problem.Write(w, r, problem.New("etag_mismatch", "another version"))
				return
			}
		case http.MethodDelete:
			delete(all, name)
			answer(w, http.StatusNoContent, nil)
			return
		}
		w.Header().Set("ETag", `"1"`)
		answer(w, http.StatusOK, doc(name, spec))
	})
}

func nameOf(spec []byte) string {
	var s struct{ Name string }
	_ = json.Unmarshal(spec, &s)
	return s.Name
}

func answer(w http.ResponseWriter, status int, doc any) {
	if doc == nil {
		w.WriteHeader(status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(doc)
}

// aStream is a stream that has read a little.
func aStream(name string, spec json.RawMessage) api.Stream {
	lag := common.NullableInt64(7)
	counters := common.Counters{Accepted: 1000, Counted: 900, Filtered: 50, NoWindow: 0, Late: 40, DeadLettered: 10}
	return api.Stream{
		ID: 1, Name: name, Source: "flights", State: "running", Wanted: "running", Stage: 3, Generation: 4, Spec: spec,
		SourceSpec: json.RawMessage(`{}`), Counters: counters, Watermark: &someTime, Lag: 7, RecordsPerSecond: 1234.5,
		Outputs: api.Outputs{
			HTTP: api.Output{NaturalKey: []string{"origin", "window_start"}, Schema: []api.ResultColumn{
				{Name: "origin", Type: "string", Role: "group"}, {Name: "window_start", Type: "timestamp", Role: "window"}, {Name: "count", Type: "int64", Role: "value"},
			}},
			Postgres: &api.Output{Target: "flights_1h", Delivery: "upsert", Status: "ok"},
			Kafka:    &api.Output{Target: "flights_1h", Delivery: "at_least_once", Status: "retrying"},
		},
		Partitions: []api.SourcePartition{
			{Topic: "flights", Partition: 0, Next: 1000, Lag: &lag, Watermark: &someTime, Counters: counters},
			{Topic: "flights", Partition: 1, Idle: true},
		},
		CreatedAt: someTime, UpdatedAt: someTime,
	}
}

// called tells which changes were asked for, and forgets them.
func (f *fakeAPI) called() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	calls := strings.Join(f.calls, ", ")
	f.calls = nil
	return calls
}

// file writes a file of a folder of the test's own and returns its path.
func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// expect checks status and output.
func (r result) expect(t *testing.T, status int, out string) {
	t.Helper()
	if r.status != status || r.out != out {
		t.Errorf("status %d, want %d; output:\n%s\nwant:\n%s\nerrors:\n%s", r.status, status, r.out, out, r.err)
	}
}

// complains checks that a command failed and said so.
func (r result) complains(t *testing.T, status int, parts ...string) {
	t.Helper()
	if r.status != status {
		t.Errorf("status %d, want %d: %s", r.status, status, r.err)
	}
	for _, part := range parts {
		if !strings.Contains(r.err, part) {
			t.Errorf("errors lack %q:\n%s", part, r.err)
		}
	}
}
