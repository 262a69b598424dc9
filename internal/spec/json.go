package spec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/pondage/pondage/internal/invalid"
)

// maxDepth bounds the nesting of a document; specs need less than ten levels.
const maxDepth = 64

// parseJSON reads exactly one JSON value. Numbers keep their literal, a member that occurs twice is a fault.
func parseJSON(text []byte) (*node, error) {
	if !utf8.Valid(text) {
		return nil, invalid.New(CodeMalformed, "", "the document is not UTF-8")
	}
	p := &jsonParser{text: text, dec: json.NewDecoder(bytes.NewReader(text)), lines: lineCounter{text: text}}
	p.dec.UseNumber()
	root, err := p.value("", 0)
	if err == nil {
		if _, extra := p.dec.Token(); !errors.Is(extra, io.EOF) {
			err = p.malformed(errors.New("more than one value"))
		}
	}
	if err != nil {
		return nil, err
	}
	return root, p.faults.Err()
}

type jsonParser struct {
	text   []byte
	dec    *json.Decoder
	lines  lineCounter
	faults invalid.Collector
}

func (p *jsonParser) malformed(cause error) error {
	offset := int(p.dec.InputOffset())
	if syntax := (*json.SyntaxError)(nil); errors.As(cause, &syntax) {
		offset = max(int(syntax.Offset)-1, 0)
	}
	if errors.Is(cause, io.EOF) {
		cause = io.ErrUnexpectedEOF
	}
	at := (&lineCounter{text: p.text}).span(offset)
	return &invalid.Error{Details: []invalid.Detail{{Code: CodeMalformed, Span: &at, Message: "not valid JSON: " + cause.Error()}}}
}

func (p *jsonParser) value(pointer string, depth int) (*node, error) {
	if depth > maxDepth {
		return nil, p.malformed(fmt.Errorf("nested deeper than %d levels", maxDepth))
	}
	token, err := p.dec.Token()
	if err != nil {
		return nil, p.malformed(err)
	}
	at := p.lines.span(int(p.dec.InputOffset()) - 1)
	switch t := token.(type) {
	case json.Delim:
		if t == '[' {
			return p.array(pointer, depth, at)
		}
		return p.object(pointer, depth, at)
	case json.Number:
		return newNumber(t.String()).located(at), nil
	case string:
		return newString(t).located(at), nil
	case bool:
		return newBool(t).located(at), nil
	}
	return (&node{kind: nodeNull}).located(at), nil
}

func (p *jsonParser) array(pointer string, depth int, at invalid.Span) (*node, error) {
	out := newArray().located(at)
	for p.dec.More() {
		item, err := p.value(fmt.Sprintf("%s/%d", pointer, len(out.items)), depth+1)
		if err != nil {
			return nil, err
		}
		out.items = append(out.items, item)
	}
	return out, p.end()
}

func (p *jsonParser) object(pointer string, depth int, at invalid.Span) (*node, error) {
	out := newObject().located(at)
	seen := map[string]bool{}
	for p.dec.More() {
		token, err := p.dec.Token()
		if err != nil {
			return nil, p.malformed(err)
		}
		name := token.(string) // the decoder gives nothing else before a colon
		below := pointer + "/" + escapePointer(name)
		value, err := p.value(below, depth+1)
		if err != nil {
			return nil, err
		}
		if seen[name] {
			p.faults.Addf(CodeDuplicateMember, below, "%q occurs twice", name)
			continue
		}
		seen[name] = true
		out.set(name, value)
	}
	return out, p.end()
}

// end takes the closing bracket.
func (p *jsonParser) end() error {
	if _, err := p.dec.Token(); err != nil {
		return p.malformed(err)
	}
	return nil
}

// lineCounter finds the line and column of offsets, which it is asked for in rising order: the text is read once.
type lineCounter struct {
	text    []byte
	at      int
	lines   int // before at
	columns int // characters between the start of the line and at
}

// span returns the place of one byte of the text.
func (c *lineCounter) span(offset int) invalid.Span {
	offset = min(max(offset, c.at), len(c.text))
	for ; c.at < offset; c.at++ {
		switch b := c.text[c.at]; {
		case b == '\n':
			c.lines, c.columns = c.lines+1, 0
		case utf8.RuneStart(b):
			c.columns++
		}
	}
	return invalid.Span{Offset: offset, Length: min(1, len(c.text)-offset), Line: c.lines + 1, Column: c.columns + 1}
}
