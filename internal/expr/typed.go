package expr

import (
	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/sql"
)

// Typed is an expression whose names are resolved and whose types are known. It is immutable.
type Typed struct {
	root *node
	expr sql.Expr
}

// Type is the type of the expression's values.
func (t *Typed) Type() block.Type { return t.root.typ }

// Expr is the tree that was checked.
func (t *Typed) Expr() sql.Expr { return t.expr }

// Column returns the scope index when the expression is nothing but a column reference.
func (t *Typed) Column() (index int, ok bool) { return t.root.column, t.root.column >= 0 }

// Constant returns a column with the one value of a constant expression, or nil. It must not be changed.
func (t *Typed) Constant() *block.Column { return t.root.constant }

// node is a typed operation. build makes its kernel from those of its operands.
type node struct {
	typ      block.Type // KindInvalid: the untyped NULL, or a duration
	args     []*node
	build    func(args []kernel) kernel
	column   int           // scope index of a column reference, else noColumn
	constant *block.Column // one row: the value, when it is known; operands are then gone
	literal  *sql.Literal  // the literal this node was written as; it may adapt to its neighbours
	src      sql.Expr
}

const noColumn = -1

// isNull tells whether the node is a NULL that has no type yet.
func (n *node) isNull() bool { return n.literal != nil && n.literal.Kind == sql.LiteralNull }

func (n *node) isDuration() bool { return n.literal != nil && n.literal.Kind == sql.LiteralDuration }

// kernel makes the evaluator of the node.
func (n *node) kernel() kernel {
	if n.constant != nil {
		return &constantKernel{value: n.constant}
	}
	args := make([]kernel, len(n.args))
	for i, a := range n.args {
		args[i] = a.kernel()
	}
	return n.build(args)
}
