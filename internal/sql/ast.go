package sql

import (
	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/invalid"
)

// Expr is a node of an expression tree: *Column *Literal *Unary *Binary *Call *Case *In *Between *Like *IsNull *Cast.
// Trees are immutable once parsed; Replace builds new ones. Parentheses are not kept: they are in the tree's shape.
type Expr interface {
	// Span is where the expression stands in the text that was parsed; see Text.
	Span() invalid.Span
	expr()
}

// Column is a reference to a column by name, already folded to lower case unless it was quoted.
type Column struct {
	Name string
	At   invalid.Span
}

// LiteralKind says which member of a Literal holds the value.
type LiteralKind uint8

// The kinds of literal.
const (
	LiteralNull     LiteralKind = iota
	LiteralBool                 // Bool
	LiteralInt                  // Int
	LiteralDecimal              // Text: optional minus, digits, optional point and digits; exact, at most 38 digits
	LiteralFloat                // Float
	LiteralString               // Text
	LiteralDuration             // Duration
)

// Literal is a value written in the text. Only the member of its kind is set.
type Literal struct {
	Kind     LiteralKind
	Bool     bool
	Int      int64
	Float    float64
	Text     string
	Duration Duration
	At       invalid.Span
}

// UnaryOp is a prefix operator.
type UnaryOp uint8

// The prefix operators.
const (
	UnaryNot UnaryOp = iota
	UnaryMinus
)

// Unary is NOT x or −x.
type Unary struct {
	Op UnaryOp
	X  Expr
	At invalid.Span
}

// BinaryOp is an operator between two operands.
type BinaryOp uint8

// The binary operators.
const (
	BinaryOr BinaryOp = iota
	BinaryAnd
	BinaryEq
	BinaryNe
	BinaryLt
	BinaryLe
	BinaryGt
	BinaryGe
	BinaryConcat
	BinaryAdd
	BinarySub
	BinaryMul
	BinaryDiv
	BinaryMod
)

var binaryText = [...]string{
	BinaryOr: "OR", BinaryAnd: "AND", BinaryEq: "=", BinaryNe: "<>", BinaryLt: "<", BinaryLe: "<=", BinaryGt: ">", BinaryGe: ">=",
	BinaryConcat: "||", BinaryAdd: "+", BinarySub: "-", BinaryMul: "*", BinaryDiv: "/", BinaryMod: "%",
}

// String returns the operator as it is written.
func (op BinaryOp) String() string { return binaryText[op] }

// Binary is an operator with two operands.
type Binary struct {
	Op   BinaryOp
	L, R Expr
	At   invalid.Span
}

// Call is a function call: a scalar function or an aggregate, which package sql does not tell apart.
// EXTRACT(part FROM x) is extract('part', x); SUBSTRING(x FROM a FOR b) is substring(x, a, b).
type Call struct {
	Name     string
	Star     bool // count(*): no Args
	Distinct bool // count(DISTINCT x)
	Args     []Expr
	At       invalid.Span
}

// When is one arm of a Case.
type When struct{ Cond, Then Expr }

// Case is CASE [operand] WHEN … THEN … [ELSE …] END. With an operand, Cond is a value it is compared with.
type Case struct {
	Operand Expr // nil in the searched form
	Whens   []When
	Else    Expr // nil: null
	At      invalid.Span
}

// In is x [NOT] IN (a, b, …).
type In struct {
	X    Expr
	List []Expr
	Not  bool
	At   invalid.Span
}

// Between is x [NOT] BETWEEN low AND high, both ends inclusive.
type Between struct {
	X, Low, High Expr
	Not          bool
	At           invalid.Span
}

// Like is x [NOT] LIKE pattern [ESCAPE e]. Without ESCAPE the escape character is the backslash.
type Like struct {
	X, Pattern Expr
	Escape     Expr // nil: the default
	Not        bool
	At         invalid.Span
}

// IsNull is x IS [NOT] NULL.
type IsNull struct {
	X   Expr
	Not bool
	At  invalid.Span
}

// Cast is CAST(x AS type) and x::type.
type Cast struct {
	X    Expr
	Type block.Type
	At   invalid.Span
}

// Span returns where the node stands in the text.
func (e *Column) Span() invalid.Span { return e.At }

// Span returns where the node stands in the text.
func (e *Literal) Span() invalid.Span { return e.At }

// Span returns where the node stands in the text.
func (e *Unary) Span() invalid.Span { return e.At }

// Span returns where the node stands in the text.
func (e *Binary) Span() invalid.Span { return e.At }

// Span returns where the node stands in the text.
func (e *Call) Span() invalid.Span { return e.At }

// Span returns where the node stands in the text.
func (e *Case) Span() invalid.Span { return e.At }

// Span returns where the node stands in the text.
func (e *In) Span() invalid.Span { return e.At }

// Span returns where the node stands in the text.
func (e *Between) Span() invalid.Span { return e.At }

// Span returns where the node stands in the text.
func (e *Like) Span() invalid.Span { return e.At }

// Span returns where the node stands in the text.
func (e *IsNull) Span() invalid.Span { return e.At }

// Span returns where the node stands in the text.
func (e *Cast) Span() invalid.Span { return e.At }

func (*Column) expr()  {}
func (*Literal) expr() {}
func (*Unary) expr()   {}
func (*Binary) expr()  {}
func (*Call) expr()    {}
func (*Case) expr()    {}
func (*In) expr()      {}
func (*Between) expr() {}
func (*Like) expr()    {}
func (*IsNull) expr()  {}
func (*Cast) expr()    {}

// Text returns the part of the parsed text that a span covers: an expression as the user wrote it. It is "" for a span
// that does not lie in the text.
func Text(text string, s invalid.Span) string {
	if s.Offset < 0 || s.Length < 0 || s.Offset+s.Length > len(text) {
		return ""
	}
	return text[s.Offset : s.Offset+s.Length]
}
