// Package spec holds the objects that users declare: Source and Stream, in the forms of INTERFACE §1 (YAML, JSON) and
// §2 (SQL).
//
// It owns: the members of the objects and their values' text forms, strict reading (unknown members are refused with
// the nearest known name, every fault is reported, numbers never pass through a float), the canonical JSON that the
// metastore stores, and the way from a fault back to its place in the SQL statement that the user wrote.
// It does not own: what a stream means. Types of expressions, windows, defaults and what this version supports are
// package plan's; SQL text is package sql's; paths into a record are read by package decode, which follows them.
//
// There is one path in. JSON, YAML and SQL statements are first turned into a tree (tree.go); the tree is decoded by
// the structs' `spec` tags (decode.go) and the result is validated (validate_*.go). So a key is the same word in all
// three forms, and a rule is written once. Faults carry JSON pointers; for SQL they are turned into spans at the end
// (places.go).
//
// Invariants: Parse(s.Canonical()) equals s; a canonical form is the same bytes for equal objects; a spec never holds
// a secret, only where one is to be found.
//
// The package is pure (DESIGN §14). Start reading at Stream, then decode.go.
package spec
