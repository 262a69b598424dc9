package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// CheckResponse tells how an answer differs from what the document promises; nil when it does not. For tests: servers
// answer with what they have.
func (op *Operation) CheckResponse(status int, header http.Header, body []byte) error {
	r, ok := op.Responses[strconv.Itoa(status)]
	if !ok {
		if r, ok = op.Responses["default"]; !ok || status < http.StatusBadRequest {
			return fmt.Errorf("%s: status %d is not in the document", op.ID, status)
		}
	}
	for _, name := range r.Headers {
		if header.Get(name) == "" {
			return fmt.Errorf("%s %d: header %s is missing", op.ID, status, name)
		}
	}
	if len(r.Types) == 0 {
		if len(body) > 0 {
			return fmt.Errorf("%s %d: has a body: %.80q", op.ID, status, body)
		}
		return nil
	}
	mediaType, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil {
		return fmt.Errorf("%s %d: content type: %w", op.ID, status, err)
	}
	schema, ok := r.Types[mediaType]
	if !ok {
		return fmt.Errorf("%s %d: content type %s is not in the document", op.ID, status, mediaType)
	}
	if !strings.HasSuffix(mediaType, "json") || strings.HasSuffix(mediaType, "ndjson") {
		return nil
	}
	v, err := Decode(body)
	if err != nil {
		return fmt.Errorf("%s %d: %w", op.ID, status, err)
	}
	for _, f := range schema.Check("", v) {
		return fmt.Errorf("%s %d: %s: %s", op.ID, status, f.Pointer, f.Detail)
	}
	return nil
}

// Decode reads one JSON value and nothing after it; numbers stay as they are written.
func Decode(body []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, &TrailingError{Offset: dec.InputOffset()}
	}
	return v, nil
}

// TrailingError says that something follows a JSON value.
type TrailingError struct{ Offset int64 }

// Error says so.
func (e *TrailingError) Error() string { return "something follows the JSON value" }
