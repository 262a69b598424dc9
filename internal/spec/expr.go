package spec

// Expr is the text of an expression in the language of package sql; empty is absent.
type Expr string

func (e *Expr) decode(d *decoder, at string, n *node) {
	switch n.kind {
	case nodeString, nodeNumber, nodeBool: // `where: true` is an expression like any other
	default:
		d.wrongType(at, n, "an expression")
		return
	}
	*e = Expr(n.text)
}

func (e Expr) encode() *node { return newString(string(e)) }
