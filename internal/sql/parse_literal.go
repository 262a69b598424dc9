package sql

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/invalid"
)

func isNumber(k tokenKind) bool {
	return k == tokenInt || k == tokenDecimal || k == tokenFloat || k == tokenDuration
}

// literal reads a number, duration or string. sign is "" or "-", for numbers only.
func (p *parser) literal(sign string) *Literal {
	t := p.peek()
	if t.kind != tokenString && !isNumber(t.kind) {
		p.fail(t, "an expression")
	}
	p.pos++
	l := &Literal{At: t.at}
	switch t.kind {
	case tokenString:
		l.Kind, l.Text = LiteralString, t.text
	case tokenInt:
		n, err := strconv.ParseInt(sign+t.text, 10, 64)
		if err != nil {
			return p.decimal(t, sign)
		}
		l.Kind, l.Int = LiteralInt, n
	case tokenDecimal:
		return p.decimal(t, sign)
	case tokenFloat:
		f, err := strconv.ParseFloat(sign+t.text, 64)
		if err != nil || math.IsInf(f, 0) {
			panic(bailout{syntaxError(t.at, fmt.Sprintf("number %s is out of the range of float64", clip(t.text)), "")})
		}
		l.Kind, l.Float = LiteralFloat, f
	default: // tokenDuration
		d, err := durationOf(t, sign)
		p.check(err)
		l.Kind, l.Duration = LiteralDuration, d
	}
	return l
}

// decimal makes a decimal literal: leading zeros go, zeros after the point stay, since they say the scale.
func (p *parser) decimal(t token, sign string) *Literal {
	whole, fraction, point := strings.Cut(t.text, ".")
	whole = strings.TrimLeft(whole, "0")
	if len(whole)+len(fraction) > block.MaxDecimalPrecision {
		panic(bailout{syntaxError(t.at, fmt.Sprintf("number %s has more than %d digits", clip(t.text), block.MaxDecimalPrecision), "write it with an exponent to make it a float64: 1e40")})
	}
	if whole == "" {
		whole = "0"
	}
	text := sign + whole
	if point && fraction != "" {
		text += "." + fraction
	}
	if point && fraction == "" {
		text += ".0" // `1.` is a decimal, and must read back as one
	}
	return &Literal{Kind: LiteralDecimal, Text: text, At: t.at}
}

// typeAliases are names of other dialects for the types of INTERFACE §1.
var typeAliases = map[string]block.Type{
	"boolean": block.Bool, "bigint": block.Int64, "int": block.Int64, "integer": block.Int64, "double": block.Float64, "float": block.Float64,
	"text": block.String, "varchar": block.String, "timestamptz": block.Timestamp, "jsonb": block.JSON,
}

// typeName reads a type: a name, for decimal with (precision[, scale]).
func (p *parser) typeName() block.Type {
	name := p.anyName("a type")
	text := name.Text
	if text == "numeric" {
		text = "decimal"
	}
	if t, ok := typeAliases[text]; ok {
		if text == "double" {
			p.acceptWord("precision")
		}
		return t
	}
	if p.peek().isOp("(") && text == "decimal" {
		p.pos++
		text += "(" + p.integerText("the precision")
		if p.acceptOp(",") {
			text += "," + p.integerText("the scale")
		}
		p.expectOp(")")
		text += ")"
	}
	t, err := block.ParseType(text)
	if err != nil {
		p.failType(p.since(name.At), text, err)
	}
	return t
}

func (p *parser) failType(at invalid.Span, text string, err error) {
	hint := ""
	if near := invalid.Nearest(text, block.TypeNames()); near != "" && !strings.HasPrefix(text, "decimal") {
		hint = fmt.Sprintf("did you mean %s?", near)
	}
	panic(bailout{syntaxError(at, err.Error(), hint)})
}

func (p *parser) integerText(what string) string {
	if t := p.peek(); t.kind != tokenInt {
		p.fail(t, what)
	}
	return p.next().text
}
