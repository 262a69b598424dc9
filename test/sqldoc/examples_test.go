package sqldoc

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pondage/pondage/internal/invalid"
	"github.com/pondage/pondage/internal/plan"
	"github.com/pondage/pondage/internal/spec"
	"github.com/pondage/pondage/internal/sql"
)

var env = plan.Env{Cluster: "pondage", VGroups: 8, Zone: time.LoadLocation}

var fenced = regexp.MustCompile("(?ms)^```(sql|yaml)\n(.*?)^```$")

// declared is what the page's examples declare, by name.
func declared(t *testing.T) map[string]spec.Object {
	t.Helper()
	made := map[string]spec.Object{}
	for _, m := range fenced.FindAllStringSubmatch(page(t), -1) {
		if m[1] != "sql" || !strings.HasPrefix(m[2], "CREATE") {
			continue
		}
		o, err := object(m[2])
		if err != nil {
			t.Fatalf("%s\n%v", m[2], err)
		}
		made[o.ObjectName()] = o
	}
	return made
}

// object is what a statement declares.
func object(text string) (spec.Object, error) {
	statement, err := sql.ParseStatement(text)
	if err != nil {
		return nil, err
	}
	return spec.FromSQL(text, statement)
}

// planned builds the plan of a stream over the page's source.
func planned(t *testing.T, text string) (*plan.Plan, error) {
	t.Helper()
	o, err := object(text)
	if err != nil {
		return nil, err
	}
	return plan.Build(declared(t)["readings"].(*spec.Source), o.(*spec.Stream), env)
}

func TestStatementsAreTaken(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, m := range fenced.FindAllStringSubmatch(page(t), -1) {
		if m[1] != "sql" {
			continue
		}
		kind, _, _ := strings.Cut(m[2], " ")
		seen[kind] = true
		statement, err := sql.ParseStatement(m[2])
		if err != nil {
			t.Errorf("%s\n%v", m[2], err)
			continue
		}
		switch statement.(type) {
		case *sql.CreateStream, *sql.Explain:
			if _, err := planned(t, m[2]); err != nil {
				t.Errorf("%s\n%v", m[2], err)
			}
		case *sql.CreateSource:
			if src, ok := declared(t)["readings"].(*spec.Source); !ok {
				t.Error("the page's source is not readings")
			} else if _, err := plan.BuildInput(src); err != nil {
				t.Errorf("%s\n%v", m[2], err)
			}
		}
	}
	for _, kind := range expected(t, "nonsense") {
		if !seen[kind] && kind != "SELECT" { // a SELECT stands behind EXPLAIN and AS
			t.Errorf("no example of %s", kind)
		}
	}
}

func TestSpecsSayWhatTheStatementsSay(t *testing.T) {
	t.Parallel()
	made := declared(t)
	specs := 0
	for _, m := range fenced.FindAllStringSubmatch(page(t), -1) {
		if m[1] != "yaml" {
			continue
		}
		specs++
		documents, err := spec.Split([]byte(m[2]))
		if err != nil {
			t.Errorf("%s\n%v", m[2], err)
			continue
		}
		for _, d := range documents {
			o, err := d.Decode()
			if err != nil {
				t.Errorf("%s\n%v", m[2], err)
			} else if was, ok := made[o.ObjectName()]; !ok || string(was.Canonical()) != string(o.Canonical()) {
				t.Errorf("the spec is\n%s, no statement says so", o.Canonical())
			}
		}
	}
	if specs < 2 {
		t.Errorf("%d specs on the page", specs)
	}
}

// expected are the alternatives that the parser names where a statement goes wrong.
func expected(t *testing.T, text string) []string {
	t.Helper()
	_, err := sql.ParseStatement(text)
	var bad *invalid.Error
	if !errors.As(err, &bad) {
		t.Fatalf("%s: %v", text, err)
	}
	list, found := strings.CutPrefix(bad.Details[0].Message, "expected one of ")
	list, _, _ = strings.Cut(list, ", found ")
	if !found {
		t.Fatalf("%s: %v", text, err)
	}
	return strings.Split(list, ", ")
}

func TestEveryWordOfTheGrammarIsOnThePage(t *testing.T) {
	t.Parallel()
	for _, wrong := range []string{"nonsense", "SELECT x FROM y nonsense", "SELECT x FROM y TRIGGER nonsense", "SELECT x FROM y FILL(nonsense)", "CREATE STREAM x INTO nonsense"} {
		for _, word := range expected(t, wrong) {
			inCode := regexp.MustCompile("(?s)`[^`]*" + regexp.QuoteMeta(word) + `\b`)
			if !inCode.MatchString(page(t)) {
				t.Errorf("%s is not on the page", word)
			}
		}
	}
}

// stream writes a stream over the page's source with a clause or WITH keys added. Clauses of its own take the place of
// the ones that are there.
func stream(with, clause string) string {
	out := "CREATE STREAM s INTO POSTGRES t, KAFKA 't'"
	word, _, _ := strings.Cut(clause, " ")
	if word == "INTO" {
		out, clause = "CREATE STREAM s "+clause, ""
	}
	if with != "" {
		out += " WITH (" + with + ")"
	}
	out += " AS"
	for _, part := range []string{"SELECT tbname, count(*)", "FROM readings", "PARTITION BY tbname", "INTERVAL(1h)"} {
		first := regexp.MustCompile(`^\w+`).FindString(part)
		switch {
		case strings.HasPrefix(clause, first):
			out, clause = out+" "+clause, ""
		case first == "INTERVAL" && regexp.MustCompile(`^(SESSION|\w+_WINDOW)\b`).MatchString(clause):
		case first == "SELECT" && strings.HasPrefix(clause, "PARTITION"):
			out += " SELECT count(*)"
		default:
			out += " " + part
		}
	}
	return out + " " + clause
}

func TestClausesAreTaken(t *testing.T) {
	t.Parallel()
	for _, r := range rows(t, "Streams", "clause") {
		example := code(r["example"])
		if code(r["clause"]) == "CREATE STREAM" {
			continue
		}
		if !strings.Contains(example, code(r["clause"])) {
			t.Errorf("%s has the example %s", r["clause"], r["example"])
		}
		if _, err := planned(t, stream("", example)); err != nil {
			t.Errorf("%s: %v", example, err)
		}
	}
}

var (
	isKeys = regexp.MustCompile(`^[a-z_.]+ = `)
	isCall = regexp.MustCompile(`^[a-z_]+\(`)
)

func TestWhatIsNotSupportedIsRefusedByName(t *testing.T) {
	t.Parallel()
	for _, r := range rows(t, "Not supported yet", "what") {
		for _, what := range codes(r["what"]) {
			var err error
			switch {
			case isCall.MatchString(what):
				_, err = planned(t, stream("", "SELECT "+what))
			case isKeys.MatchString(what) && strings.HasPrefix(what, "update"):
				_, err = input(t, what)
			case isKeys.MatchString(what):
				_, err = planned(t, stream(what, ""))
			default:
				_, err = planned(t, stream("", what))
			}
			var bad *invalid.Error
			if !errors.As(err, &bad) {
				t.Errorf("%s is not refused: %v", what, err)
				continue
			}
			for _, d := range bad.Details {
				if d.Code != plan.CodeNotSupportedYet {
					t.Errorf("%s is refused with %s: %s", what, d.Code, d.Message)
				}
			}
		}
	}
}

// constants are the texts of the string constants of a package.
func constants(t *testing.T, dir string) (out []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "internal", dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no files: %v", dir, err)
	}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			gen, ok := d.(*ast.GenDecl)
			if !ok || gen.Tok != token.CONST {
				continue
			}
			ast.Inspect(gen, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					if text, err := strconv.Unquote(lit.Value); err == nil {
						out = append(out, text)
					}
				}
				return true
			})
		}
	}
	return out
}

func TestNamesInAQueryAreAllThereAre(t *testing.T) {
	t.Parallel()
	wrap := map[string][2]string{
		"rows":    {"CREATE STREAM s AS SELECT ", " FROM readings"},
		"windows": {"CREATE STREAM s AS SELECT ", " FROM readings INTERVAL(1h)"},
	}
	var names []string
	for _, r := range rows(t, "Names in a query", "name") {
		name := code(r["name"])
		names = append(names, name)
		for where, around := range wrap {
			p, err := planned(t, around[0]+name+" AS x"+around[1])
			if known := err == nil; known != (where == r["where"]) {
				t.Errorf("%s in the SELECT of %s: %v", name, where, err)
			}
			if err != nil {
				continue
			}
			for _, c := range p.Result.Columns {
				if c.Name == "x" && c.Type.String() != r["type"] {
					t.Errorf("%s is %s, the page says %s", name, c.Type, r["type"])
				}
			}
		}
	}
	word := regexp.MustCompile(`^_?[a-z]+$`)
	for _, name := range slices.Concat(constants(t, "plan"), constants(t, "window")) {
		if !word.MatchString(name) || slices.Contains(names, name) {
			continue
		}
		for where, around := range wrap {
			if _, err := planned(t, around[0]+strconv.Quote(name)+" AS x"+around[1]); err == nil {
				t.Errorf("%s is a name of %s, and is not on the page", name, where)
			}
		}
	}
}
