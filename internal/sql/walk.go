package sql

// Children returns the direct operands of e in the order written; nil for columns and literals.
func Children(e Expr) []Expr {
	switch e := e.(type) {
	case *Unary:
		return []Expr{e.X}
	case *Binary:
		return []Expr{e.L, e.R}
	case *Call:
		return e.Args
	case *Case:
		return e.children()
	case *In:
		return append([]Expr{e.X}, e.List...)
	case *Between:
		return []Expr{e.X, e.Low, e.High}
	case *Like:
		return present(e.X, e.Pattern, e.Escape)
	case *IsNull:
		return []Expr{e.X}
	case *Cast:
		return []Expr{e.X}
	}
	return nil
}

func (e *Case) children() []Expr {
	kids := present(e.Operand)
	for _, w := range e.Whens {
		kids = append(kids, w.Cond, w.Then)
	}
	return append(kids, present(e.Else)...)
}

// present leaves out the operands that were not written.
func present(es ...Expr) []Expr {
	var out []Expr
	for _, e := range es {
		if e != nil {
			out = append(out, e)
		}
	}
	return out
}

// Walk calls visit for e and everything below it, parents first, in the order written. Where visit returns false,
// what is below is left out.
func Walk(e Expr, visit func(Expr) bool) {
	if e == nil || !visit(e) {
		return
	}
	for _, kid := range Children(e) {
		Walk(kid, visit)
	}
}

// Replace returns e with some nodes replaced: where by returns true, its expression takes the node's place and is not
// entered. e and its nodes are not changed; parts without a replacement are shared with the result.
func Replace(e Expr, by func(Expr) (Expr, bool)) Expr {
	if e == nil {
		return nil
	}
	if r, ok := by(e); ok {
		return r
	}
	kids := Children(e)
	changed := false
	replaced := make([]Expr, len(kids))
	for i, kid := range kids {
		replaced[i] = Replace(kid, by)
		changed = changed || replaced[i] != kid
	}
	if !changed {
		return e
	}
	return withChildren(e, replaced)
}

// withChildren returns a copy of e with other operands, in the order of Children.
func withChildren(e Expr, kids []Expr) Expr {
	switch e := e.(type) {
	case *Unary:
		return &Unary{Op: e.Op, X: kids[0], At: e.At}
	case *Binary:
		return &Binary{Op: e.Op, L: kids[0], R: kids[1], At: e.At}
	case *Call:
		return &Call{Name: e.Name, Star: e.Star, Distinct: e.Distinct, Args: kids, At: e.At}
	case *Case:
		return e.withChildren(kids)
	case *In:
		return &In{X: kids[0], List: kids[1:], Not: e.Not, At: e.At}
	case *Between:
		return &Between{X: kids[0], Low: kids[1], High: kids[2], Not: e.Not, At: e.At}
	case *Like:
		c := &Like{X: kids[0], Pattern: kids[1], Not: e.Not, At: e.At}
		if e.Escape != nil {
			c.Escape = kids[2]
		}
		return c
	case *IsNull:
		return &IsNull{X: kids[0], Not: e.Not, At: e.At}
	case *Cast:
		return &Cast{X: kids[0], Type: e.Type, At: e.At}
	}
	return e
}

func (e *Case) withChildren(kids []Expr) Expr {
	c := &Case{At: e.At, Whens: make([]When, len(e.Whens))}
	if e.Operand != nil {
		c.Operand, kids = kids[0], kids[1:]
	}
	for i := range c.Whens {
		c.Whens[i] = When{Cond: kids[2*i], Then: kids[2*i+1]}
	}
	if e.Else != nil {
		c.Else = kids[len(kids)-1]
	}
	return c
}
