// Package check shows what the decoder makes of records, one JSON line each, and compares that with a sidecar: a file
// that says what it should make of them. It is what `pondage decode` and `make decode-check` do.
//
// It owns: the form of those lines and of the sidecar, and when two rows are equal. It does not own: the rules of the
// decoder (package decode), files and flags (cmd), the form of a source (the caller turns it into a schema).
//
// Sidecar: a JSON object with `source`, `cases` (one a line of the records file, in order) and `generated` (one a file
// NAME.json). A case has name and verdict; an accepted one its row; a refused one its code, `also` with further codes
// that are right, and field where a column is at fault.
//
// Invariant: every line has a case and every case a line; one too many on either side is a failure.
//
// Start reading at Run.
package check
