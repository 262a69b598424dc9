package e2e

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// problem is what an error says.
type problem struct {
	Code, Detail, Hint string
	Errors             []struct{ Pointer, Code, Detail, Hint string }
	Trace              string `json:"trace_id"`
}

// TestBadSpecsAreExplained: each is refused with a stable code and a pointer to the place, and nothing is made.
func TestBadSpecsAreExplained(t *testing.T) {
	t.Parallel()
	c := shared(t)
	src := c.source(t, 1, nil)
	with := func(k string, v any) func(name string) object {
		return func(name string) object { return count(name, src, object{k: v}) }
	}
	for what, test := range map[string]struct {
		spec          func(name string) object
		code, pointer string
		status        int
	}{
		"unknown member":        {with("windw", object{}), "unknown_member", "/windw", 400},
		"unknown source":        {func(name string) object { return count(name, "nowhere", nil) }, "source_unknown", "", 404},
		"unknown column":        {with("where", "vv > 1"), "unknown_column", "/where", 400},
		"type clash":            {with("where", "v > 'a'"), "type_clash", "/where", 400},
		"syntax":                {with("where", "v >"), "syntax", "/where", 400},
		"unknown zone":          {with("window", object{"kind": "interval", "size": "1d", "timezone": "Mars/Base"}), "unknown_timezone", "/window/timezone", 400},
		"a window of nothing":   {with("window", object{"kind": "interval", "size": "0s"}), "invalid_window", "/window/size", 400},
		"a time without a zone": {with("start", object{"time": "2026-07-28T08:00:00"}), "invalid_value", "/start/time", 400},
		"a day that is not one": {with("start", object{"time": "2026-02-30T00:00:00Z"}), "invalid_value", "/start/time", 400},
		"a session":             {with("window", object{"kind": "session", "gap": "5s"}), "not_supported_yet", "/window", 400},
		"two columns, one name": {with("select", []any{object{"expr": "count(*)", "as": "n"}, object{"expr": "sum(v)", "as": "n"}}), "duplicate_column", "/select/1", 400},
		"a secret in the spec":  {with("outputs", object{"postgres": object{"table": "t", "dsn": "postgres://u:secret@h/d"}}), "secret_in_spec", "/outputs/postgres/dsn", 400},
		"an unknown delivery":   {with("outputs", object{"kafka": object{"topic": "t", "delivery": "exactly_twice"}}), "invalid_value", "/outputs/kafka/delivery", 400},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			name := c.name("bad")
			a := c.do(t, http.MethodPost, "/v1/streams", test.spec(name))
			var p problem
			if err := json.Unmarshal(a.body, &p); err != nil || a.status != test.status || a.header.Get("Content-Type") != "application/problem+json" {
				t.Fatalf("answer %s", a)
			}
			if p.Trace == "" {
				t.Errorf("no trace_id in %s", a)
			}
			if test.pointer == "" {
				if p.Code != test.code {
					t.Errorf("code %s, want %s: %s", p.Code, test.code, a)
				}
			} else if len(p.Errors) == 0 || p.Errors[0].Code != test.code || !strings.HasPrefix(p.Errors[0].Pointer, test.pointer) {
				t.Errorf("want %s at %s: %s", test.code, test.pointer, a)
			}
			if strings.Contains(string(a.body), "u:secret") {
				t.Errorf("the answer shows the secret: %s", a)
			}
			if a := c.do(t, http.MethodGet, "/v1/streams/"+name, nil); a.status != http.StatusNotFound {
				t.Errorf("the refused stream: %s", a)
			}
		})
	}
}

// TestT62_Bodies: optional means optional, and a body of another kind is refused with a code.
func TestT62_Bodies(t *testing.T) {
	t.Parallel()
	c := shared(t)
	name, _ := c.atOnce(t)
	c.untilState(t, name, "running")
	for _, body := range []any{nil, []byte{}, []byte("{}")} {
		c.must(t, http.MethodPost, "/v1/streams/"+name+"/pause", body)
	}
	for body, statuses := range map[string][]int{"[]": {400}, `{"a":`: {400}, `{"a":1}`: {400}} {
		a := c.do(t, http.MethodPost, "/v1/streams/"+name+"/pause", []byte(body))
		if a.status != statuses[0] || a.code() == "" {
			t.Errorf("pause with body %s: %s", body, a)
		}
	}
	if a := c.do(t, http.MethodPost, "/v1/streams/"+name+"/pause", []byte("a=1"), "Content-Type", "application/x-www-form-urlencoded"); a.status != http.StatusUnsupportedMediaType {
		t.Errorf("pause with a form: %s", a)
	}
}

// TestBadIngest: what cannot be taken is refused with a code, and the next request is taken. Records are handed to Kafka as
// they are read, so of a body that breaks off the first ones may be in.
func TestBadIngest(t *testing.T) {
	t.Parallel()
	c := shared(t)
	src, broken := c.source(t, 1, nil), c.source(t, 1, nil)
	name := c.create(t, count(c.name("st"), src, object{"trigger": "at_once"}))
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	fmt.Fprintln(z, strings.Repeat(record("a", 1000, 1)+"\n", 1000))
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	const large = 100 << 20
	for what, test := range map[string]struct {
		body    []byte
		headers []string
		status  int
		code    string
	}{
		"a gzip body cut off":     {packed.Bytes()[:packed.Len()/2], []string{"Content-Type", "application/x-ndjson", "Content-Encoding", "gzip"}, 400, "body_unreadable"},
		"a gzip body that is not": {[]byte("{}"), []string{"Content-Type", "application/x-ndjson", "Content-Encoding", "gzip"}, 400, "body_unreadable"},
		"another encoding":        {[]byte("{}"), []string{"Content-Type", "application/x-ndjson", "Content-Encoding", "br"}, 415, "unsupported_content_encoding"},
		"another type":            {[]byte("a,b"), []string{"Content-Type", "text/csv"}, 415, "unsupported_media_type"},
		"100 MB":                  {bytes.Repeat([]byte("x"), large), []string{"Content-Type", "application/x-ndjson"}, 413, "body_too_large"},
		"an array that is not":    {[]byte(`[{"k":"a"}`), []string{"Content-Type", "application/json"}, 400, "malformed_json"},
	} {
		a := c.do(t, http.MethodPost, "/v1/ingest/"+broken, test.body, test.headers...)
		if a.status != test.status || a.code() != test.code {
			t.Errorf("%s: %s, want %d %s", what, a, test.status, test.code)
		}
	}
	if a := c.do(t, http.MethodPost, "/v1/ingest/nowhere", []byte("{}"), "Content-Type", "application/x-ndjson"); a.code() != "source_unknown" {
		t.Errorf("ingest into an unknown source: %s", a)
	}
	packed.Reset()
	z = gzip.NewWriter(&packed)
	fmt.Fprintln(z, record("a", 1000, 1))
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	c.do(t, http.MethodPost, "/v1/ingest/"+src, packed.Bytes(), "Content-Type", "application/x-ndjson", "Content-Encoding", "gzip")
	c.do(t, http.MethodPost, "/v1/ingest/"+src, []byte("["+record("a", 2000, 2)+"]"), "Content-Type", "application/json")
	c.settles(t, name, counted(2, 3))
}

// TestBadRequests: never a 5xx, always a problem document.
func TestBadRequests(t *testing.T) {
	t.Parallel()
	c := shared(t)
	name, _ := c.atOnce(t)
	for _, test := range []struct {
		method, path string
		body         any
		status       int
		code         string
	}{
		{http.MethodGet, "/v1/nothing", nil, 404, "not_found"},
		{http.MethodPut, "/v1/streams", object{}, 405, "method_not_allowed"},
		{http.MethodGet, "/v1/streams/UPPER", nil, 400, "invalid_parameter"},
		{http.MethodGet, "/v1/streams?limit=x", nil, 400, "invalid_parameter"},
		{http.MethodGet, "/v1/streams?lmit=1", nil, 400, "unknown_parameter"},
		{http.MethodGet, "/v1/streams?cursor=x", nil, 400, "bad_cursor"},
		{http.MethodPost, "/v1/streams", nil, 400, "body_required"},
		{http.MethodPost, "/v1/streams", []byte("{"), 400, "malformed_json"},
		{http.MethodGet, "/v1/streams/" + name + "/results?filter=nothing%20%3D%201", nil, 400, "unknown_column"},
		{http.MethodPost, "/v1/sql", object{"statement": "CREATE STREAM x AS SELECT"}, 400, "syntax"},
		{http.MethodPost, "/v1/streams/nowhere/pause", nil, 404, "stream_unknown"},
	} {
		a := c.do(t, test.method, test.path, test.body)
		var p problem
		if err := json.Unmarshal(a.body, &p); err != nil || a.header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s %s: %s %v", test.method, test.path, a, a.header)
			continue
		}
		found := p.Code == test.code
		for _, e := range p.Errors {
			found = found || e.Code == test.code
		}
		if a.status != test.status || !found {
			t.Errorf("%s %s: %s, want %d %s", test.method, test.path, a, test.status, test.code)
		}
	}
}

// TestValidateSaysWhereAndMakesNothing: the same faults as creation, with the span in the statement and a hint.
func TestValidateSaysWhereAndMakesNothing(t *testing.T) {
	t.Parallel()
	c := shared(t)
	src := c.source(t, 1, nil)
	var v struct {
		Valid  bool
		Errors []struct {
			Code, Hint string
			Span       *struct{ Start, End, Line, Column int }
		}
		Plan *string
	}
	decode(t, c.must(t, http.MethodPost, "/v1/validate", object{"sql": "CREATE STREAM x AS SELECT count(*) AS n, sum(vv) AS s FROM " + src + " INTERVAL(1h)"}), &v)
	if v.Valid || len(v.Errors) == 0 || v.Errors[0].Code != "unknown_column" || v.Errors[0].Span == nil {
		t.Errorf("validation %+v", v)
	}
	v.Plan = nil
	decode(t, c.must(t, http.MethodPost, "/v1/validate", object{"sql": "CREATE STREAM x AS SELECT count(*) AS n FROM " + src + " INTERVAL(1h)"}), &v)
	if !v.Valid || v.Plan == nil {
		t.Errorf("validation %+v", v)
	}
	if a := c.do(t, http.MethodGet, "/v1/streams/x", nil); a.status != http.StatusNotFound {
		t.Errorf("the validated stream: %s", a)
	}
}
