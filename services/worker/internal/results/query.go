package results

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/expr"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/invalid"
	"github.com/pondage/pondage/internal/pgtable"
	"github.com/pondage/pondage/internal/problem"
	"github.com/pondage/pondage/internal/spec"
	"github.com/pondage/pondage/internal/sql"
)

// The places of faults: the parameters are the members of the question.
const (
	atFilter = "/filter"
	atOrder  = "/order"
)

// ParseFilter reads a condition over result columns. The error is an *invalid.Error at /filter.
func ParseFilter(text string, columns block.Schema) (*expr.Typed, error) {
	e, err := sql.ParseExpr(text)
	if err != nil {
		return nil, below(atFilter, err)
	}
	typed, err := expr.Check(e, expr.SchemaScope(columns))
	if err != nil {
		return nil, below(atFilter, err)
	}
	if typed.Type() != block.Bool {
		span := e.Span()
		return nil, &invalid.Error{Details: []invalid.Detail{{
			Code: expr.CodeTypeClash, Pointer: atFilter, Span: &span, Hint: "write a condition, such as count > 10",
			Message: fmt.Sprintf("a filter is true or false, this is %s", typed.Type()),
		}}}
	}
	return typed, nil
}

// below puts the faults at the pointer.
func below(pointer string, err error) error {
	var faults *invalid.Error
	if !errors.As(err, &faults) {
		return err
	}
	var c invalid.Collector
	c.Merge(pointer, faults)
	return c.Err()
}

// parseOrder reads `column [asc|desc], …`. A name that is no plain word stands in double quotes.
func parseOrder(text string, columns block.Schema) ([]pgtable.Order, error) {
	var faults invalid.Collector
	var out []pgtable.Order
	seen := map[string]bool{}
	for _, item := range splitOutsideQuotes(text) {
		name, direction := cutName(strings.TrimSpace(item))
		o := pgtable.Order{Column: name}
		switch strings.ToLower(direction) {
		case "", "asc":
		case "desc":
			o.Descending = true
		default:
			faults.Add(invalid.Detail{Code: spec.CodeInvalidValue, Pointer: atOrder, Hint: "for example window_start desc, origin", Message: fmt.Sprintf("%q is not asc or desc", direction)})
		}
		switch {
		case name == "":
			faults.Add(invalid.Detail{Code: spec.CodeInvalidValue, Pointer: atOrder, Hint: "for example window_start desc, origin", Message: "a column is missing"})
		case columns.Index(name) < 0:
			d := invalid.Detail{Code: expr.CodeUnknownColumn, Pointer: atOrder, Message: fmt.Sprintf("the results have no column %q", name)}
			if near := invalid.Nearest(name, expr.SchemaScope(columns).Names()); near != "" {
				d.Hint = "did you mean " + near + "?"
			}
			faults.Add(d)
		case seen[name]:
			faults.Add(invalid.Detail{Code: spec.CodeInvalidValue, Pointer: atOrder, Hint: "leave one out", Message: fmt.Sprintf("%q is there twice", name)})
		}
		seen[name] = true
		out = append(out, o)
	}
	return out, faults.Err()
}

// splitOutsideQuotes cuts at commas that are not in a quoted name.
func splitOutsideQuotes(text string) []string {
	var out []string
	quoted, begin := false, 0
	for i := range len(text) {
		switch {
		case text[i] == '"':
			quoted = !quoted
		case text[i] == ',' && !quoted:
			out = append(out, text[begin:i])
			begin = i + 1
		}
	}
	return append(out, text[begin:])
}

// cutName takes a column's name off the front. As in SQL, a plain one is folded to lower case, a quoted one is not, and
// a quote in it is doubled.
func cutName(item string) (name, rest string) {
	if !strings.HasPrefix(item, `"`) {
		name, rest, _ = strings.Cut(item, " ")
		return strings.ToLower(name), strings.TrimSpace(rest)
	}
	for i := 1; i < len(item); i++ {
		if item[i] != '"' {
			continue
		}
		if i+1 < len(item) && item[i+1] == '"' {
			i++
			continue
		}
		return strings.ReplaceAll(item[1:i], `""`, `"`), strings.TrimSpace(item[i+1:])
	}
	return "", item
}

// mark names the question that a cursor belongs to: another stream, filter or order is another list.
func mark(id ident.StreamID, filter, order string) string {
	const enough = 6 // bytes: told apart by accident, not by an attacker, who could only get rows that he may read anyway
	sum := sha256.Sum256(fmt.Appendf(nil, "%d\x00%s\x00%s", id, filter, order))
	return base64.RawURLEncoding.EncodeToString(sum[:enough])
}

// sealCursor makes the cursor of the API from that of the table.
func sealCursor(mark, cursor string) string { return mark + "." + cursor }

// openCursor is the inverse of sealCursor.
func openCursor(wanted, cursor string) (string, error) {
	m, rest, ok := strings.Cut(cursor, ".")
	if !ok || m != wanted {
		return "", problem.New(problem.CodeBadCursor, "the cursor does not belong to this question; begin again without it")
	}
	return rest, nil
}

// filterFault is a filter that Postgres could not evaluate.
func filterFault(why string) error {
	return &invalid.Error{Details: []invalid.Detail{{Code: pgtable.CodeFilter, Message: "the filter cannot be evaluated: " + why, Hint: "compare columns with values of their type"}}}
}
