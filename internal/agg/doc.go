// Package agg holds the aggregate functions and their exact, mergeable accumulators (DESIGN §8, "Numbers").
//
// It owns: the catalogue of functions (Lookup, Resolve), the layout of a cell (all accumulators of one group and pane
// in a few machine words), adding rows, merging cells, the partial form on the wire, and the results. It does not own:
// which rows belong to which cell (package window), and expressions (package expr).
//
// # Results depend on the rows, never on order or cuts
//
// A cell is a function of the multiset of rows that went in: whatever way the rows are cut into partials and in
// whatever order those are merged, the result has the same bits. That is so because no accumulator rounds:
//   - rows and counts are 64-bit integers; sums of int64 are 128-bit integers, sums of decimals 192-bit, sums of
//     squares 192 and 320 bits;
//   - a float64 sum is the unevaluated sum of two doubles, a sum of squares that of three (every step is an error-free
//     transformation, Knuth's TwoSum and a fused TwoProduct). When an addition does not fit without error, the sum
//     moves to a fixed-point number that spans the whole range of doubles and their squares (fixed.go), so nothing is
//     lost and no partial sum overflows. NaN, +Inf and −Inf are counted beside it and decide at the end;
//   - min and max compare a total order; first and last go by (event time, partition, offset).
//
// Rounding happens once, in the result, to nearest with ties to even.
//
// # Decisions
//
//   - NaN sorts above every number, also +Inf (as in Postgres), and all NaNs are one; −0 sorts below +0. So min is NaN
//     only when all values are, max is NaN when any is. Strings compare by their bytes; false is below true.
//   - sum is NaN with any NaN or with both infinities, else the infinity, else the exact sum; it is ±Inf for finite
//     values only when the exact sum rounds out of range.
//   - variance and stddev are the population forms, (n·Σx² − (Σx)²)/n² on the exact integers and expansions; never
//     negative, zero for equal values; NaN when any value is not finite.
//   - spread is max − min in the argument's type; for int64 and decimal an overflow is an error of that result.
//   - a sum(decimal) that does not fit decimal(38,s) is an error of that result (CodeOverflow), not of the task; later
//     rows may bring it back into range.
//   - Nulls are skipped by all but count(*). Without a value the result is null (count: 0).
//
// # Partial form
//
// A batch of partials has, beside what package window puts in front, these columns; i is the argument's index:
//
//	_rows      int64          rows of the partial
//	a<i>n      int64          rows whose argument is not null; left out when equal to _rows throughout
//	a<i>s      decimal(38,0)  low 128 bits of the sum of int64 or decimal; a<i>sx when they do not hold it
//	a<i>h a<i>l float64       the float sum is h + l, exactly; a<i>hx when they do not hold it
//	a<i>q      decimal(38,0)  low 128 bits of the sum of squares of int64 or decimal; a<i>qx when they do not hold it
//	a<i>q0 a<i>q1 a<i>q2      float64: their exact sum is the sum of squares; a<i>qx when they do not hold it
//	a<i>min a<i>max           in the argument's type, null without a value
//	a<i>f a<i>ft a<i>fp a<i>fo  first: value (null without one), event time, partition, offset
//	a<i>z a<i>zt a<i>zp a<i>zo  last: the same
//
// The columns ending in x are strings, null where the compact columns hold the value, and left out when all null; the
// text is described at appendFixed and appendWords. Only the columns that the layout's functions need are there.
//
// # Use
//
// NewLayout turns the functions of a stream into accumulators, shared where possible (sum, avg and count of one argument
// keep one sum and one count). Cells stores them: all cells in one slab of words, a cell's words side by side, so that
// a row touches one or two cache lines (docs/design/0002). All operations are over vectors of cells. Nothing here is
// safe for use by several goroutines; a task has its own.
//
// Start reading at Layout, then count.go for the shape of an accumulator.
package agg
