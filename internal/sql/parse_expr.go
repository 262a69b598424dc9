package sql

import (
	"fmt"
	"strings"

	"github.com/pondage/pondage/internal/invalid"
)

// Binding powers, loosest first. An operator takes operands that bind tighter than itself.
const (
	bindNone = iota
	bindOr
	bindAnd
	bindNot
	bindCompare
	bindConcat
	bindAdd
	bindMul
	bindMinus
	bindCast
	bindAtom
)

var binaryOps = map[string]BinaryOp{
	"or": BinaryOr, "and": BinaryAnd, "=": BinaryEq, "<>": BinaryNe, "<": BinaryLt, "<=": BinaryLe, ">": BinaryGt, ">=": BinaryGe,
	"||": BinaryConcat, "+": BinaryAdd, "-": BinarySub, "*": BinaryMul, "/": BinaryDiv, "%": BinaryMod,
}

// binding returns the power of a binary operator.
func (op BinaryOp) binding() int {
	switch op {
	case BinaryOr:
		return bindOr
	case BinaryAnd:
		return bindAnd
	case BinaryConcat:
		return bindConcat
	case BinaryAdd, BinarySub:
		return bindAdd
	case BinaryMul, BinaryDiv, BinaryMod:
		return bindMul
	case BinaryEq, BinaryNe, BinaryLt, BinaryLe, BinaryGt, BinaryGe:
		return bindCompare
	}
	return bindNone
}

// infix returns the power of the token as an operator after an operand; bindNone ends the expression.
func infix(t, after token) int {
	if t.kind != tokenOp && t.kind != tokenWord {
		return bindNone
	}
	if t.isOp("::") {
		return bindCast
	}
	if op, ok := binaryOps[t.text]; ok {
		return op.binding()
	}
	switch t.text {
	case "is", "in", "between", "like":
		return bindCompare
	case "not":
		if after.isWord("in") || after.isWord("between") || after.isWord("like") {
			return bindCompare
		}
	}
	return bindNone
}

func (p *parser) expr() Expr { return p.exprAbove(bindNone) }

// exprAbove reads an expression whose operators bind tighter than min.
func (p *parser) exprAbove(least int) Expr {
	p.enter()
	defer p.leave()
	start := p.peek().at
	left := p.prefix()
	compared := false
	for {
		t := p.peek()
		power := infix(t, p.peekAfter())
		if power <= least {
			return left
		}
		if power == bindCompare && compared {
			p.failHint(t, "the end of the comparison", "comparisons do not chain: join them with AND, or use parentheses")
		}
		compared = power == bindCompare
		p.pos++
		left = p.infixFrom(start, left, t, power)
		p.node(t.at)
	}
}

// infixFrom reads what follows the operator t, whose left operand begins at start.
func (p *parser) infixFrom(start invalid.Span, left Expr, t token, power int) Expr {
	if power == bindCast {
		typ := p.typeName()
		return &Cast{X: left, Type: typ, At: p.since(start)}
	}
	if op, ok := binaryOps[t.text]; ok {
		right := p.exprAbove(power)
		return &Binary{Op: op, L: left, R: right, At: p.since(start)}
	}
	not := t.text == "not"
	if not {
		t = p.next()
	}
	switch t.text {
	case "is":
		not = p.acceptWord("not")
		p.expectWord("null")
		return &IsNull{X: left, Not: not, At: p.since(start)}
	case "in":
		p.expectOp("(")
		items := list(p, p.expr)
		p.expectOp(")")
		return &In{X: left, List: items, Not: not, At: p.since(start)}
	case "between":
		low := p.exprAbove(bindCompare)
		p.expectWord("and")
		high := p.exprAbove(bindCompare)
		return &Between{X: left, Low: low, High: high, Not: not, At: p.since(start)}
	default: // like
		e := &Like{X: left, Pattern: p.exprAbove(bindCompare), Not: not}
		if p.acceptWord("escape") {
			e.Escape = p.exprAbove(bindCompare)
		}
		e.At = p.since(start)
		return e
	}
}

// prefix reads an operand with its prefix operators.
func (p *parser) prefix() Expr {
	t := p.peek()
	p.node(t.at)
	switch {
	case t.isOp("-"):
		return p.minus()
	case t.isOp("+"):
		p.pos++
		return p.exprAbove(bindMinus)
	case t.isOp("("):
		p.pos++
		e := p.expr()
		p.expectOp(")")
		return e
	case t.isWord("not"):
		p.pos++
		x := p.exprAbove(bindNot)
		return &Unary{Op: UnaryNot, X: x, At: p.since(t.at)}
	case t.isWord("case"):
		return p.caseExpr()
	case t.isWord("cast"):
		return p.castExpr()
	case t.kind == tokenWord, t.kind == tokenQuoted:
		return p.word()
	default:
		return p.literal("")
	}
}

// minus reads −x. A minus before a number belongs to the number: −9223372036854775808 is an int64.
func (p *parser) minus() Expr {
	minus := p.next()
	if isNumber(p.peek().kind) {
		l := p.literal("-")
		l.At = p.since(minus.at)
		return l
	}
	x := p.exprAbove(bindMinus)
	return &Unary{Op: UnaryMinus, X: x, At: p.since(minus.at)}
}

// word reads what begins with a name: a constant, a call, a typed string or a column.
func (p *parser) word() Expr {
	t := p.peek()
	if t.kind == tokenWord {
		switch t.text {
		case "null":
			p.pos++
			return &Literal{Kind: LiteralNull, At: t.at}
		case "true", "false":
			p.pos++
			return &Literal{Kind: LiteralBool, Bool: t.text == "true", At: t.at}
		case "timestamp":
			if p.peekAfter().kind == tokenString {
				return p.typedString()
			}
		}
	}
	if t.kind == tokenWord && reserved[t.text] && p.pos > 0 && p.tokens[p.pos-1].isOp(",") {
		p.failHint(t, "an expression", "there is a comma too many before it")
	}
	name := p.name("an expression")
	if p.peek().isOp("(") {
		return p.call(name)
	}
	if p.peek().isOp(".") {
		p.failHint(p.peek(), "an operator or the end of the expression", `a column has no qualifier; a name with a point is written in "…"`)
	}
	return &Column{Name: name.Text, At: name.At}
}

// call reads the arguments of a function.
func (p *parser) call(name Name) Expr {
	p.expectOp("(")
	c := &Call{Name: name.Text}
	switch {
	case p.acceptOp(")"):
		c.At = p.since(name.At)
		return c
	case p.peek().isOp("*") && p.peekAfter().isOp(")"):
		p.pos++
		c.Star = true
	case name.Text == "extract" && p.peekAfter().isWord("from"):
		part := p.anyName("a part of a time, such as YEAR")
		p.expectWord("from")
		c.Args = []Expr{&Literal{Kind: LiteralString, Text: part.Text, At: part.At}, p.expr()}
	default:
		c.Distinct = p.acceptWord("distinct")
		c.Args = list(p, p.expr)
		if name.Text == "substring" && len(c.Args) == 1 {
			c.Args = p.substringFrom(c.Args)
		}
	}
	p.expectOp(")")
	c.At = p.since(name.At)
	return c
}

// substringFrom reads FROM a [FOR b] of the standard's SUBSTRING.
func (p *parser) substringFrom(args []Expr) []Expr {
	if !p.acceptWord("from") {
		return args
	}
	args = append(args, p.expr())
	if p.acceptWord("for") {
		args = append(args, p.expr())
	}
	return args
}

func (p *parser) caseExpr() Expr {
	start := p.expectWord("case")
	c := &Case{}
	if !p.peek().isWord("when") {
		c.Operand = p.expr()
	}
	for p.acceptWord("when") {
		cond := p.expr()
		p.expectWord("then")
		c.Whens = append(c.Whens, When{Cond: cond, Then: p.expr()})
	}
	if len(c.Whens) == 0 {
		p.failWords(p.peek(), "when")
	}
	if p.acceptWord("else") {
		c.Else = p.expr()
	}
	if !p.peek().isWord("end") {
		p.failWords(p.peek(), "when", "else", "end")
	}
	p.pos++
	c.At = p.since(start.at)
	return c
}

func (p *parser) castExpr() Expr {
	start := p.expectWord("cast")
	p.expectOp("(")
	x := p.expr()
	p.expectWord("as")
	typ := p.typeName()
	p.expectOp(")")
	return &Cast{X: x, Type: typ, At: p.since(start.at)}
}

// typedString reads TIMESTAMP '…', which is a cast.
func (p *parser) typedString() Expr {
	start := p.peek()
	typ := p.typeName()
	x := p.literal("")
	return &Cast{X: x, Type: typ, At: p.since(start.at)}
}

// quoteString writes a string literal.
func quoteString(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// quoteName writes a name so that it reads back as it is.
func quoteName(s string) string {
	plain := s != "" && !reserved[s]
	for i := range len(s) {
		lower := s[i] >= 'a' && s[i] <= 'z' || s[i] == '_'
		plain = plain && (lower || i > 0 && isDigit(s[i]))
	}
	if plain {
		return s
	}
	return fmt.Sprintf(`"%s"`, strings.ReplaceAll(s, `"`, `""`))
}
