package render_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pondage/pondage/internal/cli/render"
	"github.com/pondage/pondage/internal/problem"
)

func TestATableFitsIntoTheTerminal(t *testing.T) {
	t.Parallel()
	g := render.Grid{Columns: []string{"name", "reason"}}
	g.Add("flights", strings.Repeat("é", 60))
	g.Add("weather", "short")
	for width, want := range map[int]string{
		0: "NAME     REASON\nflights  " + strings.Repeat("é", 60) + "\nweather  short\n",
		// the longest column is cut, by characters and not by bytes
		30: "NAME     REASON\nflights  " + strings.Repeat("é", 20) + "…\nweather  short\n",
		// below what a column needs to tell anything, the line is longer than the terminal
		3: "NAME     REASON\nflights  " + strings.Repeat("é", 7) + "…\nweather  short\n",
	} {
		var b strings.Builder
		if err := g.Write(&b, width); err != nil {
			t.Fatal(err)
		}
		if b.String() != want {
			t.Errorf("width %d:\n%s\nwant:\n%s", width, b.String(), want)
		}
	}
}

func TestTextFromOutsideCannotMoveTheCursor(t *testing.T) {
	t.Parallel()
	g := render.Grid{Columns: []string{"value", "x"}}
	g.Add("a\x1b[2Jb\nc\td", "1")
	var b strings.Builder
	if err := g.Write(&b, 0); err != nil {
		t.Fatal(err)
	}
	if want := "VALUE       X\na\ufffd[2Jb c d  1\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}

func TestYAMLHasTheOrderAndTheDigitsOfTheJSON(t *testing.T) {
	t.Parallel()
	const in = `{"z":"9007199254740993","a":[1.10,9007199254740993,null,true],"text":"yes","emoji":"\ud83d\ude00","empty":{},"none":[],"m":{"k":"a: b"}}`
	const want = `z: "9007199254740993"
a:
  - 1.10
  - 9007199254740993
  - null
  - true
text: "yes"
emoji: "\U0001F600"
empty: {}
none: []
m:
  k: 'a: b'
`
	var b strings.Builder
	if err := render.Value(&b, render.YAML, []byte(in)); err != nil {
		t.Fatal(err)
	}
	if b.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", b.String(), want)
	}
	if err := render.Value(&b, render.YAML, []byte(`{"a":`)); err == nil {
		t.Error("half a document is taken")
	}
}

func TestJSONIsOneLineAValue(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := render.Value(&b, render.JSON, []byte("{\n  \"a\": 9007199254740993\n}")); err != nil {
		t.Fatal(err)
	}
	if want := "{\"a\":9007199254740993}\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}

// Rows are written before all are known, with the widths of the first ones.
func TestRowsOfAnyNumberAreATable(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	rows := render.NewRows(&b, 40)
	for i := range 1000 {
		if err := rows.Add(fmt.Appendf(nil, `{"origin":"A%d","count":"%d","avg":null,"note":{"k":1}}`, i%10, i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := rows.Add([]byte(`{"origin":"a very long name of an airport","count":"1","avg":1.5,"note":"x"}`)); err != nil {
		t.Fatal(err)
	}
	if err := rows.Flush(); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if len(lines) != 1002 {
		t.Fatalf("%d lines", len(lines))
	}
	for i, want := range map[int]string{0: "ORIGIN  COUNT  AVG  NOTE", 1: `A0      0           {"k":1}`, 1000: `A9      999         {"k":1}`, 1001: "a ver…  1      1.5  x"} {
		if lines[i] != want {
			t.Errorf("line %d: %q, want %q", i, lines[i], want)
		}
	}
	if err := rows.Add([]byte(`[1]`)); err == nil {
		t.Error("a row that is no object is taken")
	}
}

func TestProblemsForPeopleAndForPrograms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		doc  problem.Document
		want string
	}{
		{problem.Document{Code: "source_unknown", Detail: `there is no source "x"`, Hint: "create it"}, "error: there is no source \"x\" (source_unknown)\n       create it\n"},
		{problem.Document{Code: "invalid_input", Instance: "a.yaml", Errors: []problem.Fault{
			{Code: "unknown_column", Detail: "no column dely", Hint: "did you mean delay?", Span: &problem.Span{Line: 3, Column: 5}},
			{Code: "missing_member", Detail: "name is missing", Pointer: "/name"},
		}}, "error: a.yaml:3:5: no column dely (unknown_column)\n       did you mean delay?\nerror: a.yaml: /name: name is missing (missing_member)\n"},
		{problem.Document{Instance: "/v1/sql", Errors: []problem.Fault{{Code: "syntax", Detail: "want FROM", Span: &problem.Span{Line: 1, Column: 8}}}}, "error: line 1, column 8: want FROM (syntax)\n"},
		{problem.Document{Code: problem.CodeInternal, Detail: "an unexpected error", TraceID: "abc"}, "error: an unexpected error (internal)\n       report it with the trace id abc\n"},
	} {
		var people, programs strings.Builder
		render.Problem(&people, render.Table, &c.doc)
		if people.String() != c.want {
			t.Errorf("got:\n%s\nwant:\n%s", people.String(), c.want)
		}
		render.Problem(&programs, render.JSON, &c.doc)
		if got := programs.String(); !strings.HasPrefix(got, "{") || strings.Count(got, "\n") != 1 || !strings.Contains(got, `"code":"`+string(c.doc.Code)+`"`) {
			t.Errorf("as JSON: %s", got)
		}
	}
}

func TestFormats(t *testing.T) {
	t.Parallel()
	if _, err := render.Parse("xml", render.Common); err == nil || !strings.Contains(err.Error(), "table, json or yaml") {
		t.Errorf("error: %v", err)
	}
	if f, err := render.Parse("yaml", render.Common); f != render.YAML || err != nil {
		t.Errorf("%s, %v", f, err)
	}
}
