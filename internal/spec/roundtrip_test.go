package spec

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"gopkg.in/yaml.v3"
	"pgregory.net/rapid"

	"github.com/pondage/pondage/internal/sql"
)

// members are valid texts of the members of a stream, as JSON.
var members = map[string][]string{
	"start":                  {`"earliest"`, `"latest"`, `{"time":"2026-01-01T00:00:00Z"}`, `{"offsets":{"7":"9223372036854775807","0":3}}`},
	"until":                  {`"latest"`, `{"time":"0001-01-01T00:00:00.001Z"}`, `{"offsets":{"0":0}}`},
	"where":                  {`"a <> '<&>' AND b"`, `true`, `"x = 'ü\n\"'"`},
	"partition_by":           {`["tbname"]`, `["a","b + 1"]`, `[]`},
	"subtable":               {`"concat('t', a)"`},
	"window":                 {`{"kind":"interval","size":"1h","sliding":"10m","offset":"-5m","timezone":"Europe/Berlin","week_start":"friday"}`, `{"kind":"session","gap":"5s"}`, `{"kind":"state","col":"a","true_for":"0s"}`, `{"kind":"count","count":10,"step":"3"}`},
	"trigger":                {`"window_close"`, `"at_once"`, `"period 1h"`},
	"fill":                   {`{"mode":"null"}`, `{"mode":"value","values":["1",2]}`},
	"watermark":              {`"2h"`, `0`, `"7d"`},
	"late_by":                {`"window"`, `"table"`},
	"allowed_lateness":       {`"unbounded"`, `"1w"`},
	"table_ttl":              {`"1d"`},
	"idle_timeout":           {`"5s"`},
	"close_idle_after":       {`0`},
	"outputs":                {`{}`, `{"postgres":{"table":"a.b","delivery":"upsert","dsn":{"from":"file","name":"/run/secrets/x"},"hash_prefix":3}}`, `{"kafka":{"topic":"t","brokers":["a:1","[::1]:2"],"tls":{},"sasl":{"mechanism":"plain","user":"u","password":{"from":"env","name":"P"}},"hash_suffix":-2}}`},
	"results":                {`{}`, `{"retain":"0s"}`},
	"checkpoint_interval":    {`"100ms"`},
	"checkpoint_timeout":     {`"1m"`},
	"retain":                 {`1`, `"9223372036854775807"`},
	"max_failed_checkpoints": {`3`},
	"max_restarts":           {`0`},
	"start_timeout":          {`"60s"`},
	"max_groups":             {`9007199254740993`},
	"dispatch":               {`{"max_batch":"4MiB"}`, `{"max_batch":1}`},
	"edge":                   {`{"keep":"1h"}`},
	"fill_history":           {`{}`, `{"from":"2026-01-01T00:00:00+02:00"}`},
}

// TestCanonicalFormReadsBackAsTheSameStream: JSON, the same in YAML, and the canonical form are one object and one text.
func TestCanonicalFormReadsBackAsTheSameStream(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		doc := map[string]json.RawMessage{"name": json.RawMessage(`"s"`), "source": json.RawMessage(`"a"`), "select": json.RawMessage(`[{"expr":"a","as":"b"},{"expr":1}]`)}
		for name, texts := range members {
			if rapid.Bool().Draw(t, name) {
				doc[name] = json.RawMessage(rapid.SampledFrom(texts).Draw(t, name+" value"))
			}
		}
		text, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		s, err := ParseStream(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		again, err := ParseStream(s.Canonical())
		if err != nil || !bytes.Equal(again.Canonical(), s.Canonical()) {
			t.Fatalf("canonical form %s reads back as %v, %v", s.Canonical(), again, err)
		}
		fromYAML, err := ParseStream(asYAML(t, s.Canonical()))
		if err != nil || !bytes.Equal(fromYAML.Canonical(), s.Canonical()) {
			t.Fatalf("%s in YAML: %v, %v", s.Canonical(), fromYAML, err)
		}
		if !reflect.DeepEqual(again, fromYAML) {
			t.Fatalf("JSON %+v, YAML %+v", again, fromYAML)
		}
	})
}

func asYAML(t *rapid.T, doc []byte) []byte {
	var tree yaml.Node
	if err := yaml.Unmarshal(doc, &tree); err != nil {
		t.Fatal(err)
	}
	tree.Content[0].Style = 0 // block style
	out, err := yaml.Marshal(&tree)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestEveryMemberOfAStreamIsTested keeps members in step with the struct.
func TestEveryMemberOfAStreamIsTested(t *testing.T) {
	t.Parallel()
	for _, f := range fieldsOf(reflect.TypeFor[Stream]()) {
		if _, ok := members[f.name]; !ok && !f.required && f.name != "select" && f.name != "subtable_exact" {
			t.Errorf("member %s has no values", f.name)
		}
	}
}

func TestJSONOfAnObjectIsItsCanonicalForm(t *testing.T) {
	t.Parallel()
	in := []byte(`{"name":"s","source":"a","select":[{"expr":"a > 1","as":"b"}]}`)
	var s Stream
	if err := json.Unmarshal(in, &s); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(s.Canonical(), in) {
		t.Errorf("got %s, want %s", s.Canonical(), in)
	}
	if err := json.Unmarshal([]byte(`{"name":"s","source":"a","select":[],"wher":"x"}`), &s); err == nil {
		t.Error("a stream with an unknown member was read")
	}
}

func TestExpressionsOfSQLKeepTheirTextAndPlace(t *testing.T) {
	t.Parallel()
	text := "SELECT (a + b) * 2,\n  count( * )  FROM s WHERE (x)\n PARTITION BY ((a))"
	st, err := sql.ParseStatement(text)
	if err != nil {
		t.Fatal(err)
	}
	o, err := FromSQL(text, st)
	if err != nil {
		t.Fatal(err)
	}
	s := o.(*Stream)
	for pointer, want := range map[string]Expr{"/select/0/expr": "(a + b) * 2", "/select/1/expr": "count( * )", "/where": s.Where, "/partition_by/0": s.PartitionBy[0]} {
		at, ok := s.Places()[pointer]
		if got := Expr(sql.Text(text, at)); !ok || got != want {
			t.Errorf("%s stands at %+v: %q, want %q", pointer, at, got, want)
		}
		if _, err := sql.ParseExpr(string(want)); err != nil {
			t.Errorf("%s: %q: %v", pointer, want, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{"name":"s"}`, "name: s\nwindow: {kind: interval}", "a: [1, {b: c}]\n---\n- x", "{", "&a", `{"start":{"offsets":{"0":1}}}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := ParseStream([]byte(text)); err == nil {
			if _, err := ParseStream(s.Canonical()); err != nil {
				t.Errorf("%q: canonical form %s: %v", text, s.Canonical(), err)
			}
		}
		_, _ = ParseSource([]byte(text))
	})
}
