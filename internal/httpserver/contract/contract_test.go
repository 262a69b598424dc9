package contract

import (
	"net/http"
	"strings"
	"testing"

	"github.com/pondage/pondage/internal/problem"
)

// docOf makes a document with one operation whose body has the schema.
func docOf(schema string) []byte {
	return []byte(`{"paths":{"/v1/x":{"post":{"operationId":"x","x-pondage-role":"viewer","requestBody":{"required":true,"content":{"application/json":{"schema":` + schema + `}}},
	"responses":{"200":{"headers":{"ETag":{"required":true}},"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Node"}}}},"default":{"content":{"application/problem+json":{"schema":{"type":"object"}}}}}}}},
	"components":{"schemas":{"Node":{"type":"object","required":["id","next"],"additionalProperties":false,"properties":{"id":{"type":"string","pattern":"^[0-9]+$"},"next":{"oneOf":[{"$ref":"#/components/schemas/Node"},{"type":"null"}]}}}}}}`)
}

func schemaOf(t *testing.T, schema string) *Schema {
	t.Helper()
	c, err := Parse(docOf(schema))
	if err != nil {
		t.Fatal(err)
	}
	op, _ := c.Operation("POST", "/v1/x")
	return op.Body.Schema("application/json")
}

func TestValuesAgainstSchemas(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ schema, value, want string }{
		{`{"type":"string"}`, `"x"`, ""},
		{`{"type":"string"}`, `1`, "wrong_member_type @"},
		{`{"type":["string","null"]}`, `null`, ""},
		{`{"type":"string"}`, `null`, "wrong_member_type @"},
		{`{"type":"integer"}`, `1.5`, "wrong_member_type @"},
		{`{"type":"integer","format":"int32"}`, `4294967296`, "invalid_value @"},
		{`{"type":"integer","minimum":1,"maximum":9}`, `0`, "invalid_value @"},
		{`{"type":"integer","minimum":1,"maximum":9}`, `10`, "invalid_value @"},
		{`{"type":"integer","minimum":1,"maximum":9}`, `9`, ""},
		{`{"type":"string","minLength":1}`, `""`, "invalid_value @"},
		{`{"type":"string","maxLength":2}`, `"äöü"`, "invalid_value @"},
		{`{"type":"string","maxLength":3}`, `"äöü"`, ""},
		{`{"type":"string","pattern":"^a"}`, `"b"`, "invalid_format @"},
		{`{"type":"string","enum":["a","b"]}`, `"c"`, "invalid_value @"},
		{`{"const":"a"}`, `"a"`, ""},
		{`{"type":"array","minItems":1,"items":{"type":"string"}}`, `[]`, "invalid_value @"},
		{`{"type":"array","items":{"type":"string"}}`, `["a",1]`, "wrong_member_type @/1"},
		{`{}`, `[1,{"a":null}]`, ""},
		{`{"$ref":"#/components/schemas/Node"}`, `{"id":"1","next":{"id":"2","next":null}}`, ""},
		{`{"$ref":"#/components/schemas/Node"}`, `{"id":"1","next":{"id":"x","next":null}}`, "invalid_format @/next/id"},
		{`{"$ref":"#/components/schemas/Node"}`, `{"id":"1"}`, "missing_member @/next"},
		{`{"$ref":"#/components/schemas/Node"}`, `{"id":"1","next":null,"nxt~/":1}`, "unknown_member @/nxt~0~1"},
		{`{"oneOf":[{"type":"string"},{"type":"object","required":["path"]}]}`, `{}`, "missing_member @/path"},
	} {
		v, err := Decode([]byte(c.value))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range schemaOf(t, c.schema).Check("", v) {
			got = append(got, string(f.Code)+" @"+f.Pointer)
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s against %s: %q, want %q", c.value, c.schema, got, c.want)
		}
	}
}

func TestT61_TimesAreStrict(t *testing.T) {
	t.Parallel()
	s := schemaOf(t, `{"type":"string","format":"date-time"}`)
	for text, ok := range map[string]bool{
		"2026-07-28T08:00:00Z": true, "2026-07-28T08:00:00.123456789+02:00": true, "2026-07-28T08:00:00": false, "2026-02-30T00:00:00Z": false,
		"2026-07-28T08:00:00+25:00": false, "2026-07-28T24:00:00Z": false, "2026-07-28 08:00:00Z": false, "": false, "2026-07-28T08:00:00,5Z": false,
	} {
		faults := s.Check("/at", text)
		if (len(faults) == 0) != ok || (!ok && (faults[0].Code != problem.CodeInvalidFormat || faults[0].Pointer != "/at")) {
			t.Errorf("%q: %+v", text, faults)
		}
	}
}

func TestAMisspeltMemberHasAHint(t *testing.T) {
	t.Parallel()
	s := schemaOf(t, `{"type":"object","additionalProperties":false,"properties":{"statement":{"type":"string"}}}`)
	if f := s.Check("", map[string]any{"state_ment": "x"}); len(f) != 1 || f[0].Hint != "did you mean statement?" {
		t.Errorf("%+v", f)
	}
}

func TestWhatCannotBeCheckedIsRefused(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{`{"type":"string","not":{}}`, `{"type":"object","patternProperties":{}}`, `{"$ref":"#/components/schemas/Gone"}`, `{"type":"string","pattern":"("}`} {
		if _, err := Parse(docOf(schema)); err == nil {
			t.Errorf("%s is taken", schema)
		}
	}
}

func TestAnswersAgainstTheDocument(t *testing.T) {
	t.Parallel()
	c, err := Parse(docOf(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	op, _ := c.Operation("POST", "/v1/x")
	header := func(contentType, etag string) http.Header {
		return http.Header{"Content-Type": {contentType}, "Etag": {etag}}
	}
	good := `{"id":"1","next":null}`
	for _, a := range []struct {
		name   string
		status int
		header http.Header
		body   string
		ok     bool
	}{
		{"right", 200, header("application/json", `"1"`), good, true},
		{"an error", 409, header("application/problem+json", ""), `{}`, true},
		{"another success", 201, header("application/json", `"1"`), good, false},
		{"no ETag", 200, header("application/json", ""), good, false},
		{"another type", 200, header("text/plain", `"1"`), good, false},
		{"an absent member", 200, header("application/json", `"1"`), `{"id":"1"}`, false},
		{"two values", 200, header("application/json", `"1"`), good + good, false},
		{"an error as plain text", 500, header("text/plain", ""), "oops", false},
	} {
		if err := op.CheckResponse(a.status, a.header, []byte(a.body)); (err == nil) != a.ok {
			t.Errorf("%s: %v", a.name, err)
		}
	}
}
