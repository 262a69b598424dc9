package expr

import (
	"strings"

	"github.com/pondage/pondage/internal/sql"
)

// The codes of row errors.
const (
	CodeOverflow       = "arithmetic_overflow"
	CodeDivisionByZero = "division_by_zero"
	CodeBadCast        = "bad_cast"
	CodeBadArgument    = "bad_argument"
	CodeTooLong        = "string_too_long"
)

// The codes of Check's errors.
const (
	CodeUnknownColumn   = "unknown_column"
	CodeUnknownFunction = "unknown_function"
	CodeTypeClash       = "type_clash"
	CodeAggregate       = "aggregate_not_allowed"
	CodeBadLiteral      = "bad_literal"
)

// MaxStringBytes is the longest string a function makes; it is as long as the largest block on the wire may be, so
// nothing longer could be shipped.
const MaxStringBytes = 1 << 20

// maxColumnBytes bounds the string column of a batch: offsets have 32 bits.
const maxColumnBytes = 1 << 30

// fault is a kind of row error.
type fault uint8

const (
	faultNone fault = iota
	faultOverflow
	faultDivisionByZero
	faultCast
	faultArgument
	faultTooLong
	faultKinds
)

var faultCodes = [faultKinds]string{
	faultOverflow: CodeOverflow, faultDivisionByZero: CodeDivisionByZero, faultCast: CodeBadCast, faultArgument: CodeBadArgument, faultTooLong: CodeTooLong,
}

var faultTexts = [faultKinds]string{
	faultOverflow: "the result is out of range", faultDivisionByZero: "division by zero", faultCast: "the value cannot be converted exactly",
	faultArgument: "an argument is out of its range", faultTooLong: "the string is too long",
}

// reasons builds the reason of each fault in one expression once, so that a batch full of errors allocates nothing.
type reasons struct {
	expr  sql.Expr
	built [faultKinds]string
}

func (r *reasons) of(f fault) string {
	if r.built[f] == "" {
		r.built[f] = faultTexts[f] + " in " + shortText(r.expr)
	}
	return r.built[f]
}

// shortText is the text of an expression for a message.
func shortText(e sql.Expr) string {
	const most = 120 // bytes: one line of a log or a dead letter
	text := sql.Format(e)
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
