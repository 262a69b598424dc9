package spec

import (
	"strconv"
	"strings"

	"github.com/pondage/pondage/internal/invalid"
)

// nodeKind is the kind of a value in a document.
type nodeKind uint8

const (
	nodeNull nodeKind = iota
	nodeBool
	nodeNumber
	nodeString
	nodeArray
	nodeObject
)

var nodeKindNames = [...]string{"null", "a boolean", "a number", "a string", "a list", "an object"}

func (k nodeKind) String() string { return nodeKindNames[k] }

// node is a value of a document, whatever language it was written in. Numbers keep their literal.
type node struct {
	kind    nodeKind
	text    string // of a bool, number or string
	items   []*node
	members []member
	at      invalid.Span // where the value stands in the document
}

// member is one member of an object node, in the order of the document.
type member struct {
	name  string
	value *node
}

func newObject() *node                        { return &node{kind: nodeObject} }
func newArray() *node                         { return &node{kind: nodeArray} }
func newString(text string) *node             { return &node{kind: nodeString, text: text} }
func newNumber(text string) *node             { return &node{kind: nodeNumber, text: text} }
func newBool(v bool) *node                    { return &node{kind: nodeBool, text: strconv.FormatBool(v)} }
func newInt(v int64) *node                    { return newNumber(strconv.FormatInt(v, 10)) }
func (n *node) located(at invalid.Span) *node { n.at = at; return n }

// get returns the member with the name, or nil.
func (n *node) get(name string) *node {
	for _, m := range n.members {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// set adds a member at the end.
func (n *node) set(name string, value *node) {
	n.members = append(n.members, member{name, value})
}

// without returns the object without the named member.
func (n *node) without(name string) *node {
	out := *n
	out.members = nil
	for _, m := range n.members {
		if m.name != name {
			out.members = append(out.members, m)
		}
	}
	return &out
}

// walk calls visit with the pointer of every value below and including n.
func (n *node) walk(pointer string, visit func(pointer string, n *node)) {
	visit(pointer, n)
	for i, item := range n.items {
		item.walk(pointer+"/"+strconv.Itoa(i), visit)
	}
	for _, m := range n.members {
		m.value.walk(pointer+"/"+escapePointer(m.name), visit)
	}
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// escapePointer writes a member name as a reference token of a JSON pointer (RFC 6901).
func escapePointer(name string) string { return pointerEscapes.Replace(name) }
