package telemetry

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/metrics.md anew")

const (
	root = "../.."
	page = root + "/docs/metrics.md"
	head = `# Metrics

Made from the metrics.go files of all packages (` + "`go test ./internal/telemetry -run Page -update`" + `). A service shows them at /metrics, in
Prometheus's form: dots become underscores, the unit follows as a word (By: bytes, s: seconds; what counts things has none), then
_total for a counter: pondage.source.fetched is pondage_source_fetched_bytes_total.

Attributes: pondage.stream, pondage.level, pondage.vgroup, pondage.outcome where they apply. Table names, message ids and offsets
are on spans.

| name | kind | unit | |
|---|---|---|---|
`
)

// instrument is one call that makes an instrument.
type instrument struct{ name, kind, unit, description, file string }

var makers = regexp.MustCompile(`^(Int64|Float64)(Observable)?(Counter|UpDownCounter|Histogram|Gauge)$`)

// instruments finds all instruments of the product.
func instruments(t *testing.T) []instrument {
	t.Helper()
	var out []instrument
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if path != root && (strings.HasPrefix(d.Name(), ".") || slices.Contains([]string{"testdata", "build", "bin", "tools"}, d.Name())) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if i, ok := made(call); ok {
					i.file = path
					out = append(out, i)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// made reads the call that makes an instrument.
func made(call *ast.CallExpr) (i instrument, ok bool) {
	fun, isSelector := call.Fun.(*ast.SelectorExpr)
	if !isSelector || len(call.Args) == 0 {
		return i, false
	}
	kind := makers.FindStringSubmatch(fun.Sel.Name)
	if kind == nil {
		return i, false
	}
	i.kind = strings.ToLower(kind[3])
	if i.name, ok = text(call.Args[0]); !ok {
		return i, false // a method of another type
	}
	for _, arg := range call.Args[1:] {
		option, isCall := arg.(*ast.CallExpr)
		if !isCall || len(option.Args) != 1 {
			continue
		}
		value, _ := text(option.Args[0])
		switch with, _ := option.Fun.(*ast.SelectorExpr); {
		case with == nil:
		case with.Sel.Name == "WithUnit":
			i.unit = value
		case with.Sel.Name == "WithDescription":
			i.description = value
		}
	}
	return i, true
}

func text(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	s, err := strconv.Unquote(lit.Value)
	return s, err == nil
}

func TestInstrumentsAreDeclaredInOnePlaceWithNameAndUnit(t *testing.T) {
	t.Parallel()
	name := regexp.MustCompile(`^(pondage|http)\.[a-z_]+(\.[a-z_]+)+$`)
	unitInName := regexp.MustCompile(`(?i)(bytes|seconds|_ms|_total|count$)`)
	seen := map[string]string{}
	for _, i := range instruments(t) {
		if filepath.Base(i.file) != "metrics.go" {
			t.Errorf("%s makes %q: instruments are made in metrics.go", i.file, i.name)
		}
		if !name.MatchString(i.name) || unitInName.MatchString(i.name) {
			t.Errorf("%s: %q is no name: pondage.<area>.<thing>, without unit", i.file, i.name)
		}
		if i.unit == "" || i.description == "" {
			t.Errorf("%s: %q has the unit %q and the description %q", i.file, i.name, i.unit, i.description)
		}
		if other, twice := seen[i.name]; twice {
			t.Errorf("%q is made in %s and %s", i.name, other, i.file)
		}
		seen[i.name] = i.file
	}
}

func TestPageOfMetricsIsUpToDate(t *testing.T) {
	t.Parallel()
	rows := map[string]string{}
	for _, i := range instruments(t) {
		rows[i.name] = fmt.Sprintf("| `%s` | %s | %s | %s |\n", i.name, i.kind, i.unit, i.description)
	}
	var want strings.Builder
	want.WriteString(head)
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		want.WriteString(rows[name])
	}
	if *update {
		if err := os.WriteFile(page, []byte(want.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want.String() {
		t.Error("docs/metrics.md is out of date: run go test ./internal/telemetry -run Page -update")
	}
}
