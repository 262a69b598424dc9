package block

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// Column is one column of a batch. Exactly one of the value slices is in use, by Type.Kind; string and json use Off
// and Data. A null row has a zero value (an empty range in Data) in the value slice.
//
// Kernels may read and write the slices directly; the invariants are: the value slice has Len entries, Null is nil or
// has Len entries, Off has Len+1 entries with Off[0] = 0 (or is empty when Len is 0).
type Column struct {
	Type Type
	Null []bool // nil: no row is null

	Bool  []bool
	Int   []int64 // int64, and timestamp in ms
	Float []float64
	Dec   []decimal128.Num // unscaled; the scale is in Type
	Off   []int32          // row i is Data[Off[i]:Off[i+1]]
	Data  []byte
}

// NewColumn returns an empty column with room for the given number of rows.
func NewColumn(t Type, rows int) *Column {
	c := &Column{Type: t}
	c.Grow(rows)
	return c
}

// Grow makes room for at least n further rows (not for their string bytes).
func (c *Column) Grow(n int) {
	switch c.Type.Kind {
	case KindBool:
		c.Bool = grow(c.Bool, n)
	case KindInt64, KindTimestamp:
		c.Int = grow(c.Int, n)
	case KindFloat64:
		c.Float = grow(c.Float, n)
	case KindDecimal:
		c.Dec = grow(c.Dec, n)
	case KindString, KindJSON:
		c.Off = grow(c.Off, n+1)
		if len(c.Off) == 0 {
			c.Off = append(c.Off, 0)
		}
	case KindInvalid:
		panic("block: column without a type")
	}
}

func grow[T any](s []T, n int) []T {
	if cap(s)-len(s) >= n {
		return s
	}
	out := make([]T, len(s), max(len(s)+n, 2*cap(s)))
	copy(out, s)
	return out
}

// Len returns the number of rows.
func (c *Column) Len() int {
	switch c.Type.Kind {
	case KindBool:
		return len(c.Bool)
	case KindInt64, KindTimestamp:
		return len(c.Int)
	case KindFloat64:
		return len(c.Float)
	case KindDecimal:
		return len(c.Dec)
	case KindString, KindJSON:
		return max(len(c.Off)-1, 0)
	}
	return 0
}

// Reset empties the column and keeps its memory.
func (c *Column) Reset() {
	c.Null = nil
	c.Bool, c.Int, c.Float, c.Dec = c.Bool[:0], c.Int[:0], c.Float[:0], c.Dec[:0]
	c.Off, c.Data = c.Off[:0], c.Data[:0]
	if c.Type.Kind == KindString || c.Type.Kind == KindJSON {
		c.Off = append(c.Off, 0)
	}
}

// IsNull tells whether row i is null.
func (c *Column) IsNull(i int) bool { return c.Null != nil && c.Null[i] }

// Bytes returns the bytes of row i of a string or json column. They are valid until the column is reset.
func (c *Column) Bytes(i int) []byte { return c.Data[c.Off[i]:c.Off[i+1]] }

// notNull records that the row just appended is not null.
func (c *Column) notNull() {
	if c.Null != nil {
		c.Null = append(c.Null, false)
	}
}

// AppendNull appends a null row.
func (c *Column) AppendNull() {
	if c.Null == nil {
		c.Null = make([]bool, c.Len(), c.Len()+16)
	}
	c.Null = append(c.Null, true)
	switch c.Type.Kind {
	case KindBool:
		c.Bool = append(c.Bool, false)
	case KindInt64, KindTimestamp:
		c.Int = append(c.Int, 0)
	case KindFloat64:
		c.Float = append(c.Float, 0)
	case KindDecimal:
		c.Dec = append(c.Dec, decimal128.Num{})
	case KindString, KindJSON:
		c.endBytes()
	case KindInvalid:
		panic("block: column without a type")
	}
}

// AppendBool appends to a bool column.
func (c *Column) AppendBool(v bool) { c.Bool = append(c.Bool, v); c.notNull() }

// AppendInt appends to an int64 or timestamp column.
func (c *Column) AppendInt(v int64) { c.Int = append(c.Int, v); c.notNull() }

// AppendFloat appends to a float64 column.
func (c *Column) AppendFloat(v float64) { c.Float = append(c.Float, v); c.notNull() }

// AppendDec appends an unscaled value to a decimal column.
func (c *Column) AppendDec(v decimal128.Num) { c.Dec = append(c.Dec, v); c.notNull() }

// AppendBytes appends a copy of v to a string or json column.
func (c *Column) AppendBytes(v []byte) {
	c.Data = append(c.Data, v...)
	c.endBytes()
	c.notNull()
}

// AppendString appends to a string or json column.
func (c *Column) AppendString(v string) {
	c.Data = append(c.Data, v...)
	c.endBytes()
	c.notNull()
}

func (c *Column) endBytes() {
	if len(c.Off) == 0 {
		c.Off = append(c.Off, 0)
	}
	c.Off = append(c.Off, int32(len(c.Data)))
}

// AppendFrom appends row i of src, which has the same type.
func (c *Column) AppendFrom(src *Column, i int) {
	if src.IsNull(i) {
		c.AppendNull()
		return
	}
	switch c.Type.Kind {
	case KindBool:
		c.AppendBool(src.Bool[i])
	case KindInt64, KindTimestamp:
		c.AppendInt(src.Int[i])
	case KindFloat64:
		c.AppendFloat(src.Float[i])
	case KindDecimal:
		c.AppendDec(src.Dec[i])
	case KindString, KindJSON:
		c.AppendBytes(src.Bytes(i))
	case KindInvalid:
		panic("block: column without a type")
	}
}

// Truncate drops the rows from n on.
func (c *Column) Truncate(n int) {
	if c.Null != nil {
		c.Null = c.Null[:n]
	}
	switch c.Type.Kind {
	case KindBool:
		c.Bool = c.Bool[:n]
	case KindInt64, KindTimestamp:
		c.Int = c.Int[:n]
	case KindFloat64:
		c.Float = c.Float[:n]
	case KindDecimal:
		c.Dec = c.Dec[:n]
	case KindString, KindJSON:
		if len(c.Off) > 0 {
			c.Off = c.Off[:n+1]
			c.Data = c.Data[:c.Off[n]]
		}
	case KindInvalid:
		panic("block: column without a type")
	}
}

// MemBytes is the memory that the column's rows take, for budgets.
func (c *Column) MemBytes() int {
	const decimalBytes = 16
	return len(c.Null) + len(c.Bool) + 8*len(c.Int) + 8*len(c.Float) + decimalBytes*len(c.Dec) + 4*len(c.Off) + len(c.Data)
}

// Field is a column's name and type.
type Field struct {
	Name string
	Type Type
}

// Schema is an ordered list of fields; names are unique.
type Schema []Field

// Index returns the position of the field with the name, or −1.
func (s Schema) Index(name string) int {
	for i := range s {
		if s[i].Name == name {
			return i
		}
	}
	return -1
}

// Batch is a set of columns of equal length. Cols[i] has the type Schema[i].Type.
type Batch struct {
	Schema Schema
	Cols   []*Column
}

// NewBatch returns an empty batch with room for the given number of rows.
func NewBatch(s Schema, rows int) *Batch {
	b := &Batch{Schema: s, Cols: make([]*Column, len(s))}
	for i := range s {
		b.Cols[i] = NewColumn(s[i].Type, rows)
	}
	return b
}

// Rows returns the number of rows; a batch without columns has none.
func (b *Batch) Rows() int {
	if len(b.Cols) == 0 {
		return 0
	}
	return b.Cols[0].Len()
}

// Slice returns a copy of the rows [from, to), 0 ≤ from ≤ to ≤ Rows(): it shares nothing with the batch.
func (b *Batch) Slice(from, to int) *Batch {
	out := NewBatch(b.Schema, to-from)
	for c, col := range b.Cols {
		for i := from; i < to; i++ {
			out.Cols[c].AppendFrom(col, i)
		}
	}
	return out
}

// Reset empties the batch and keeps its memory.
func (b *Batch) Reset() {
	for _, c := range b.Cols {
		c.Reset()
	}
}

// Col returns the column with the name, or nil.
func (b *Batch) Col(name string) *Column {
	if i := b.Schema.Index(name); i >= 0 {
		return b.Cols[i]
	}
	return nil
}

// MemBytes is the memory that the batch's rows take, for budgets.
func (b *Batch) MemBytes() int {
	n := 0
	for _, c := range b.Cols {
		n += c.MemBytes()
	}
	return n
}

// Check returns an error when the batch breaks its invariants (a decoder calls it on what it did not make itself).
func (b *Batch) Check() error {
	if len(b.Schema) != len(b.Cols) {
		return fmt.Errorf("batch: %d fields, %d columns", len(b.Schema), len(b.Cols))
	}
	for i, c := range b.Cols {
		if c.Type != b.Schema[i].Type || c.Len() != b.Rows() || (c.Null != nil && len(c.Null) != c.Len()) {
			return fmt.Errorf("batch: column %d (%s) is %s with %d rows and %d null marks, want %s with %d rows",
				i, b.Schema[i].Name, c.Type, c.Len(), len(c.Null), b.Schema[i].Type, b.Rows())
		}
	}
	return nil
}
