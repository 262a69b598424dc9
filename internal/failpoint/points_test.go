package failpoint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// awaited are points whose package is still to call them; one that is called must not be here.
var awaited = map[Point]bool{}

// names maps the constants of points.go to their points.
func names(t *testing.T) map[string]Point {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "points.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]Point{}
	ast.Inspect(f, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && len(v.Values) == 1 {
			if typ, ok := v.Type.(*ast.Ident); ok && typ.Name == "Point" {
				out[v.Names[0].Name] = Point(strings.Trim(v.Values[0].(*ast.BasicLit).Value, `"`))
			}
		}
		return true
	})
	return out
}

// call is a call of Hit or On in the product.
type call struct{ function, dir string }

// calls finds all, by the constant that they are given.
func calls(t *testing.T) map[string][]call {
	t.Helper()
	out := map[string][]call{}
	for _, top := range []string{"internal", "services", "cmd"} {
		err := filepath.WalkDir(filepath.Join("../..", top), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			dir, err := filepath.Rel("../..", filepath.Dir(path))
			if err != nil {
				return err
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if name, function := pointOf(n); name != "" {
					out[name] = append(out[name], call{function, filepath.ToSlash(dir)})
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// pointOf returns the constant and the function of a call such as failpoint.Hit(failpoint.X).
func pointOf(n ast.Node) (name, function string) {
	c, ok := n.(*ast.CallExpr)
	if !ok || len(c.Args) != 1 {
		return "", ""
	}
	called, argument := ours(c.Fun), ours(c.Args[0])
	if called != "Hit" && called != "On" {
		return "", ""
	}
	return argument, called
}

// ours returns X of failpoint.X.
func ours(e ast.Expr) string {
	if s, ok := e.(*ast.SelectorExpr); ok {
		if p, ok := s.X.(*ast.Ident); ok && p.Name == "failpoint" {
			return s.Sel.Name
		}
	}
	return ""
}

// TestTheListIsTrue: each point is called where the list says, by the function of its kind; and no other is.
func TestTheListIsTrue(t *testing.T) {
	t.Parallel()
	function := map[Kind]string{KindPlace: "Hit", KindMisbehaviour: "On"}
	called, listed := calls(t), map[Point]bool{}
	for _, i := range Points() {
		listed[i.Point] = true
	}
	for name, point := range names(t) {
		info, ok := find(point)
		if !ok || !listed[point] {
			t.Errorf("%s (%s) is not in the list", name, point)
		}
		if len(called[name]) == 0 && !awaited[point] {
			t.Errorf("%s (%s) is called nowhere", name, point)
		}
		if len(called[name]) > 0 && awaited[point] {
			t.Errorf("%s (%s) is called: it is not awaited any more", name, point)
		}
		for _, c := range called[name] {
			if c.dir != info.Where || c.function != function[info.Kind] {
				t.Errorf("%s (%s, a %s) is called by %s in %s; the list says %s", name, point, info.Kind, c.function, c.dir, info.Where)
			}
		}
		delete(called, name)
	}
	for name, at := range called {
		t.Errorf("%q is no point of points.go: %v", name, at)
	}
}

var form = map[Kind]*regexp.Regexp{
	KindPlace:        regexp.MustCompile(`^[a-z]+(/[a-z]+)+:[a-z]+(-[a-z]+)*$`),
	KindMisbehaviour: regexp.MustCompile(`^[a-z]+(-[a-z]+)+$`),
}

func TestPointsHaveNamesOfTheirKind(t *testing.T) {
	t.Parallel()
	seen := map[Point]bool{}
	for _, i := range Points() {
		if !form[i.Kind].MatchString(string(i.Point)) || seen[i.Point] || i.What == "" || strings.HasSuffix(i.What, ".") {
			t.Errorf("%+v", i)
		}
		seen[i.Point] = true
	}
}
