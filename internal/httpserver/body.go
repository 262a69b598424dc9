package httpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pondage/pondage/internal/httpserver/contract"
	"github.com/pondage/pondage/internal/problem"
)

// checkBody bounds, decodes and checks the body as the document says, and hands a plain one on. An optional body may be
// left out in every way that HTTP has (T62): no body, one of length 0, an empty chunked one.
func (s *Server) checkBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		op := requestOf(r.Context()).op
		if op.Body == nil {
			next.ServeHTTP(w, r)
			return
		}
		if r.ContentLength > op.MaxBody {
			s.refuse(w, r, tooLarge(op.MaxBody))
			return
		}
		if err := openBody(r, op); err != nil {
			s.refuse(w, r, err)
			return
		}
		if op.BodyCheck != contract.BodyStream {
			if err := readBody(r, op); err != nil {
				s.refuse(w, r, err)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

func tooLarge(limit int64) error {
	return problem.New(problem.CodeBodyTooLarge, "the body is larger than the %d bytes that this operation takes", limit)
}

// openBody puts the limit and the decoding of the Content-Encoding around the body, and settles the media type of one
// that is streamed.
func openBody(r *http.Request, op *contract.Operation) error {
	body, err := decoded(limited(r.Body, op.MaxBody), r.Header.Get("Content-Encoding"))
	if err != nil {
		return err
	}
	r.Body = limited(body, op.MaxBody) // also after decoding: a small body may unpack to a large one
	if r.Header.Get("Content-Encoding") != "" {
		r.ContentLength = -1
		r.Header.Del("Content-Encoding")
	}
	if op.BodyCheck != contract.BodyStream {
		return nil
	}
	mediaType, err := mediaType(r, op.Body.Types)
	r.Header.Set("Content-Type", mediaType)
	return err
}

// mediaType returns the one of the types that the request says its body has; without a word it is the last.
func mediaType(r *http.Request, types []string) (string, error) {
	header := r.Header.Get("Content-Type")
	if header == "" {
		return types[len(types)-1], nil
	}
	given, params, err := mime.ParseMediaType(header)
	charset, hasCharset := params["charset"]
	if err != nil || !slices.Contains(types, given) || (hasCharset && !strings.EqualFold(charset, "utf-8")) {
		e := problem.New(problem.CodeUnsupportedMediaType, "the body is said to be %q; this operation takes %s in UTF-8", header, strings.Join(types, " or "))
		e.Hint = "curl -H 'Content-Type: " + types[0] + "'"
		return "", e
	}
	return given, nil
}

// readBody reads the whole body, checks it and puts it back.
func readBody(r *http.Request, op *contract.Operation) error {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	if len(bytes.TrimSpace(text)) == 0 {
		if op.Body.Required {
			return problem.New(problem.CodeBodyRequired, "the request has no body")
		}
		r.Body, r.ContentLength = http.NoBody, 0
		return nil
	}
	given, err := mediaType(r, op.Body.Types)
	if err != nil {
		return err
	}
	v, err := contract.Decode(text)
	if err != nil {
		return malformed(text, err)
	}
	if !utf8.Valid(text) {
		return problem.New(problem.CodeMalformedJSON, "the body is not UTF-8")
	}
	if op.BodyCheck == contract.BodySyntax {
		return nil
	}
	return bodyFaults(op.Body.Schema(given).Check("", v))
}

func bodyFaults(faults []problem.Fault) error {
	if len(faults) == 0 {
		return nil
	}
	e := problem.New(problem.CodeInvalidBody, "%s", faults[0].Detail)
	if faults[0].Pointer != "" {
		e.Detail = faults[0].Pointer + ": " + faults[0].Detail
	}
	e.Faults = faults
	return e
}

// malformed says where a text stops being JSON.
func malformed(text []byte, err error) error {
	at := int64(len(text))
	var syntax *json.SyntaxError
	var trailing *contract.TrailingError
	switch {
	case errors.As(err, &syntax):
		at = syntax.Offset - 1
	case errors.As(err, &trailing):
		at = trailing.Offset
	case errors.Is(err, io.ErrUnexpectedEOF):
		err = errors.New("the text ends too early")
	}
	at = min(max(at, 0), int64(len(text)))
	before := text[:at]
	span := &problem.Span{Offset: int(at), Line: 1 + bytes.Count(before, []byte("\n")), Column: 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])}
	e := problem.New(problem.CodeMalformedJSON, "line %d, column %d: %v", span.Line, span.Column, err)
	e.Faults = []problem.Fault{{Code: problem.CodeMalformedJSON, Span: span, Detail: err.Error()}}
	return e
}
