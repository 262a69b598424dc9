// Package rowjson is the one JSON form of a result row, used for Kafka values, server-sent events and HTTP results
// (INTERFACE §3): int64 and decimal as strings, float64 as a number (NaN and infinities as strings), times RFC 3339 in
// UTC with milliseconds, null present, json columns embedded as they are.
//
// It owns: that form, and the JSON array of a natural key. It does not own: which columns a row has (package plan).
//
// Invariants: the same row gives the same bytes, always (a Kafka key must be); appending never allocates once the
// destination has room. An Encoder belongs to one goroutine.
//
// Start reading at Encoder.AppendRow.
package rowjson
