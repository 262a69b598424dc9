package agg

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/pondage/pondage/internal/block"
)

// CodeOverflow is the code of a result that does not fit its type.
const CodeOverflow = "numeric_overflow"

// ResultError is a result that has no value. It is an error of the data of one group and window.
type ResultError struct {
	Row    int32 // in the batch of results
	Agg    int   // index of the aggregate
	Code   string
	Reason string
}

// results is a column of results being written.
type results struct {
	cells *Cells
	col   *block.Column
	agg   int
	errs  []ResultError
}

// AppendResults appends the result of aggregate i over each cell to cols[i], and what has no result to errs (there the
// column has a null). It returns errs.
func (c *Cells) AppendResults(cols []*block.Column, cells []uint32, errs []ResultError) []ResultError {
	for i, s := range c.layout.specs {
		r := &results{cells: c, col: cols[i], agg: i, errs: errs}
		r.append(s, cells)
		errs = r.errs
	}
	return errs
}

// fail appends a null and its error.
func (r *results) fail(format string, args ...any) {
	r.errs = append(r.errs, ResultError{Row: int32(r.col.Len()), Agg: r.agg, Code: CodeOverflow, Reason: fmt.Sprintf(format, args...)})
	r.col.AppendNull()
}

func (r *results) append(s Spec, cells []uint32) {
	c, l := r.cells, r.cells.layout
	if s.Kind == KindRows {
		for _, cell := range cells {
			r.col.AppendInt(c.Count(cell))
		}
		return
	}
	n := l.byKey[key{s.Arg, partCount}].(*count)
	switch s.Kind {
	case KindCount:
		n.appendCounts(c, r.col, cells)
	case KindSum:
		r.sums(l.byKey[key{s.Arg, partSum}], n, cells)
	case KindAvg:
		r.averages(l.byKey[key{s.Arg, partSum}], n, s.ArgType, cells)
	case KindMin:
		l.byKey[key{s.Arg, partMin}].appendPartials(c, []*block.Column{r.col}, cells)
	case KindMax:
		l.byKey[key{s.Arg, partMax}].appendPartials(c, []*block.Column{r.col}, cells)
	case KindFirst:
		r.edges(l.byKey[key{s.Arg, partFirst}].(*edge), cells)
	case KindLast:
		r.edges(l.byKey[key{s.Arg, partLast}].(*edge), cells)
	case KindSpread:
		r.spreads(l.byKey[key{s.Arg, partMin}], l.byKey[key{s.Arg, partMax}], n, cells)
	case KindVariance:
		r.variances(l.byKey[key{s.Arg, partSum}], l.byKey[key{s.Arg, partSquares}], n, s.ArgType, moments.variance, cells)
	case KindStddev:
		r.variances(l.byKey[key{s.Arg, partSum}], l.byKey[key{s.Arg, partSquares}], n, s.ArgType, moments.stddev, cells)
	}
}

func (r *results) edges(e *edge, cells []uint32) {
	for _, cell := range cells {
		e.appendResult(r.cells, r.col, cell)
	}
}

func (r *results) sums(sum accumulator, n *count, cells []uint32) {
	for _, cell := range cells {
		switch sum := sum.(type) {
		case *floatSum:
			if n.of(r.cells, cell) == 0 {
				r.col.AppendNull()
				continue
			}
			r.col.AppendFloat(sum.value(r.cells, cell))
		case *wordSum:
			v, ok := decimalOf(sum.of(r.cells, cell))
			switch {
			case n.of(r.cells, cell) == 0:
				r.col.AppendNull()
			case ok:
				r.col.AppendDec(v)
			default:
				r.fail("sum has more than %d digits", block.MaxDecimalPrecision)
			}
		}
	}
}

// value returns the sum, rounded once.
func (a *floatSum) value(c *Cells, cell uint32) float64 {
	w := c.at(cell, a.offset)
	if boxed(w[0]) {
		f := c.fixed.get(unboxed(w[0]))
		if v, ok := f.special(); ok {
			return v
		}
		return exactFixed(f, sumSpan).ratio(1, 0)
	}
	return math.Float64frombits(w[0]) + math.Float64frombits(w[1])
}

func (r *results) averages(sum accumulator, n *count, arg block.Type, cells []uint32) {
	for _, cell := range cells {
		values := n.of(r.cells, cell)
		if values == 0 {
			r.col.AppendNull()
			continue
		}
		switch sum := sum.(type) {
		case *floatSum:
			r.col.AppendFloat(sum.average(r.cells, cell, values))
		case *wordSum:
			r.col.AppendFloat(averageWords(sum.of(r.cells, cell), values, int(arg.Scale)))
		}
	}
}

// maxExactInt bounds the integers that doubles hold exactly.
const maxExactInt = 1 << 53

// averageWords returns sum / (n · 10^scale), rounded once.
func averageWords(sum []uint64, n int64, scale int) float64 {
	low := int64(sum[0])
	if scale == 0 && n < maxExactInt && low > -maxExactInt && low < maxExactInt && sum[1] == signOf(low) && compact(sum) {
		return float64(low) / float64(n)
	}
	return exact{mantissa: signedInt(sum)}.ratio(n, scale)
}

// average returns the sum divided by n, rounded once.
func (a *floatSum) average(c *Cells, cell uint32, n int64) float64 {
	w := c.at(cell, a.offset)
	if boxed(w[0]) {
		f := c.fixed.get(unboxed(w[0]))
		if v, ok := f.special(); ok {
			return v
		}
		return exactFixed(f, sumSpan).ratio(n, 0)
	}
	hi, lo := math.Float64frombits(w[0]), math.Float64frombits(w[1])
	if q, ok := divide(hi, lo, n); ok {
		return q
	}
	return exactDoubles(hi, lo).ratio(n, 0)
}

// divide returns (hi+lo)/n rounded to nearest; ok is false when it cannot tell (Ziv's test: the quotient is computed
// to some 100 digits, and if both ends of its error interval round to one double, that is it).
func divide(hi, lo float64, n int64) (q float64, ok bool) {
	// Within these bounds, the remainder of a division is exact.
	const largest, smallest = 0x1p1000, 0x1p-900
	s, t := twoSum(hi, lo)
	if s == 0 {
		return 0, true // then t is 0 too
	}
	d := float64(n)
	q = s / d
	if a := math.Abs(q); n >= maxExactInt || !(a < largest && a > smallest) {
		return 0, false
	}
	const relativeError = 0x1p-49
	remainder, lost := twoSum(math.FMA(-q, d, s), t)
	rest := remainder / d
	if lost == 0 && math.FMA(-rest, d, remainder) == 0 {
		return q + rest, true // the quotient is q + rest exactly: so it may be half way between two doubles
	}
	low, high := q+rest*(1-relativeError), q+rest*(1+relativeError)
	return low, low == high
}

func (r *results) spreads(low, high accumulator, n *count, cells []uint32) {
	for _, cell := range cells {
		if n.of(r.cells, cell) == 0 {
			r.col.AppendNull()
			continue
		}
		switch low := low.(type) {
		case *wordExtreme:
			lo, _ := low.of(r.cells, cell)
			hi, _ := high.(*wordExtreme).of(r.cells, cell)
			r.spread(lo, hi)
		case *decimalExtreme:
			lo, _ := low.of(r.cells, cell)
			hi, _ := high.(*decimalExtreme).of(r.cells, cell)
			r.decimalSpread(lo, hi)
		}
	}
}

func (r *results) spread(lo, hi int64) {
	if r.col.Type.Kind == block.KindFloat64 {
		r.col.AppendFloat(floatOf(hi) - floatOf(lo))
		return
	}
	if d := hi - lo; d >= 0 {
		r.col.AppendInt(d)
		return
	}
	r.fail("spread from %d to %d is above the range of int64", lo, hi)
}

func (r *results) decimalSpread(lo, hi decimal128.Num) {
	low, borrow := bits.Sub64(hi.LowBits(), lo.LowBits(), 0)
	high, _ := bits.Sub64(uint64(hi.HighBits()), uint64(lo.HighBits()), borrow)
	d := decimal128.New(int64(high), low) // below 2·10^38, so at most the sign bit is wrong
	if d.Sign() < 0 || !d.Less(decimal128.GetScaleMultiplier(int(r.col.Type.Precision))) {
		r.fail("spread does not fit %s", r.col.Type)
		return
	}
	r.col.AppendDec(d)
}
