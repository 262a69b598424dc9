package problem

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// root is the repository's.
const root = "../.."

// codeForm tells codes from other strings.
var codeForm = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

// goFiles walks the product's Go files, without tests and generated files.
func goFiles(t *testing.T, visit func(path string, f *ast.File)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && (name == "testdata" || name == "build" || name == "tools" || (strings.HasPrefix(name, ".") && path != root)) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, ".gen.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		visit(path, f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// declaredCodes adds the string constants whose name begins with Code or whose type is Code, with where they are.
func declaredCodes(f *ast.File, path string, into map[string]string) {
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for i, name := range spec.Names {
			typed, _ := spec.Type.(*ast.Ident)
			isCode := strings.HasPrefix(strings.ToLower(name.Name), "code") || (typed != nil && typed.Name == "Code")
			if i < len(spec.Values) && isCode {
				if text, ok := literal(spec.Values[i]); ok && codeForm.MatchString(text) {
					into[text] = path + " " + name.Name
				}
			}
		}
		return true
	})
}

// givenCodes adds the literals that are handed over as codes: invalid.New("code", …), Addf("code", …), {Code: "code"}
// and events.
func givenCodes(f *ast.File, path string, into map[string]string) {
	add := func(e ast.Expr) {
		if text, ok := literal(e); ok && codeForm.MatchString(text) {
			into[text] = path
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if fun, ok := n.Fun.(*ast.Ident); ok && fun.Name == "streamEvent" && len(n.Args) > 2 {
				add(n.Args[2])
			}
			if sel, ok := n.Fun.(*ast.SelectorExpr); ok && len(n.Args) > 1 && (sel.Sel.Name == "Addf" || (sel.Sel.Name == "New" && packageOf(sel) == "invalid")) {
				add(n.Args[0])
			}
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Code" {
				add(n.Value)
			}
		}
		return true
	})
}

func packageOf(sel *ast.SelectorExpr) string {
	if id, ok := sel.X.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

func literal(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}

func TestEveryCodeThatIsGivenIsInTheCatalogue(t *testing.T) {
	t.Parallel()
	codes := map[string]string{}
	goFiles(t, func(path string, f *ast.File) {
		// The codes of the command line are no service's: docs/cli.md has them.
		inCLI := strings.HasPrefix(path, filepath.Join(root, "internal", "cli")+string(filepath.Separator))
		if filepath.Base(filepath.Dir(path)) != "problem" && !inCLI {
			declaredCodes(f, path, codes)
			givenCodes(f, path, codes)
		}
	})
	for code, where := range codes {
		if _, ok := Lookup(Code(code)); !ok {
			t.Errorf("%s: code %q is not in internal/problem/catalogue.json", where, code)
		}
	}
}

func TestEveryCodeOfTheCatalogueIsGiven(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	goFiles(t, func(path string, f *ast.File) {
		if strings.Contains(path, "problem/gen") {
			return
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				if text, ok := literal(n); ok {
					used[text] = true
				}
			case *ast.Ident:
				used[n.Name] = true
			}
			return true
		})
	})
	names := generatedNames(t)
	for code := range catalogue {
		if !used[string(code)] && !used[names[string(code)]] {
			t.Errorf("code %q is in the catalogue, but nothing gives it", code)
		}
	}
}

// generatedNames maps a code to its constant's name.
func generatedNames(t *testing.T) map[string]string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "codes.gen.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	ast.Inspect(f, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Values) == 1 {
			if text, ok := literal(spec.Values[0]); ok {
				names[text] = spec.Names[0].Name
			}
		}
		return true
	})
	return names
}

func TestEveryCodeIsOnThePage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(root + "/docs/errors.md")
	if err != nil {
		t.Fatal(err)
	}
	for code := range catalogue {
		if !strings.Contains(string(page), "\n### "+string(code)+"\n") {
			t.Errorf("docs/errors.md has no section %s: run go generate ./internal/problem", code)
		}
	}
}
