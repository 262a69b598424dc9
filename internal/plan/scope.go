package plan

import (
	"time"

	"github.com/pondage/pondage/internal/block"
)

// scope is what names mean in an expression: an expr.Zoned and expr.ZoneFinder over a list of columns, some of which are not shown in hints.
type scope struct {
	columns map[string]scopeColumn
	shown   []string
	env     Env
	zone    *time.Location
}

type scopeColumn struct {
	index int
	typ   block.Type
}

func newScope(env Env, zone *time.Location) *scope {
	return &scope{columns: map[string]scopeColumn{}, env: env, zone: zone}
}

// newScope makes an empty scope of the stream.
func (b *builder) newScope() *scope { return newScope(b.plan.Env, b.plan.zone) }

// Lookup finds a column by name.
func (s *scope) Lookup(name string) (index int, t block.Type, ok bool) {
	c, ok := s.columns[name]
	return c.index, c.typ, ok
}

// Names lists the columns that a user may think of.
func (s *scope) Names() []string { return s.shown }

// Location is the zone of calendar arithmetic.
func (s *scope) Location() *time.Location { return s.zone }

// Zone finds the zones that functions name.
func (s *scope) Zone(name string) (*time.Location, error) { return s.env.zone(name) }

// has tells whether the name is known.
func (s *scope) has(name string) bool {
	_, ok := s.columns[name]
	return ok
}

// add adds a column that hints may show.
func (s *scope) add(name string, index int, t block.Type) {
	s.addHidden(name, index, t)
	s.shown = append(s.shown, name)
}

func (s *scope) addHidden(name string, index int, t block.Type) {
	s.columns[name] = scopeColumn{index, t}
}

// addAll adds the fields of a schema that begins at column 0.
func (s *scope) addAll(fields block.Schema) {
	for i, f := range fields {
		s.add(f.Name, i, f.Type)
	}
}
