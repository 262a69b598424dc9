// Package sql reads Pondage's SQL (docs: INTERFACE §2): statements and expressions become trees with the place of every
// node in the text; nothing is looked up and nothing is typed here.
//
// It owns: the grammar, the trees, the durations of specs (`15m`), the canonical text of an expression.
// It does not own: what a name means (package expr), which combinations of clauses are possible (package plan), which
// WITH keys exist (package spec). Everything the grammar knows is parsed, also what the planner refuses today.
//
// The parser is written by hand: recursive descent for statements, precedence climbing (Pratt) for expressions. A
// generated parser was the alternative. By hand it needs no tool in the build, words stay usable as names because the
// parser knows from the position whether it wants a name (`count(*) AS count`), and every error can say what was
// expected there, in the user's words, with the nearest keyword.
//
// Rules of the text:
//   - keywords in any case; names fold to lower case unless in "…" ("" is a quote inside); only the words of
//     reserved cannot be column names without quotes, and after AS every word is a name;
//   - strings in '…' with two quotes for one; -- and /* */ (nested) are comments;
//   - an integer literal that fits is int64, exactly; a larger one, or one with a point, is decimal; one with an exponent
//     is float64. A minus directly before a number belongs to the number, so that −9223372036854775808 is an int64
//     and -1::string is '-1';
//   - durations are <int><unit>, units ms s m h d w n y in lower case (m minute, n month);
//   - precedence, loosest first: OR, AND, NOT, comparisons (with IS IN BETWEEN LIKE; they do not chain), ||,
//     sums, products (with %), unary minus, casts by ::.
//
// Invariants: parsing never panics and never recurses deeper than MaxNesting; a tree has at most MaxNodes nodes, so that
// whoever walks it may recurse; Format's text parses to the same tree. Every error is an *invalid.Error with one Detail
// of code CodeSyntax and a span.
//
// Start reading at parser.go. The package is pure: no I/O, no clock, no goroutine.
package sql
