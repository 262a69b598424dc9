package httpapi

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	api "github.com/pondage/pondage/internal/api/coordinator"
	"github.com/pondage/pondage/internal/httpserver"
	"github.com/pondage/pondage/internal/invalid"
	"github.com/pondage/pondage/services/coordinator/internal/control"
)

const createSQL = `CREATE STREAM flights_1h INTO POSTGRES flights_1h AS SELECT tbname AS origin, _wstart, count(*) AS count FROM flights PARTITION BY tbname INTERVAL(1h)`

// body makes a JSON object of one string member.
func body(member, text string) string {
	b, err := json.Marshal(map[string]string{member: text})
	if err != nil {
		panic(err)
	}
	return string(b)
}

func execute(t *testing.T, s *httpserver.Server, statement string) api.SQLResult {
	t.Helper()
	w := call(s, "POST", "/v1/sql", body("statement", statement))
	var out api.SQLResult
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || w.Code != 200 {
		t.Fatalf("%s: status %d: %s", statement, w.Code, w.Body)
	}
	return out
}

func TestStatementsDoWhatTheOperationsDo(t *testing.T) {
	t.Parallel()
	app := newFake()
	s := newServer(t, app, nil)
	if r := execute(t, s, createSQL); r.Action != "create" || r.Object != "stream" || *r.Name != "flights_1h" || !strings.Contains(string(app.doc), `"partition_by":["tbname"]`) {
		t.Errorf("create: %+v, %s", r, app.doc)
	}
	if r := execute(t, s, "DROP STREAM flights_1h"); r.Action != "drop" || app.action != "drop" {
		t.Errorf("drop: %+v, %s", r, app.action)
	}
	if r := execute(t, s, "SHOW STREAMS"); len(r.Rows) != 2 || *r.Rows[0][0] != "flights_1h" || *r.Rows[0][5] != "9007199254740993" {
		t.Errorf("show follows the cursor: %d rows, %+v", len(r.Rows), r.Columns)
	}
	r := execute(t, s, "SHOW SOURCES")
	shown := map[string]string{}
	for i, name := range r.Columns {
		shown[name] = *r.Rows[0][i]
	}
	for name, want := range map[string]string{
		"name": "flights", "topic": "flights", "format": "json", "table": "origin", "streams": "flights_1h, flights_1h", "accepted": "15", "dead_lettered": "1",
	} {
		if shown[name] != want {
			t.Errorf("show sources: %s is %q, want %q", name, shown[name], want)
		}
	}
	if !strings.Contains(shown["columns"], "delay int64") {
		t.Errorf("show sources: columns are %q", shown["columns"])
	}
	if r := execute(t, s, "DESCRIBE flights_1h"); r.Object != "stream" || len(r.Rows) != 3 || *r.Rows[2][1] != "int64" {
		t.Errorf("describe stream: %+v", r)
	}
	if r := execute(t, s, "DESCRIBE flights"); r.Object != "source" || *r.Rows[0][0] != "origin" {
		t.Errorf("describe source: %+v", r)
	}
	if r := execute(t, s, "EXPLAIN "+createSQL); r.Columns[0] != "plan" || len(r.Rows) < 2 {
		t.Errorf("explain: %+v", r)
	}
}

func TestFaultsOfAStatementHaveTheirPlaces(t *testing.T) {
	t.Parallel()
	app := newFake()
	s := newServer(t, app, nil)
	for statement, code := range map[string]string{
		"CREATE STREAM x AS SELEC 1 FROM y":                     "syntax",
		"EXPLAIN SELECT dely FROM flights":                      "unknown_column",
		"SELECT delay FROM flights":                             "not_supported_yet",
		"EXPLAIN SELECT count(*) FROM nosuch INTERVAL(1h)":      "source_unknown",
		"EXPLAIN CREATE STREAM s AS SELECT dely FROM flights":   "unknown_column",
		"EXPLAIN CREATE STREAM s AS\nSELECT delay + FROM fligh": "syntax",
	} {
		w := call(s, "POST", "/v1/sql", body("statement", statement))
		d := problemOf(t, w.Header().Get("Content-Type"), w.Body.Bytes())
		if (w.Code != 400 && w.Code != 404) || string(d.Code) != code || len(d.Errors) == 0 || d.Errors[0].Span == nil || d.Errors[0].Span.Line == 0 {
			t.Errorf("%s: status %d, %s", statement, w.Code, w.Body)
		}
	}
	// What control finds later, in the document, is shown in the statement too.
	app.fail = invalid.New("unknown_column", "/select/2/expr", "there is no such column")
	w := call(s, "POST", "/v1/sql", body("statement", createSQL))
	if d := problemOf(t, w.Header().Get("Content-Type"), w.Body.Bytes()); d.Errors[0].Span == nil || createSQL[d.Errors[0].Span.Offset:][:8] != "count(*)" {
		t.Errorf("a fault found by control: %s", w.Body)
	}
}

func validate(t *testing.T, s *httpserver.Server, body string) api.Validation {
	t.Helper()
	w := call(s, "POST", "/v1/validate", body)
	var out api.Validation
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || w.Code != 200 {
		t.Fatalf("%s: status %d: %s", body, w.Code, w.Body)
	}
	return out
}

func TestValidateExplainsWhatIsWrong(t *testing.T) {
	t.Parallel()
	s := newServer(t, newFake(), nil)
	if v := validate(t, s, body("sql", createSQL)); !v.Valid || v.Plan == nil || len(v.Schema) != 3 || strings.Join(v.NaturalKey, " ") != "origin _wstart" {
		t.Errorf("a valid statement: %+v", v)
	}
	v := validate(t, s, body("sql", "CREATE STREAM x AS SELECT dely FROM flights"))
	if v.Valid || v.Errors[0].Code != "unknown_column" || v.Errors[0].Span == nil || !strings.Contains(v.Errors[0].Hint, "delay") {
		t.Errorf("an unknown column: %+v", v)
	}
	v = validate(t, s, `{"spec":{"name":"x","source":"flights","selct":[{"expr":"delay"}]}}`)
	if v.Valid || v.Errors[0].Pointer != "/selct" || !strings.Contains(v.Errors[0].Hint, "select") {
		t.Errorf("a misspelt member: %+v", v)
	}
	for _, both := range []string{`{}`, `{"sql":"x","spec":{}}`, `{"sqll":"x"}`} {
		if w := call(s, "POST", "/v1/validate", both); w.Code != 400 {
			t.Errorf("%s: status %d", both, w.Code)
		}
	}
}

// TestValidateLooksAtTheTableThatIsThere: what creating the stream would refuse is said before.
func TestValidateLooksAtTheTableThatIsThere(t *testing.T) {
	t.Parallel()
	app := newFake()
	app.outputs = &control.Error{Code: control.CodeTargetMismatch, Message: "the table exists with another shape", Hint: "choose another"}
	statement := strings.Replace(createSQL, "POSTGRES flights_1h", "POSTGRES busy", 1)
	v := validate(t, newServer(t, app, nil), body("sql", statement))
	if v.Valid || len(v.Errors) != 1 || v.Errors[0].Code != control.CodeTargetMismatch || v.Errors[0].Hint == "" ||
		v.Errors[0].Span == nil || !strings.HasPrefix(statement[v.Errors[0].Span.Offset:], "POSTGRES busy") {
		t.Errorf("%+v", v)
	}
	if v.Plan == nil || !strings.Contains(string(app.doc), "busy") {
		t.Errorf("the plan %v, looked at %s", v.Plan, app.doc)
	}
	viewer := httpserver.StaticToken("t", httpserver.Principal{Name: "v", Role: httpserver.RoleViewer}, nil)
	r := httptest.NewRequest("POST", "/v1/validate", strings.NewReader(body("sql", statement)))
	r.Header.Set("Authorization", "Bearer t")
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	newServer(t, app, viewer).Handler().ServeHTTP(w, r)
	if w.Code != 200 || !strings.Contains(w.Body.String(), `"valid":true`) {
		t.Errorf("who may not create it has the databases asked: status %d: %s", w.Code, w.Body)
	}
}

func TestASampleBecomesASource(t *testing.T) {
	t.Parallel()
	s := newServer(t, newFake(), nil)
	propose := func(sample string) api.SourceValidation {
		w := call(s, "POST", "/v1/validate/source", body("sample", sample))
		var v api.SourceValidation
		if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil || w.Code != 200 {
			t.Fatalf("status %d: %s", w.Code, w.Body)
		}
		return v
	}
	row := `{"ts":"2026-07-28T08:00:00Z","device":"d-1","delay":3}` + "\n"
	if v := propose(row + row + row); !v.Valid || len(v.Notes) == 0 || !strings.Contains(string(v.Spec), `"table":"device"`) {
		t.Errorf("repeated names: %+v, %s", v, v.Spec)
	}
	// Nothing to name tables by: the proposal is shown, and what is missing.
	if v := propose(`{"ts":"2026-07-28T08:00:00Z","delay":3}`); v.Valid || v.Errors[0].Code != "missing_member" || !strings.Contains(string(v.Spec), `"delay"`) {
		t.Errorf("no name: %+v, %s", v, v.Spec)
	}
	if v := propose("hello"); v.Valid || v.Errors[0].Pointer != "/sample" || v.Spec != nil && string(v.Spec) != "null" {
		t.Errorf("no record: %+v", v)
	}
}
