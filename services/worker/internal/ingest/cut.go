package ingest

import (
	"bufio"
	"errors"
	"io"

	"github.com/pondage/pondage/internal/problem"
)

// Form says how a body holds its records.
type Form uint8

// The forms.
const (
	Lines Form = iota // newline-delimited
	Array             // the elements of one JSON array
)

const (
	// readBuffer is what a request holds of its body beside one record.
	readBuffer = 64 << 10
	// maxRecord bounds one record, whatever its topic takes: it is in memory whole.
	maxRecord = 8 << 20
)

// cutter cuts a body into records.
type cutter interface {
	// next returns the bytes of a record, valid until the next call; io.EOF behind the last one.
	next() ([]byte, error)
}

func newCutter(form Form, body io.Reader) cutter {
	c := buffered{r: bufio.NewReaderSize(body, readBuffer)}
	if form == Array {
		return &elements{buffered: c}
	}
	return &lines{buffered: c}
}

// buffered gathers a record that is longer than the read buffer.
type buffered struct {
	r      *bufio.Reader
	record []byte
}

func (b *buffered) keep(piece ...byte) error {
	if len(b.record)+len(piece) > maxRecord {
		return problem.New(problem.CodeRecordTooLarge, "it is larger than %d bytes", maxRecord)
	}
	b.record = append(b.record, piece...)
	return nil
}

type lines struct{ buffered }

func (l *lines) next() ([]byte, error) {
	l.record = l.record[:0]
	for {
		piece, err := l.r.ReadSlice('\n')
		switch {
		case err == nil:
			piece = piece[:len(piece)-1]
			if len(l.record) == 0 && len(piece) <= maxRecord {
				return piece, nil
			}
			return l.record, l.keep(piece...)
		case errors.Is(err, bufio.ErrBufferFull):
			if err := l.keep(piece...); err != nil {
				return nil, err
			}
		case errors.Is(err, io.EOF):
			if len(l.record)+len(piece) == 0 {
				return nil, io.EOF
			}
			// What ReadSlice gave of a read that failed is lost to it; the next call finds the end again.
			return l.record, l.keep(piece...)
		default:
			return nil, err
		}
	}
}

// elements cuts an array by its commas: what is between two of the outermost ones is a record. It knows strings and
// nesting, and no more of JSON.
type elements struct {
	buffered
	begun, ended bool
}

func (e *elements) next() ([]byte, error) {
	if e.ended {
		return nil, e.nothingElse()
	}
	c, err := e.token()
	if err != nil {
		return nil, err
	}
	if !e.begun {
		if c != '[' {
			return nil, malformed("the body is no JSON array: it begins with %q", string(c))
		}
		e.begun = true
		if c, err = e.token(); err != nil {
			return nil, err
		}
		if c == ']' {
			e.ended = true
			return nil, e.nothingElse()
		}
	}
	return e.element(c)
}

// element reads an element from its first byte on, and the comma or bracket behind it.
func (e *elements) element(c byte) ([]byte, error) {
	e.record = e.record[:0]
	end := 0 // of the record, without the space behind it
	for depth := 0; ; {
		switch c {
		case '"':
			if err := e.quoted(); err != nil {
				return nil, err
			}
		case '{', '[':
			depth++
		case ',', ']', '}':
			if depth > 0 {
				if c != ',' {
					depth--
				}
				break
			}
			if c == '}' || end == 0 {
				return nil, malformed("%q where an element is wanted", string(c))
			}
			e.ended = c == ']'
			return e.record[:end], nil
		}
		if c != '"' { // a string has kept itself
			if err := e.keep(c); err != nil {
				return nil, err
			}
		}
		if !isSpace(c) {
			end = len(e.record)
		}
		var err error
		if c, err = e.byte(); err != nil {
			return nil, err
		}
	}
}

// quoted keeps a string whose opening quote was read.
func (e *elements) quoted() error {
	if err := e.keep('"'); err != nil {
		return err
	}
	for escaped := false; ; {
		c, err := e.byte()
		if err != nil {
			return err
		}
		if err := e.keep(c); err != nil {
			return err
		}
		if c == '"' && !escaped {
			return nil
		}
		escaped = c == '\\' && !escaped
	}
}

// byte reads a byte of an array that must go on.
func (e *elements) byte() (byte, error) {
	c, err := e.r.ReadByte()
	if errors.Is(err, io.EOF) {
		if !e.begun {
			return 0, problem.New(problem.CodeBodyRequired, "the request has no body")
		}
		return 0, malformed("the array ends too early")
	}
	return c, err
}

// token reads up to the first byte that is no space.
func (e *elements) token() (byte, error) {
	for {
		c, err := e.byte()
		if err != nil || !isSpace(c) {
			return c, err
		}
	}
}

// nothingElse reads to the end of the body behind the array.
func (e *elements) nothingElse() error {
	for {
		c, err := e.r.ReadByte()
		if err != nil {
			return err // io.EOF is the end of the records
		}
		if !isSpace(c) {
			return malformed("%q follows the array", string(c))
		}
	}
}

func malformed(format string, args ...any) error {
	return problem.New(problem.CodeMalformedJSON, format, args...)
}
