package expr

import (
	"time"

	"github.com/pondage/pondage/internal/block"
)

// Scope says what column names mean. Index is the position of the column in the slice given to Program.Eval.
type Scope interface {
	Lookup(name string) (index int, t block.Type, ok bool)
	// Names lists the columns, for hints.
	Names() []string
}

// Zoned is a Scope with a time zone: calendar durations, date_trunc, extract and the like count in it. A Scope that is
// not Zoned counts in UTC.
type Zoned interface {
	Scope
	Location() *time.Location
}

// ZoneFinder is a Scope that can find time zones by name, for the functions that take one. With any other Scope only UTC
// is known: loading zone rules is I/O, which is not for this package.
type ZoneFinder interface {
	Scope
	Zone(name string) (*time.Location, error)
}

// SchemaScope is the Scope of a batch's own columns, in UTC.
type SchemaScope block.Schema

// Lookup finds a column by name.
func (s SchemaScope) Lookup(name string) (int, block.Type, bool) {
	i := block.Schema(s).Index(name)
	if i < 0 {
		return 0, block.Type{}, false
	}
	return i, s[i].Type, true
}

// Names lists the columns.
func (s SchemaScope) Names() []string {
	names := make([]string, len(s))
	for i := range s {
		names[i] = s[i].Name
	}
	return names
}
