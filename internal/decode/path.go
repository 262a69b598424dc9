package decode

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Path leads from the record to a value. Its text form is `$.a.b`, `$['odd name']`, `$.list[0]`; a member's plain name
// alone is the same as `$.name`.
type Path []Step

// Step is a member's name, or, if IsIndex, a place in an array, from 0.
type Step struct {
	Name    string
	Index   int
	IsIndex bool
}

const (
	// maxPathSteps keeps the recursion along declared paths short; it is far below maxDepth.
	maxPathSteps = 32
	// maxPathIndex bounds an array index; it keeps an index from overflowing.
	maxPathIndex = 1 << 20
)

// Members returns the path through the named members.
func Members(names ...string) Path {
	p := make(Path, len(names))
	for i, n := range names {
		p[i] = Step{Name: n}
	}
	return p
}

// ParsePath reads the text form.
func ParsePath(text string) (Path, error) {
	rest, rooted := strings.CutPrefix(text, "$")
	if !rooted {
		if !PlainName(text) {
			return nil, fmt.Errorf("path %q: want a member's name, or $.member.member", text)
		}
		return Members(text), nil
	}
	var p Path
	for rest != "" {
		step, after, err := cutStep(rest)
		if err != nil {
			return nil, fmt.Errorf("path %q: %w", text, err)
		}
		p, rest = append(p, step), after
	}
	if len(p) == 0 || len(p) > maxPathSteps {
		return nil, fmt.Errorf("path %q: want 1 to %d steps", text, maxPathSteps)
	}
	return p, nil
}

// cutStep takes one step off the front: .name, ['name'], ["name"] or [index].
func cutStep(rest string) (Step, string, error) {
	if after, ok := strings.CutPrefix(rest, "."); ok {
		end := strings.IndexAny(after, ".[")
		if end < 0 {
			end = len(after)
		}
		if !PlainName(after[:end]) {
			return Step{}, "", fmt.Errorf("%q is not a plain name: write ['…']", after[:end])
		}
		return Step{Name: after[:end]}, after[end:], nil
	}
	for _, quote := range []string{"'", `"`} {
		if inside, ok := strings.CutPrefix(rest, "["+quote); ok {
			name, after, closed := strings.Cut(inside, quote+"]")
			if !closed {
				return Step{}, "", fmt.Errorf("no %s] closes the name", quote)
			}
			return Step{Name: name}, after, nil
		}
	}
	inside, ok := strings.CutPrefix(rest, "[")
	number, after, closed := strings.Cut(inside, "]")
	index, err := strconv.ParseUint(number, 10, 32)
	if !ok || !closed || err != nil || index > maxPathIndex {
		return Step{}, "", errors.New("a step is .name, ['name'] or [index]")
	}
	return Step{Index: int(index), IsIndex: true}, after, nil
}

// PlainName tells whether a name needs no quotes: letters, digits and _, not beginning with a digit. So it can be told
// from an expression.
func PlainName(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// String returns the shortest text form that reads back as p.
func (p Path) String() string {
	if len(p) == 1 && !p[0].IsIndex && PlainName(p[0].Name) {
		return p[0].Name
	}
	return p.rooted()
}

// rooted returns the text form that begins with $.
func (p Path) rooted() string {
	var b strings.Builder
	b.WriteByte('$')
	for _, s := range p {
		switch {
		case s.IsIndex:
			fmt.Fprintf(&b, "[%d]", s.Index)
		case PlainName(s.Name):
			b.WriteString("." + s.Name)
		case strings.Contains(s.Name, "']"):
			b.WriteString(`["` + s.Name + `"]`)
		default:
			b.WriteString("['" + s.Name + "']")
		}
	}
	return b.String()
}
