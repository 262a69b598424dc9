// Package contract checks requests and responses against an OpenAPI document (DESIGN §12).
//
// It owns: the part of OpenAPI 3.1 and JSON Schema that our documents use, compiled once, and faults with JSON pointers
// and the nearest known names. It does not own: HTTP (package httpserver asks it), or the documents.
//
// What a document uses and this package does not know is an error of Parse, so that nothing is silently unchecked. A
// Contract is immutable and may be used by many goroutines.
//
// Start reading at Parse, then Schema.Check.
package contract
