package expr

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pondage/pondage/internal/agg"
	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/invalid"
	"github.com/pondage/pondage/internal/sql"
)

// Function describes a scalar function, for the documentation and for hints.
type Function struct {
	Name      string
	Signature string // "substr(string, int64[, int64]) → string"
	Doc       string // one sentence
}

// Functions lists the scalar functions by name.
func Functions() []Function {
	out := make([]Function, 0, len(registry))
	for _, f := range registry {
		out = append(out, f.Function)
	}
	slices.SortFunc(out, func(a, b Function) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// isAggregate tells whether a name is that of a function of many rows. The planner takes these out of an expression before
// Check sees it; where one is left, it stands in a wrong place.
func isAggregate(name string) bool {
	_, ok := agg.Lookup(name)
	return ok
}

// function is a Function with its typing rule.
type function struct {
	Function
	least, most int // number of arguments
	// check types a call with that many arguments, all of them checked. It reports what it refuses.
	check func(c *checker, e *sql.Call, args []*node) *node
}

// many is the most arguments of a function that takes any number; package sql bounds it.
const many = sql.MaxNodes

// registry has every function by name; aliases are entries of their own.
var registry map[string]function

func init() { // not an initialiser, because the rules refer to the checker, which refers to the registry
	registry = map[string]function{}
	for _, family := range [][]function{conditionFunctions(), stringFunctions(), numberFunctions(), timeFunctions(), jsonFunctions()} {
		for _, f := range family {
			f.Name, _, _ = strings.Cut(f.Signature, "(")
			registry[f.Name] = f
		}
	}
}

// call types a function call.
func (c *checker) call(e *sql.Call) *node {
	f, ok := registry[e.Name]
	switch {
	case isAggregate(e.Name):
		return c.fail(e, CodeAggregate, "aggregates belong in the select list of a windowed stream", "%s is an aggregate and cannot be used here", e.Name)
	case !ok:
		return c.unknownFunction(e)
	case e.Star, e.Distinct:
		return c.fail(e, CodeTypeClash, f.Signature, "%s is not an aggregate: * and DISTINCT mean nothing in it", e.Name)
	}
	args, ok := c.all(e.Args)
	if len(args) < f.least || len(args) > f.most {
		return c.fail(e, CodeTypeClash, f.Signature, "%s has %d arguments", e.Name, len(args))
	}
	if !ok {
		return nil
	}
	return f.check(c, e, args)
}

func (c *checker) unknownFunction(e *sql.Call) *node {
	var names []string
	for _, f := range agg.Functions() {
		names = append(names, f.Name)
	}
	for name := range registry {
		names = append(names, name)
	}
	slices.Sort(names) // so that the hint does not depend on the order of a map
	hint := ""
	if near := invalid.Nearest(e.Name, names); near != "" {
		hint = fmt.Sprintf("did you mean %s?", near)
	}
	return c.fail(e, CodeUnknownFunction, hint, "unknown function %q", e.Name)
}

// plain makes a function of fixed argument types; the last len(params)−least may be left out.
func plain(signature, doc string, result block.Type, run loop, least int, params ...block.Type) function {
	return function{
		Function: Function{Signature: signature, Doc: doc}, least: least, most: len(params),
		check: func(c *checker, e *sql.Call, args []*node) *node {
			if !c.params(e, args, params) {
				return nil
			}
			return strict(e, result, run, args...)
		},
	}
}

// params coerces the arguments in place to the types of a function.
func (c *checker) params(e *sql.Call, args []*node, types []block.Type) bool {
	ok := true
	for i, a := range args {
		out, fits := c.coerce(a, types[i])
		if !fits {
			c.fail(a.src, CodeTypeClash, registry[e.Name].Signature, "%s needs %s here, not %s", e.Name, types[i], typeName(a))
		}
		args[i] = out
		ok = ok && out != nil
	}
	return ok
}

// constantText returns the value of an argument that must be a string known at planning.
func (c *checker) constantText(e *sql.Call, n *node, what string) (string, bool) {
	if n.typ.Kind != block.KindString || n.constant == nil || n.constant.IsNull(0) {
		c.fail(n.src, CodeTypeClash, registry[e.Name].Signature, "%s needs %s as a string literal", e.Name, what)
		return "", false
	}
	return string(n.constant.Bytes(0)), true
}
