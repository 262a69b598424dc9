package expr

import (
	"slices"

	"github.com/pondage/pondage/internal/block"
)

// vec is the value of a kernel: a column with a value at each selected row. Row i is at index i & mask: −1 for a column,
// 0 for a constant, which has one row that stands for all.
type vec struct {
	col  *block.Column
	mask int32
	own  *scratch // goes back to the pool after use; nil when the column belongs to somebody else
}

func (v vec) constant() bool { return v.mask == 0 }

func (v vec) null(i int32) bool { return v.col.Null != nil && v.col.Null[i&v.mask] }

func (v vec) bytes(i int32) []byte { return v.col.Bytes(int(i & v.mask)) }

// kernel computes one column for the selected rows. sel ascends and is not changed nor kept.
type kernel interface {
	eval(b *batch, sel []int32) vec
}

// scratch is a column of the pool. nulls is the memory behind col.Null while that is in use.
type scratch struct {
	col   block.Column
	nulls []bool
	next  int32 // string columns: the first row whose end is not yet in col.Off
}

// batch is the state of one evaluation and the pool that outlives it.
type batch struct {
	in     []*block.Column
	rows   int
	all    []int32
	errors []RowError
	free   [block.KindJSON + 1][]*scratch
	sels   [][]int32
	slots  []vec // the values of the let kernels being evaluated
}

func (b *batch) begin(in []*block.Column, rows int) {
	b.in, b.rows = in, rows
	b.errors = b.errors[:0]
}

// allRows is the selection of every row.
func (b *batch) allRows(rows int) []int32 {
	for i := len(b.all); i < rows; i++ {
		b.all = append(b.all, int32(i))
	}
	return b.all[:rows]
}

// finishErrors sorts the errors by row and keeps the first of each: kernels run in the order in which one row would be
// evaluated, so the first is the one that a row by row evaluation would have stopped at.
func (b *batch) finishErrors() []RowError {
	slices.SortStableFunc(b.errors, func(x, y RowError) int { return int(x.Row) - int(y.Row) })
	b.errors = slices.CompactFunc(b.errors, func(x, y RowError) bool { return x.Row == y.Row })
	return b.errors
}

// take returns a scratch column of the type with a slot for every row, holding anything. String columns are empty; see
// scratch.put.
func (b *batch) take(t block.Type) *scratch {
	pool := &b.free[t.Kind]
	var s *scratch
	if n := len(*pool); n > 0 {
		s, *pool = (*pool)[n-1], (*pool)[:n-1]
	} else {
		s = &scratch{}
	}
	c := &s.col
	c.Type, c.Null, s.next = t, nil, 0
	switch t.Kind {
	case block.KindBool:
		c.Bool = sized(c.Bool, b.rows)
	case block.KindInt64, block.KindTimestamp:
		c.Int = sized(c.Int, b.rows)
	case block.KindFloat64:
		c.Float = sized(c.Float, b.rows)
	case block.KindDecimal:
		c.Dec = sized(c.Dec, b.rows)
	case block.KindString, block.KindJSON:
		c.Off = sized(c.Off, b.rows+1)
		c.Off[0], c.Data = 0, c.Data[:0]
	case block.KindInvalid:
		panic("expr: scratch without a type")
	}
	return s
}

// sized returns a slice of length n, in the same memory when it is large enough.
func sized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// release gives the scratch of a used operand back.
func (b *batch) release(v vec) {
	if v.own != nil {
		k := v.own.col.Type.Kind
		b.free[k] = append(b.free[k], v.own)
	}
}

// takeSel returns an empty selection with room for every row.
func (b *batch) takeSel() []int32 {
	if n := len(b.sels); n > 0 {
		s := b.sels[n-1]
		b.sels = b.sels[:n-1]
		return slices.Grow(s[:0], b.rows)
	}
	return make([]int32, 0, b.rows)
}

func (b *batch) releaseSel(s []int32) { b.sels = append(b.sels, s) }

// withNulls makes col.Null usable; all rows are not null.
func (s *scratch) withNulls(rows int) {
	if s.col.Null == nil {
		s.nulls = sized(s.nulls, rows)
		clear(s.nulls)
		s.col.Null = s.nulls
	}
}

// setNull makes row i null. The value of a string row is left out by not putting it.
func (s *scratch) setNull(rows int, i int32) {
	s.withNulls(rows)
	s.col.Null[i] = true
	c := &s.col
	switch c.Type.Kind {
	case block.KindBool:
		c.Bool[i] = false
	case block.KindInt64, block.KindTimestamp:
		c.Int[i] = 0
	case block.KindFloat64:
		c.Float[i] = 0
	case block.KindDecimal:
		c.Dec[i] = zeroDecimal
	case block.KindString, block.KindJSON, block.KindInvalid:
	}
}

// fail makes the rows with errors null. They need not be: the operand of COALESCE that failed was null, the whole is not.
func (s *scratch) fail(rows int, errors []RowError) {
	for _, e := range errors {
		s.setNull(rows, e.Row)
	}
	c := &s.col
	if c.Type.Kind != block.KindString && c.Type.Kind != block.KindJSON {
		return
	}
	start, end := int32(0), int32(0) // where row i began, and where the bytes kept so far end
	for i := range rows {
		from, to := start, c.Off[i+1]
		start = to
		if !c.Null[i] {
			end += int32(copy(c.Data[end:], c.Data[from:to]))
		}
		c.Off[i+1] = end
	}
	c.Data = c.Data[:end]
}

// open makes Data the place for the bytes of row i: the rows passed over are empty. Rows are opened in ascending order.
func (s *scratch) open(i int32) {
	end := int32(len(s.col.Data))
	for ; s.next < i; s.next++ {
		s.col.Off[s.next+1] = end
	}
}

// shut ends row i: its value is what was appended to Data since open.
func (s *scratch) shut(i int32) {
	s.col.Off[i+1] = int32(len(s.col.Data))
	s.next = i + 1
}

// put sets the bytes of row i.
func (s *scratch) put(i int32, v []byte) {
	s.open(i)
	s.col.Data = append(s.col.Data, v...)
	s.shut(i)
}

// vec ends the column and returns it.
func (s *scratch) vec(rows int) vec {
	if s.col.Type.Kind == block.KindString || s.col.Type.Kind == block.KindJSON {
		s.open(int32(rows))
	}
	return vec{col: &s.col, mask: -1, own: s}
}
