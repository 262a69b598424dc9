package plan

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/pondage/pondage/internal/agg"
	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/expr"
	"github.com/pondage/pondage/internal/invalid"
	"github.com/pondage/pondage/internal/spec"
	"github.com/pondage/pondage/internal/sql"
)

// faults collects what is wrong with a spec. Its methods return what could be made of the input, nil where nothing
// could: nil goes through them in silence, so that one mistake is one fault.
type faults struct {
	list   []invalid.Detail
	places spec.Places // nil: the faults keep their pointers
}

func (f *faults) add(code, pointer, hint, format string, args ...any) {
	f.list = append(f.list, invalid.Detail{Code: code, Pointer: pointer, Hint: hint, Message: fmt.Sprintf(format, args...)})
}

// addAt is add with a span in the expression at the pointer.
func (f *faults) addAt(code, pointer string, at invalid.Span, hint, format string, args ...any) {
	f.list = append(f.list, invalid.Detail{Code: code, Pointer: pointer, Span: &at, Hint: hint, Message: fmt.Sprintf(format, args...)})
}

// notSupported refuses something that INTERFACE knows and this version does not do yet.
func (f *faults) notSupported(pointer, what, hint string) {
	f.add(CodeNotSupportedYet, pointer, hint, "%s are not supported yet", what)
}

// merge adds the faults of an expression at the pointer.
func (f *faults) merge(pointer string, err error) {
	if bad := (*invalid.Error)(nil); errors.As(err, &bad) {
		for _, d := range bad.Details {
			d.Pointer = pointer
			if d.Hint == "" {
				d.Hint = commonHints[d.Code]
			}
			f.list = append(f.list, d)
		}
		return
	}
	f.add(spec.CodeInvalidValue, pointer, "", "%v", err)
}

// commonHints say what to do about faults whose finder knows nothing nearer.
var commonHints = map[string]string{
	sql.CodeSyntax:           "write one expression, for example delay * 60",
	expr.CodeUnknownFunction: "aggregates: " + strings.Join(agg.Names(), ", ") + "; the scalar functions are in the documentation",
}

// count is the number of faults so far.
func (f *faults) count() int { return len(f.list) }

// err returns all faults, at their places in the SQL statement where the spec was read from one.
func (f *faults) err() error {
	if len(f.list) == 0 {
		return nil
	}
	f.places.Locate(f.list)
	return &invalid.Error{Details: f.list}
}

// parse reads an expression; nil when it is no expression.
func (f *faults) parse(pointer string, text spec.Expr) sql.Expr {
	e, err := sql.ParseExpr(string(text))
	if err != nil {
		f.merge(pointer, err)
		return nil
	}
	return e
}

// anyType asks typed for an expression of whatever type.
var anyType = block.Type{}

// typed gives an expression its type and refuses any but the wanted one.
func (f *faults) typed(pointer string, e sql.Expr, s *scope, want block.Type) *expr.Typed {
	if e == nil {
		return nil
	}
	t, err := expr.Check(e, s)
	switch {
	case err != nil:
		f.merge(pointer, withKnown(err, s))
	case !t.Type().Valid():
		f.addAt(CodeUntyped, pointer, e.Span(), "cast it: CAST(… AS string)", "the type of %s is not known", sql.Format(e))
	case want != anyType && t.Type() != want:
		f.addAt(expr.CodeTypeClash, pointer, e.Span(), fmt.Sprintf("cast it: CAST(%s AS %s)", sql.Format(e), want), "want %s, found %s", want, t.Type())
	default:
		return t
	}
	return nil
}

// withKnown tells what there is where an unknown column has no near name.
func withKnown(err error, s *scope) error {
	if bad := (*invalid.Error)(nil); errors.As(err, &bad) {
		for i := range bad.Details {
			if d := &bad.Details[i]; d.Code == expr.CodeUnknownColumn && d.Hint == "" {
				d.Hint = "known here: " + strings.Join(s.shown, ", ")
			}
		}
	}
	return err
}

// maxElapsed is the longest duration that time.Duration holds, in ms: some 292 years.
const maxElapsed = math.MaxInt64 / int64(time.Millisecond)

// elapsed returns a duration of the spec, which package spec has checked, or the default where it is absent.
func (f *faults) elapsed(pointer string, d *spec.Duration, byDefault time.Duration) time.Duration {
	if d == nil {
		return byDefault
	}
	ms, _ := d.Millis()
	if ms > maxElapsed {
		f.add(CodeOutOfRange, pointer, "292 years are the most", "%s is too long", d)
		return byDefault
	}
	return time.Duration(ms) * time.Millisecond
}
