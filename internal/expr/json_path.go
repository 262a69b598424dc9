package expr

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// jsonStep is one step of a path: into the member of an object or the element of an array.
type jsonStep struct {
	key     string
	index   int
	element bool // index is used, else key
}

// parseJSONPath reads $, $.a.b, $.a[0], $['a b'].
func parseJSONPath(path string) ([]jsonStep, error) {
	rest, ok := strings.CutPrefix(path, "$")
	if !ok {
		return nil, fmt.Errorf("path %q does not begin with $", path)
	}
	var steps []jsonStep
	for rest != "" {
		var step jsonStep
		switch {
		case strings.HasPrefix(rest, "['"):
			end := strings.Index(rest, "']")
			if end < 0 {
				return nil, fmt.Errorf("path %q: ['… is not closed", path)
			}
			step.key, rest = rest[2:end], rest[end+2:]
		case rest[0] == '[':
			end := strings.IndexByte(rest, ']')
			n, err := strconv.ParseUint(rest[1:max(end, 1)], 10, 31)
			if end < 0 || err != nil {
				return nil, fmt.Errorf("path %q: an index is written [0]", path)
			}
			step.element, step.index, rest = true, int(n), rest[end+1:]
		case rest[0] == '.':
			end := strings.IndexAny(rest[1:], ".[")
			if end < 0 {
				end = len(rest) - 1
			}
			step.key, rest = rest[1:1+end], rest[1+end:]
			if step.key == "" {
				return nil, fmt.Errorf("path %q has an empty step", path)
			}
		default:
			return nil, fmt.Errorf("path %q: a step begins with . or [", path)
		}
		steps = append(steps, step)
	}
	return steps, nil
}

// jsonAt returns the text of the value at the path, nil when there is none. doc is a valid JSON document.
func jsonAt(doc []byte, steps []jsonStep) []byte {
	s := jsonScanner{doc: doc}
	s.space()
	for _, step := range steps {
		var found bool
		if step.element {
			found = s.intoElement(step.index)
		} else {
			found = s.intoMember(step.key)
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
