package expr

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/sql"
)

func scope() Scope { return testScope{SchemaScope(tableSchema), time.UTC} }

// batchOf repeats the rows of table without those at the limits.
func batchOf(rows int) *block.Batch {
	src, b := table(), block.NewBatch(tableSchema, rows)
	for i := range rows {
		for c := range b.Cols {
			b.Cols[c].AppendFrom(src.Cols[c], i%3)
		}
	}
	return b
}

func TestAColumnReferenceIsTheColumnItself(t *testing.T) {
	t.Parallel()
	in := table()
	p := compile(t, "s", scope())
	var out Result
	p.Eval(in.Cols, in.Rows(), &out)
	if out.Col != in.Cols[6] {
		t.Error("the column was copied")
	}
	if index, ok := p.Typed().Column(); !ok || index != 6 {
		t.Errorf("Column() = %d, %t", index, ok)
	}
	if _, ok := compile(t, "i + 1", scope()).Typed().Column(); ok {
		t.Error("i + 1 is not a column")
	}
}

func TestInputsAreNotTouched(t *testing.T) {
	t.Parallel()
	in, same := table(), table()
	for _, text := range []string{"COALESCE(s, t) || s", "i + j", "greatest(d, d)", "NOT b", "CASE WHEN b THEN i END", "s", "NULLIF(i, 7)", "i / j"} {
		evalText(t, text, scope(), in)
	}
	for c := range in.Cols {
		for i := range in.Rows() {
			a, b := in.Cols[c], same.Cols[c]
			if a.IsNull(i) != b.IsNull(i) || !a.IsNull(i) && string(appendValue(nil, a, int32(i))) != string(appendValue(nil, b, int32(i))) {
				t.Errorf("column %s, row %d was changed", tableSchema[c].Name, i)
			}
		}
	}
}

func TestFilterGivesTheTrueRows(t *testing.T) {
	t.Parallel()
	in := table()
	p := compile(t, "i / j >= 1 OR c", scope()) // row 1 has an error, row 2 is null
	var out Result
	rows := p.Filter(in.Cols, in.Rows(), nil, &out)
	if !slices.Equal(rows, []int32{0, 3, 4}) {
		t.Errorf("rows %v", rows)
	}
	if len(out.Errors) != 1 || out.Errors[0].Row != 1 || out.Errors[0].Code != CodeDivisionByZero || out.Errors[0].Reason != "division by zero in i / j" {
		t.Errorf("errors %+v", out.Errors)
	}
	if again := p.Filter(in.Cols, in.Rows(), rows, &out); &again[0] != &rows[0] {
		t.Error("the selection's memory is not used again")
	}
}

func TestConstantsAreFoldedAndFillEveryRow(t *testing.T) {
	t.Parallel()
	p := compile(t, "upper('a') || CAST(1 + 2 * 3 AS string) || left('xyz', 2)", scope())
	if c := p.Typed().Constant(); c == nil || string(c.Bytes(0)) != "A7xy" {
		t.Fatalf("constant %v", c)
	}
	var out Result
	for _, rows := range []int{3, 0, 5, 2} {
		p.Eval(nil, rows, &out)
		if out.Col.Len() != rows || rows > 0 && string(out.Col.Bytes(rows-1)) != "A7xy" {
			t.Errorf("%d rows: %d", rows, out.Col.Len())
		}
	}
	if compile(t, "1 / 0", scope()).Typed().Constant() != nil {
		t.Error("an error is not a constant")
	}
}

// TestT17_OneBadGroupDoesNotStopAThousand: every row of one group divides by zero.
func TestT17_OneBadGroupDoesNotStopAThousand(t *testing.T) {
	t.Parallel()
	const groups, rows, bad = 1000, 10_000, 500
	in := block.NewBatch(tableSchema, rows)
	for i := range rows {
		in.Cols[0].AppendInt(int64(i))
		in.Cols[1].AppendInt(int64(i%groups - bad))
	}
	var out Result
	compile(t, "i / j", scope()).Eval(in.Cols, rows, &out)
	if len(out.Errors) != rows/groups {
		t.Fatalf("%d errors", len(out.Errors))
	}
	for _, e := range out.Errors {
		if e.Row%groups != bad || e.Code != CodeDivisionByZero {
			t.Fatalf("error %+v", e)
		}
	}
	for i := range rows {
		if j := int64(i%groups - bad); j != 0 && out.Col.Int[i] != int64(i)/j {
			t.Fatalf("row %d: %d", i, out.Col.Int[i])
		}
	}
}

// TestT18_TwoTo53PlusOneSurvives: no int64 passes through a float64.
func TestT18_TwoTo53PlusOneSurvives(t *testing.T) {
	t.Parallel()
	in := block.NewBatch(tableSchema, 2)
	in.Cols[0].AppendInt(9007199254740993)
	in.Cols[0].AppendInt(-9223372036854775808)
	for text, want := range map[string]string{
		"i":                                "9007199254740993 | -9223372036854775808",
		"i = 9007199254740993.0":           "true | false",
		"i IN (9007199254740992, 1.5)":     "false | false",
		"COALESCE(i, 0.5)":                 "9007199254740993.0 | -9223372036854775808.0",
		"i::string::int64":                 "9007199254740993 | -9223372036854775808",
		"i::decimal(38,0)::int64 + 0":      "9007199254740993 | -9223372036854775808",
		"i BETWEEN 9007199254740993 AND i": "true | false",
	} {
		if got := evalText(t, text, scope(), in); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestAnErrorIsOnlyThatOfARowThatWasAskedFor(t *testing.T) {
	t.Parallel()
	in := table()
	var out Result
	compile(t, "10 / j", scope()).EvalRows(in.Cols, in.Rows(), []int32{0, 3}, &out)
	if len(out.Errors) != 0 || out.Col.Int[0] != 5 || out.Col.Int[3] != -10 {
		t.Errorf("values %v, errors %+v", out.Col.Int, out.Errors)
	}
}

func TestTheFirstErrorOfARowIsKept(t *testing.T) {
	t.Parallel()
	in := table()
	var out Result
	compile(t, "s::int64 + 1 / (j - j) + 9223372036854775807 * i", scope()).Eval(in.Cols, in.Rows(), &out)
	for _, e := range out.Errors {
		want := CodeBadCast
		if e.Row == 4 { // '12' is a number
			want = CodeDivisionByZero
		}
		if e.Code != want {
			t.Errorf("row %d: %s, want %s", e.Row, e.Code, want)
		}
	}
}

func TestForksDoNotShareMemory(t *testing.T) {
	t.Parallel()
	p := compile(t, "i + 1", scope())
	q := p.Fork()
	in := table()
	var first, second Result
	p.Eval(in.Cols, in.Rows(), &first)
	in.Cols[0].Int[0] = 100
	q.Eval(in.Cols, in.Rows(), &second)
	if first.Col.Int[0] != 8 || second.Col.Int[0] != 101 {
		t.Errorf("%d, %d", first.Col.Int[0], second.Col.Int[0])
	}
}

func TestStringsAreBounded(t *testing.T) {
	t.Parallel()
	in := block.NewBatch(tableSchema, 2)
	for _, s := range []string{strings.Repeat("a", 1000), "a"} {
		for c := range in.Cols {
			appendCell(in.Cols[c], map[bool]any{c == 6: s}[true])
		}
	}
	for text, want := range map[string]string{
		"length(replace(s, 'a', s || s))":                     "!" + CodeTooLong + " | 2",
		"length(replace(replace(s, 'a', s), 'a', s || 'bc'))": "!" + CodeTooLong + " | 3",
	} {
		if got := evalText(t, text, scope(), in); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// A thousand literals are looked up, and a deep tree needs only a few columns.
func TestLargeExpressions(t *testing.T) {
	t.Parallel()
	in := table()
	list := make([]string, 1000)
	for i := range list {
		list[i] = fmt.Sprint(i)
	}
	if got := evalText(t, "i IN ("+strings.Join(list, ",")+")", scope(), in); got != "true | false | null | false | false" {
		t.Error(got)
	}
	p := compile(t, "f"+strings.Repeat(" + (g * 0.5e0)", 1000), scope())
	var out Result
	p.Eval(in.Cols, in.Rows(), &out)
	if n := len(p.batch.free[block.KindFloat64]); n > 3 {
		t.Errorf("%d scratch columns for a chain", n)
	}
}

func TestEveryFunctionIsDescribed(t *testing.T) {
	t.Parallel()
	functions := Functions()
	for i, f := range functions {
		if f.Doc == "" || !strings.HasPrefix(f.Signature, f.Name+"(") || !strings.Contains(f.Signature, " → ") || isAggregate(f.Name) {
			t.Errorf("function %+v", f)
		}
		if i > 0 && functions[i-1].Name >= f.Name {
			t.Errorf("%s follows %s", f.Name, functions[i-1].Name)
		}
	}
}

// hotExpressions are what streams evaluate for every record.
var hotExpressions = []string{
	"i", "i > 3 AND f < 2.5", "i + j * 2", "f / 2 + g", "d * 1.10 > 5", "s LIKE 'He%'", "lower(s) || '_' || i", "CASE WHEN i > 0 THEN 'a' ELSE s END",
	"COALESCE(f, 0)", "i IN (1, 2, 3, 7)", "date_trunc('day', ts, 'Europe/Berlin')", "i BETWEEN 1 AND 10 OR s IS NULL", "CAST(s AS int64)", "i / j",
	"CAST(f AS string)", "json_get(js, '$.a')", "ts + 1d", "d / 3", "replace(s, 'l', 'LL')", "CAST(d AS float64)", "concat(s, t, i)",
}

func TestSteadyStateDoesNotAllocate(t *testing.T) { // not parallel: it counts
	const rows = 999
	in := batchOf(rows)
	for _, text := range hotExpressions {
		p := compile(t, text, scope())
		var out Result
		for range 10 { // until every scratch column has had every size
			p.Eval(in.Cols, rows, &out)
		}
		if n := testing.AllocsPerRun(5, func() { p.Eval(in.Cols, rows, &out) }); n > 0 {
			t.Errorf("%s: %.0f allocations for a batch of %d rows", text, n, rows)
		}
	}
}

func BenchmarkEval(b *testing.B) {
	const rows = 4096
	in := batchOf(rows)
	for _, text := range hotExpressions {
		b.Run(text, func(b *testing.B) {
			e, _ := sql.ParseExpr(text)
			typed, err := Check(e, scope())
			if err != nil {
				b.Fatal(err)
			}
			p := Compile(typed)
			var out Result
			b.ReportAllocs()
			for b.Loop() {
				p.Eval(in.Cols, rows, &out)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
		})
	}
}
