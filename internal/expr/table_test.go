package expr

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/invalid"
	"github.com/pondage/pondage/internal/sql"
)

// tableSchema has a column of every type, two of most.
var tableSchema = block.Schema{
	{Name: "i", Type: block.Int64}, {Name: "j", Type: block.Int64},
	{Name: "f", Type: block.Float64}, {Name: "g", Type: block.Float64},
	{Name: "d", Type: block.Decimal(10, 2)}, {Name: "e", Type: block.Decimal(38, 10)},
	{Name: "s", Type: block.String}, {Name: "t", Type: block.String},
	{Name: "b", Type: block.Bool}, {Name: "c", Type: block.Bool},
	{Name: "ts", Type: block.Timestamp}, {Name: "js", Type: block.JSON},
}

// testScope is a scope with a zone that finds zones by name.
type testScope struct {
	SchemaScope
	zone *time.Location
}

func (s testScope) Location() *time.Location                 { return s.zone }
func (s testScope) Zone(name string) (*time.Location, error) { return time.LoadLocation(name) }

// appendCell appends a value given as a Go value, nil for null.
func appendCell(c *block.Column, v any) {
	switch v := v.(type) {
	case nil:
		c.AppendNull()
	case bool:
		c.AppendBool(v)
	case int:
		c.AppendInt(int64(v))
	case int64:
		c.AppendInt(v)
	case float64:
		c.AppendFloat(v)
	case decimal128.Num:
		c.AppendDec(v)
	case string:
		c.AppendString(v)
	}
}

func dec(text string, t block.Type) decimal128.Num {
	d, ok := parseDecimal([]byte(text), t)
	if !ok {
		panic("test: " + text + " is no " + t.String())
	}
	return d
}

func at(text string) int64 {
	ms, ok := parseTimestamp([]byte(text))
	if !ok {
		panic("test: " + text + " is no time")
	}
	return ms
}

// table has ordinary rows, a row of nulls, and one at the limits of each type.
func table() *block.Batch {
	b := block.NewBatch(tableSchema, 0)
	d, e := tableSchema[4].Type, tableSchema[5].Type
	for _, row := range [][]any{
		{7, 2, 1.5, -2.0, dec("12.34", d), dec("0.5", e), "Hello", "l", true, false, at("2024-03-31T00:30:00.250Z"), `{"a":{"b":[1,"x\ty",null]},"n":1.50}`},
		{-7, 0, 0.0, math.NaN(), dec("-0.05", d), dec("3", e), "Grüße, 温度", "ß", false, nil, at("1969-12-31T23:59:59.999Z"), `[1,2,{"k":"v"}]`},
		{nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil},
		{math.MaxInt64, -1, math.Inf(1), math.Inf(1), dec("99999999.99", d), dec("9999999999999999999999999999.9999999999", e), "", "%", true, true, at("9999-12-31T23:59:59.999Z"), `"text"`},
		{math.MinInt64, math.MinInt64, math.Copysign(0, -1), 5e-324, dec("-99999999.99", d), dec("-9999999999999999999999999999.9999999999", e), "12", "-1.50", false, true, at("0001-01-01T00:00:00Z"), `true`},
	} {
		for i, v := range row {
			appendCell(b.Cols[i], v)
		}
	}
	return b
}

func compile(t testing.TB, text string, scope Scope) *Program {
	t.Helper()
	e, err := sql.ParseExpr(text)
	if err != nil {
		t.Fatalf("parse %s: %v", text, err)
	}
	typed, err := Check(e, scope)
	if err != nil {
		t.Fatalf("check %s: %v", text, err)
	}
	return Compile(typed)
}

// shownRows writes the value of every row, or its error.
func shownRows(out *Result) []string {
	rows := make([]string, out.Col.Len())
	for i := range rows {
		rows[i] = "null"
		if !out.Col.IsNull(i) {
			rows[i] = string(appendValue(nil, out.Col, int32(i)))
			if out.Col.Type.Kind == block.KindString {
				rows[i] = "'" + rows[i] + "'"
			}
		}
	}
	for _, e := range out.Errors {
		rows[e.Row] = "!" + e.Code
	}
	return rows
}

func evalText(t testing.TB, text string, scope Scope, in *block.Batch) string {
	t.Helper()
	p := compile(t, text, scope)
	var out Result
	p.Eval(in.Cols, in.Rows(), &out)
	return strings.Join(shownRows(&out), " | ")
}

// faultsOf returns the faults of Check.
func faultsOf(t testing.TB, err error) []invalid.Detail {
	t.Helper()
	var bad *invalid.Error
	if !errors.As(err, &bad) {
		t.Fatalf("error %v is not an *invalid.Error", err)
	}
	return bad.Details
}
