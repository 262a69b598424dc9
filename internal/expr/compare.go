package expr

import (
	"bytes"
	"cmp"
	"sort"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/sql"
)

// compareLoop returns the loop of a comparison between two columns of the kind.
func compareLoop(op sql.BinaryOp, k block.Kind) loop {
	switch k {
	case block.KindInt64, block.KindTimestamp:
		return func(c *call) { compareNumbers(c, op, c.args[0].col.Int, c.args[1].col.Int) }
	case block.KindFloat64:
		return func(c *call) { compareNumbers(c, op, c.args[0].col.Float, c.args[1].col.Float) }
	default:
		return func(c *call) { compareAny(c, op) }
	}
}

// compareNumbers compares in a total order: NaN equals itself and is above everything, −0 equals 0. (x != x is
// what NaN is; for integers the compiler drops it.)
func compareNumbers[T int64 | float64](c *call, op sql.BinaryOp, x, y []T) {
	xm, ym, out := c.args[0].mask, c.args[1].mask, c.out.col.Bool
	switch op {
	case sql.BinaryGt, sql.BinaryGe:
		x, y, xm, ym = y, x, ym, xm // a > b is b < a
	}
	switch op {
	case sql.BinaryEq:
		for _, i := range c.sel {
			a, b := x[i&xm], y[i&ym]
			out[i] = a == b || a != a && b != b
		}
	case sql.BinaryNe:
		for _, i := range c.sel {
			a, b := x[i&xm], y[i&ym]
			out[i] = a != b && (a == a || b == b)
		}
	case sql.BinaryLt, sql.BinaryGt:
		for _, i := range c.sel {
			a, b := x[i&xm], y[i&ym]
			out[i] = a < b || b != b && a == a
		}
	case sql.BinaryLe, sql.BinaryGe:
		for _, i := range c.sel {
			a, b := x[i&xm], y[i&ym]
			out[i] = a <= b || b != b
		}
	}
}

// compareAny compares the other kinds row by row.
func compareAny(c *call, op sql.BinaryOp) {
	a, b, out := c.args[0], c.args[1], c.out.col.Bool
	for _, i := range c.sel {
		out[i] = holds(op, compareAt(a.col, i&a.mask, b.col, i&b.mask))
	}
}

// holds tells whether the comparison op is true of operands that compare as order (negative, 0, positive).
func holds(op sql.BinaryOp, order int) bool {
	switch op {
	case sql.BinaryEq:
		return order == 0
	case sql.BinaryNe:
		return order != 0
	case sql.BinaryLt:
		return order < 0
	case sql.BinaryLe:
		return order <= 0
	case sql.BinaryGt:
		return order > 0
	default: // sql.BinaryGe
		return order >= 0
	}
}

// compareAt orders row i of a and row j of b, which are of one kind and not null. Decimals may differ in scale.
func compareAt(a *block.Column, i int32, b *block.Column, j int32) int {
	switch a.Type.Kind {
	case block.KindBool:
		return boolInt(a.Bool[i]) - boolInt(b.Bool[j])
	case block.KindInt64, block.KindTimestamp:
		return cmp.Compare(a.Int[i], b.Int[j])
	case block.KindFloat64:
		return compareFloats(a.Float[i], b.Float[j])
	case block.KindDecimal:
		return compareDecimals(a.Dec[i], a.Type.Scale, b.Dec[j], b.Type.Scale)
	default:
		return bytes.Compare(a.Bytes(int(i)), b.Bytes(int(j)))
	}
}

// compareFloats is the order of doc.go: NaN above everything. (cmp.Compare puts it below.)
func compareFloats(a, b float64) int {
	if a != a || b != b {
		return boolInt(a != a) - boolInt(b != b)
	}
	return cmp.Compare(a, b)
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// constantSet is the list of an IN whose items are all known.
type constantSet struct {
	sorted  *block.Column
	hasNull bool
	not     bool
}

// newConstantSet sorts the values (columns of one row, of one type).
func newConstantSet(t block.Type, values []*block.Column) *constantSet {
	s := &constantSet{sorted: block.NewColumn(t, len(values))}
	var known []*block.Column
	for _, v := range values {
		if v.IsNull(0) {
			s.hasNull = true
			continue
		}
		known = append(known, v)
	}
	sort.SliceStable(known, func(i, j int) bool { return compareAt(known[i], 0, known[j], 0) < 0 })
	for _, v := range known {
		s.sorted.AppendFrom(v, 0)
	}
	return s
}

// loop is x IN (…): null when x is not found and the list has a null.
func (s *constantSet) loop(c *call) {
	x, out := c.args[0], c.out.col.Bool
	for _, i := range c.sel {
		found := s.contains(x.col, i&x.mask)
		if !found && s.hasNull {
			c.null(i)
			continue
		}
		out[i] = found != s.not
	}
}

func (s *constantSet) contains(x *block.Column, i int32) bool {
	lo, hi := int32(0), int32(s.sorted.Len())
	for lo < hi {
		mid := (lo + hi) / 2
		switch order := compareAt(x, i, s.sorted, mid); {
		case order == 0:
			return true
		case order < 0:
			hi = mid
		default:
			lo = mid + 1
		}
	}
	return false
}
