package agg

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pondage/pondage/internal/block"
)

// BindForeign is Bind for partials of another layout, as a stream has left them in its state before its query was changed.
// args[i] is the argument here that is argument i there, -1 where there is none. What the layout needs and the partials do
// not have is nil, and MergePartials leaves it as it is; what they have beside is left out.
func (l *Layout) BindForeign(b *block.Batch, first int, args []int) ([]*block.Column, error) {
	there := map[block.Field]*block.Column{}
	for i := first; i < len(b.Schema); i++ {
		if f, ok := renamed(b.Schema[i], args); ok {
			there[f] = b.Cols[i]
		}
	}
	rows := there[block.Field{Name: ColumnRows, Type: block.Int64}]
	if rows == nil {
		return nil, fmt.Errorf("partials: no column %s", ColumnRows)
	}
	out := []*block.Column{rows}
	for _, a := range l.accs {
		if n, ok := a.(*count); ok && !slices.Contains(args, n.arg) {
			out = append(out, zeros(rows.Len())) // left out it would say: equal to the rows
			continue
		}
		cols := make([]*block.Column, len(a.fields()))
		for i, f := range a.fields() {
			if cols[i] = there[f.Field]; cols[i] == nil && !f.optional {
				clear(cols)
				break
			}
		}
		out = append(out, cols...)
	}
	return out, nil
}

// renamed is a field of the other layout as it would be called here; ok is false where its argument is not known here.
func renamed(f block.Field, args []int) (_ block.Field, ok bool) {
	digits := strings.TrimPrefix(f.Name, "a")
	n := len(digits) - len(strings.TrimLeft(digits, "0123456789"))
	arg, err := strconv.Atoi(digits[:n])
	if err != nil { // of no argument: the rows
		return f, f.Name == ColumnRows
	}
	if len(digits) == len(f.Name) || arg >= len(args) || args[arg] < 0 {
		return f, false
	}
	return block.Field{Name: columnName(args[arg], digits[n:]), Type: f.Type}, true
}

func zeros(n int) *block.Column {
	c := block.NewColumn(block.Int64, n)
	for range n {
		c.AppendInt(0)
	}
	return c
}
