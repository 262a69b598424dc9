package expr

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"pgregory.net/rapid"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/sql"
)

// generator writes random expressions as SQL, one production for each type.
type generator struct{ t *rapid.T }

func (g generator) pick(label string, productions ...func() string) string {
	return productions[rapid.IntRange(0, len(productions)-1).Draw(g.t, label)]()
}

func (g generator) word(words ...string) string { return rapid.SampledFrom(words).Draw(g.t, "word") }

// f writes a format whose arguments are drawn from left to right.
func f(format string, args ...func(int) string) func(depth int) func() string {
	return func(depth int) func() string {
		return func() string {
			drawn := make([]any, len(args))
			for i, a := range args {
				drawn[i] = a(depth - 1)
			}
			return "(" + fmt.Sprintf(format, drawn...) + ")"
		}
	}
}

// any adds the leaves, and stops at depth 0.
func (g generator) any(depth int, leaf func() string, rest ...func(int) func() string) string {
	if depth <= 0 {
		return leaf()
	}
	productions := []func() string{leaf}
	for _, r := range rest {
		productions = append(productions, r(depth))
	}
	return g.pick("production", productions...)
}

func (g generator) ints(depth int) string {
	op := func(int) string { return g.word("+", "-", "*", "/", "%") }
	return g.any(depth, func() string {
		return g.word("i", "j", "0", "1", "-3", "9223372036854775807", "-9223372036854775808", "length(s)")
	}, f("%s %s %s", g.ints, op, g.ints), f("- %s", g.ints), f("COALESCE(%s, %s)", g.ints, g.ints), f("NULLIF(%s, %s)", g.ints, g.ints),
		f("CASE WHEN %s THEN %s ELSE %s END", g.bools, g.ints, g.ints), f("CASE %s WHEN %s THEN %s WHEN %s THEN %s END", g.ints, g.ints, g.ints, g.ints, g.ints),
		f("greatest(%s, %s, %s)", g.ints, g.ints, g.ints), f("length(%s)", g.texts))
}

func (g generator) floats(depth int) string {
	op := func(int) string { return g.word("+", "-", "*", "/", "%") }
	return g.any(depth, func() string { return g.word("f", "g", "0e0", "1.5e0", "-1e300") },
		f("%s %s %s", g.floats, op, g.floats), f("%s %s %s", g.floats, op, g.ints), f("%s %s %s", g.decimals, op, g.floats), f("- %s", g.floats),
		f("CASE WHEN %s THEN %s END", g.bools, g.floats), f("least(%s, %s)", g.floats, g.floats))
}

func (g generator) decimals(depth int) string {
	op := func(int) string { return g.word("+", "-", "*", "/", "%") }
	leaf := func(int) string { return g.word("d", "e", "0.5", "-7.25", "0.0") }
	return g.any(depth, func() string { return leaf(0) },
		f("%s %s %s", leaf, op, leaf), f("%s %s %s", leaf, op, g.ints), f("%s %s %s", g.ints, op, leaf), f("- %s", g.decimals), f("%s + %s", g.decimals, leaf))
}

func (g generator) texts(depth int) string {
	return g.any(depth, func() string { return g.word("s", "t", "''", "'a%'", "'Ü_b'") },
		f("%s || %s", g.texts, g.texts), f("concat(%s, %s)", g.texts, g.texts), f("lower(%s)", g.texts), f("replace(%s, %s, %s)", g.texts, g.texts, g.texts),
		f("left(%s, %s)", g.texts, g.ints), f("CASE WHEN %s THEN %s ELSE %s END", g.bools, g.texts, g.texts), f("COALESCE(%s, %s)", g.texts, g.texts))
}

func (g generator) bools(depth int) string {
	op := func(int) string { return g.word("=", "<>", "<", "<=", ">", ">=") }
	optionalNot := func(int) string { return g.word("", "NOT ") }
	number := func(d int) string {
		return g.pick("number", func() string { return g.ints(d) }, func() string { return g.floats(d) }, func() string { return g.decimals(d) })
	}
	return g.any(depth, func() string { return g.word("b", "c", "true", "false") },
		f("%s AND %s", g.bools, g.bools), f("%s OR %s", g.bools, g.bools), f("NOT %s", g.bools), f("%s %s %s", number, op, number), f("%s %s %s", g.texts, op, g.texts),
		f("%s %s %s", g.bools, op, g.bools), f("%s IS NULL", number), f("%s IS NOT NULL", g.texts), f("%s %sBETWEEN %s AND %s", number, optionalNot, number, number),
		f("%s %sIN (%s, %s)", g.ints, optionalNot, g.ints, g.ints), f("%s %sIN (1, 7, NULL)", g.ints, optionalNot), f("%s %sIN ('', 'a%%', 'ß')", g.texts, optionalNot),
		f("%s %sLIKE %s", g.texts, optionalNot, g.texts))
}

// drawTable draws rows with many nulls, zeros and limits.
func drawTable(t *rapid.T) *block.Batch {
	b := block.NewBatch(tableSchema, 0)
	ints := rapid.SampledFrom([]any{nil, int64(0), int64(1), int64(2), int64(-3), int64(7), int64(math.MaxInt64), int64(math.MinInt64)})
	floats := rapid.SampledFrom([]any{nil, 0.0, math.Copysign(0, -1), 1.5, -2.0, 1e300, math.NaN(), math.Inf(1), math.Inf(-1)})
	texts := rapid.SampledFrom([]any{nil, "", "a", "ab", "a%", "Ü_b", "温度", `\`, `\%`, "%"})
	bools := rapid.SampledFrom([]any{nil, true, false})
	narrow, wide := tableSchema[4].Type, tableSchema[5].Type
	decimals := rapid.SampledFrom([]any{nil, dec("0", narrow), dec("12.34", narrow), dec("-0.05", narrow), dec("99999999.99", narrow)})
	wides := rapid.SampledFrom([]any{nil, dec("0", wide), dec("0.0000000001", wide), dec("-3", wide), dec("9999999999999999999999999999.9999999999", wide)})
	for range rapid.IntRange(0, 20).Draw(t, "rows") {
		row := []any{
			ints.Draw(t, "i"), ints.Draw(t, "j"), floats.Draw(t, "f"), floats.Draw(t, "g"), decimals.Draw(t, "d"), wides.Draw(t, "e"),
			texts.Draw(t, "s"), texts.Draw(t, "t"), bools.Draw(t, "b"), bools.Draw(t, "c"), int64(0), "null",
		}
		for i, v := range row {
			appendCell(b.Cols[i], v)
		}
	}
	return b
}

func drawExpr(t *rapid.T) sql.Expr {
	g := generator{t}
	const depth = 4
	text := g.pick("type", func() string { return g.ints(depth) }, func() string { return g.floats(depth) }, func() string { return g.decimals(depth) },
		func() string { return g.texts(depth) }, func() string { return g.bools(depth) })
	e, err := sql.ParseExpr(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return e
}

func checkedExpr(t *rapid.T) (sql.Expr, *Typed) {
	e := drawExpr(t)
	typed, err := Check(e, testScope{SchemaScope(tableSchema), time.UTC})
	if err != nil {
		if strings.Contains(err.Error(), "digits after the point") {
			t.SkipNow() // a product of too many decimals
		}
		t.Fatalf("%s: %v", sql.Format(e), err)
	}
	return e, typed
}

// shownModel is what shownRows shows, for a value of the model.
func shownModel(v any, code string, typ block.Type) string {
	c := block.NewColumn(typ, 1)
	switch {
	case code != "":
		return "!" + code
	case v == nil:
		return "null"
	}
	switch typ.Kind {
	case block.KindFloat64:
		v, _ = toFloat(v)
	case block.KindDecimal:
		d := toDec(v)
		v = decimal128.FromBigInt(new(big.Int).Mul(d.unscaled, pow(int(typ.Scale)-d.scale)))
	}
	appendCell(c, v)
	shown := string(appendValue(nil, c, 0))
	if typ.Kind == block.KindString {
		return "'" + shown + "'"
	}
	return shown
}

func TestVectorisedEqualsRowByRow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e, typed := checkedExpr(t)
		in := drawTable(t)
		program := Compile(typed)
		var out Result
		for range 2 { // the second time with used scratch columns
			program.Eval(in.Cols, in.Rows(), &out)
		}
		got := shownRows(&out)
		for row := range in.Rows() {
			v, code := model{in, row}.eval(e)
			if want := shownModel(v, code, typed.Type()); got[row] != want {
				t.Fatalf("%s, row %d: got %s, want %s", sql.Format(e), row, got[row], want)
			}
		}
		checkInvariants(t, &out, in.Rows())
	})
}

// checkInvariants: the result keeps the promises of block.Column and of Result.
func checkInvariants(t *rapid.T, out *Result, rows int) {
	if out.Col.Len() != rows || out.Col.Null != nil && len(out.Col.Null) != rows {
		t.Fatalf("%d values and %d nulls for %d rows", out.Col.Len(), len(out.Col.Null), rows)
	}
	for i, e := range out.Errors {
		if !out.Col.IsNull(int(e.Row)) || e.Reason == "" || i > 0 && out.Errors[i-1].Row >= e.Row {
			t.Fatalf("error %d: %+v", i, e)
		}
	}
	zero := block.NewColumn(out.Col.Type, 1)
	zero.AppendNull()
	for i := range rows {
		if out.Col.IsNull(i) && out.Col.Type.Kind != block.KindString && out.Col.Type.Kind != block.KindJSON && compareAt(out.Col, int32(i), zero, 0) != 0 {
			t.Fatalf("the null in row %d has a value", i)
		}
		if out.Col.Type.Kind == block.KindString && out.Col.IsNull(i) && len(out.Col.Bytes(i)) > 0 {
			t.Fatalf("the null in row %d has bytes", i)
		}
	}
}

func TestAnyCutGivesTheSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e, typed := checkedExpr(t)
		in := drawTable(t)
		var whole Result
		Compile(typed).Eval(in.Cols, in.Rows(), &whole)
		want := shownRows(&whole)

		var sel []int32
		for i := range in.Rows() {
			if rapid.Bool().Draw(t, "selected") {
				sel = append(sel, int32(i))
			}
		}
		program := Compile(typed)
		var out Result
		program.EvalRows(in.Cols, in.Rows(), sel, &out)
		some := shownRows(&out)
		for _, i := range sel {
			if some[i] != want[i] {
				t.Fatalf("%s, row %d selected with others: got %s, want %s", sql.Format(e), i, some[i], want[i])
			}
		}
		for _, bad := range out.Errors {
			if want[bad.Row] != "!"+bad.Code || !contains32(sel, bad.Row) {
				t.Fatalf("%s: error %+v of a row that was not asked for", sql.Format(e), bad)
			}
		}

		var cut []string
		for from := 0; from < in.Rows(); {
			to := rapid.IntRange(from+1, in.Rows()).Draw(t, "cut")
			part := block.NewBatch(tableSchema, 0)
			for c := range part.Cols {
				for i := from; i < to; i++ {
					part.Cols[c].AppendFrom(in.Cols[c], i)
				}
			}
			program.Eval(part.Cols, part.Rows(), &out)
			cut = append(cut, shownRows(&out)...)
			from = to
		}
		if strings.Join(cut, "|") != strings.Join(want, "|") {
			t.Fatalf("%s: in parts %v, as a whole %v", sql.Format(e), cut, want)
		}
	})
}

func contains32(s []int32, v int32) bool {
	for _, x := range s {
		if x == v {
			return true
		}
	}
	return false
}
