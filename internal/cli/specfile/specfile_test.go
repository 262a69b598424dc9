package specfile_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pondage/pondage/internal/cli/specfile"
	"github.com/pondage/pondage/internal/problem"
)

const source = "kind: source\nname: s\nformat: json\nkafka: {topic: t}\ntable: origin\nevent_time: ts\n"
const stream = "kind: stream\nname: q\nsource: s\nselect:\n  - {expr: count(*), as: n}\nwindow: {kind: interval, size: 1h}\n"

func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func names(objects []specfile.Object) string {
	var all []string
	for _, o := range objects {
		all = append(all, fmt.Sprintf("%s %s", o.ObjectKind(), o.ObjectName()))
	}
	return strings.Join(all, ", ")
}

func TestFilesFoldersAndStandardInput(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{"a.yaml": source + "---\n" + stream, "b.txt": "no spec", "c.json": `{"kind":"source","name":"c","format":"json","kafka":{"topic":"t"},"table":"x","event_time":"ts"}`})
	got, err := specfile.Read([]string{dir, specfile.Stdin}, strings.NewReader(strings.Replace(source, "name: s", "name: piped", 1)))
	if err != nil {
		t.Fatal(err)
	}
	if want := "source s, stream q, source c, source piped"; names(got) != want {
		t.Errorf("%s, want %s", names(got), want)
	}
	if _, err := specfile.Read([]string{t.TempDir()}, nil); err == nil || !strings.Contains(err.Error(), "no .yaml, .yml or .json file") {
		t.Errorf("an empty folder: %v", err)
	}
}

// documents collects the problems of joined errors.
func documents(err error) []*problem.Document {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var all []*problem.Document
		for _, one := range many.Unwrap() {
			all = append(all, documents(one)...)
		}
		return all
	}
	var e *specfile.Error
	if errors.As(err, &e) {
		return []*problem.Document{e.Document()}
	}
	return nil
}

func TestEveryFaultOfEveryFileHasItsPlace(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{
		"a.yaml": source + "nmae: x\n---\n" + strings.Replace(stream, "size: 1h", "size: 1q", 1),
		"b.yaml": "kind: [\n",
	})
	objects, err := specfile.Read([]string{dir}, nil)
	if err == nil || objects != nil {
		t.Fatalf("got %v, %v", objects, err)
	}
	var places []string
	for _, doc := range documents(err) {
		for _, f := range doc.Errors {
			line := 0 // a text that is no YAML: its line is in the message
			if f.Span != nil {
				line = f.Span.Line
			}
			places = append(places, fmt.Sprintf("%s:%d %s", filepath.Base(doc.Instance), line, f.Code))
		}
	}
	if got, want := strings.Join(places, "; "), "a.yaml:7 unknown_member; a.yaml:14 invalid_value; b.yaml:0 malformed_document"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// What the coordinator finds wrong with an object is shown where it stands in the file.
func TestBlameFindsTheLine(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{"a.yaml": stream})
	objects, err := specfile.Read([]string{dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = objects[0].Blame(problem.Document{Code: "unknown_column", Errors: []problem.Fault{{
		Code: "unknown_column", Pointer: "/select/0/expr", Detail: "no such column", Span: &problem.Span{Line: 1, Column: 7, Length: 1},
	}}})
	at := documents(err)[0].Errors[0].Span
	if at.Line != 5 || at.Column != 18 { // `  - {expr: count(*)`: the expression begins in column 12
		t.Errorf("line %d, column %d", at.Line, at.Column)
	}
	if err := objects[0].Blame(problem.Document{Code: "busy", Detail: "busy"}); !strings.Contains(err.Error(), "stream q: busy (busy)") {
		t.Errorf("without places: %v", err)
	}
}

func TestStatementsAreCutAtTheirEnds(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"SHOW STREAMS":                       {"SHOW STREAMS"},
		"a;b ; c;":                           {"a", "b", "c"},
		"SELECT ';' ; x":                     {"SELECT ';'", "x"},
		`SELECT "a;b"; x`:                    {`SELECT "a;b"`, "x"},
		"SELECT 'it''s; so'; x":              {"SELECT 'it''s; so'", "x"},
		"-- one; two\nSHOW SOURCES; -- end;": {"SHOW SOURCES"},
		"/* ; */ a /* ; */ b; c":             {"a /* ; */ b", "c"},
		" ;; ; ":                             nil,
		"":                                   nil,
		"a 'never ended; x":                  {"a 'never ended; x"},
	} {
		var got []string
		for _, s := range specfile.Statements("", text) {
			got = append(got, s.Text)
		}
		if strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestAFaultOfAStatementIsPlacedInItsFile(t *testing.T) {
	t.Parallel()
	all := specfile.Statements("q.sql", "SHOW STREAMS;\n\n  SELECT x,\n  y FROM z;")
	for in, want := range map[problem.Span]problem.Span{{Line: 1, Column: 8}: {Line: 3, Column: 10}, {Line: 2, Column: 3}: {Line: 4, Column: 3}} {
		err := all[1].Blame(problem.Document{Errors: []problem.Fault{{Code: "syntax", Span: &in}}})
		doc := documents(err)[0]
		if got := *doc.Errors[0].Span; got != want || doc.Instance != "q.sql" {
			t.Errorf("%+v: %+v in %s, want %+v", in, got, doc.Instance, want)
		}
	}
}
