// Package scalar holds the Go types of scalars in the API documents that Go and JSON write differently.
//
// It owns: Int64, a number that travels as a string, and Raw, a value that passes through. It does not own: any schema; the generated packages beside it do.
package scalar

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// Int64 is a 64-bit integer that is a decimal string in JSON, so that no client rounds it above 2^53 (DESIGN §12).
type Int64 int64

// String returns the decimal form.
func (n Int64) String() string { return strconv.FormatInt(int64(n), 10) }

// MarshalJSON writes the decimal string.
func (n Int64) MarshalJSON() ([]byte, error) {
	const widest = len(`"-9223372036854775808"`)
	b := append(make([]byte, 0, widest), '"')
	return append(strconv.AppendInt(b, int64(n), 10), '"'), nil
}

// UnmarshalJSON reads the decimal string in its one form: no plus sign, no leading zeros, no bare number.
func (n *Int64) UnmarshalJSON(b []byte) error {
	if len(b) < 2 || b[0] != '"' || b[len(b)-1] != '"' {
		return fmt.Errorf("64-bit integer %s: want a decimal in quotes", b)
	}
	return n.UnmarshalText(b[1 : len(b)-1])
}

// UnmarshalText reads the decimal form, for query and path parameters.
func (n *Int64) UnmarshalText(b []byte) error {
	v, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil {
		return fmt.Errorf("64-bit integer %q: %w", b, err)
	}
	if strconv.FormatInt(v, 10) != string(b) {
		return fmt.Errorf("64-bit integer %q: want %d", b, v)
	}
	*n = Int64(v)
	return nil
}

// Raw is a JSON value that passes through byte for byte: a spec, a result row. What it holds is described in the
// documents and checked where it is understood.
type Raw = json.RawMessage
