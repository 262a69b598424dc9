// Package numtext reads numbers and times from text: exactly, or not at all.
//
// It owns: the number grammar of JSON (RFC 8259), the conversion of such a literal to int64, float64 and decimal, and
// RFC 3339 times to epoch milliseconds. It does not own: which of them a column takes (package decode), or how values
// are written (package rowjson).
//
// Invariants: exactness is decided on the decimal digits and never through a double; no call costs more than the length
// of the literal, whatever its exponent says; nothing allocates.
//
// Start reading at Scan.
package numtext
