package spec

import (
	"strings"

	"github.com/pondage/pondage/internal/decode"
)

// Path says where a value stands in a record: a member's name, or `$` with steps: `$.geo.lat`, `$['odd name'].x`,
// `$.list[0]`. Its text is decode's to read, so that what a spec may say is what the decoder can follow.
type Path string

func (p *Path) decode(d *decoder, at string, n *node) {
	text, ok := d.text(at, n)
	if !ok {
		return
	}
	if _, err := decode.ParsePath(text); err != nil {
		d.fault(CodeInvalidValue, at, "for example $.geo.lat", "%v", err)
		return
	}
	*p = Path(text)
}

func (p Path) encode() *node { return newString(string(p)) }

// Table says what a record's table name is: a member (`origin`), a path (`$.geo.net`), or an expression over the
// declared columns (`site || '.' || device`).
type Table string

// Path returns the names of the members that lead to the table name, none where the way is through an array, and whether
// Table is a path at all. Otherwise it is an expression.
func (t Table) Path() (members []string, ok bool) {
	path, err := decode.ParsePath(string(t))
	if err != nil {
		return nil, false
	}
	for _, s := range path {
		if s.IsIndex {
			return nil, true
		}
		members = append(members, s.Name)
	}
	return members, true
}

// Expr returns the expression, where Table is no path.
func (t Table) Expr() Expr { return Expr(t) }

func (t *Table) decode(d *decoder, at string, n *node) {
	text, ok := d.text(at, n)
	if !ok {
		return
	}
	if _, err := decode.ParsePath(text); err != nil && strings.HasPrefix(text, "$") {
		d.fault(CodeInvalidValue, at, "for example $.geo.net", "%v", err)
		return
	}
	*t = Table(text)
}

func (t Table) encode() *node { return newString(string(t)) }
