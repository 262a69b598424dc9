package agg

import (
	"fmt"
	"strconv"

	"github.com/pondage/pondage/internal/block"
)

// part is a base accumulator that functions are made of.
type part uint8

const (
	partCount part = iota
	partSum
	partSquares
	partMin
	partMax
	partFirst
	partLast
)

// parts lists what each function over an argument needs beside the count of its values.
var parts = map[Kind][]part{
	KindCount:    {},
	KindSum:      {partSum},
	KindAvg:      {partSum},
	KindMin:      {partMin},
	KindMax:      {partMax},
	KindSpread:   {partMin, partMax},
	KindFirst:    {partFirst},
	KindLast:     {partLast},
	KindStddev:   {partSum, partSquares},
	KindVariance: {partSum, partSquares},
}

// accumulator is one base accumulator: a few words of a cell at a fixed offset. The implementations are immutable and
// belong to a Layout; what does not fit the words (texts, rare wide numbers) lies in the pools of Cells.
type accumulator interface {
	words() int
	// place tells the accumulator where in the cell its words begin.
	place(offset int)
	// init writes the identity of merge into the words of a new cell, which are zero.
	init(cell []uint64)
	add(c *Cells, in Rows)
	merge(c *Cells, dst, src []uint32)
	// release returns what the cells hold in pools; called only when pooled.
	release(c *Cells, cells []uint32)
	pooled() bool
	// adopt makes the cells' own what their words, copied from cells of another store, refer to in the pools of that one.
	// Called only when pooled.
	adopt(c, from *Cells, cells []uint32)
	// fields are the columns of the partial form; see doc.go.
	fields() []field
	appendPartials(c *Cells, cols []*block.Column, cells []uint32)
	// mergePartials merges row i into cells[i]. A column that was left out is nil.
	mergePartials(c *Cells, cols []*block.Column, cells []uint32) error
}

// field is a column of the partial form.
type field struct {
	block.Field
	// optional columns may be left out.
	optional bool
}

// rowsOffset is where every cell has its number of rows.
const rowsOffset = 0

// key identifies a base accumulator in a layout.
type key struct {
	arg  int
	part part
}

// Layout is the arrangement of the accumulators that a list of aggregates needs. It is immutable.
type Layout struct {
	specs   []Spec
	accs    []accumulator
	byKey   map[key]accumulator
	initial []uint64 // a new cell
	stride  int      // words of a cell, with padding
	pooled  bool
	ordered bool
	texts   []int // offsets in a cell of the handles of texts
}

// cacheLineWords is the number of words in a cache line of 64 bytes.
const cacheLineWords = 8

// NewLayout returns the layout for the aggregates over arguments of the types. Every Spec comes from Resolve and its Arg
// indexes args (the planner sees to it; a layout of anything else is a programming error and panics).
func NewLayout(specs []Spec, args []block.Type) *Layout {
	l := &Layout{specs: specs, byKey: make(map[key]accumulator)}
	words := 1 // rows
	need := func(k key, build func() accumulator) {
		if _, ok := l.byKey[k]; ok {
			return
		}
		a := build()
		a.place(words)
		words += a.words()
		l.accs, l.byKey[k] = append(l.accs, a), a
		l.pooled = l.pooled || a.pooled()
		l.ordered = l.ordered || k.part == partFirst || k.part == partLast
		switch a := a.(type) {
		case *textExtreme:
			l.texts = append(l.texts, a.offset)
		case *edge:
			if a.pooled() {
				l.texts = append(l.texts, a.offset+edgePositionWords)
			}
		}
	}
	for _, s := range specs {
		if s.Kind == KindRows {
			continue
		}
		t := args[s.Arg]
		if t != s.ArgType {
			panic(fmt.Sprintf("agg: argument %d is %s, aggregate wants %s", s.Arg, t, s.ArgType))
		}
		need(key{s.Arg, partCount}, func() accumulator { return &count{arg: s.Arg} })
		counts := l.byKey[key{s.Arg, partCount}].(*count)
		for _, p := range parts[s.Kind] {
			need(key{s.Arg, p}, func() accumulator { return newAccumulator(p, s.Arg, t, counts) })
		}
	}
	l.stride = padded(words)
	l.initial = make([]uint64, l.stride)
	for _, a := range l.accs {
		a.init(l.initial)
	}
	return l
}

// padded rounds the words of a cell up so that a cell never straddles more cache lines than it has to.
func padded(words int) int {
	for n := 1; n < cacheLineWords; n *= 2 {
		if words <= n {
			return n
		}
	}
	return (words + cacheLineWords - 1) / cacheLineWords * cacheLineWords
}

func newAccumulator(p part, arg int, t block.Type, n *count) accumulator {
	switch p {
	case partSum:
		if t.Kind == block.KindFloat64 {
			return &floatSum{arg: arg}
		}
		return newWordSum(arg, t, plain)
	case partSquares:
		if t.Kind == block.KindFloat64 {
			return &floatSquares{arg: arg}
		}
		return newWordSum(arg, t, squared)
	case partMin:
		return newExtreme(arg, t, rising, n)
	case partMax:
		return newExtreme(arg, t, falling, n)
	case partFirst:
		return &edge{arg: arg, typ: t, order: rising}
	case partLast:
		return &edge{arg: arg, typ: t, order: falling}
	}
	panic(fmt.Sprintf("agg: no accumulator for part %d", p))
}

// Ordered tells whether rows need partition and offset (first, last).
func (l *Layout) Ordered() bool { return l.ordered }

// ColumnRows is the first column of the partial form.
const ColumnRows = "_rows"

// columnName names a column of the partial form.
func columnName(arg int, suffix string) string { return "a" + strconv.Itoa(arg) + suffix }

// PartialFields returns the columns of the partial form, in order.
func (l *Layout) PartialFields() block.Schema {
	s := block.Schema{{Name: ColumnRows, Type: block.Int64}}
	for _, a := range l.accs {
		for _, f := range a.fields() {
			s = append(s, f.Field)
		}
	}
	return s
}

// Bind returns the columns of the partial form among those of a batch from the position first on, in the order of
// PartialFields; a column that was left out is nil. Errors name the column that is missing, of another type or unknown.
func (l *Layout) Bind(b *block.Batch, first int) ([]*block.Column, error) {
	out := make([]*block.Column, 0, len(l.accs)+1)
	at := first
	bind := func(f field) error {
		switch {
		case at < len(b.Schema) && b.Schema[at] == f.Field:
			out = append(out, b.Cols[at])
			at++
		case f.optional:
			out = append(out, nil)
		default:
			return fmt.Errorf("partials: no column %s %s at position %d", f.Name, f.Type, at)
		}
		return nil
	}
	if err := bind(field{Field: block.Field{Name: ColumnRows, Type: block.Int64}}); err != nil {
		return nil, err
	}
	for _, a := range l.accs {
		for _, f := range a.fields() {
			if err := bind(f); err != nil {
				return nil, err
			}
		}
	}
	if at != len(b.Schema) {
		return nil, fmt.Errorf("partials: unknown column %s %s", b.Schema[at].Name, b.Schema[at].Type)
	}
	return out, nil
}
