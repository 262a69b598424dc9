package problem

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/pondage/pondage/internal/invalid"
)

// MediaType is the Content-Type of every error answer.
const MediaType = "application/problem+json"

// pages is where the page about codes is; the code is the fragment. An identifier first of all (RFC 9457 §3.1.1).
const pages = "https://pondage.dev/errors#"

// Document is the body of an error answer.
type Document struct {
	Type      string  `json:"type"`
	Title     string  `json:"title"`
	Status    int     `json:"status"`
	Code      Code    `json:"code"`
	Detail    string  `json:"detail"`
	Hint      string  `json:"hint,omitempty"`
	Instance  string  `json:"instance,omitempty"`
	TraceID   string  `json:"trace_id,omitempty"`
	Retryable bool    `json:"retryable"`
	Errors    []Fault `json:"errors,omitempty"`

	retryAfter time.Duration
}

// From makes the document of any error. An error that says nothing to the one who asked becomes internal, without its
// text: that belongs into the log.
func From(err error) *Document {
	var own *Error
	var faults *invalid.Error
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &own):
		return own.document()
	case errors.As(err, &faults):
		return fromInvalid(faults)
	case errors.As(err, &tooLarge):
		return New(CodeBodyTooLarge, "the body is larger than %d bytes", tooLarge.Limit).document()
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return New(CodeDeadlineExceeded, "the request was given up before it was done").document()
	case errors.Is(err, io.ErrUnexpectedEOF):
		return New(CodeBodyUnreadable, "the body ends too early").document()
	}
	return New(CodeInternal, "an unexpected error; the log has it under the trace id").document()
}

func (e *Error) document() *Document {
	entry, ok := catalogue[e.Code]
	if !ok || entry.Kinds&KindRequest == 0 {
		entry = catalogue[CodeInternal]
	}
	return &Document{
		Type: pages + string(e.Code), Title: entry.Title, Status: entry.Status, Code: e.Code, Detail: e.Detail,
		Hint: e.Hint, Retryable: entry.Retryable || e.Retryable, Errors: e.Faults, retryAfter: e.RetryAfter,
	}
}

// fromInvalid answers faults of an input. One kind of fault gives the answer its code; several are invalid_input.
func fromInvalid(err *invalid.Error) *Document {
	faults := Faults(err)
	code := CodeInvalidInput
	detail := fmt.Sprintf("%d things are wrong", len(faults))
	if len(faults) > 0 && sameCode(faults) {
		code = faults[0].Code
	}
	if len(faults) == 1 {
		detail = faults[0].Detail
	}
	entry, ok := catalogue[code]
	if !ok || entry.Status < http.StatusBadRequest || entry.Status >= http.StatusInternalServerError {
		entry = catalogue[CodeInvalidInput] // never a 5xx for an input, also not by a slip of the catalogue
	}
	return &Document{
		Type: pages + string(code), Title: entry.Title, Status: entry.Status, Code: code, Detail: detail,
		Retryable: entry.Retryable, Errors: faults,
	}
}

// Faults returns the faults of an input in the form of the API.
func Faults(err *invalid.Error) []Fault {
	out := make([]Fault, len(err.Details))
	for i, d := range err.Details {
		out[i] = Fault{Code: Code(d.Code), Pointer: d.Pointer, Detail: d.Message, Hint: d.Hint}
		if d.Span != nil {
			out[i].Span = &Span{Offset: d.Span.Offset, Length: d.Span.Length, Line: d.Span.Line, Column: d.Span.Column}
		}
	}
	return out
}

func sameCode(faults []Fault) bool {
	for _, f := range faults {
		if f.Code != faults[0].Code {
			return false
		}
	}
	return true
}
