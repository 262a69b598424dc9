// Package plan turns a source spec and a stream spec into a typed plan: what a source task computes for a row, how
// groups are routed, which windows and aggregates there are, what a result row looks like, and which tasks and edges
// the stream has.
//
// It owns: what a stream means, the defaults (defaults.go), what this version refuses as not_supported_yet
// (supported.go), the names and types of result columns and the natural key (INTERFACE §3, DESIGN §9), the way from
// source partitions to tasks (graph.go), the fingerprint. It does not own: the specs' form (package spec), the types of
// expressions (package expr), what windows and aggregates are (packages window and agg), where tasks run.
//
// A plan is a pure function of (source, stream, Env): orders carry the specs and each worker builds the plan again.
// A Plan is immutable and may be shared by goroutines; what evaluates (Projector, Router, expr.Compile of a Typed) is
// made once a task and is not.
//
// Build reports every fault it can find at once. Its errors are *invalid.Error; a fault has the pointer of a member of
// the stream's spec and, in an expression, the span within it; for a stream that was read from SQL the span is in the
// statement (spec.Places).
//
// # Scopes
//
// Source side (WHERE, PARTITION BY, arguments of aggregates, the select list of a stream without window): the declared
// columns, tbname, ts, and the hidden _topic, _partition, _offset.
// Result side (the select list of a windowed stream): the group keys, by the text they were declared with, _wstart,
// _wend, _wduration (int64, ms), _wrows, _wid, and aggregates.
//
// # Imports
//
// Cores: spec, sql, expr, agg, window. Start reading at Plan, then build.go.
package plan
