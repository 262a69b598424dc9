package expr

import (
	"bytes"
	"encoding/json"

	"github.com/pondage/pondage/internal/decode"
)

// parseJSONPath reads the paths that specs have, and $ alone for the whole document.
func parseJSONPath(path string) (decode.Path, error) {
	if path == "$" {
		return nil, nil
	}
	return decode.ParsePath(path)
}

// jsonAt returns the text of the value at the path, nil when there is none. doc is a valid JSON document.
func jsonAt(doc []byte, steps decode.Path) []byte {
	s := jsonScanner{doc: doc}
	s.space()
	for _, step := range steps {
		var found bool
		if step.IsIndex {
			found = s.intoElement(step.Index)
		} else {
			found = s.intoMember(step.Name)
		}
		if !found {
			return nil
		}
	}
	start := s.pos
	s.skipValue()
	return doc[start:s.pos]
}

// jsonScanner moves over a valid document. On one that is not valid it stops at the end instead of failing.
type jsonScanner struct {
	doc []byte
	pos int
}

// peek returns the next byte, 0 at the end.
func (s *jsonScanner) peek() byte {
	if s.pos >= len(s.doc) {
		return 0
	}
	return s.doc[s.pos]
}

func (s *jsonScanner) space() {
	for c := s.peek(); c == ' ' || c == '\t' || c == '\n' || c == '\r'; c = s.peek() {
		s.pos++
	}
}

// accept passes over c and the white space around it.
func (s *jsonScanner) accept(c byte) bool {
	s.space()
	if s.peek() != c {
		return false
	}
	s.pos++
	s.space()
	return true
}

// intoMember moves to the value of a member of the object at pos.
func (s *jsonScanner) intoMember(key string) bool {
	if !s.accept('{') {
		return false
	}
	for s.peek() == '"' {
		start := s.pos
		s.skipString()
		name := s.doc[start:s.pos]
		if !s.accept(':') {
			return false
		}
		if keyIs(name, key) {
			return true
		}
		s.skipValue()
		if !s.accept(',') {
			return false
		}
	}
	return false
}

// intoElement moves to an element of the array at pos.
func (s *jsonScanner) intoElement(index int) bool {
	if !s.accept('[') || s.peek() == ']' {
		return false
	}
	for ; index > 0; index-- {
		s.skipValue()
		if !s.accept(',') {
			return false
		}
	}
	return true
}

// keyIs compares a quoted name with a key; escapes are rare, and only then a copy is made.
func keyIs(quoted []byte, key string) bool {
	if len(quoted) < 2 {
		return false
	}
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1:len(quoted)-1]) == key
	}
	var name string
	return json.Unmarshal(quoted, &name) == nil && name == key
}

// skipString passes over the string at pos.
func (s *jsonScanner) skipString() {
	for s.pos++; s.pos < len(s.doc); s.pos++ {
		switch s.doc[s.pos] {
		case '\\':
			s.pos++
		case '"':
			s.pos++
			return
		}
	}
	s.pos = len(s.doc)
}

// skipValue passes over the value at pos, without recursion: brackets are counted.
func (s *jsonScanner) skipValue() {
	for depth := 0; s.pos < len(s.doc); {
		switch c := s.doc[s.pos]; c {
		case '"':
			s.skipString()
		case '{', '[':
			depth++
			s.pos++
			continue
		case '}', ']':
			if depth == 0 {
				return
			}
			depth--
			s.pos++
		case ',', ':', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return
			}
			s.pos++
			continue
		default:
			s.skipScalar()
		}
		if depth == 0 {
			return
		}
	}
}

// skipScalar passes over a number, true, false or null.
func (s *jsonScanner) skipScalar() {
	for s.pos++; s.pos < len(s.doc) && !bytes.ContainsRune([]byte(" \t\n\r,:]}"), rune(s.doc[s.pos])); s.pos++ {
	}
}
