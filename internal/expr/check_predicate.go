package expr

import (
	"unicode/utf8"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/sql"
)

func (c *checker) isNull(e *sql.IsNull) *node {
	x := c.expr(e.X)
	switch {
	case x == nil:
		return nil
	case x.isDuration():
		return c.untyped(x)
	case x.isNull():
		x = constant(x.src, nullColumn(block.Bool))
	}
	return lazy(e, block.Bool, func(args []kernel) kernel { return &isNullKernel{x: args[0], null: !e.Not} }, x)
}

// negate wraps a predicate in NOT where it was written so.
func negate(src sql.Expr, n *node, not bool) *node {
	if n == nil || !not {
		return n
	}
	return strict(src, block.Bool, notLoop, n)
}

// between is x >= low AND x <= high.
func (c *checker) between(e *sql.Between) *node {
	nodes, ok := c.all([]sql.Expr{e.X, e.Low, e.High})
	if !ok {
		return nil
	}
	both := c.shared(nodes[0], func(x *node) *node {
		low, high := c.compare(e, sql.BinaryGe, x, nodes[1]), c.compare(e, sql.BinaryLe, x, nodes[2])
		if low == nil || high == nil {
			return nil
		}
		return c.logic(e, sql.BinaryAnd, low, high)
	})
	return negate(e, both, e.Not)
}

// in looks the value up in a sorted list where the items are known, and is x = a OR x = b OR … where they are not.
func (c *checker) in(e *sql.In) *node {
	nodes, ok := c.all(append([]sql.Expr{e.X}, e.List...))
	if !ok {
		return nil
	}
	unified, t := c.unify(e, nodes)
	if unified == nil {
		return nil
	}
	if t.Kind == block.KindJSON {
		return c.fail(e, CodeTypeClash, castHint(t, t), "json values cannot be compared")
	}
	var values []*block.Column
	for _, item := range unified[1:] {
		if item.constant != nil {
			values = append(values, item.constant)
		}
	}
	if len(values) == len(e.List) {
		set := newConstantSet(t, values)
		set.not = e.Not
		return strict(e, block.Bool, set.loop, unified[0])
	}
	any := c.shared(unified[0], func(x *node) *node {
		var sum *node
		for _, item := range unified[1:] {
			equal := c.compare(e, sql.BinaryEq, x, item)
			if sum != nil && equal != nil {
				equal = c.logic(e, sql.BinaryOr, sum, equal)
			}
			sum = equal
		}
		return sum
	})
	return negate(e, any, e.Not)
}

func (c *checker) like(e *sql.Like) *node {
	exprs := []sql.Expr{e.X, e.Pattern}
	if e.Escape != nil {
		exprs = append(exprs, e.Escape)
	}
	nodes, ok := c.all(exprs)
	for i, n := range nodes {
		if n == nil {
			continue
		}
		text, isString := c.coerce(n, block.String)
		if !isString {
			c.fail(n.src, CodeTypeClash, "cast it: CAST(… AS string)", "LIKE needs a string, not %s", typeName(n))
			ok = false
		}
		nodes[i] = text
	}
	if !ok {
		return nil
	}
	escape := '\\'
	if e.Escape != nil {
		r, good := oneCharacter(nodes[2])
		if !good {
			return c.fail(e.Escape, CodeBadLiteral, "", "ESCAPE needs one character, or '' for none")
		}
		escape = r
	}
	return strict(e, block.Bool, likeLoop(escape, e.Not), nodes[0], nodes[1])
}

// noEscape is that of an empty ESCAPE: there is none.
const noEscape rune = -1

// oneCharacter returns the character of a constant string, noEscape for the empty one.
func oneCharacter(n *node) (rune, bool) {
	if n.constant == nil || n.constant.IsNull(0) {
		return 0, false
	}
	text := n.constant.Bytes(0)
	if len(text) == 0 {
		return noEscape, true
	}
	r, size := utf8.DecodeRune(text)
	return r, size == len(text)
}

func (c *checker) caseExpr(e *sql.Case) *node {
	if e.Operand == nil {
		return c.searched(e, func(cond sql.Expr) *node {
			n := c.expr(cond)
			if n == nil {
				return nil
			}
			return c.boolean(n, "WHEN")
		})
	}
	operand := c.expr(e.Operand)
	if operand == nil {
		return nil
	}
	return c.shared(operand, func(use *node) *node {
		return c.searched(e, func(cond sql.Expr) *node {
			n := c.expr(cond)
			if n == nil {
				return nil
			}
			return c.compare(cond, sql.BinaryEq, use, n)
		})
	})
}

// searched types a CASE whose conditions are made by condition.
func (c *checker) searched(e *sql.Case, condition func(sql.Expr) *node) *node {
	var conds, thens []*node
	ok := true
	for _, w := range e.Whens {
		cond, then := condition(w.Cond), c.expr(w.Then)
		ok = ok && cond != nil && then != nil
		conds, thens = append(conds, cond), append(thens, then)
	}
	otherwise := c.literal(&sql.Literal{Kind: sql.LiteralNull, At: e.At})
	if e.Else != nil {
		otherwise = c.expr(e.Else)
		ok = ok && otherwise != nil
	}
	if !ok {
		return nil
	}
	thens, t := c.unify(e, append(thens, otherwise))
	if thens == nil {
		return nil
	}
	return choose(e, t, conds, thens)
}

// choose makes the node of a caseKernel; thens has one more than conds.
func choose(src sql.Expr, t block.Type, conds, thens []*node) *node {
	return lazy(src, t, func(args []kernel) kernel {
		return &caseKernel{typ: t, conds: args[:len(conds)], thens: args[len(conds):], values: make([]vec, len(thens))}
	}, append(append([]*node{}, conds...), thens...)...)
}
