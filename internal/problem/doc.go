// Package problem turns errors into the one form of error answer, an RFC 9457 problem document (DESIGN §12, I14).
//
// It owns: the catalogue of codes (catalogue.json, from which codes.gen.go and docs/errors.md are made), Error, which
// gives an error its code where it arises, and Write, which answers with any error. It does not own: the faults of specs
// and statements (package invalid), or which operation may fail how.
//
// Invariants: a code is for ever; every answer of an error is application/problem+json; bad input is never a 5xx; what is
// not known to be meant for users is answered as internal, with its cause in the log only.
//
// Kinds of codes: request (an operation is answered with it), cause (why a stream was reset, stopped or failed: seen in
// events and in the stream's error), record (why a record was set aside: seen in dead letters), event (something happened).
// A code may be of several kinds.
//
// Start reading at Error, then From.
package problem

//go:generate go run ./gen -catalogue catalogue.json -go codes.gen.go -doc ../../docs/errors.md
