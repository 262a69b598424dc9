package expr

import (
	"strings"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/sql"
)

// intAsDecimal is the decimal type that holds every int64.
var intAsDecimal = block.Decimal(19, 0)

// literal makes a node of a literal. NULL and durations have no type of their own.
func (c *checker) literal(l *sql.Literal) *node {
	n := &node{column: noColumn, literal: l, src: l}
	switch l.Kind {
	case sql.LiteralBool:
		n.constant = block.NewColumn(block.Bool, 1)
		n.constant.AppendBool(l.Bool)
	case sql.LiteralInt:
		n.constant = block.NewColumn(block.Int64, 1)
		n.constant.AppendInt(l.Int)
	case sql.LiteralFloat:
		n.constant = block.NewColumn(block.Float64, 1)
		n.constant.AppendFloat(l.Float)
	case sql.LiteralDecimal:
		t := decimalTypeOf(l.Text)
		d, _ := parseDecimal([]byte(l.Text), t) // the parser lets no other text through
		n.constant = block.NewColumn(t, 1)
		n.constant.AppendDec(d)
	case sql.LiteralString:
		n.constant = textColumn(l.Text)
	case sql.LiteralNull, sql.LiteralDuration:
		return n
	}
	n.typ = n.constant.Type
	return n
}

// decimalTypeOf is the type of a decimal literal: as many digits as are written.
func decimalTypeOf(text string) block.Type {
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(text, "-"), ".")
	precision := max(len(strings.TrimLeft(whole, "0"))+len(fraction), 1)
	return block.Decimal(uint8(precision), uint8(len(fraction)))
}

// coerce makes n a value of the type where that is possible without asking: NULL, a string literal as a timestamp, an
// int64 or decimal as a wider decimal or a float64. It returns nil and reports nothing where it is not possible; a bad
// literal is reported.
func (c *checker) coerce(n *node, to block.Type) (out *node, ok bool) {
	switch {
	case n == nil:
		return nil, true
	case n.typ == to:
		return n, true
	case n.isNull():
		return constant(n.src, nullColumn(to)), true
	case to.Kind == block.KindTimestamp && n.literal != nil && n.literal.Kind == sql.LiteralString:
		return c.timestampLiteral(n), true
	case n.typ.Numeric() && (to.Kind == block.KindFloat64 || to.Kind == block.KindDecimal && n.typ.Kind != block.KindFloat64):
		return convert(n, to), true
	}
	return nil, false
}

// timestampLiteral reads a string literal that stands where a timestamp is wanted.
func (c *checker) timestampLiteral(n *node) *node {
	ms, ok := parseTimestamp([]byte(n.literal.Text))
	if !ok {
		return c.fail(n.src, CodeBadLiteral, "write it as '2026-01-31T08:00:00Z', with a zone", "%q is not a timestamp", n.literal.Text)
	}
	col := block.NewColumn(block.Timestamp, 1)
	col.AppendInt(ms)
	return constant(n.src, col)
}

// convert casts a number to a wider type. Widening a decimal may overflow 38 digits, which is arithmetic_overflow.
func convert(n *node, to block.Type) *node {
	if n.typ.Kind == block.KindDecimal && to.Kind == block.KindDecimal {
		from := n.typ
		return strict(n.src, to, each(func(c *call, i int32) fault {
			a := c.args[0]
			d, _, ok := rescaleDecimal(a.col.Dec[i&a.mask], from.Scale, to.Scale)
			if !ok {
				return faultOverflow
			}
			c.out.col.Dec[i] = d
			return faultNone
		}), n)
	}
	if n.typ.Kind == block.KindInt64 && to.Kind == block.KindDecimal && to.Scale == 0 {
		return strict(n.src, to, func(c *call) {
			a, out := c.args[0], c.out.col.Dec
			for _, i := range c.sel {
				out[i] = decimal128.FromI64(a.col.Int[i&a.mask])
			}
		}, n)
	}
	if n.typ.Kind == block.KindInt64 && to.Kind == block.KindDecimal {
		return convert(convert(n, intAsDecimal), to)
	}
	return strict(n.src, to, castLoop(n.typ, to), n)
}

// common returns the type that both can be coerced to.
func common(a, b *node) (block.Type, bool) {
	switch {
	case a.isNull():
		return b.typ, true
	case b.isNull() || a.typ == b.typ:
		return a.typ, true
	case a.typ.Numeric() && b.typ.Numeric():
		return commonNumber(a.typ, b.typ), true
	case a.typ.Kind == block.KindTimestamp && isText(b), b.typ.Kind == block.KindTimestamp && isText(a):
		return block.Timestamp, true
	}
	return block.Type{}, false
}

func isText(n *node) bool { return n.literal != nil && n.literal.Kind == sql.LiteralString }

func commonNumber(a, b block.Type) block.Type {
	if a.Kind == block.KindFloat64 || b.Kind == block.KindFloat64 {
		return block.Float64
	}
	if a.Kind == block.KindInt64 && b.Kind == block.KindInt64 {
		return block.Int64
	}
	a, b = asDecimal(a), asDecimal(b)
	scale := max(a.Scale, b.Scale)
	whole := max(a.Precision-a.Scale, b.Precision-b.Scale)
	return block.Decimal(min(whole+scale, block.MaxDecimalPrecision), scale)
}

// asDecimal is the decimal type with all values of an int64 or decimal type.
func asDecimal(t block.Type) block.Type {
	if t.Kind == block.KindInt64 {
		return intAsDecimal
	}
	return t
}

// unify coerces the nodes to one type. All NULL is a fault, as are types that have none in common.
func (c *checker) unify(e sql.Expr, nodes []*node) ([]*node, block.Type) {
	widest := nodes[0]
	for _, n := range nodes[1:] {
		if n.isDuration() || widest.isDuration() {
			break
		}
		t, ok := common(widest, n)
		if !ok {
			c.fail(e, CodeTypeClash, castHint(widest.typ, n.typ), "%s and %s have no type in common", widest.typ, n.typ)
			return nil, block.Type{}
		}
		if t != widest.typ {
			widest = &node{typ: t, column: noColumn, src: n.src}
		}
	}
	if !c.typed(widest) {
		c.untyped(widest)
		return nil, block.Type{}
	}
	out := make([]*node, len(nodes))
	for i, n := range nodes {
		coerced, ok := c.coerce(n, widest.typ)
		switch {
		case !ok && c.typed(n):
			c.fail(e, CodeTypeClash, castHint(widest.typ, n.typ), "%s and %s have no type in common", n.typ, widest.typ)
		case !ok:
			c.untyped(n)
		}
		if coerced == nil {
			return nil, block.Type{}
		}
		out[i] = coerced
	}
	return out, widest.typ
}

// castHint says how two types can be brought together.
func castHint(a, b block.Type) string {
	if a.Kind == block.KindString {
		a, b = b, a
	}
	if b.Kind == block.KindString && a.Kind != block.KindJSON {
		return "cast one of them: CAST(… AS " + a.String() + ")"
	}
	if a.Kind == block.KindJSON || b.Kind == block.KindJSON {
		return "cast the json value to the type it holds: CAST(… AS string)"
	}
	return "cast one of them"
}
