package spec

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/pondage/pondage/internal/invalid"
)

// Kind is the kind of an object: the member `kind` of a document.
type Kind string

// The kinds of objects.
const (
	KindSource Kind = "source"
	KindStream Kind = "stream"
)

// Object is a *Source or a *Stream.
type Object interface {
	ObjectKind() Kind
	ObjectName() string
	Canonical() []byte
}

// Document is one object as it was written, not yet decoded.
type Document struct{ root *node }

// Split reads the documents of a file: one JSON object, or YAML documents separated by `---`. Errors are
// *invalid.Error.
func Split(text []byte) ([]Document, error) {
	roots, err := parseText(text)
	if err != nil {
		return nil, err
	}
	out := make([]Document, len(roots))
	for i, root := range roots {
		out[i] = Document{root}
	}
	return out, nil
}

// parseText takes a text that begins with `{"` or `{}` for JSON, anything else for YAML (whose flow form begins with
// a brace too).
func parseText(text []byte) ([]*node, error) {
	if len(text) > maxDocument {
		return nil, invalid.New(CodeMalformed, "", "the document has %d bytes, more than %d", len(text), maxDocument)
	}
	inside, brace := bytes.CutPrefix(bytes.TrimLeft(text, jsonSpace), []byte("{"))
	inside = bytes.TrimLeft(inside, jsonSpace)
	if !brace || len(inside) == 0 || (inside[0] != '"' && inside[0] != '}') {
		return parseYAML(text)
	}
	root, err := parseJSON(text)
	if err != nil {
		return nil, err
	}
	return []*node{root}, nil
}

// maxDocument bounds what is read, in bytes: a spec has a few thousand, and every fault in it is reported.
const maxDocument = 1 << 20

// jsonSpace is the white space of RFC 8259.
const jsonSpace = " \t\r\n"

// Decode reads the document as what its member `kind` says.
func (doc Document) Decode() (Object, error) {
	if doc.root.kind != nodeObject {
		return nil, invalid.New(CodeWrongType, "", "want an object, found %s", doc.root.describe())
	}
	kind := doc.root.get("kind")
	if kind == nil {
		return nil, fault(CodeMissingMember, "", "add kind: source or kind: stream", "kind is missing")
	}
	switch Kind(kind.text) {
	case KindSource:
		return orNil(decodeSource(doc.root, whole))
	case KindStream:
		return orNil(decodeStream(doc.root))
	}
	return nil, fault(CodeInvalidValue, "/kind", "kinds: source, stream", "unknown kind %s", kind.describe())
}

// orNil keeps a nil pointer from becoming an Object that is not nil.
func orNil[T Object](o T, err error) (Object, error) {
	if err != nil {
		return nil, err
	}
	return o, nil
}

// Place returns where the value at the pointer stands in the text, or the nearest value around it. Offset and Length
// are not set for YAML.
func (doc Document) Place(pointer string) (invalid.Span, bool) {
	return placesOf(doc.root).Find(pointer)
}

// ParseSource reads one source from JSON or YAML. `kind` is optional. Errors are *invalid.Error with every fault.
func ParseSource(text []byte) (*Source, error) {
	root, err := single(text, KindSource)
	if err != nil {
		return nil, err
	}
	return decodeSource(root, whole)
}

// ParseRecordFormat reads the part of a source that says how one record is read: name and kafka may be absent.
func ParseRecordFormat(text []byte) (*Source, error) {
	root, err := single(text, KindSource)
	if err != nil {
		return nil, err
	}
	return decodeSource(root, recordFormat)
}

// ParseStream reads one stream from JSON or YAML. `kind` is optional. Errors are *invalid.Error with every fault.
func ParseStream(text []byte) (*Stream, error) {
	root, err := single(text, KindStream)
	if err != nil {
		return nil, err
	}
	return decodeStream(root)
}

// single reads a text that holds one object of the kind.
func single(text []byte, want Kind) (*node, error) {
	roots, err := parseText(text)
	if err != nil {
		return nil, err
	}
	if len(roots) != 1 {
		return nil, invalid.New(CodeMalformed, "", "want one %s, found %d documents", want, len(roots))
	}
	root := roots[0]
	if root.kind != nodeObject {
		return nil, invalid.New(CodeWrongType, "", "want an object, found %s", root.describe())
	}
	if kind := root.get("kind"); kind != nil && kind.kind != nodeNull && kind.text != string(want) {
		return nil, invalid.New(CodeInvalidValue, "/kind", "want %s, found %s", want, kind.describe())
	}
	return root, nil
}

// fault returns an error with one fault and a hint.
func fault(code, pointer, hint, format string, args ...any) error {
	return &invalid.Error{Details: []invalid.Detail{{Code: code, Pointer: pointer, Hint: hint, Message: fmt.Sprintf(format, args...)}}}
}

// oneOf lists the words that a member takes.
func oneOf[T ~string](words []T) string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = string(w)
	}
	return strings.Join(list, ", ")
}
