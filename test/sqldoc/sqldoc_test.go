// Package sqldoc holds docs/sql.md against the code: its examples are run, its tables are those of the catalogues.
package sqldoc

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/pondage/pondage/internal/agg"
	"github.com/pondage/pondage/internal/expr"
	"github.com/pondage/pondage/internal/plan"
	"github.com/pondage/pondage/internal/spec"
	"github.com/pondage/pondage/internal/sql"
)

func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "sql.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// section is the part of the page below a heading.
func section(t *testing.T, heading string) string {
	t.Helper()
	_, rest, found := strings.Cut(page(t), "\n## "+heading+"\n")
	if !found {
		t.Fatalf("no section %q", heading)
	}
	text, _, _ := strings.Cut(rest, "\n## ")
	return text
}

// tables are the cells of all rows of all tables, without headings.
func tables(text string) (rows [][]string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|--") {
			continue
		}
		var cells []string
		for _, c := range strings.Split(strings.ReplaceAll(strings.Trim(line, "|"), `\|`, "\x00"), "|") {
			cells = append(cells, strings.ReplaceAll(strings.TrimSpace(c), "\x00", "|"))
		}
		rows = append(rows, cells)
	}
	return rows
}

func code(cell string) string { return strings.Trim(cell, "`") }

// zones is a scope without columns that knows all zones.
type zones struct{ expr.SchemaScope }

func (zones) Location() *time.Location                 { return time.UTC }
func (zones) Zone(name string) (*time.Location, error) { return time.LoadLocation(name) }

// value evaluates a constant expression and returns its text.
func value(t *testing.T, text string) string {
	t.Helper()
	for _, text := range []string{"(" + text + ")::string", text} { // a string needs no cast, and null has no type to cast from
		e, err := sql.ParseExpr(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			return ""
		}
		typed, err := expr.Check(e, zones{})
		if err != nil {
			continue
		}
		var out expr.Result
		expr.Compile(typed).Eval(nil, 1, &out)
		switch {
		case len(out.Errors) > 0:
			return "!" + out.Errors[0].Code
		case out.Col.IsNull(0):
			return "null"
		default:
			return string(out.Col.Bytes(0))
		}
	}
	t.Errorf("%s has no type", text)
	return ""
}

func TestExpressionsHaveTheirValues(t *testing.T) {
	t.Parallel()
	examples := 0
	for _, row := range tables(section(t, "Expressions")) {
		if len(row) != 2 || row[0] == "expression" {
			continue
		}
		examples++
		if got := value(t, code(row[0])); got != code(row[1]) {
			t.Errorf("%s is %s, the page says %s", row[0], got, row[1])
		}
	}
	if examples == 0 {
		t.Error("no examples")
	}
}

func TestFunctionsAreThoseOfTheCatalogue(t *testing.T) {
	t.Parallel()
	have := map[string][]string{}
	for _, row := range tables(section(t, "Functions"))[1:] {
		name, _, _ := strings.Cut(code(row[0]), "(")
		have[name] = row
	}
	for _, f := range expr.Functions() {
		row, ok := have[f.Name]
		if !ok {
			t.Errorf("%s is not on the page", f.Name)
			continue
		}
		delete(have, f.Name)
		if code(row[0]) != f.Signature || row[1] != f.Doc {
			t.Errorf("the page has\n| %s | %s |, the catalogue\n| `%s` | %s |", row[0], row[1], f.Signature, f.Doc)
		}
		if !strings.HasPrefix(code(row[2]), f.Name+"(") {
			t.Errorf("%s has the example %s", f.Name, row[2])
		}
		if got := value(t, code(row[2])); got != code(row[3]) {
			t.Errorf("%s is %s, the page says %s", row[2], got, row[3])
		}
	}
	for name := range have {
		t.Errorf("%s is on the page, but is no function", name)
	}
}

func TestAggregatesAreThoseOfTheCatalogue(t *testing.T) {
	t.Parallel()
	have := map[string]string{}
	for _, row := range tables(section(t, "Aggregates"))[1:] {
		have[code(row[0])] = row[3]
	}
	later := section(t, "Not supported yet")
	for _, f := range agg.Functions() {
		switch {
		case f.Supported() && have[f.Name] != f.Doc:
			t.Errorf("%s: the page says %q, the catalogue %q", f.Name, have[f.Name], f.Doc)
		case !f.Supported() && !strings.Contains(later, "`"+f.Name+"`"):
			t.Errorf("%s is not among what is not supported yet", f.Name)
		}
		delete(have, f.Name)
	}
	for name := range have {
		t.Errorf("%s is on the page, but is no aggregate", name)
	}
}

// members are the names that a spec's object may have.
func members(of any) (names []string) {
	typ := reflect.TypeOf(of)
	for i := range typ.NumField() {
		if tag, ok := typ.Field(i).Tag.Lookup("spec"); ok {
			name, _, _ := strings.Cut(tag, ",")
			names = append(names, name)
		}
	}
	return names
}

func TestEveryMemberIsOnThePage(t *testing.T) {
	t.Parallel()
	for heading, of := range map[string]any{"Sources": spec.Source{}, "Streams": spec.Stream{}} {
		var have []string
		for _, row := range tables(section(t, heading)) {
			for _, cell := range row[:2] { // of a clause, the second
				name, _, _ := strings.Cut(strings.ReplaceAll(code(cell), ":", "."), ".")
				have = append(have, strings.TrimSpace(name))
			}
		}
		if heading == "Streams" {
			have = append(have, "name")
		}
		for _, name := range members(of) {
			if !slices.Contains(have, name) {
				t.Errorf("%s: %s is not on the page", heading, name)
			}
		}
	}
}

var fenced = regexp.MustCompile("(?ms)^```(sql|yaml)\n(.*?)^```$")

func TestExamplesAreTaken(t *testing.T) {
	t.Parallel()
	env := plan.Env{Cluster: "pondage", VGroups: 8, Zone: time.LoadLocation}
	sources := map[string]*spec.Source{}
	kinds := map[string]int{}
	for _, m := range fenced.FindAllStringSubmatch(page(t), -1) {
		if m[1] == "yaml" {
			src, err := spec.ParseSource([]byte(m[2]))
			if err != nil {
				t.Errorf("%s\n%v", m[2], err)
			} else if was := sources[src.Name]; was == nil || string(was.Canonical()) != string(src.Canonical()) {
				t.Errorf("the spec is not what the statement says:\n%s", src.Canonical())
			}
			continue
		}
		statement, err := sql.ParseStatement(m[2])
		if err != nil {
			t.Errorf("%s\n%v", m[2], err)
			continue
		}
		kind, _, _ := strings.Cut(m[2], " ")
		kinds[kind]++
		if e, ok := statement.(*sql.Explain); ok {
			statement = e.Target
		}
		switch statement := statement.(type) {
		case *sql.CreateSource:
			made, err := spec.FromSQL(m[2], statement)
			if err != nil {
				t.Errorf("%s\n%v", m[2], err)
				continue
			}
			sources[made.ObjectName()] = made.(*spec.Source)
		case *sql.CreateStream:
			made, err := spec.FromSQL(m[2], statement)
			if err != nil {
				t.Errorf("%s\n%v", m[2], err)
				continue
			}
			st := made.(*spec.Stream)
			if sources[st.Source] == nil {
				t.Errorf("%s\nis over a source that the page has not declared before", m[2])
				continue
			}
			if _, err := plan.Build(sources[st.Source], st, env); err != nil {
				t.Errorf("%s\n%v", m[2], err)
			}
		}
	}
	for _, kind := range []string{"CREATE", "EXPLAIN", "SHOW", "DESCRIBE", "DROP"} {
		if kinds[kind] == 0 {
			t.Errorf("no example of %s", kind)
		}
	}
}
