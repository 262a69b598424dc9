package batch

import "time"

// Query is one query over the records of a file.
type Query struct {
	Name string
	// Time is the member with the event time: a number is epoch milliseconds, a string RFC 3339.
	Time string
	// Where keeps a record; nil keeps all.
	Where func(Record) bool
	// Window is nil for a query without window: then each record that is kept is a row.
	Window Window
	// Columns of a row. With a window, those of a member are what it groups by.
	Columns []Column
}

// Of says what a column holds.
type Of uint8

// What a column may hold. From OfCount on it takes a member of the record, and skips nulls.
const (
	OfMember Of = iota // a member of the record
	OfTime             // the event time; without window only
	OfStart            // of the window
	OfEnd
	OfRows // count(*)
	OfCount
	OfSum
	OfAvg
	OfMin
	OfMax
)

// Type is how the values of a column are written.
type Type uint8

// The types. Integers and decimals are exact; a float is the double nearest to the exact value.
const (
	TypeInteger Type = iota
	TypeFloat
	TypeText
	TypeTime // RFC 3339, UTC, milliseconds
)

// Column is a column of the answer.
type Column struct {
	Name string // in the stream's result
	Of   Of
	Path string // of the member; dots lead into nested objects
	Type Type
	// Key says that the column is part of what tells rows apart.
	Key bool
}

// Window tells in which windows an instant lies.
type Window interface {
	Spans(at time.Time) []Span
}

// Span is a window: from Start on, before End.
type Span struct{ Start, End time.Time }
