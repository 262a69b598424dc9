package expr

import (
	"fmt"
	"time"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/invalid"
	"github.com/pondage/pondage/internal/sql"
)

// Check resolves the names of e in the scope and gives every node a type. The error is an *invalid.Error that lists all
// faults, with the place of each in the text that e was parsed from.
func Check(e sql.Expr, s Scope) (*Typed, error) {
	c := &checker{scope: s, zone: time.UTC}
	if z, ok := s.(Zoned); ok && z.Location() != nil {
		c.zone = z.Location()
	}
	root := c.expr(e)
	if root != nil && !c.typed(root) {
		c.untyped(root)
	}
	if err := c.faults.Err(); err != nil {
		return nil, err
	}
	return &Typed{root: root, expr: e}, nil
}

// checker walks a tree once. A method that has reported a fault returns nil, and parents of nil stay silent.
type checker struct {
	scope  Scope
	zone   *time.Location
	faults invalid.Collector
	slots  int
}

// fail reports a fault of e and returns nil.
func (c *checker) fail(e sql.Expr, code, hint, format string, args ...any) *node {
	span := e.Span()
	c.faults.Add(invalid.Detail{Code: code, Span: &span, Message: fmt.Sprintf(format, args...), Hint: hint})
	return nil
}

func (c *checker) typed(n *node) bool { return n.typ.Kind != block.KindInvalid }

// untyped reports a NULL or duration where a value with a type is needed.
func (c *checker) untyped(n *node) *node {
	if n.isDuration() {
		return c.fail(n.src, CodeTypeClash, "a duration can be added to or subtracted from a timestamp", "the duration %s is not a value of its own", n.literal.Duration)
	}
	return c.fail(n.src, CodeTypeClash, "write CAST(NULL AS type)", "NULL has no type here")
}

// expr checks e.
func (c *checker) expr(e sql.Expr) *node {
	switch e := e.(type) {
	case *sql.Column:
		return c.column(e)
	case *sql.Literal:
		return c.literal(e)
	case *sql.Unary:
		return c.unary(e)
	case *sql.Binary:
		return c.binary(e)
	case *sql.Call:
		return c.call(e)
	case *sql.Case:
		return c.caseExpr(e)
	case *sql.In:
		return c.in(e)
	case *sql.Between:
		return c.between(e)
	case *sql.Like:
		return c.like(e)
	case *sql.IsNull:
		return c.isNull(e)
	case *sql.Cast:
		return c.cast(e)
	}
	return c.fail(e, CodeTypeClash, "", "an expression of the kind %T is not known", e)
}

// all checks several expressions; ok is false when one has a fault.
func (c *checker) all(es []sql.Expr) (nodes []*node, ok bool) {
	ok = true
	for _, e := range es {
		n := c.expr(e)
		nodes = append(nodes, n)
		ok = ok && n != nil
	}
	return nodes, ok
}

func (c *checker) column(e *sql.Column) *node {
	index, t, ok := c.scope.Lookup(e.Name)
	if !ok {
		hint := ""
		if near := invalid.Nearest(e.Name, c.scope.Names()); near != "" {
			hint = fmt.Sprintf("did you mean %s?", near)
		}
		return c.fail(e, CodeUnknownColumn, hint, "unknown column %q", e.Name)
	}
	return &node{typ: t, column: index, src: e, build: func([]kernel) kernel { return columnKernel{index: index} }}
}

// strict makes a node of an operation that is null when an operand is, and evaluates it if all operands are known.
func strict(src sql.Expr, t block.Type, run loop, args ...*node) *node {
	n := &node{typ: t, args: args, column: noColumn, src: src}
	n.build = func(kernels []kernel) kernel {
		k := &strictKernel{typ: t, args: kernels, loop: run}
		k.call.args = make([]vec, len(kernels))
		k.call.reasons.expr = src
		return k
	}
	return fold(n)
}

// lazy makes a node of an operation with a kernel of its own.
func lazy(src sql.Expr, t block.Type, build func([]kernel) kernel, args ...*node) *node {
	return fold(&node{typ: t, args: args, build: build, column: noColumn, src: src})
}

// fold evaluates a node whose operands are all constant. One with an error is left as it is: the error is its rows',
// and there may be none (CASE WHEN false THEN 1 / 0 END).
func fold(n *node) *node {
	for _, a := range n.args {
		if a.constant == nil {
			return n
		}
	}
	var b batch
	sel := b.allRows(1)
	b.begin(nil, 1)
	v := n.kernel().eval(&b, sel)
	if len(b.errors) == 0 {
		n.constant, n.args = oneRow(v), nil
	}
	return n
}

// constant makes a node of a known value.
func constant(src sql.Expr, value *block.Column) *node {
	return &node{typ: value.Type, column: noColumn, constant: value, src: src}
}

// shared gives body a node that may be used several times for one evaluation of n.
func (c *checker) shared(n *node, body func(use *node) *node) *node {
	if n.constant != nil || n.column != noColumn {
		return body(n)
	}
	slot := c.slots
	c.slots++
	use := &node{typ: n.typ, column: noColumn, src: n.src, build: func([]kernel) kernel { return slotKernel{slot: slot} }}
	inner := body(use)
	if inner == nil {
		return nil
	}
	return &node{typ: inner.typ, args: []*node{n, inner}, column: noColumn, src: inner.src, build: func(args []kernel) kernel {
		return &letKernel{slot: slot, value: args[0], body: args[1]}
	}}
}
