package spec

import (
	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/decode"
)

// Source declares where records come from and how one is read (INTERFACE §1).
type Source struct {
	Name   string `spec:"name,required"`
	Format Format `spec:"format,required"`
	Kafka  *Kafka `spec:"kafka"`
	// Table says what the table name of a record is: a member, a path, or an expression over the declared columns.
	Table     Table     `spec:"table,required"`
	EventTime EventTime `spec:"event_time,required"`
	// MaxFuture is how far a row's event time may be ahead of the processing clock (DESIGN §6). Absent: 1 d.
	MaxFuture Limit `spec:"max_future"`
	// MinTime is the earliest event time that is taken; nil is off.
	MinTime *Instant `spec:"min_time"`
	// DedupWindow is how long repeats of an ingest idempotency key are recognised (DESIGN §12). Absent: 10 min.
	DedupWindow Limit    `spec:"dedup_window"`
	Update      Update   `spec:"update"`
	Columns     []Column `spec:"columns"`

	places Places // nil unless read from SQL
}

// Format is the encoding of a record's value.
type Format string

// FormatJSON is one JSON object a record.
const FormatJSON Format = "json"

// Update says what a second record with the same table and time means. Empty is append.
type Update string

// The update modes.
const (
	UpdateAppend Update = "append" // every record counts
	UpdateUpsert Update = "upsert" // the last write replaces the row
)

// Column is a declared column: a value taken from each record.
type Column struct {
	Name string     `spec:"name,required"`
	Type block.Type `spec:"type,required"`
	// Path is where the value stands in the record; empty means the member with the column's name.
	Path Path `spec:"path"`
}

// At returns the path from the record's root to the column's value. The column is one that this package has read.
func (c Column) At() decode.Path {
	if c.Path == "" {
		return decode.Members(c.Name)
	}
	p, err := decode.ParsePath(string(c.Path))
	if err != nil {
		panic("spec: a path that was not checked: " + err.Error())
	}
	return p
}

// EventTime says where a record's event time stands and in which unit a number is. Without a unit a number is epoch
// milliseconds; a string is RFC 3339 in any case.
type EventTime struct {
	Path Path
	Unit TimeUnit
}

// TimeUnit is the unit of a numeric event time. Empty is milliseconds.
type TimeUnit string

// The units of an event time.
const (
	UnitSecond      TimeUnit = "s"
	UnitMillisecond TimeUnit = "ms"
	UnitMicrosecond TimeUnit = "us"
	UnitNanosecond  TimeUnit = "ns"
)

// Places says that the source was read from SQL and where its values stand; nil otherwise.
func (s *Source) Places() Places { return s.places }

// ObjectKind returns "source".
func (s *Source) ObjectKind() Kind { return KindSource }

// ObjectName returns the source's name.
func (s *Source) ObjectName() string { return s.Name }

// Canonical returns the stable JSON form, without kind: what the metastore stores and the API shows.
func (s *Source) Canonical() []byte { return canonical(s) }

// MarshalJSON returns the canonical form.
func (s *Source) MarshalJSON() ([]byte, error) { return s.Canonical(), nil }

// UnmarshalJSON is ParseSource.
func (s *Source) UnmarshalJSON(doc []byte) error {
	out, err := ParseSource(doc)
	if err == nil {
		*s = *out
	}
	return err
}
