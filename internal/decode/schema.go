package decode

import (
	"errors"
	"fmt"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/numtext"
)

// Names of the two columns that every source has behind its declared ones.
const (
	TableColumn = "tbname" // string, the table name
	TimeColumn  = "ts"     // timestamp, the event time
)

// Schema says where the values of a row are found in a record.
type Schema struct {
	Columns []Column
	// Table is where the table name is found; empty if TableOf computes it.
	Table Path
	// TableOf computes the table name from the declared columns.
	TableOf TableFunc
	// EventTime is where the event time is found.
	EventTime Path
	// Unit is the unit of a numeric event time.
	Unit Unit
}

// Column is a declared column.
type Column struct {
	Name string
	Type block.Type
	Path Path
}

// TableFunc computes the table name of a row whose declared columns are in the batch already. It returns nil for null,
// and an error if the expression fails on this row. The name is copied.
type TableFunc func(b *block.Batch, row int) ([]byte, error)

// Unit is the unit of a numeric event time.
type Unit uint8

// The units. The zero value is epoch milliseconds.
const (
	Milliseconds Unit = iota
	Seconds
	Microseconds
	Nanoseconds
)

// ParseUnit reads the names of units in specs: s, ms, us, ns; empty is ms.
func ParseUnit(name string) (Unit, error) {
	switch name {
	case "", "ms":
		return Milliseconds, nil
	case "s":
		return Seconds, nil
	case "us":
		return Microseconds, nil
	case "ns":
		return Nanoseconds, nil
	}
	return 0, fmt.Errorf("unknown unit %q: want s, ms, us or ns", name)
}

// Limits are the event times that are taken, both ends inclusive. The caller derives them from its clock and the
// source's max_future and min_time.
type Limits struct{ Earliest, Latest ident.EventMs }

// AnyTime are no further limits than the years 0001 to 9999.
func AnyTime() Limits { return Limits{Earliest: numtext.MinTimeMs, Latest: numtext.MaxTimeMs} }

// Block is the schema of the batches that a Decoder fills: the declared columns, then TableColumn and TimeColumn.
// A batch may have further columns behind them; they are the caller's.
func (s *Schema) Block() block.Schema {
	out := make(block.Schema, 0, len(s.Columns)+2)
	for _, c := range s.Columns {
		out = append(out, block.Field{Name: c.Name, Type: c.Type})
	}
	return append(out, block.Field{Name: TableColumn, Type: block.String}, block.Field{Name: TimeColumn, Type: block.Timestamp})
}

// check returns everything that is wrong with the schema.
func (s *Schema) check() error {
	var faults []error
	if (len(s.Table) == 0) == (s.TableOf == nil) {
		faults = append(faults, errors.New("want either a path or a function for the table name"))
	}
	if len(s.EventTime) == 0 {
		faults = append(faults, errors.New("the event time has no path"))
	}
	for _, c := range s.Columns {
		if len(c.Path) == 0 || !c.Type.Valid() {
			faults = append(faults, fmt.Errorf("column %s: type %s, path %s", c.Name, c.Type, c.Path))
		}
	}
	for _, p := range s.paths() {
		if len(p) > maxPathSteps {
			faults = append(faults, fmt.Errorf("path %s has more than %d steps", p, maxPathSteps))
		}
	}
	return errors.Join(faults...)
}

func (s *Schema) paths() []Path {
	out := []Path{s.Table, s.EventTime}
	for _, c := range s.Columns {
		out = append(out, c.Path)
	}
	return out
}
