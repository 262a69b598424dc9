package cli_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/pondage/pondage/internal/api/common"
	api "github.com/pondage/pondage/internal/api/coordinator"
	"github.com/pondage/pondage/internal/cli"
	"github.com/pondage/pondage/internal/invalid"
	"github.com/pondage/pondage/internal/problem"
)

func text(s string) *string { return &s }

// statements adds SQL to the fake: every statement is understood by its first words.
func (f *fakeAPI) statements() {
	f.mux.HandleFunc("POST /v1/sql", func(w http.ResponseWriter, r *http.Request) {
		var q api.SQLRequest
		_ = json.NewDecoder(r.Body).Decode(&q)
		switch {
		case strings.HasPrefix(q.Statement, "SHOW"):
			answer(w, http.StatusOK, api.SQLResult{Action: "show", Object: "streams", Columns: []string{"name", "watermark"}, Rows: []api.SQLRow{{text("q"), nil}}})
		case strings.HasPrefix(q.Statement, "EXPLAIN"):
			answer(w, http.StatusOK, api.SQLResult{Action: "explain", Columns: []string{"plan"}, Rows: []api.SQLRow{{text("source flights")}, {text("  agg count")}}})
		case strings.HasPrefix(q.Statement, "CREATE"):
			answer(w, http.StatusOK, api.SQLResult{Action: "create", Object: "stream", Name: text("q"), Columns: []string{}, Rows: []api.SQLRow{}})
		default:
			at := strings.Index(q.Statement, "dely")
			problem.Write(w, r, &invalid.Error{Details: []invalid.Detail{{
				Code: "unknown_column", Message: "there is no column dely", Hint: "did you mean delay?", Span: &invalid.Span{Offset: at, Length: 4, Line: 1, Column: at + 1},
			}}})
		}
	})
}

func TestSQL(t *testing.T) {
	t.Parallel()
	f := newAPI(t)
	f.statements()
	sql := func(more ...string) result {
		return run(t, t.Context(), "", append([]string{"sql", "--api", f.URL}, more...)...)
	}
	sql("SHOW STREAMS").expect(t, 0, "NAME  WATERMARK\nq     -\n")
	sql("EXPLAIN SELECT 1").expect(t, 0, "source flights\n  agg count\n")
	sql("CREATE STREAM q AS SELECT 1; SHOW STREAMS", "-o", "json").expect(t, 0,
		`{"action":"create","columns":[],"name":"q","object":"stream","rows":[]}`+"\n"+`{"action":"show","columns":["name","watermark"],"name":null,"object":"streams","rows":[["q",null]]}`+"\n")
	sql("SELECT dely FROM x").complains(t, cli.StatusFailed, "error: line 1, column 8: there is no column dely (unknown_column)\n       did you mean delay?")
	path := file(t, "q.sql", "-- first\nCREATE STREAM q AS SELECT 1;\n  SELECT dely FROM x; SHOW STREAMS")
	got := sql("-f", path)
	got.expect(t, cli.StatusFailed, "stream q created\n") // the first that fails ends the run
	got.complains(t, cli.StatusFailed, path+":3:10: there is no column dely")
}

func TestValidate(t *testing.T) {
	t.Parallel()
	f := newAPI(t)
	f.mux.HandleFunc("POST /v1/validate", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		v := api.Validation{Valid: true, Errors: []common.Fault{}, Plan: text("source flights\n  agg count\n"), Schema: []api.ResultColumn{{Name: "count", Type: "int64", Role: "value"}}, NaturalKey: []string{}}
		if strings.Contains(string(body), "dely") {
			v = api.Validation{Errors: []common.Fault{{Code: "unknown_column", Pointer: "/select/0/expr", Detail: "there is no column dely", Span: &common.Span{Line: 1, Column: 5, Length: 4}}}}
		}
		answer(w, http.StatusOK, v)
	})
	good, bad := file(t, "a.yaml", streamSpec), file(t, "b.yaml", strings.Replace(streamSpec, "count(*)", "sum(dely)", 1))
	validate := func(more ...string) result {
		return run(t, t.Context(), "", append([]string{"validate", "--api", f.URL}, more...)...)
	}
	const valid = "valid\n\nsource flights\n  agg count\n\nCOLUMN  TYPE   ROLE\ncount   int64  value\n"
	validate("-f", good).expect(t, 0, valid)
	validate("SELECT count(*) FROM flights").expect(t, 0, valid)
	validate("-f", bad).complains(t, cli.StatusFailed, bad+":5:16: there is no column dely (unknown_column)")
	validate("SELECT dely FROM flights").complains(t, cli.StatusFailed, "line 1, column 5: there is no column dely")
}

func TestASourceIsInferred(t *testing.T) {
	t.Parallel()
	f := newAPI(t)
	f.mux.HandleFunc("POST /v1/validate/source", func(w http.ResponseWriter, r *http.Request) {
		var q api.ValidateSourceRequest
		_ = json.NewDecoder(r.Body).Decode(&q)
		if q.Sample == nil || strings.Count(*q.Sample, "\n") > 1000 {
			problem.Write(w, r, problem.New(problem.CodeInvalidBody, "no sample, or a long one"))
			return
		}
		answer(w, http.StatusOK, api.SourceValidation{Valid: true, Errors: []common.Fault{}, Notes: []string{"ts is taken for the event time"}, Spec: json.RawMessage(`{"name":"sample","event_time":"ts"}`)})
	})
	path := file(t, "r.ndjson", strings.Repeat("{\"a\":1}\n", 5000))
	got := run(t, t.Context(), "", "validate", "source", path, "--api", f.URL)
	got.expect(t, 0, "kind: source\nname: sample\nevent_time: ts\n")
	got.complains(t, 0, "note: ts is taken for the event time")
	run(t, t.Context(), "", "validate", "source", "-", "--api", f.URL).complains(t, cli.StatusFailed, "there are no records")
}

// What a sample does not tell is named, and the rest of the proposal is shown.
func TestAnIncompleteSourceIsShown(t *testing.T) {
	t.Parallel()
	f := newAPI(t)
	f.mux.HandleFunc("POST /v1/validate/source", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, api.SourceValidation{
			Errors: []common.Fault{{Code: "missing_member", Detail: "event_time is missing", Hint: "add event_time"}},
			Notes:  []string{"no member looks like an event time"}, Spec: json.RawMessage(`{"name":"sample","table":"a"}`),
		})
	})
	got := run(t, t.Context(), `{"a":"x"}`, "validate", "source", "-", "--api", f.URL)
	got.expect(t, cli.StatusFailed, "kind: source\nname: sample\ntable: a\n")
	got.complains(t, cli.StatusFailed, "note: no member looks like an event time")
	got.complains(t, cli.StatusFailed, "event_time is missing")
}

func TestWaitAndActions(t *testing.T) {
	t.Parallel()
	f := newAPI(t)
	f.streams["q"] = []byte(`{}`)
	for _, verb := range []string{"pause", "resume", "stop", "start", "reset"} {
		f.mux.HandleFunc("POST /v1/streams/{name}/"+verb, func(w http.ResponseWriter, r *http.Request) {
			answer(w, http.StatusAccepted, aStream(r.PathValue("name"), json.RawMessage(`{}`)))
		})
	}
	for verb, done := range map[string]string{"pause": "paused", "resume": "resumed", "stop": "stopped", "start": "started", "reset": "reset"} {
		run(t, t.Context(), "", "stream", verb, "q", "--api", f.URL).expect(t, 0, "stream q to be "+done+"\n")
		if got := f.called(); got != "POST /v1/streams/q/"+verb {
			t.Errorf("calls: %s", got)
		}
	}
	run(t, t.Context(), "", "stream", "wait", "q", "--for", "running", "--api", f.URL).expect(t, 0, "stream q running\n")
	run(t, t.Context(), "", "stream", "wait", "q", "--timeout", "1ms", "--api", f.URL).complains(t, cli.StatusFailed, "stream q is not finished in time: it is ")
	run(t, t.Context(), "", "stream", "wait", "x", "--api", f.URL).complains(t, cli.StatusFailed, "stream_unknown")
}

func TestTokens(t *testing.T) {
	t.Parallel()
	f := newAPI(t)
	f.mux.HandleFunc("POST /v1/tokens", func(w http.ResponseWriter, r *http.Request) {
		var q api.TokenRequest
		_ = json.NewDecoder(r.Body).Decode(&q)
		answer(w, http.StatusCreated, api.NewToken{Name: q.Name, Role: string(q.Role), Token: "pt_123"})
	})
	f.mux.HandleFunc("GET /v1/tokens", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, api.TokenPage{Items: []api.Token{{Name: "loader", Role: "editor", CreatedAt: someTime}}})
	})
	f.mux.HandleFunc("DELETE /v1/tokens/{name}", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusNoContent, nil) })
	got := run(t, t.Context(), "", "token", "create", "loader", "--role", "editor", "--api", f.URL)
	got.expect(t, 0, "pt_123\n") // alone, so that it can be written into a file
	got.complains(t, 0, "not shown again")
	run(t, t.Context(), "", "token", "list", "--api", f.URL).expect(t, 0, "NAME    ROLE    CREATED\nloader  editor  2001-04-01 05:00:00Z\n")
	run(t, t.Context(), "", "token", "delete", "loader", "--api", f.URL).expect(t, 0, "token loader deleted\n")
}

func TestClusterTables(t *testing.T) {
	t.Parallel()
	f := newAPI(t)
	silent := common.NullableInt64(120)
	f.mux.HandleFunc("GET /v1/nodes", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, api.NodePage{Items: []api.Node{{Node: "n1", Address: "http://n1:7421", State: "alive", Vgroups: []int32{0, 1}, Tasks: 4, SilentMs: &silent, Instance: "1-0a", Version: "v1"}}})
	})
	f.mux.HandleFunc("GET /v1/events", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, api.EventPage{Items: []api.Event{{ID: 1, Time: someTime, Severity: "info", Code: "node_registered", Message: "node n1 joined", Node: text("n1")}}})
	})
	run(t, t.Context(), "", "nodes", "--api", f.URL).expect(t, 0,
		"NODE  ADDRESS         STATE  VGROUPS  TASKS  SILENT  INSTANCE  VERSION\nn1    http://n1:7421  alive  0,1      4      120ms   1-0a      v1\n")
	run(t, t.Context(), "", "events", "--api", f.URL).expect(t, 0,
		"TIME                  SEVERITY  STREAM  NODE  CODE             MESSAGE\n2001-04-01 05:00:00Z  info      -       n1    node_registered  node n1 joined\n")
}
