package expr

import (
	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/sql"
)

func conditionFunctions() []function {
	return []function{
		{Function: Function{Signature: "coalesce(any, …) → any", Doc: "the first argument that is not null; later ones are not evaluated"}, least: 1, most: many, check: checkCoalesce},
		{Function: Function{Signature: "nullif(any, any) → any", Doc: "null if the two are equal, else the first"}, least: 2, most: 2, check: checkNullif},
		{Function: Function{Signature: "greatest(any, …) → any", Doc: "the largest argument; nulls are passed over"}, least: 1, most: many, check: checkExtreme(+1)},
		{Function: Function{Signature: "least(any, …) → any", Doc: "the smallest argument; nulls are passed over"}, least: 1, most: many, check: checkExtreme(-1)},
	}
}

func checkCoalesce(c *checker, e *sql.Call, args []*node) *node {
	args, t := c.unify(e, args)
	if args == nil {
		return nil
	}
	return lazy(e, t, func(kernels []kernel) kernel {
		return &coalesceKernel{typ: t, args: kernels, values: make([]vec, len(kernels))}
	}, args...)
}

// checkNullif types nullif(a, b) as CASE WHEN a = b THEN NULL ELSE a END, with a evaluated once.
func checkNullif(c *checker, e *sql.Call, args []*node) *node {
	if !c.typed(args[0]) {
		return c.untyped(args[0])
	}
	return c.shared(args[0], func(a *node) *node {
		equal := c.compare(e, sql.BinaryEq, a, args[1])
		if equal == nil {
			return nil
		}
		return choose(e, a.typ, []*node{equal}, []*node{constant(e, nullColumn(a.typ)), a})
	})
}

func checkExtreme(sign int) func(c *checker, e *sql.Call, args []*node) *node {
	return func(c *checker, e *sql.Call, args []*node) *node {
		args, t := c.unify(e, args)
		if args == nil {
			return nil
		}
		if t.Kind == block.KindJSON {
			return c.fail(e, CodeTypeClash, castHint(t, t), "json values cannot be compared")
		}
		return lazy(e, t, func(kernels []kernel) kernel {
			return &extremeKernel{typ: t, sign: sign, args: kernels, values: make([]vec, len(kernels))}
		}, args...)
	}
}
