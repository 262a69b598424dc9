// Package batch computes windowed queries over newline-delimited JSON in the simplest way there is, and compares what a
// stream has left in its outputs with it. The demo, the benchmark and the end-to-end tests judge the product by it.
//
// It owns: the queries (Query), their answers (Answer), the one text of a value that makes rows comparable (Rows), the
// comparison. It does not own: reading the outputs (package landed).
//
// It shares no code with what it judges: no decoder, expression, window or accumulator of the product. Numbers are
// rationals and so exact, a sum of floats too; they are rounded once, at the end. Everything is in maps; nothing is clever.
//
// Not in it: lateness. An answer is the plain aggregation over all rows.
//
// Start reading at Compute, then Compare.
package batch
