package decode

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"

	"github.com/pondage/pondage/internal/numtext"
)

// kind is the JSON type of a value.
type kind uint8

const (
	kindNull kind = iota
	kindBool
	kindNumber
	kindString
	kindObject
	kindArray
)

var kindNames = [...]string{kindNull: "null", kindBool: "a boolean", kindNumber: "a number", kindString: "a string", kindObject: "an object", kindArray: "an array"}

// node is a place in the record that a declared path leads to or through: the tree of all declared paths. What the
// scanner found there in the record at hand stands beside it; it counts only if seen is that record's number, so nothing
// needs to be cleared.
type node struct {
	members  map[string]*node
	elements map[int]*node
	field    string // the first declared field at or below the place, for verdicts
	guesses  []guess

	seen       uint64
	kind       kind
	escaped    bool // a string with backslashes
	start, end int  // of the value's text, quotes included
	number     numtext.Number
}

// guess is the key that the record before had at this place among the members of an object: its bytes from the opening
// quote to the value, and the node it leads to; nil for a member that nobody declared.
type guess struct {
	key  []byte
	node *node
	// The first eight bytes of key, and a mask for as many of them as it has: most keys are compared in one step.
	word, mask uint64
}

// matches tells whether the text at the position begins with the key.
func (g *guess) matches(text []byte, at int) bool {
	if at+wordLen > len(text) {
		return bytes.HasPrefix(text[at:], g.key)
	}
	if (binary.LittleEndian.Uint64(text[at:])^g.word)&g.mask != 0 {
		return false
	}
	return len(g.key) <= wordLen || bytes.HasPrefix(text[at+wordLen:], g.key[wordLen:])
}

const wordLen = 8

const (
	maxGuesses  = 64 // members of one object that are remembered; records with more are rare and only slower
	maxGuessLen = 64 // bytes of a key that is remembered
)

// remember notes the key at a place, if there is room. A key that is recognised is not looked at again, so it must be
// UTF-8.
func (n *node) remember(place int, key []byte, child *node) {
	if place > len(n.guesses) || place >= maxGuesses || len(key) > maxGuessLen || !utf8.Valid(key) {
		return
	}
	if place == len(n.guesses) {
		n.guesses = append(n.guesses, guess{})
	}
	g := &n.guesses[place]
	g.key, g.node = append(g.key[:0], key...), child
	var first [wordLen]byte
	known := copy(first[:], key)
	g.word = binary.LittleEndian.Uint64(first[:])
	g.mask = ^uint64(0) >> (8 * (wordLen - known))
}

// add returns the node at the path below n, and makes what is missing on the way.
func (n *node) add(p Path, field string) *node {
	for _, step := range p {
		next := n.child(step)
		if next == nil {
			next = &node{field: field}
			if step.IsIndex {
				n.elements = put(n.elements, step.Index, next)
			} else {
				n.members = put(n.members, step.Name, next)
			}
		}
		n = next
	}
	return n
}

func (n *node) child(s Step) *node {
	if s.IsIndex {
		return n.elements[s.Index]
	}
	return n.members[s.Name]
}

func put[K comparable](m map[K]*node, k K, n *node) map[K]*node {
	if m == nil {
		m = make(map[K]*node)
	}
	m[k] = n
	return m
}
