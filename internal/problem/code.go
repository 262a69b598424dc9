package problem

// Code is a stable name of an error.
type Code string

// Kind says where a code is seen; a code may be of several.
type Kind uint8

// The kinds of codes (doc.go).
const (
	KindRequest Kind = 1 << iota
	KindCause
	KindRecord
	KindEvent
)

// Entry is what the catalogue says about a code.
type Entry struct {
	Kinds     Kind
	Status    int // of the answer; 0 when no request is answered with it
	Retryable bool
	Title     string // one sentence without a full stop
	Remedy    string // what to do
}

// Lookup returns the entry of a code.
func Lookup(c Code) (Entry, bool) {
	e, ok := catalogue[c]
	return e, ok
}
