package decode

import (
	"encoding/binary"
	"math/bits"

	"github.com/pondage/pondage/internal/numtext"
)

// maxDepth is how deep a record may nest, the record itself being level 1.
const maxDepth = 256

// failed is returned instead of a position by a method that has called fail.
const failed = -1

// scanner walks over one record, checks it and notes what is found at the nodes. Its methods take the position of what
// they read and return the position behind it, or failed.
type scanner struct {
	text     []byte
	record   uint64 // number of the record
	nonASCII bool   // some string may have non-ASCII bytes
	twice    *node  // the first declared field that came twice
	key      []byte // scratch: an unescaped key

	code    Code
	reason  string
	faultAt int
}

func (s *scanner) begin(text []byte) {
	s.text, s.nonASCII, s.twice = text, false, nil
	s.record++
}

func (s *scanner) fail(code Code, at int, reason string) int {
	s.code, s.faultAt, s.reason = code, at, reason
	return failed
}

// malformed fails at the position; a position at the end means that the text is cut off.
func (s *scanner) malformed(at int, reason string) int {
	if at >= len(s.text) {
		return s.fail(MalformedJSON, len(s.text), "the text ends too early")
	}
	return s.fail(MalformedJSON, at, reason)
}

// space skips white space; mostly there is none.
func (s *scanner) space(at int) int {
	if at < len(s.text) && s.text[at] > ' ' {
		return at
	}
	return s.skipSpace(at)
}

func (s *scanner) skipSpace(at int) int {
	for at < len(s.text) && isSpace(s.text[at]) {
		at++
	}
	return at
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// byteAt returns the byte at the position, 0 at the end (no JSON token begins with a NUL).
func (s *scanner) byteAt(at int) byte {
	if at < len(s.text) {
		return s.text[at]
	}
	return 0
}

// object reads the members of an object on a declared path; at is behind the brace.
func (s *scanner) object(n *node, at, depth int) int {
	if at = s.space(at); s.byteAt(at) == '}' {
		return at + 1
	}
	for place := 0; ; place++ {
		var child *node
		if place < len(n.guesses) && n.guesses[place].matches(s.text, at) {
			child = n.guesses[place].node
			at = s.space(at + len(n.guesses[place].key)) // there may be more of it than last time
		} else if child, at = s.memberKey(n, at, place); at == failed {
			return failed
		}
		if child == nil {
			at = s.skip(at, depth)
		} else {
			at = s.value(child, at, depth)
		}
		if at == failed {
			return failed
		}
		if at = s.space(at); s.byteAt(at) == ',' {
			at = s.space(at + 1)
			continue
		}
		if s.byteAt(at) == '}' {
			return at + 1
		}
		return s.malformed(at, "want a comma or the end of the object")
	}
}

// memberKey reads a key and its colon, and finds the node that it leads to.
func (s *scanner) memberKey(n *node, at, place int) (*node, int) {
	if s.byteAt(at) != '"' {
		return nil, s.malformed(at, "want a member's name in double quotes")
	}
	end, escaped := s.string(at)
	if end == failed {
		return nil, failed
	}
	value := s.colon(end)
	if value == failed {
		return nil, failed
	}
	name := s.text[at+1 : end-1]
	if escaped {
		// Half a surrogate pair in a key matches no declared name: those are UTF-8.
		s.key, _ = unescape(s.key[:0], name)
		name = s.key
	}
	child := n.members[string(name)]
	n.remember(place, s.text[at:value], child)
	return child, value
}

// colon reads the colon behind a key and the space around it.
func (s *scanner) colon(at int) int {
	if at = s.space(at); s.byteAt(at) != ':' {
		return s.malformed(at, "want a colon behind the member's name")
	}
	return s.space(at + 1)
}

// value reads the value at a node and notes it there.
func (s *scanner) value(n *node, at, depth int) int {
	if n.seen == s.record && s.twice == nil {
		s.twice = n
	}
	n.seen, n.start = s.record, at
	c := s.byteAt(at)
	switch {
	case c == '"':
		n.kind = kindString
		n.end, n.escaped = s.string(at)
	case c <= '9': // a digit, a minus sign, or nothing that Scan takes
		n.kind = kindNumber
		var ok bool
		if n.number, n.end, ok = numtext.Scan(s.text, at); !ok {
			return s.badNumber(at, n.end)
		}
	case c == '{', c == '[':
		n.end = s.composite(n, at, depth)
	case c == 'n':
		n.kind = kindNull
		n.end = s.literal(at)
	default:
		n.kind = kindBool
		n.end = s.literal(at)
	}
	return n.end
}

// composite reads an object or array at a node, member by member if declared paths lead into it.
func (s *scanner) composite(n *node, at, depth int) int {
	if s.text[at] == '{' {
		n.kind = kindObject
		if n.members != nil {
			return s.object(n, at+1, depth+1)
		}
		return s.skip(at, depth)
	}
	n.kind = kindArray
	if n.elements != nil {
		return s.array(n, at+1, depth+1)
	}
	return s.skip(at, depth)
}

// array reads the elements of an array on a declared path; at is behind the bracket.
func (s *scanner) array(n *node, at, depth int) int {
	if at = s.space(at); s.byteAt(at) == ']' {
		return at + 1
	}
	for index := 0; ; index++ {
		if child := n.elements[index]; child == nil {
			at = s.skip(at, depth)
		} else {
			at = s.value(child, at, depth)
		}
		if at == failed {
			return failed
		}
		if at = s.space(at); s.byteAt(at) == ',' {
			at = s.space(at + 1)
			continue
		}
		if s.byteAt(at) == ']' {
			return at + 1
		}
		return s.malformed(at, "want a comma or the end of the array")
	}
}

// literal reads true, false or null.
func (s *scanner) literal(at int) int {
	for _, word := range [...]string{"true", "false", "null"} {
		if len(s.text)-at >= len(word) && string(s.text[at:at+len(word)]) == word {
			return at + len(word)
		}
	}
	return s.malformed(at, "no value begins here")
}

func (s *scanner) badNumber(at, end int) int {
	if end == at {
		return s.malformed(at, "no value begins here")
	}
	return s.malformed(end, "the number is malformed")
}

// string reads a string from its opening quote on.
func (s *scanner) string(at int) (end int, escaped bool) {
	text := s.text
	i := at + 1
	for {
		// Eight bytes at a time, to the first that ends a run of plain characters. A byte above that one may be marked
		// wrongly, by the borrow of a subtraction: only the lowest mark is read.
		for i+wordLen <= len(text) {
			w := binary.LittleEndian.Uint64(text[i:])
			marks := (w - eachByte*' ') & ^w // controls
			quote, backslash := w^eachByte*'"', w^eachByte*'\\'
			marks |= (quote-eachByte)&^quote | (backslash-eachByte)&^backslash
			marks &= highBits
			if w&highBits != 0 {
				s.nonASCII = true // perhaps only behind the string: then it costs a check, no more
			}
			if marks != 0 {
				i += bits.TrailingZeros64(marks) / 8
				break
			}
			i += wordLen
		}
		if i >= len(text) {
			return s.malformed(i, ""), escaped
		}
		switch c := text[i]; {
		case c == '"':
			return i + 1, escaped
		case c == '\\':
			escaped = true
			if i = s.escape(i); i == failed {
				return failed, escaped
			}
		case c < ' ':
			return s.malformed(i, "a control character must be escaped"), escaped
		default:
			if c >= 0x80 {
				s.nonASCII = true
			}
			i++
		}
	}
}

const (
	eachByte = 0x0101010101010101
	highBits = 0x8080808080808080
)

// escape reads an escape sequence from its backslash on.
func (s *scanner) escape(at int) int {
	switch s.byteAt(at + 1) {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return at + 2
	case 'u':
		for i := at + 2; i < at+unicodeEscapeLen; i++ {
			if hexValue(s.byteAt(i)) < 0 {
				return s.malformed(i, "want four hexadecimal digits")
			}
		}
		return at + unicodeEscapeLen
	}
	return s.malformed(at+1, "there is no such escape")
}
