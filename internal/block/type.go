package block

import (
	"fmt"
	"strconv"
	"strings"
)

// Kind is the kind of a column type. The numbers are in stored plans and manifests: never reuse one.
type Kind uint8

// The column kinds of Pondage.
const (
	KindInvalid Kind = iota
	KindBool
	KindInt64
	KindFloat64
	KindDecimal   // decimal(p,s): 128-bit, p at most 38
	KindString    // UTF-8
	KindTimestamp // milliseconds since the epoch, UTC
	KindJSON      // a JSON document as its text, kept byte for byte
)

// MaxDecimalPrecision is what 128 bits hold: 10^38 − 1 < 2^127.
const MaxDecimalPrecision = 38

// Type is a column's type. It is comparable.
type Type struct {
	Kind Kind
	// Precision and Scale are set for KindDecimal only: all digits, and those after the point.
	Precision, Scale uint8
}

// The types without parameters.
var (
	Bool      = Type{Kind: KindBool}
	Int64     = Type{Kind: KindInt64}
	Float64   = Type{Kind: KindFloat64}
	String    = Type{Kind: KindString}
	Timestamp = Type{Kind: KindTimestamp}
	JSON      = Type{Kind: KindJSON}
)

// Decimal returns the type decimal(precision,scale); see Valid.
func Decimal(precision, scale uint8) Type {
	return Type{Kind: KindDecimal, Precision: precision, Scale: scale}
}

// Valid tells whether t is a type that a column can have.
func (t Type) Valid() bool {
	switch t.Kind {
	case KindBool, KindInt64, KindFloat64, KindString, KindTimestamp, KindJSON:
		return t.Precision == 0 && t.Scale == 0
	case KindDecimal:
		return t.Precision >= 1 && t.Precision <= MaxDecimalPrecision && t.Scale <= t.Precision
	}
	return false
}

// Numeric tells whether arithmetic is defined on t.
func (t Type) Numeric() bool {
	return t.Kind == KindInt64 || t.Kind == KindFloat64 || t.Kind == KindDecimal
}

var kindNames = [...]string{KindInvalid: "invalid", KindBool: "bool", KindInt64: "int64", KindFloat64: "float64", KindDecimal: "decimal", KindString: "string", KindTimestamp: "timestamp", KindJSON: "json"}

// String returns the name used in specs and in the API: "int64", "decimal(38,0)".
func (t Type) String() string {
	if int(t.Kind) >= len(kindNames) {
		return fmt.Sprintf("kind(%d)", t.Kind)
	}
	if t.Kind == KindDecimal {
		return fmt.Sprintf("decimal(%d,%d)", t.Precision, t.Scale)
	}
	return kindNames[t.Kind]
}

// TypeNames lists the names that ParseType takes, for error hints.
func TypeNames() []string {
	return []string{"bool", "int64", "float64", "decimal(p,s)", "string", "timestamp", "json"}
}

// ParseType is the inverse of String. decimal alone is decimal(38,0), decimal(p) is decimal(p,0).
func ParseType(s string) (Type, error) {
	name, args, hasArgs := strings.Cut(strings.ToLower(strings.TrimSpace(s)), "(")
	name = strings.TrimSpace(name)
	if name == "decimal" {
		return parseDecimal(s, args, hasArgs)
	}
	for k, n := range kindNames {
		if n == name && Kind(k) != KindInvalid && !hasArgs {
			return Type{Kind: Kind(k)}, nil
		}
	}
	return Type{}, fmt.Errorf("unknown type %q: want one of %s", s, strings.Join(TypeNames(), ", "))
}

func parseDecimal(s, args string, hasArgs bool) (Type, error) {
	t := Decimal(MaxDecimalPrecision, 0)
	if hasArgs {
		inner, ok := strings.CutSuffix(args, ")")
		p, sc, two := strings.Cut(inner, ",")
		precision, err := strconv.ParseUint(strings.TrimSpace(p), 10, 8)
		var scale uint64
		if err == nil && two {
			scale, err = strconv.ParseUint(strings.TrimSpace(sc), 10, 8)
		}
		if err != nil || !ok {
			return Type{}, fmt.Errorf("type %q: want decimal(precision,scale)", s)
		}
		t = Decimal(uint8(precision), uint8(scale))
	}
	if !t.Valid() {
		return Type{}, fmt.Errorf("type %q: precision is 1 to %d, scale at most the precision", s, MaxDecimalPrecision)
	}
	return t, nil
}
