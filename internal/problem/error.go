package problem

import (
	"fmt"
	"time"
)

// Fault is one thing that is wrong with an input.
type Fault struct {
	Code    Code   `json:"code"`
	Pointer string `json:"pointer,omitempty"` // JSON pointer into the body or spec
	Span    *Span  `json:"span,omitempty"`    // in the SQL text or expression
	Detail  string `json:"detail"`
	Hint    string `json:"hint,omitempty"`
}

// Span is a range in a text. Offset and Length are bytes; Line and Column start at 1, Column counts characters.
type Span struct {
	Offset int `json:"offset"`
	Length int `json:"length"`
	Line   int `json:"line"`
	Column int `json:"column"`
}

// Error is an error that is meant for the one who asked. Its code is of kind request.
type Error struct {
	Code   Code
	Detail string // what was wrong here, naming the offending value
	Hint   string // what to do about it; "" when the catalogue's remedy says it
	Faults []Fault
	// Retryable says that this one may succeed later, where the catalogue does not say so of the code.
	Retryable bool
	// RetryAfter is when to try again, for the header; 0: not said.
	RetryAfter time.Duration
	// Cause is for the log, never for the answer; may be nil.
	Cause error
}

// New returns an Error with the code.
func New(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Detail: fmt.Sprintf(format, args...)}
}

// Wrap returns an Error with the code and a cause for the log.
func Wrap(cause error, code Code, format string, args ...any) *Error {
	e := New(code, format, args...)
	e.Cause = cause
	return e
}

// Error returns the detail with its cause.
func (e *Error) Error() string {
	if e.Cause != nil {
		return e.Detail + ": " + e.Cause.Error()
	}
	return e.Detail
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }
