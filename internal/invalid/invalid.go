package invalid

import (
	"fmt"
	"strings"
)

// Span is a range of bytes in the text that a user wrote. Line and Column start at 1; Column counts characters.
type Span struct {
	Offset, Length int
	Line, Column   int
}

// Detail is one fault.
type Detail struct {
	Code    string // from the error catalogue: "unknown_column"
	Pointer string // JSON pointer into the spec, "/select/2/expr"; empty for SQL text
	Span    *Span  // where in the SQL text or expression; nil when the fault has no place in a text
	Message string // what is wrong, one sentence, naming the offending value
	Hint    string // what to do about it; may be empty
}

// Error is one or more faults of an input. Use errors.As to find it.
type Error struct{ Details []Detail }

// New returns an Error with one fault.
func New(code, pointer, format string, args ...any) *Error {
	return &Error{Details: []Detail{{Code: code, Pointer: pointer, Message: fmt.Sprintf(format, args...)}}}
}

// Error lists the faults, one a line.
func (e *Error) Error() string {
	lines := make([]string, len(e.Details))
	for i, d := range e.Details {
		var b strings.Builder
		if d.Pointer != "" {
			b.WriteString(d.Pointer + ": ")
		}
		if d.Span != nil {
			fmt.Fprintf(&b, "line %d, column %d: ", d.Span.Line, d.Span.Column)
		}
		b.WriteString(d.Message)
		if d.Hint != "" {
			b.WriteString(" (" + d.Hint + ")")
		}
		lines[i] = b.String()
	}
	return strings.Join(lines, "\n")
}

// Collector gathers faults. The zero value is ready.
type Collector struct{ details []Detail }

// Add adds a fault.
func (c *Collector) Add(d Detail) { c.details = append(c.details, d) }

// Addf adds a fault without a place in a text.
func (c *Collector) Addf(code, pointer, format string, args ...any) {
	c.Add(Detail{Code: code, Pointer: pointer, Message: fmt.Sprintf(format, args...)})
}

// Merge adds the faults of another Error below the pointer.
func (c *Collector) Merge(pointer string, e *Error) {
	for _, d := range e.Details {
		d.Pointer = pointer + d.Pointer
		c.Add(d)
	}
}

// Err returns nil, or an *Error with everything that was added.
func (c *Collector) Err() error {
	if len(c.details) == 0 {
		return nil
	}
	return &Error{Details: c.details}
}

// Nearest returns the candidate closest to name by edit distance, or "" when none is close enough to be meant.
func Nearest(name string, candidates []string) string {
	best, bestDistance := "", len(name)/3+2
	for _, c := range candidates {
		if d := distance(strings.ToLower(name), strings.ToLower(c)); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// distance is the Levenshtein distance.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost = 1 + min(diagonal, row[j], row[j-1])
			}
			diagonal, row[j] = row[j], cost
		}
	}
	return row[len(b)]
}
