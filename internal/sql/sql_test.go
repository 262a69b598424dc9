package sql

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/pondage/pondage/internal/invalid"
)

// TestScripts: `statement` prints the tree, `expr` the canonical text and, where it differs, the text that the span of
// the whole covers; an error is printed with its place and hint.
func TestScripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "statement":
				st, err := ParseStatement(d.Input)
				if err != nil {
					return shownError(t, err, d.Input)
				}
				return dump(st)
			case "expr":
				var out strings.Builder
				for _, line := range strings.Split(d.Input, "\n") {
					e, err := ParseExpr(line)
					if err != nil {
						out.WriteString(shownError(t, err, line))
						continue
					}
					fmt.Fprintln(&out, Format(e))
				}
				return out.String()
			}
			t.Fatalf("unknown command %s", d.Cmd)
			return ""
		})
	})
}

func shownError(t *testing.T, err error, text string) string {
	t.Helper()
	var bad *invalid.Error
	if !errors.As(err, &bad) || len(bad.Details) != 1 || bad.Details[0].Code != CodeSyntax || bad.Details[0].Span == nil {
		t.Fatalf("error %#v: want one syntax fault with a span", err)
	}
	at := *bad.Details[0].Span
	if at.Length > 0 && Text(text, at) == "" {
		t.Fatalf("span %+v lies outside of the text", at)
	}
	return fmt.Sprintf("error: %s  «%s»\n", err, Text(text, at))
}

func mustExpr(t *testing.T, text string) Expr {
	t.Helper()
	e, err := ParseExpr(text)
	if err != nil {
		t.Fatalf("parse %s: %v", text, err)
	}
	return e
}

func TestLiteralsKeepEveryDigit(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Literal{
		"9223372036854775807":                    {Kind: LiteralInt, Int: math.MaxInt64},
		"-9223372036854775808":                   {Kind: LiteralInt, Int: math.MinInt64},
		"- 7":                                    {Kind: LiteralInt, Int: -7},
		"9223372036854775808":                    {Kind: LiteralDecimal, Text: "9223372036854775808"},
		"-9223372036854775809":                   {Kind: LiteralDecimal, Text: "-9223372036854775809"},
		"99999999999999999999999999999999999999": {Kind: LiteralDecimal, Text: "99999999999999999999999999999999999999"},
		"1.50":                                   {Kind: LiteralDecimal, Text: "1.50"},
		"-.5":                                    {Kind: LiteralDecimal, Text: "-0.5"},
		"1e3":                                    {Kind: LiteralFloat, Float: 1000},
		"2.5E-3":                                 {Kind: LiteralFloat, Float: 0.0025},
		"'it''s'":                                {Kind: LiteralString, Text: "it's"},
		"''":                                     {Kind: LiteralString},
		"15m":                                    {Kind: LiteralDuration, Duration: Duration{15, UnitMinute}},
		"-3n":                                    {Kind: LiteralDuration, Duration: Duration{-3, UnitMonth}},
		"TRUE":                                   {Kind: LiteralBool, Bool: true},
		"null":                                   {Kind: LiteralNull},
	} {
		got, ok := mustExpr(t, text).(*Literal)
		if !ok {
			t.Errorf("%s is not a literal", text)
			continue
		}
		bare := *got
		bare.At = invalid.Span{}
		if bare != want {
			t.Errorf("%s: got %+v, want %+v", text, bare, want)
		}
	}
}

func TestSpansNameThePlaceInLinesAndCharacters(t *testing.T) {
	t.Parallel()
	text := "SELECT 'äö' AS x, -- ö\n  sum(delay) / 2 AS y\nFROM s"
	st, err := ParseStatement(text)
	if err != nil {
		t.Fatal(err)
	}
	item := st.(*Select).Items[1]
	at := item.Expr.Span()
	if at.Line != 2 || at.Column != 3 || Text(text, at) != "sum(delay) / 2" {
		t.Errorf("second item: %+v %q", at, Text(text, at))
	}
	if item.Alias.At.Column != 21 || Text(text, st.Span()) != text {
		t.Errorf("alias %+v, statement %q", item.Alias.At, Text(text, st.Span()))
	}
	if first := st.(*Select).Items[0].Alias.At; first.Column != 16 {
		t.Errorf("a column counts characters, not bytes: %+v", first)
	}
}

func TestDurations(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Duration{
		"0s": {0, UnitSecond}, "250ms": {250, UnitMillisecond}, "2h": {2, UnitHour}, "1d": {1, UnitDay}, "-8h": {-8, UnitHour},
		"1w": {1, UnitWeek}, "3n": {3, UnitMonth}, "1y": {1, UnitYear}, "-9223372036854775808ms": {math.MinInt64, UnitMillisecond},
	} {
		got, err := ParseDuration(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("%s: got %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "5", "m", "5x", "5M", "1H", "5 m", " 5m", "5m ", "1.5h", "9223372036854775808s", "--5m", "5m5s", "'5m'"} {
		if d, err := ParseDuration(text); err == nil {
			t.Errorf("%q was read as %v", text, d)
		}
	}
}

func TestFixedLengthOfDurations(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{"250ms": 250, "2h": 7_200_000, "1d": 86_400_000, "1w": 604_800_000, "-1s": -1000} {
		d, _ := ParseDuration(text)
		if got, err := d.FixedMs(); err != nil || got != want {
			t.Errorf("%s: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"1n", "1y", "9223372036854775807s", "-9223372036854775807h"} {
		d, _ := ParseDuration(text)
		if got, err := d.FixedMs(); err == nil {
			t.Errorf("%s has the length %d", text, got)
		}
	}
}

func TestInputIsBounded(t *testing.T) {
	t.Parallel()
	deep := MaxNesting + 10
	for name, text := range map[string]string{
		"parentheses": strings.Repeat("(", deep) + "1" + strings.Repeat(")", deep),
		"not":         strings.Repeat("NOT ", deep) + "a",
		"minus":       strings.Repeat("- ", deep) + "a",
		"calls":       strings.Repeat("f(", deep) + "1" + strings.Repeat(")", deep),
		"case":        strings.Repeat("CASE WHEN ", deep) + "a",
		"chain":       "a" + strings.Repeat(" + a", MaxNodes),
		"list":        "a IN (1" + strings.Repeat(",1", MaxNodes) + ")",
		"length":      "'" + strings.Repeat("x", MaxLength) + "'",
		"utf-8":       "'\xff'",
	} {
		if _, err := ParseExpr(text); err == nil {
			t.Errorf("%s: taken", name)
		} else if _, err := ParseStatement("SELECT " + text + " FROM s"); err == nil {
			t.Errorf("%s in a statement: taken", name)
		}
	}
	if e := mustExpr(t, "a"+strings.Repeat(" + a", 1000)); Format(e) == "" {
		t.Error("a chain of a thousand is ordinary")
	}
}

func TestReplaceSharesAndDoesNotMutate(t *testing.T) {
	t.Parallel()
	before := "CASE a WHEN sum(x) THEN b IN (sum(x), 2) ELSE NOT (sum(x) BETWEEN 1 AND c LIKE d ESCAPE 'x') END"
	e := mustExpr(t, strings.Replace(before, "1 AND c LIKE d ESCAPE 'x'", "1 AND 2", 1))
	text := Format(e)
	got := Replace(e, func(x Expr) (Expr, bool) {
		call, ok := x.(*Call)
		if !ok {
			return nil, false
		}
		return &Column{Name: "_agg0", At: call.At}, true
	})
	want := strings.ReplaceAll(text, "sum(x)", "_agg0")
	if Format(got) != want || Format(e) != text {
		t.Errorf("got %s, want %s; the original is now %s", Format(got), want, Format(e))
	}
	if same := Replace(e, func(Expr) (Expr, bool) { return nil, false }); same != e {
		t.Error("without a replacement the tree is the same one")
	}
	if !reflect.DeepEqual(got.(*Case).Operand, e.(*Case).Operand) {
		t.Error("untouched parts are shared")
	}
}

func TestWalkVisitsEveryNodeInOrder(t *testing.T) {
	t.Parallel()
	e := mustExpr(t, "CASE a WHEN b THEN c ELSE d END + f(e, -g) || (h LIKE i ESCAPE 'j') AND k IS NULL OR l::string IN (m) OR n BETWEEN o AND p")
	var names []string
	Walk(e, func(x Expr) bool {
		if c, ok := x.(*Column); ok {
			names = append(names, c.Name)
		}
		return true
	})
	if got := strings.Join(names, ""); got != "abcdeghiklmnop" {
		t.Errorf("columns in the order %s", got)
	}
}
