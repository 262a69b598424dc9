package decode

// Code says why a record is refused. Codes are in dead letters, metrics and the API: never rename one.
type Code string

// The codes, in the order in which they count when a record has several faults; the last four in the order of the
// columns.
const (
	Accepted       Code = ""
	EmptyRecord    Code = "empty_record"
	InvalidUnicode Code = "invalid_unicode"
	MalformedJSON  Code = "malformed_json"
	TooDeep        Code = "too_deep"
	NotAnObject    Code = "not_an_object"
	DuplicateKey   Code = "duplicate_key"
	MissingTable   Code = "missing_table"
	BadTable       Code = "bad_table"
	MissingTime    Code = "missing_time"
	BadTime        Code = "bad_time"
	TimeOutOfRange Code = "time_out_of_range"
	WrongType      Code = "wrong_type"
	OutOfRange     Code = "out_of_range"
	NotIntegral    Code = "not_integral"
)

// Explain returns what a code means, one sentence; "" for an unknown one.
func (c Code) Explain() string { return explanations[c] }

var explanations = map[Code]string{
	EmptyRecord:    "The value has no bytes, or only white space.",
	InvalidUnicode: "The value is not UTF-8, or a declared field has half a surrogate pair.",
	MalformedJSON:  "The value is not one JSON text (RFC 8259).",
	TooDeep:        "The value nests deeper than the limit.",
	NotAnObject:    "The value is JSON, but not an object.",
	DuplicateKey:   "A declared field occurs twice.",
	MissingTable:   "The table name is absent or null.",
	BadTable:       "The table name is not a string, is empty, is longer than 192 bytes, or has a NUL.",
	MissingTime:    "The event time is absent or null.",
	BadTime:        "The event time is neither an integral number nor an RFC 3339 string with an offset.",
	TimeOutOfRange: "The event time is outside the years 0001 to 9999, or outside the source's limits.",
	WrongType:      "A column's value is of another JSON type.",
	OutOfRange:     "A column's type cannot hold the number.",
	NotIntegral:    "A number for an integer column has a fraction.",
}

// Verdict is what became of a record. The zero value means that its row is in the batch.
type Verdict struct {
	Code Code
	// Field is the column at fault, or the path of the table name or event time; empty if the whole record is.
	Field string
	// Reason says what is wrong, for people; it may quote the start of the offending value.
	Reason string
}

// OK tells whether the record was accepted.
func (v Verdict) OK() bool { return v.Code == Accepted }
