package problem

// Code is a stable name of an error.
type Code string

// Kind says where a code is seen.
type Kind uint8

// The kinds of codes (doc.go).
const (
	kindRequest Kind = 1 + iota
	kindCause
	kindRecord
)

// Entry is what the catalogue says about a code.
type Entry struct {
	Kind      Kind
	Status    int // of the answer; 0 when the kind is not request
	Retryable bool
	Title     string // one sentence without a full stop
	Remedy    string // what to do
}

// Lookup returns the entry of a code.
func Lookup(c Code) (Entry, bool) {
	e, ok := catalogue[c]
	return e, ok
}
