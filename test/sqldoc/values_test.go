package sqldoc

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pondage/pondage/internal/agg"
	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/expr"
	"github.com/pondage/pondage/internal/sql"
)

// zones is a scope without columns that knows all zones.
type zones struct{ expr.SchemaScope }

func (zones) Location() *time.Location                 { return time.UTC }
func (zones) Zone(name string) (*time.Location, error) { return time.LoadLocation(name) }

// evaluate returns the text and the type of a constant expression; ok is false where it has no type.
func evaluate(e sql.Expr) (text string, typ block.Type, ok bool) {
	typed, err := expr.Check(e, zones{})
	if err != nil {
		return "", block.Type{}, false
	}
	typ = typed.Type()
	if typ != block.String {
		if typed, err = expr.Check(&sql.Cast{X: e, Type: block.String, At: e.Span()}, zones{}); err != nil {
			return "", typ, false
		}
	}
	var out expr.Result
	expr.Compile(typed).Eval(nil, 1, &out)
	switch {
	case len(out.Errors) > 0:
		return "error " + out.Errors[0].Code, typ, true
	case out.Col.IsNull(0):
		return "null", typ, true
	}
	return string(out.Col.Bytes(0)), typ, true
}

// has checks that a constant expression has the value.
func has(t *testing.T, text, want string) {
	t.Helper()
	e, err := sql.ParseExpr(text)
	if err != nil {
		t.Errorf("%s: %v", text, err)
		return
	}
	if got, _, ok := evaluate(e); !ok || got != want {
		t.Errorf("%s is %q, the page says %q", text, got, want)
	}
}

func TestExpressionsHaveTheirValues(t *testing.T) {
	t.Parallel()
	for _, r := range rows(t, "Expressions", "expression") {
		has(t, code(r["expression"]), code(r["value"]))
	}
}

func TestPathsLeadWhereThePageSays(t *testing.T) {
	t.Parallel()
	const title = "in `{\"a\": {\"b\": [1, {\"odd name\": 2}]}}`"
	for _, r := range rows(t, "Paths", title) {
		path := strings.ReplaceAll(code(r["path"]), "'", "''")
		has(t, "json_get('"+code(strings.TrimPrefix(title, "in "))+"', '"+path+"')", code(r[title]))
	}
}

func TestFunctionsAreThoseOfTheCatalogue(t *testing.T) {
	t.Parallel()
	have := map[string]row{}
	for _, r := range rows(t, "Functions", "function") {
		name, _, _ := strings.Cut(code(r["function"]), "(")
		have[name] = r
	}
	for _, f := range expr.Functions() {
		r, ok := have[f.Name]
		delete(have, f.Name)
		if !ok || code(r["function"]) != f.Signature || r["what it gives"] != f.Doc {
			t.Errorf("the page has\n| %s | %s |, the catalogue\n| `%s` | %s |", r["function"], r["what it gives"], f.Signature, f.Doc)
			continue
		}
		if !strings.HasPrefix(code(r["example"]), f.Name+"(") {
			t.Errorf("%s has the example %s", f.Name, r["example"])
		}
		has(t, code(r["example"]), code(r["value"]))
		holds(t, f, code(r["example"]))
	}
	for name := range have {
		t.Errorf("%s is on the page, but is no function", name)
	}
}

// holds checks by an example what the page says of all functions: the type of the result, and that a null argument
// gives null unless the function's own sentence speaks of nulls.
func holds(t *testing.T, f expr.Function, example string) {
	t.Helper()
	e, err := sql.ParseExpr(example)
	if err != nil {
		t.Error(err)
		return
	}
	_, result, _ := strings.Cut(f.Signature, " → ")
	if want, err := block.ParseType(result); err == nil {
		if _, got, _ := evaluate(e); got != want {
			t.Errorf("%s has the type %s, the page says %s", example, got, want)
		}
	}
	call := e.(*sql.Call)
	for i, arg := range call.Args {
		changed := *call
		changed.Args = slices.Clone(call.Args)
		changed.Args[i] = &sql.Literal{Kind: sql.LiteralNull, At: arg.Span()}
		// A literal that decides what the function does cannot be null: then there is no type.
		if got, _, ok := evaluate(&changed); ok && got != "null" && !strings.Contains(f.Doc, "null") {
			t.Errorf("%s is %s", sql.Format(&changed), got)
		}
	}
}

// typesOf has a type of each kind.
var typesOf = []block.Type{block.Bool, block.Int64, block.Float64, block.Decimal(10, 2), block.String, block.Timestamp, block.JSON}

// resultTypes are what the page calls the types of aggregates' results.
var resultTypes = map[string]func(of block.Type) block.Type{
	"int64":          func(block.Type) block.Type { return block.Int64 },
	"float64":        func(block.Type) block.Type { return block.Float64 },
	"the argument's": func(of block.Type) block.Type { return of },
	"decimal(38,0) of int64, decimal(38,s) of decimal(p,s), float64 of float64": func(of block.Type) block.Type {
		if of == block.Float64 {
			return of
		}
		return block.Decimal(38, of.Scale)
	},
}

func TestAggregatesAreThoseOfTheCatalogue(t *testing.T) {
	t.Parallel()
	have := map[string]row{}
	for _, r := range rows(t, "Aggregates", "aggregate") {
		have[code(r["aggregate"])] = r
	}
	for _, f := range agg.Functions() {
		r, ok := have[f.Name]
		delete(have, f.Name)
		if ok != f.Supported() {
			t.Errorf("%s: on the page %t, supported %t", f.Name, ok, f.Supported())
		}
		if !ok {
			continue
		}
		args := f.Args
		if f.Star {
			args += ", `*`"
		}
		if r["of"] != args || r["what it is"] != f.Doc {
			t.Errorf("the page has\n| %s | %s |, the catalogue\n| %s | %s |", r["of"], r["what it is"], args, f.Doc)
		}
		for _, of := range typesOf {
			if _, got, err := agg.Resolve(f.Name, of); err == nil && got != resultTypes[r["result"]](of) {
				t.Errorf("%s(%s) is %s, the page says %s", f.Name, of, got, r["result"])
			}
		}
		if got := aggregated(t, f.Name); got != code(r["value"]) || code(r["example"]) != f.Name+"(x)" {
			t.Errorf("%s(x) is %s, the page says %s is %s", f.Name, got, r["example"], r["value"])
		}
	}
	for name := range have {
		t.Errorf("%s is on the page, but is no aggregate", name)
	}
}

// aggregated is the aggregate over the values of the page's section.
func aggregated(t *testing.T, name string) string {
	t.Helper()
	_, list, _ := strings.Cut(section(t, "Aggregates"), "over the values ")
	list, _, _ = strings.Cut(list, ", in the order of time")
	x := block.NewColumn(block.Int64, 0)
	in := agg.Rows{Args: []*block.Column{x}}
	s, out, err := agg.Resolve(name, block.Int64)
	if err != nil {
		t.Fatal(err)
	}
	state := agg.NewCells(agg.NewLayout([]agg.Spec{s}, []block.Type{block.Int64}))
	cell := state.Alloc()
	for i, text := range strings.Split(list, ", ") {
		if e, err := sql.ParseExpr(text); err != nil {
			t.Fatal(err)
		} else if l := e.(*sql.Literal); l.Kind == sql.LiteralNull {
			x.AppendNull()
		} else {
			x.AppendInt(l.Int)
		}
		in.Cells, in.Sel, in.Ts = append(in.Cells, cell), append(in.Sel, int32(i)), append(in.Ts, int64(i))
		in.Partition, in.Offset = append(in.Partition, 0), append(in.Offset, int64(i))
	}
	state.Add(in)
	result := block.NewColumn(out, 1)
	if errs := state.AppendResults([]*block.Column{result}, []uint32{cell}, nil); len(errs) > 0 {
		t.Fatal(errs)
	}
	typed, err := expr.Check(&sql.Cast{X: &sql.Column{Name: "v"}, Type: block.String}, expr.SchemaScope{{Name: "v", Type: out}})
	if err != nil {
		t.Fatal(err)
	}
	var text expr.Result
	expr.Compile(typed).Eval([]*block.Column{result}, 1, &text)
	return string(text.Col.Bytes(0))
}
