package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"

	"github.com/pondage/pondage/internal/problem"
)

// CodeUnreachable is the code of a coordinator or worker that does not answer at all. No service answers with it.
const CodeUnreachable problem.Code = "api_unreachable"

// Error is a problem: what a service answered, or that it did not.
type Error struct {
	Doc   problem.Document
	Cause error // nil for an answer
}

// Error is the detail with its code.
func (e *Error) Error() string { return fmt.Sprintf("%s (%s)", e.Doc.Detail, e.Doc.Code) }

// Unwrap returns what lies below an answer that did not come.
func (e *Error) Unwrap() error { return e.Cause }

// HasCode tells whether an error is a problem with the code.
func HasCode(err error, code problem.Code) bool {
	var e *Error
	return errors.As(err, &e) && e.Doc.Code == code
}

// Open checks an answer and returns it, its body still to be read and closed. An answer that is an error becomes one. It
// takes both results of a request: Open(c.GetResults(…)).
func Open(answer *http.Response, err error) (*http.Response, error) {
	if err != nil {
		return nil, unreachable(err)
	}
	if answer.StatusCode < http.StatusMultipleChoices {
		return answer, nil
	}
	defer answer.Body.Close()
	return nil, refused(answer)
}

// Read reads a whole answer: Read(c.GetStream(…)).
func Read(answer *http.Response, err error) ([]byte, http.Header, error) {
	opened, err := Open(answer, err)
	if err != nil {
		return nil, nil, err
	}
	defer opened.Body.Close()
	body, err := io.ReadAll(opened.Body)
	if err != nil {
		return nil, nil, unreachable(fmt.Errorf("read the answer: %w", err))
	}
	return body, opened.Header, nil
}

// Decode reads an answer into a value, and returns its text too.
func Decode[T any](answer *http.Response, err error) (value T, raw []byte, _ error) {
	raw, _, err = Read(answer, err)
	if err != nil {
		return value, nil, err
	}
	if err := json.Unmarshal(raw, &value); err != nil {
		return value, nil, fmt.Errorf("the answer has another form than this version knows: %w", err)
	}
	return value, raw, nil
}

// unreachable explains an answer that did not come. One that was given up by its caller stays that.
func unreachable(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	where := "the API"
	var at *url.Error
	if u := (*url.URL)(nil); errors.As(err, &at) {
		if u, _ = url.Parse(at.URL); u != nil {
			where = u.Scheme + "://" + u.Host
		}
		err = at.Err
	}
	return &Error{Cause: err, Doc: problem.Document{
		Type: "about:blank", Title: "A service does not answer", Code: CodeUnreachable, Retryable: true,
		Detail: fmt.Sprintf("%s does not answer: %v", where, err),
		Hint:   "start Pondage (pondage dev), or name a coordinator with --api or PONDAGE_API; pondage doctor looks further",
	}}
}

// mostProblem bounds what is read of an error answer, in bytes.
const mostProblem = 1 << 20

// refused makes an error of an answer that is one. What is no problem document comes from something else than Pondage.
func refused(answer *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(answer.Body, mostProblem)) // what was read tells enough
	e := &Error{}
	media, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	if media == problem.MediaType && json.Unmarshal(body, &e.Doc) == nil && e.Doc.Code != "" {
		if entry, ok := problem.Lookup(e.Doc.Code); ok && e.Doc.Hint == "" && len(e.Doc.Errors) == 0 {
			e.Doc.Hint = entry.Remedy
		}
		if e.Doc.Code == problem.CodeUnauthenticated {
			e.Doc.Hint = "show a token with --token env:NAME or file:PATH, or with PONDAGE_TOKEN"
		}
		return e
	}
	e.Doc = problem.Document{
		Type: "about:blank", Title: http.StatusText(answer.StatusCode), Status: answer.StatusCode, Code: CodeUnreachable,
		Detail: fmt.Sprintf("%s answers %s, which is no answer of Pondage", answer.Request.URL.Host, answer.Status),
		Hint:   "check --api: it may be the address of something else",
	}
	return e
}
