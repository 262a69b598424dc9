package agg

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pondage/pondage/internal/block"
)

// Kind is an aggregate function. The numbers are in stored plans: never reuse one.
type Kind uint8

// The functions of part 1 of DESIGN §8's list.
const (
	KindInvalid  Kind = iota
	KindRows          // count(*)
	KindCount         // count(x)
	KindSum           // exact
	KindAvg           // exact sum by count, rounded once
	KindMin           // total order, see doc.go
	KindMax           // total order, see doc.go
	KindFirst         // of the lowest (ts, partition, offset)
	KindLast          // of the highest (ts, partition, offset)
	KindStddev        // population
	KindVariance      // population
	KindSpread        // max − min
)

// Spec is one aggregate of a stream: a function over an argument.
type Spec struct {
	Kind    Kind
	Arg     int        // index into the stream's arguments; −1 for KindRows
	ArgType block.Type // the argument's type; the zero Type for KindRows
}

// Errors of Resolve; use errors.Is.
var (
	ErrUnknown         = errors.New("unknown aggregate function")
	ErrNotSupportedYet = errors.New("aggregate function is not supported yet")
	ErrArgType         = errors.New("aggregate function does not take this argument")
)

// Name is the function's name; of KindRows, "rows". Names are in manifests: they stay.
func (k Kind) Name() string {
	if k == KindRows {
		return "rows"
	}
	for _, f := range functions {
		if f.Kind == k && f.Supported() {
			return f.Name
		}
	}
	return ""
}

// Function describes an aggregate function for the planner and the documentation.
type Function struct {
	Name string
	Kind Kind   // KindInvalid: known, but not supported yet
	Args string // what it takes, for messages
	Doc  string // one sentence
	// Star tells whether the function may be called with * (count only).
	Star bool

	accepts func(block.Type) bool
	result  func(block.Type) block.Type
}

// Supported tells whether this version evaluates the function.
func (f Function) Supported() bool { return f.Kind != KindInvalid }

const (
	anyArgument     = "any type"
	numericArgument = "int64, float64 or decimal"
	orderedArgument = "any type but json"
)

func isAny(t block.Type) bool     { return t.Valid() }
func isNumeric(t block.Type) bool { return t.Valid() && t.Numeric() }
func isOrdered(t block.Type) bool { return t.Valid() && t.Kind != block.KindJSON }

func sameType(t block.Type) block.Type { return t }
func toInt64(block.Type) block.Type    { return block.Int64 }
func toFloat64(block.Type) block.Type  { return block.Float64 }
func toSumType(t block.Type) block.Type {
	switch t.Kind {
	case block.KindInt64:
		return block.Decimal(block.MaxDecimalPrecision, 0)
	case block.KindDecimal:
		return block.Decimal(block.MaxDecimalPrecision, t.Scale)
	default:
		return block.Float64
	}
}

// functions is the catalogue, by name.
var functions = []Function{
	{Name: "avg", Kind: KindAvg, Args: numericArgument, Doc: "mean of the values, from the exact sum, rounded once", accepts: isNumeric, result: toFloat64},
	{Name: "count", Kind: KindCount, Args: anyArgument, Doc: "number of values that are not null; count(*) is the number of rows", Star: true, accepts: isAny, result: toInt64},
	{Name: "first", Kind: KindFirst, Args: anyArgument, Doc: "value with the lowest (event time, partition, offset)", accepts: isAny, result: sameType},
	{Name: "last", Kind: KindLast, Args: anyArgument, Doc: "value with the highest (event time, partition, offset)", accepts: isAny, result: sameType},
	{Name: "max", Kind: KindMax, Args: orderedArgument, Doc: "highest value; NaN is above all numbers", accepts: isOrdered, result: sameType},
	{Name: "min", Kind: KindMin, Args: orderedArgument, Doc: "lowest value; NaN is above all numbers", accepts: isOrdered, result: sameType},
	{Name: "spread", Kind: KindSpread, Args: numericArgument, Doc: "highest minus lowest value", accepts: isNumeric, result: sameType},
	{Name: "stddev", Kind: KindStddev, Args: numericArgument, Doc: "population standard deviation, from exact moments", accepts: isNumeric, result: toFloat64},
	{Name: "sum", Kind: KindSum, Args: numericArgument, Doc: "exact sum", accepts: isNumeric, result: toSumType},
	{Name: "variance", Kind: KindVariance, Args: numericArgument, Doc: "population variance, from exact moments", accepts: isNumeric, result: toFloat64},
	{Name: "count_distinct", Doc: "number of distinct values"},
	{Name: "median", Doc: "middle value"},
	{Name: "mode", Doc: "most frequent value"},
	{Name: "percentile", Doc: "value below which a share of the values lies"},
	{Name: "rate", Doc: "increase a second"},
	{Name: "top_k", Doc: "the highest k values"},
	{Name: "twa", Doc: "time-weighted average"},
}

// Functions returns the catalogue.
func Functions() []Function { return slices.Clone(functions) }

// Names lists the names of the supported functions, for hints.
func Names() []string {
	var names []string
	for _, f := range functions {
		if f.Supported() {
			names = append(names, f.Name)
		}
	}
	return names
}

// Lookup returns the function with the name, in any case. Unsupported ones are found too.
func Lookup(name string) (Function, bool) {
	for _, f := range functions {
		if strings.EqualFold(f.Name, name) {
			return f, true
		}
	}
	return Function{}, false
}

// Resolve returns the spec of the function over an argument of the type, and the type of its result. The zero Type
// stands for * . The caller sets Spec.Arg (which is −1 for count(*)).
// Errors: ErrUnknown, ErrNotSupportedYet, ErrArgType, each wrapped with the names.
func Resolve(name string, arg block.Type) (Spec, block.Type, error) {
	f, ok := Lookup(name)
	switch {
	case !ok:
		return Spec{}, block.Type{}, fmt.Errorf("%w %q", ErrUnknown, name)
	case !f.Supported():
		return Spec{}, block.Type{}, fmt.Errorf("%w: %s", ErrNotSupportedYet, f.Name)
	case arg == block.Type{} && f.Star:
		s := Spec{Kind: KindRows, Arg: -1}
		return s, s.Out(), nil
	case arg == block.Type{}:
		return Spec{}, block.Type{}, fmt.Errorf("%w: %s(*); it takes %s", ErrArgType, f.Name, f.Args)
	case !f.accepts(arg):
		return Spec{}, block.Type{}, fmt.Errorf("%w: %s(%s); it takes %s", ErrArgType, f.Name, arg, f.Args)
	}
	s := Spec{Kind: f.Kind, ArgType: arg}
	return s, s.Out(), nil
}

// Out returns the type of the result (INTERFACE §3).
func (s Spec) Out() block.Type {
	if s.Kind == KindRows {
		return block.Int64
	}
	for _, f := range functions {
		if f.Kind == s.Kind {
			return f.result(s.ArgType)
		}
	}
	panic(fmt.Sprintf("agg: no function of kind %d", s.Kind))
}
