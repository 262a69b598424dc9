package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/pondage/pondage/"

// source is one package's folder, parsed.
type source struct {
	dir   string // "internal/block"
	layer Layer
	files []*ast.File // without tests
	fset  *token.FileSet
}

func TestEveryPackageHasALayer(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, s := range load(t) {
		if s.layer == 0 {
			t.Errorf("%s: not in the table of layers (internal/archtest/table.go)", s.dir)
		}
		seen[entry(s.dir)] = true
	}
	for name := range packages {
		if !seen[name] {
			t.Errorf("%s: in the table of layers, but there is no such package", name)
		}
	}
}

func TestImportsGoDown(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, s := range load(t) {
		for _, imported := range s.imports() {
			dir, ours := strings.CutPrefix(imported, module)
			if !ours {
				continue
			}
			arrow := s.dir + " → " + dir
			if _, ok := exceptions[arrow]; ok {
				used[arrow] = true
				continue
			}
			if to := layerOf(dir); !slices.Contains(below[s.layer], to) {
				t.Errorf("%s (%s) imports %s (%s)", s.dir, s.layer, dir, to)
			}
			if service(s.dir) != "" && service(dir) != "" && service(s.dir) != service(dir) {
				t.Errorf("%s imports another service: %s", s.dir, dir)
			}
		}
	}
	for arrow, reason := range exceptions {
		if !used[arrow] {
			t.Errorf("exception %q (%s) is not needed any more", arrow, reason)
		}
	}
}

func TestCoresArePure(t *testing.T) {
	t.Parallel()
	for _, s := range load(t) {
		if s.layer != Core && s.layer != Vocabulary {
			continue
		}
		for _, imported := range s.imports() {
			if reason, bad := coreImports[imported]; bad {
				t.Errorf("%s is a %s and imports %s: %s", s.dir, s.layer, imported, reason)
			}
		}
		for _, f := range s.files {
			ast.Inspect(f, func(n ast.Node) bool {
				if what := impure(n); what != "" {
					t.Errorf("%s: a %s must not have %s", s.fset.Position(n.Pos()), s.layer, what)
				}
				return true
			})
		}
	}
}

// impure names what the node does that a core must not, or is "".
func impure(n ast.Node) string {
	switch n := n.(type) {
	case *ast.GoStmt:
		return "a goroutine"
	case *ast.ChanType:
		return "a channel"
	case *ast.SelectorExpr:
		if pkg, ok := n.X.(*ast.Ident); ok && pkg.Obj == nil && coreCalls[pkg.Name][n.Sel.Name] {
			return pkg.Name + "." + n.Sel.Name
		}
	}
	return ""
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	t.Parallel()
	for _, s := range load(t) {
		ok := false
		for _, f := range s.files {
			ok = ok || f.Doc != nil && (strings.HasPrefix(f.Doc.Text(), "Package ") || strings.HasPrefix(f.Doc.Text(), "Command "))
		}
		if !ok && s.layer != Generated {
			t.Errorf("%s: no package comment (put it into doc.go: what it owns, what not, its invariants)", s.dir)
		}
	}
}

// environment lists the packages that may read the environment, with what for.
var environment = map[string]string{
	"internal/config":       "the one reader of the product's configuration",
	"internal/devstack/...": "finds Postgres's binaries on the PATH",
}

func TestEnvironmentIsReadInOnePlace(t *testing.T) {
	t.Parallel()
	for _, s := range load(t) {
		if environment[entry(s.dir)] != "" || s.layer == TestOnly {
			continue
		}
		for _, f := range s.files {
			ast.Inspect(f, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == "os" && (sel.Sel.Name == "Getenv" || sel.Sel.Name == "LookupEnv" || sel.Sel.Name == "Environ") {
					t.Errorf("%s: os.%s outside internal/config", s.fset.Position(n.Pos()), sel.Sel.Name)
				}
				return true
			})
		}
	}
}

// load parses every package of the module, tests left out.
func load(t *testing.T) []*source {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	byDir := map[string]*source{}
	err = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if p != root && (strings.HasPrefix(d.Name(), ".") || slices.Contains([]string{"testdata", "build", "bin", "tools", "node_modules"}, d.Name())) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") {
			return nil
		}
		rel, err := filepath.Rel(root, filepath.Dir(p))
		if err != nil {
			return err
		}
		dir := filepath.ToSlash(rel)
		s := byDir[dir]
		if s == nil {
			s = &source{dir: dir, layer: layerOf(dir), fset: token.NewFileSet()}
			byDir[dir] = s
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(s.fset, p, text, parser.ParseComments)
		if err != nil {
			return err
		}
		s.files = append(s.files, f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return slices.SortedFunc(maps.Values(byDir), func(a, b *source) int { return strings.Compare(a.dir, b.dir) })
}

func (s *source) imports() []string {
	set := map[string]bool{}
	for _, f := range s.files {
		for _, spec := range f.Imports {
			if p, err := strconv.Unquote(spec.Path.Value); err == nil {
				set[p] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// entry returns the table's key for a folder: its own, or that of the nearest "/..." above it.
func entry(dir string) string {
	if _, ok := packages[dir]; ok {
		return dir
	}
	for d := dir; d != "."; d = path.Dir(d) {
		if _, ok := packages[d+"/..."]; ok {
			return d + "/..."
		}
	}
	return dir
}

func layerOf(dir string) Layer { return packages[entry(dir)] }

// service returns the service that the folder belongs to, or "".
func service(dir string) string {
	parts := strings.Split(dir, "/")
	if len(parts) >= 2 && parts[0] == "services" {
		return parts[1]
	}
	return ""
}
