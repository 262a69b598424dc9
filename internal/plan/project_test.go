package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pondage/pondage/internal/agg"
	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/window"
)

// showRows writes the integer, float and string columns of a batch, a row a line.
func showRows(b *block.Batch) string {
	var lines []string
	for row := range b.Rows() {
		var cells []string
		for i, c := range b.Cols {
			v := "null"
			switch {
			case c.IsNull(row):
			case c.Type.Kind == block.KindString:
				v = string(c.Bytes(row))
			case c.Type.Kind == block.KindFloat64:
				v = fmt.Sprint(c.Float[row])
			default:
				v = fmt.Sprint(c.Int[row])
			}
			cells = append(cells, b.Schema[i].Name+"="+v)
		}
		lines = append(lines, strings.Join(cells, " "))
	}
	return strings.Join(lines, "\n")
}

// emit makes a batch of windows of 1 s by hand: key, start, rows, then the aggregates.
func emit(p *Plan, rows ...[]any) *window.Emission {
	b := block.NewBatch(p.StateSchema(), len(rows))
	for _, row := range rows {
		b.Cols[0].AppendString(row[0].(string))
		start := int64(row[1].(int))
		b.Cols[1].AppendInt(start)
		b.Cols[2].AppendInt(start + 1000)
		for i, v := range row[2:] {
			switch v := v.(type) {
			case int:
				b.Cols[3+i].AppendInt(int64(v))
			case float64:
				b.Cols[3+i].AppendFloat(v)
			case nil:
				b.Cols[3+i].AppendNull()
			}
		}
	}
	return &window.Emission{Batch: b}
}

func TestWindowsBecomeResults(t *testing.T) {
	t.Parallel()
	p := mustBuildSQL(t, "CREATE STREAM s AS SELECT avg(delay) * 2 AS twice, _wduration + _wid AS d, upper(tbname) AS t, _wrows / (_wrows - max(delay)) AS q FROM flights PARTITION BY tbname INTERVAL(1s)")
	pr := p.NewProjector()
	out := pr.Windows(emit(p, []any{"a", 0, 3, 1.5, 1}, []any{"b", 1000, 1, nil, nil}))
	want := "tbname=a _wstart=0 twice=3 d=1000 t=A q=1\ntbname=b _wstart=1000 twice=null d=1000 t=B q=null"
	if got := showRows(out.Batch); got != want || len(out.Errors) != 0 || out.Rows != nil {
		t.Errorf("got\n%s\nrows %v, errors %v, want\n%s", got, out.Rows, out.Errors, want)
	}
}

// TestT17_OneBadWindowDoesNotStopTheOthers: a row error and an aggregate without a value leave their rows out.
func TestT17_OneBadWindowDoesNotStopTheOthers(t *testing.T) {
	t.Parallel()
	p := mustBuildSQL(t, "CREATE STREAM s AS SELECT tbname, _wstart, 10 / max(delay) AS q FROM flights PARTITION BY tbname INTERVAL(1s)")
	pr := p.NewProjector()
	for range 2 { // the second time in used memory
		e := emit(p, []any{"a", 0, 3, 5}, []any{"b", 0, 3, 0}, []any{"c", 0, 3, nil}, []any{"d", 0, 3, 2})
		e.Errors = []agg.ResultError{{Row: 2, Code: agg.CodeOverflow, Reason: "too large"}}
		out := pr.Windows(e)
		if got, want := showRows(out.Batch), "tbname=a _wstart=0 q=2\ntbname=d _wstart=0 q=5"; got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
		if got := fmt.Sprint(out.Rows); got != "[0 3]" {
			t.Errorf("the results stand for the windows %s", got)
		}
		if len(out.Errors) != 2 || out.Errors[0].Row != 1 || out.Errors[0].Code != "division_by_zero" || out.Errors[1].Row != 2 || out.Errors[1].Code != agg.CodeOverflow {
			t.Errorf("errors %+v", out.Errors)
		}
	}
}

func TestRowsOfAStreamWithoutWindow(t *testing.T) {
	t.Parallel()
	p := mustBuildSQL(t, "CREATE STREAM s AS SELECT delay, 60 / distance AS q FROM flights WHERE delay > 0")
	b := block.NewBatch(p.Input.Schema, 4)
	for i := range int64(4) {
		b.Col("delay").AppendInt(i)
		b.Col("distance").AppendInt(i - 2)
		b.Col("carrier").AppendNull()
		b.Col(ColumnTable).AppendString("t")
		b.Col(ColumnTime).AppendInt(i)
		b.Col(ColumnPartition).AppendInt(7)
		b.Col(ColumnOffset).AppendInt(100 + i)
	}
	out := p.NewProjector().Rows(b, []int32{1, 2, 3})
	want := "_topic=in _partition=7 _offset=101 delay=1 q=-60\n_topic=in _partition=7 _offset=103 delay=3 q=60"
	if got := showRows(out.Batch); got != want || fmt.Sprint(out.Rows) != "[1 3]" || len(out.Errors) != 1 || out.Errors[0].Row != 2 {
		t.Errorf("got\n%s\nrows %v, errors %v, want\n%s", got, out.Rows, out.Errors, want)
	}
	if got := showRows(p.NewProjector().Rows(b, nil).Batch); got != "" {
		t.Errorf("no rows give\n%s", got)
	}
}
