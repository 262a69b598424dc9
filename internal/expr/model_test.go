package expr

import (
	"bytes"
	"cmp"
	"math"
	"math/big"
	"regexp"
	"strings"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/sql"
)

// model evaluates an expression for one row, by recursion over the tree, with math/big for the decimals: too simple to be
// wrong, and too slow for anything but a test. It knows the operators that the generator makes.
type model struct {
	in  *block.Batch
	row int
}

// modelDec is a decimal value.
type modelDec struct {
	unscaled *big.Int
	scale    int
}

// rowFault is the error of a row, thrown by the model as a panic: the first one ends the evaluation.
type rowFault string

// eval returns nil, bool, int64, float64, modelDec or string; or the code of the row's error.
func (m model) eval(e sql.Expr) (v any, code string) {
	defer func() {
		if r := recover(); r != nil {
			f, ok := r.(rowFault)
			if !ok {
				panic(r)
			}
			v, code = nil, string(f)
		}
	}()
	return m.value(e), ""
}

func (m model) value(e sql.Expr) any {
	switch e := e.(type) {
	case *sql.Column:
		return m.cell(m.in.Col(e.Name))
	case *sql.Literal:
		return modelLiteral(e)
	case *sql.Unary:
		return m.unary(e)
	case *sql.Binary:
		return m.binary(e)
	case *sql.IsNull:
		return (m.value(e.X) == nil) != e.Not
	case *sql.Between:
		x := m.value(e.X)
		low := compareModel(sql.BinaryGe, x, m.value(e.Low))
		return not(e.Not, and(low, func() any { return compareModel(sql.BinaryLe, x, m.value(e.High)) }))
	case *sql.In:
		return not(e.Not, m.in1(e))
	case *sql.Like:
		return m.like(e)
	case *sql.Case:
		return m.caseExpr(e)
	case *sql.Call:
		return m.call(e)
	}
	panic("model: unknown expression")
}

func (m model) cell(c *block.Column) any {
	if c.IsNull(m.row) {
		return nil
	}
	switch c.Type.Kind {
	case block.KindBool:
		return c.Bool[m.row]
	case block.KindInt64:
		return c.Int[m.row]
	case block.KindFloat64:
		return c.Float[m.row]
	case block.KindDecimal:
		return modelDec{c.Dec[m.row].BigInt(), int(c.Type.Scale)}
	default:
		return string(c.Bytes(m.row))
	}
}

func modelLiteral(l *sql.Literal) any {
	switch l.Kind {
	case sql.LiteralBool:
		return l.Bool
	case sql.LiteralInt:
		return l.Int
	case sql.LiteralFloat:
		return l.Float
	case sql.LiteralString:
		return l.Text
	case sql.LiteralDecimal:
		whole, fraction, _ := strings.Cut(l.Text, ".")
		n, _ := new(big.Int).SetString(whole+fraction, 10)
		return modelDec{n, len(fraction)}
	}
	return nil
}

func (m model) unary(e *sql.Unary) any {
	x := m.value(e.X)
	if e.Op == sql.UnaryNot {
		return not(true, x)
	}
	switch x := x.(type) {
	case int64:
		return fitInt(new(big.Int).Neg(big.NewInt(x)))
	case float64:
		return -x
	case modelDec:
		return modelDec{new(big.Int).Neg(x.unscaled), x.scale}
	}
	return nil
}

func not(negate bool, v any) any {
	if b, ok := v.(bool); ok && negate {
		return !b
	}
	return v
}

func and(l any, right func() any) any {
	if l == false {
		return false
	}
	r := right()
	if r == false {
		return false
	}
	if l == nil || r == nil {
		return nil
	}
	return true
}

func (m model) binary(e *sql.Binary) any {
	l := m.value(e.L)
	switch e.Op {
	case sql.BinaryAnd:
		return and(l, func() any { return m.value(e.R) })
	case sql.BinaryOr: // by De Morgan
		return not(true, and(not(true, l), func() any { return not(true, m.value(e.R)) }))
	}
	r := m.value(e.R)
	if l == nil || r == nil {
		return nil
	}
	switch e.Op {
	case sql.BinaryConcat:
		return l.(string) + r.(string)
	case sql.BinaryAdd, sql.BinarySub, sql.BinaryMul, sql.BinaryDiv, sql.BinaryMod:
		return arithmeticModel(e.Op, l, r)
	}
	return compareModel(e.Op, l, r)
}

func toFloat(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case int64:
		return float64(v), false
	case modelDec:
		f, _ := new(big.Rat).SetFrac(v.unscaled, pow(v.scale)).Float64()
		return f, false
	}
	panic("model: not a number")
}

func toDec(v any) modelDec {
	if i, ok := v.(int64); ok {
		return modelDec{big.NewInt(i), 0}
	}
	return v.(modelDec)
}

func pow(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

func (d modelDec) to(scale int) *big.Int { return new(big.Int).Mul(d.unscaled, pow(scale-d.scale)) }

func fitInt(n *big.Int) any {
	if !n.IsInt64() {
		panic(rowFault(CodeOverflow))
	}
	return n.Int64()
}

func fitDec(n *big.Int, scale int) any {
	if new(big.Int).Abs(n).Cmp(pow(block.MaxDecimalPrecision)) >= 0 {
		panic(rowFault(CodeOverflow))
	}
	return modelDec{n, scale}
}

func arithmeticModel(op sql.BinaryOp, l, r any) any {
	lf, isFloat := toFloat(l)
	rf, alsoFloat := toFloat(r)
	if isFloat || alsoFloat {
		switch op {
		case sql.BinaryAdd:
			return lf + rf
		case sql.BinarySub:
			return lf - rf
		case sql.BinaryMul:
			return lf * rf
		case sql.BinaryDiv:
			return lf / rf
		default:
			return math.Mod(lf, rf)
		}
	}
	a, b := toDec(l), toDec(r)
	_, li := l.(int64)
	_, ri := r.(int64)
	whole := li && ri
	if (op == sql.BinaryDiv || op == sql.BinaryMod) && b.unscaled.Sign() == 0 {
		panic(rowFault(CodeDivisionByZero))
	}
	scale := max(a.scale, b.scale)
	var n *big.Int
	switch op {
	case sql.BinaryAdd:
		n = new(big.Int).Add(a.to(scale), b.to(scale))
	case sql.BinarySub:
		n = new(big.Int).Sub(a.to(scale), b.to(scale))
	case sql.BinaryMul:
		scale = a.scale + b.scale
		n = new(big.Int).Mul(a.unscaled, b.unscaled)
	case sql.BinaryMod:
		n = new(big.Int).Rem(a.to(scale), b.to(scale))
	case sql.BinaryDiv:
		if whole {
			return fitInt(new(big.Int).Quo(a.unscaled, b.unscaled))
		}
		scale = max(scale, minDivisionScale)
		n = roundedQuo(a.to(scale+b.scale), b.unscaled)
	}
	if whole {
		return fitInt(n)
	}
	return fitDec(n, scale)
}

// roundedQuo rounds halves away from zero.
func roundedQuo(a, b *big.Int) *big.Int {
	q, r := new(big.Int).QuoRem(a, b, new(big.Int))
	if twice := new(big.Int).Abs(new(big.Int).Lsh(r, 1)); twice.CmpAbs(b) >= 0 {
		q.Add(q, big.NewInt(int64(a.Sign()*b.Sign())))
	}
	return q
}

// orderModel compares two values that are not null.
func orderModel(l, r any) int {
	switch l := l.(type) {
	case bool:
		return boolInt(l) - boolInt(r.(bool))
	case string:
		return bytes.Compare([]byte(l), []byte(r.(string)))
	}
	lf, isFloat := toFloat(l)
	rf, alsoFloat := toFloat(r)
	if isFloat || alsoFloat {
		switch {
		case math.IsNaN(lf) || math.IsNaN(rf):
			return boolInt(math.IsNaN(lf)) - boolInt(math.IsNaN(rf))
		default:
			return cmp.Compare(lf, rf)
		}
	}
	a, b := toDec(l), toDec(r)
	scale := max(a.scale, b.scale)
	return a.to(scale).Cmp(b.to(scale))
}

func compareModel(op sql.BinaryOp, l, r any) any {
	if l == nil || r == nil {
		return nil
	}
	order := orderModel(l, r)
	return map[sql.BinaryOp]bool{
		sql.BinaryEq: order == 0, sql.BinaryNe: order != 0, sql.BinaryLt: order < 0, sql.BinaryLe: order <= 0, sql.BinaryGt: order > 0, sql.BinaryGe: order >= 0,
	}[op]
}

// in1 is x = a OR x = b OR …
func (m model) in1(e *sql.In) any {
	x := m.value(e.X)
	var result any = false
	for _, item := range e.List {
		equal := compareModel(sql.BinaryEq, x, m.value(item))
		if equal == true {
			return true
		}
		if equal == nil {
			result = nil
		}
	}
	return result
}

func (m model) like(e *sql.Like) any {
	x, pattern := m.value(e.X), m.value(e.Pattern)
	if x == nil || pattern == nil {
		return nil
	}
	var re strings.Builder
	runes := []rune(pattern.(string))
	for i := 0; i < len(runes); i++ {
		switch r := runes[i]; {
		case r == '\\' && i+1 == len(runes):
			panic(rowFault(CodeBadArgument))
		case r == '\\':
			i++
			re.WriteString(regexp.QuoteMeta(string(runes[i])))
		case r == '%':
			re.WriteString(".*")
		case r == '_':
			re.WriteString(".")
		default:
			re.WriteString(regexp.QuoteMeta(string(r)))
		}
	}
	return regexp.MustCompile("(?s)^"+re.String()+"$").MatchString(x.(string)) != e.Not
}

func (m model) caseExpr(e *sql.Case) any {
	var operand any
	if e.Operand != nil {
		operand = m.value(e.Operand)
	}
	for _, w := range e.Whens {
		cond := m.value(w.Cond)
		if e.Operand != nil {
			cond = compareModel(sql.BinaryEq, operand, cond)
		}
		if cond == true {
			return m.value(w.Then)
		}
	}
	if e.Else == nil {
		return nil
	}
	return m.value(e.Else)
}

func (m model) call(e *sql.Call) any {
	switch e.Name {
	case "coalesce":
		for _, a := range e.Args {
			if v := m.value(a); v != nil {
				return v
			}
		}
		return nil
	case "nullif":
		v := m.value(e.Args[0])
		if compareModel(sql.BinaryEq, v, m.value(e.Args[1])) == true {
			return nil
		}
		return v
	case "greatest", "least":
		return m.extreme(e)
	case "concat":
		out := ""
		for _, a := range e.Args {
			if s, ok := m.value(a).(string); ok {
				out += s
			}
		}
		return out
	case "replace":
		return m.strings(e, func(s []string) any { return strings.ReplaceAll(s[0], s[1], s[2]) })
	case "lower":
		return m.strings(e, func(s []string) any { return strings.ToLower(s[0]) })
	case "length":
		return m.strings(e, func(s []string) any { return int64(len([]rune(s[0]))) })
	case "left":
		return m.left(e)
	}
	panic("model: unknown function " + e.Name)
}

func (m model) extreme(e *sql.Call) any {
	want := 1
	if e.Name == "least" {
		want = -1
	}
	var best any
	for _, a := range e.Args {
		if v := m.value(a); best == nil || v != nil && orderModel(v, best)*want > 0 {
			best = v
		}
	}
	return best
}

func (m model) strings(e *sql.Call, f func([]string) any) any {
	args := make([]string, len(e.Args))
	null := false
	for i, a := range e.Args {
		s, ok := m.value(a).(string)
		args[i], null = s, null || !ok
	}
	switch {
	case null:
		return nil
	case e.Name == "replace" && args[1] == "": // not between all characters, as in Go
		return args[0]
	}
	return f(args)
}

func (m model) left(e *sql.Call) any {
	s, okS := m.value(e.Args[0]).(string)
	n, okN := m.value(e.Args[1]).(int64)
	if !okS || !okN {
		return nil
	}
	runes := []rune(s)
	if n < 0 {
		n = max(int64(len(runes))+max(n, math.MinInt32), 0)
	}
	return string(runes[:min(n, int64(len(runes)))])
}
