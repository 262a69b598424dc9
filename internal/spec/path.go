package spec

import (
	"errors"
	"fmt"
	"strings"
)

// Path says where a value stands in a record: a member's name, or `$` with steps: `$.geo.lat`, `$['odd name'].x`.
type Path string

// ParsePath returns the steps of a path, at least one.
func ParsePath(text string) ([]string, error) {
	rest, rooted := strings.CutPrefix(text, "$")
	if !rooted {
		if !isWord(text) {
			return nil, fmt.Errorf("path %q: want a member's name or $.member.member", text)
		}
		return []string{text}, nil
	}
	var steps []string
	for rest != "" {
		step, after, err := cutStep(rest)
		if err != nil {
			return nil, fmt.Errorf("path %q: %w", text, err)
		}
		steps, rest = append(steps, step), after
	}
	if len(steps) == 0 {
		return nil, fmt.Errorf("path %q names the whole record", text)
	}
	return steps, nil
}

// cutStep takes `.word` or `['any']` from the front.
func cutStep(rest string) (step, after string, err error) {
	if rest[0] == '.' {
		end := strings.IndexAny(rest[1:], ".[") + 1
		if end == 0 {
			end = len(rest)
		}
		if step = rest[1:end]; !isWord(step) {
			return "", "", fmt.Errorf("%q is not a plain name: write ['%s']", step, step)
		}
		return step, rest[end:], nil
	}
	for _, quote := range []string{"'", `"`} {
		if inside, ok := strings.CutPrefix(rest, "["+quote); ok {
			step, after, ok = strings.Cut(inside, quote+"]")
			if ok && step != "" {
				return step, after, nil
			}
		}
	}
	return "", "", errors.New("a step is .name or ['name']")
}

// isWord tells whether s is letters, digits and _, not beginning with a digit.
func isWord(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// Steps returns the steps of a path that was read by this package.
func (p Path) Steps() []string {
	steps, err := ParsePath(string(p))
	if err != nil {
		panic("spec: a path that was not checked: " + err.Error())
	}
	return steps
}

func (p *Path) decode(d *decoder, at string, n *node) {
	text, ok := d.text(at, n)
	if !ok {
		return
	}
	if _, err := ParsePath(text); err != nil {
		d.fault(CodeInvalidValue, at, "for example $.geo.lat", "%v", err)
		return
	}
	*p = Path(text)
}

func (p Path) encode() *node { return newString(string(p)) }

// Table says what a record's table name is: a member (`origin`), a path (`$.geo.net`), or an expression over the
// declared columns (`site || '.' || device`).
type Table string

// Path returns the steps to the table name, and whether Table is a member or a path. Otherwise it is an expression.
func (t Table) Path() (steps []string, ok bool) {
	steps, err := ParsePath(string(t))
	return steps, err == nil
}

// Expr returns the expression, where Table is no path.
func (t Table) Expr() Expr { return Expr(t) }

func (t *Table) decode(d *decoder, at string, n *node) {
	text, ok := d.text(at, n)
	if !ok {
		return
	}
	if _, err := ParsePath(text); err != nil && strings.HasPrefix(text, "$") {
		d.fault(CodeInvalidValue, at, "for example $.geo.net", "%v", err)
		return
	}
	*t = Table(text)
}

func (t Table) encode() *node { return newString(string(t)) }
