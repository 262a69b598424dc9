package spec

import (
	"strings"

	"github.com/pondage/pondage/internal/invalid"
)

// Places knows where the values of an object stand in the text it was read from, by JSON pointer.
type Places map[string]invalid.Span

func placesOf(root *node) Places {
	p := Places{}
	root.walk("", func(pointer string, n *node) {
		if n.at.Line > 0 {
			p[pointer] = n.at
		}
	})
	return p
}

// Find returns where the value at the pointer stands, or the nearest value around it that has a place.
func (p Places) Find(pointer string) (invalid.Span, bool) {
	for {
		if at, ok := p[pointer]; ok {
			return at, true
		}
		i := strings.LastIndexByte(pointer, '/')
		if i < 0 {
			return invalid.Span{}, false
		}
		pointer = pointer[:i]
	}
}

// Locate replaces the pointers of the faults by spans in the statement. A fault with both has its span inside the
// expression at the pointer: it becomes the span in the whole text.
func (p Places) Locate(faults []invalid.Detail) {
	for i := range faults {
		d := &faults[i]
		if d.Pointer == "" && d.Span != nil {
			continue
		}
		at, ok := p.Find(d.Pointer)
		if !ok {
			continue
		}
		if exact, here := p[d.Pointer]; here && d.Span != nil {
			at = within(exact, *d.Span)
		}
		d.Pointer, d.Span = "", &at
	}
}

// within returns where the part of a text stands, given where the text begins.
func within(text, part invalid.Span) invalid.Span {
	out := invalid.Span{Offset: text.Offset + part.Offset, Length: part.Length, Line: text.Line + part.Line - 1, Column: part.Column}
	if part.Line == 1 {
		out.Column = text.Column + part.Column - 1
	}
	return out
}
