// Package flights carries the example of the same name in the binary, for `pondage demo`: the specs of a source and of
// streams over it, and real records (PROVENANCE.md).
package flights

import "embed"

// Files are the specs, and the records as flights.ndjson.gz.
//
//go:embed *.yaml flights.ndjson.gz
var Files embed.FS

// Records is the name of the records in Files: newline-delimited JSON, gzip.
const Records = "flights.ndjson.gz"

// Source is the name of the source's spec in Files.
const Source = "source.yaml"
