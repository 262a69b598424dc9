// Package render writes what commands answer: tables for people, JSON and YAML for programs, problems for both.
//
// It owns: the formats, how a table is cut to a terminal, how text from outside is made harmless for one. It does not own:
// what a command shows (package cli).
//
// JSON is one line a value, so that a sequence of values is NDJSON. YAML has the members in the order of the JSON. No number
// passes through a float on the way.
//
// Start reading at Format and Grid.
package render
