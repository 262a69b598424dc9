package ingest

import (
	"bytes"
	"encoding/json"

	"github.com/pondage/pondage/internal/spec"
)

// keyFinder finds the table name in a record, if the source's table is a member of it. It reads no further than it must
// and checks nothing: of a record that is not JSON it may find any key, or none, and the record is a dead letter anyway.
type keyFinder struct {
	steps [][]byte // empty: the name is computed, so it is not found here
}

func newKeyFinder(t spec.Table) keyFinder {
	steps, ok := t.Path()
	if !ok {
		return keyFinder{}
	}
	var f keyFinder
	for _, s := range steps {
		f.steps = append(f.steps, []byte(s))
	}
	return f
}

// find returns the table name; nil when there is none. The bytes may be the record's own.
func (f keyFinder) find(record []byte) []byte {
	if len(f.steps) == 0 {
		return nil
	}
	at := text{record, 0}
	for _, step := range f.steps {
		if !at.enter(step) {
			return nil
		}
	}
	return at.stringValue()
}

// text is a record and a place in it.
type text struct {
	b  []byte
	at int
}

// enter moves from the object that begins here to the value of its first member of the name.
func (t *text) enter(name []byte) bool {
	if !t.accept('{') {
		return false
	}
	for {
		key, escaped, ok := t.stringToken()
		if !ok || !t.accept(':') {
			return false
		}
		if same(key, escaped, name) {
			return true
		}
		if !t.skip() || !t.accept(',') {
			return false
		}
	}
}

// same compares a key, as it is written, with a name.
func same(key []byte, escaped bool, name []byte) bool {
	if !escaped {
		return bytes.Equal(key, name)
	}
	return bytes.Equal(unescape(key), name)
}

// unescape reads the characters of a string's inside; nil if it is no JSON string.
func unescape(inside []byte) []byte {
	quoted := append(append([]byte{'"'}, inside...), '"')
	var s string
	if json.Unmarshal(quoted, &s) != nil {
		return nil
	}
	return []byte(s)
}

// space skips white space, and a byte order mark at the very beginning.
func (t *text) space() {
	if t.at == 0 && bytes.HasPrefix(t.b, []byte("\xef\xbb\xbf")) {
		t.at = 3
	}
	for t.at < len(t.b) && isSpace(t.b[t.at]) {
		t.at++
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// accept takes the byte if it comes next.
func (t *text) accept(c byte) bool {
	t.space()
	if t.at >= len(t.b) || t.b[t.at] != c {
		return false
	}
	t.at++
	return true
}

// stringToken takes a string and returns its inside as it is written.
func (t *text) stringToken() (inside []byte, escaped, ok bool) {
	if !t.accept('"') {
		return nil, false, false
	}
	begin := t.at
	for t.at < len(t.b) {
		switch t.b[t.at] {
		case '"':
			t.at++
			return t.b[begin : t.at-1], escaped, true
		case '\\':
			escaped = true
			t.at++
		}
		t.at++
	}
	return nil, false, false
}

// stringValue returns the characters of the string that begins here, nil when there is none or it is empty.
func (t *text) stringValue() []byte {
	inside, escaped, ok := t.stringToken()
	if !ok || len(inside) == 0 {
		return nil
	}
	if escaped {
		return unescape(inside)
	}
	return inside
}

// skip passes over the value that begins here, up to the comma or end behind it.
func (t *text) skip() bool {
	for depth := 0; ; {
		t.space()
		if t.at >= len(t.b) {
			return false
		}
		switch t.b[t.at] {
		case '"':
			if _, _, ok := t.stringToken(); !ok {
				return false
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return true
			}
			depth--
		case ',':
			if depth == 0 {
				return true
			}
		}
		t.at++
	}
}
