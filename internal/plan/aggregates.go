package plan

import (
	"errors"
	"strings"

	"github.com/pondage/pondage/internal/agg"
	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/expr"
	"github.com/pondage/pondage/internal/sql"
)

// firstAggregate returns the first call of an aggregate function in e, or nil.
func firstAggregate(e sql.Expr) *sql.Call {
	var found *sql.Call
	sql.Walk(e, func(x sql.Expr) bool {
		if call, ok := x.(*sql.Call); ok && found == nil && isAggregate(call) {
			found = call
		}
		return found == nil
	})
	return found
}

// isAggregate tells whether the call is one of an aggregate function, supported or not. What is called with a star or
// DISTINCT can be nothing else.
func isAggregate(call *sql.Call) bool {
	_, ok := agg.Lookup(call.Name)
	return ok || call.Star || call.Distinct
}

// aggregate adds a call to the plan, each distinct one once; false when it is wrong.
func (b *builder) aggregate(pointer string, call *sql.Call) bool {
	text := sql.Format(call)
	if _, known := b.aggs[text]; known {
		return true
	}
	if call.Distinct {
		b.addAt(CodeNotSupportedYet, pointer, call.At, "leave DISTINCT out", "%s: aggregates over distinct values are not supported yet", text)
		return false
	}
	arg, argType, ok := b.argument(pointer, call)
	if !ok {
		return false
	}
	s, _, err := agg.Resolve(call.Name, argType)
	if err != nil {
		b.aggregateFault(pointer, call, err)
		return false
	}
	s.Arg = arg
	b.aggs[text] = len(b.plan.Aggs)
	b.plan.Aggs = append(b.plan.Aggs, s)
	return true
}

// argument types the argument of a call and adds it to the plan's; its index is −1 and its type zero for a star.
func (b *builder) argument(pointer string, call *sql.Call) (index int, t block.Type, ok bool) {
	const none = -1
	if call.Star {
		return none, block.Type{}, true
	}
	if f, _ := agg.Lookup(call.Name); !f.Supported() {
		b.aggregateFault(pointer, call, agg.ErrNotSupportedYet)
		return none, block.Type{}, false
	}
	if len(call.Args) != 1 {
		b.addAt(expr.CodeTypeClash, pointer, call.At, "for example "+call.Name+"(x)", "%s takes one argument, found %d", call.Name, len(call.Args))
		return none, block.Type{}, false
	}
	e := call.Args[0]
	typed := b.sourceTyped(pointer, e, anyType)
	if typed == nil {
		return none, block.Type{}, false
	}
	text := sql.Format(e)
	if i, known := b.args[text]; known {
		return i, typed.Type(), true
	}
	index = len(b.plan.Args)
	b.args[text] = index
	b.plan.Args = append(b.plan.Args, typed)
	b.plan.argNames = append(b.plan.argNames, text)
	return index, typed.Type(), true
}

func (b *builder) aggregateFault(pointer string, call *sql.Call, err error) {
	hint := "supported: " + strings.Join(agg.Names(), ", ")
	switch {
	case errors.Is(err, agg.ErrNotSupportedYet):
		b.addAt(CodeNotSupportedYet, pointer, call.At, hint, "the aggregate %s is not supported yet", call.Name)
	case errors.Is(err, agg.ErrUnknown):
		b.addAt(CodeUnknownAggregate, pointer, call.At, hint, "unknown aggregate function %q", call.Name)
	default:
		b.addAt(expr.CodeTypeClash, pointer, call.At, "cast the argument", "%v", err)
	}
}
