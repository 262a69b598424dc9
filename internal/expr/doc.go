// Package expr gives expressions their types and evaluates them over columns (DESIGN §8).
//
// It owns: what the scalar functions and operators are (Functions), which types they take and give, what they do with
// nulls, and the errors of single rows. It does not own: the grammar (package sql), aggregates (package agg; the planner
// replaces their calls by columns before Check), where columns come from (Scope).
//
// Check turns a tree into a Typed one, or says everything that is wrong with it, with places and hints. Compile makes a
// Program: the code and the scratch memory of one evaluator. A Typed may be shared, a Program is for one goroutine.
//
// # Types
//
//	int64 ∘ int64 → int64; beyond 64 bits is the row error arithmetic_overflow
//	int64 / int64 → int64, rounded toward zero as in Postgres; % has the sign of the dividend; by zero: division_by_zero
//	int64 ∘ decimal → the int64 counts as decimal(19,0)
//	decimal ± decimal → scale max(s1,s2); decimal × decimal → scale s1+s2 (more than 38 is refused by Check)
//	decimal / decimal → scale max(s1,s2,6), rounded half away from zero
//	anything ∘ float64 → float64 by IEEE 754: overflow gives ±Inf, 0/0 gives NaN, no row errors
//	timestamp ± duration → timestamp, calendar units in the scope's zone, the day of the month clipped to the month
//	timestamp − timestamp → int64, milliseconds
//
// The precision of a decimal result is what the operation needs, at most 38 digits; a value beyond 38 digits is the row
// error arithmetic_overflow. Literals adapt: a string literal beside a timestamp must be RFC 3339 with a zone, NULL takes
// any type, a decimal literal beside a float64 is the nearest float64.
//
// Casts are exact or a row error (bad_cast): '12x' or 1.5 to int64, 1.25 to decimal(3,1). The exceptions are casts to
// float64, which take the nearest value. round, floor and ceil make a value fit. float64 to decimal goes by the shortest
// digits that mean the float64. Text is read and written as in records and results (packages numtext and rowjson).
//
// Calendar units and the parts of a time follow the scope's zone (Zoned), UTC without one. Zones named in an expression
// come from the scope (ZoneFinder). When a date begins is package calendar's answer, as it is for windows; paths into
// JSON are those of specs (package decode), so that a column and json_get write the same in one way.
//
// # Nulls, NaN and order
//
// A null operand gives null, but for AND, OR, IS NULL, COALESCE, CASE, CONCAT, GREATEST and LEAST. Floats are compared
// in a total order: NaN equals NaN and is above everything else, −0 equals 0. Strings are compared by their bytes.
//
// # Errors of rows
//
// An error is the error of its row and of no other: it is noted in Result.Errors, and the row's value is null. The right
// side of AND and OR, the arms of CASE and the arguments of COALESCE are evaluated only for the rows that need them, so
// that `a <> 0 AND 10 / a > 1` has no error. That is what selection vectors are for: ascending row numbers, handed down.
//
// # How it runs
//
// A Typed is a tree of nodes; each knows how to build its kernel. A kernel computes one column for the selected rows with
// one loop, into a scratch column from the program's pool; a parent gives the scratch of its operands back when it has
// used them. So in the steady state nothing is allocated, and a deep tree needs few columns. Strict kernels (null in,
// null out) see only rows without nulls. Nodes whose operands are all constant are evaluated by Check.
//
// Start reading at typed.go, then program.go. The package is pure: no I/O, no clock, no goroutine.
package expr
