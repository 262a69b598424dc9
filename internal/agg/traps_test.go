package agg

import (
	"errors"
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/pondage/pondage/internal/block"
)

func tableOf(typ block.Type, n int, appendRow func(c *block.Column, i int)) *table {
	t := &table{col: block.NewColumn(typ, n)}
	for i := range n {
		appendRow(t.col, i)
		t.ts, t.partition, t.offset = append(t.ts, int64(i)), append(t.partition, 0), append(t.offset, int64(i))
	}
	return t
}

func intTable(v ...int64) *table {
	return tableOf(block.Int64, len(v), func(c *block.Column, i int) { c.AppendInt(v[i]) })
}

func floatTable(v ...float64) *table {
	return tableOf(block.Float64, len(v), func(c *block.Column, i int) { c.AppendFloat(v[i]) })
}

// cuts are the partials of every cut of n rows in two.
func cuts(n int) [][][]int32 {
	all := onePlan(n)[1]
	out := [][][]int32{onePlan(n)}
	for k := 1; k < n; k++ {
		out = append(out, [][]int32{all[:k], all[k:]}, [][]int32{nil, all[k:], all[:k]})
	}
	return out
}

// result returns the column of a function, for every cut the same.
func result(t *testing.T, tab *table, kind Kind) *block.Column {
	t.Helper()
	l := NewLayout(all(t, tab.col.Type), []block.Type{tab.col.Type})
	i := slices.IndexFunc(l.specs, func(s Spec) bool { return s.Kind == kind })
	first, _ := aggregate(t, l, tab, onePlan(tab.rows()))
	for _, plan := range cuts(tab.rows()) {
		got, _ := aggregate(t, l, tab, plan)
		if value(got[i]) != value(first[i]) {
			t.Fatalf("kind %d: %v when cut as %v, %v uncut", kind, value(got[i]), plan, value(first[i]))
		}
	}
	return first[i]
}

func TestT14_ASumBeyond64Bits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in  *table
		sum string
		avg float64
	}{
		{intTable(math.MaxInt64, 1), "9223372036854775808", 1 << 62},
		{intTable(math.MinInt64, -1), "-9223372036854775809", -1 << 62},
		{intTable(math.MaxInt64, math.MaxInt64, math.MaxInt64, math.MinInt64), "18446744073709551613", 1 << 62},
	} {
		sum := result(t, c.in, KindSum)
		if got := sum.Dec[0].BigInt().String(); got != c.sum || sum.Type != block.Decimal(38, 0) {
			t.Errorf("sum = %s %s, want %s", got, sum.Type, c.sum)
		}
		if got := result(t, c.in, KindAvg).Float[0]; got != c.avg {
			t.Errorf("avg = %v, want %v", got, c.avg)
		}
		if got := result(t, c.in, KindCount).Int[0]; got != int64(c.in.rows()) {
			t.Errorf("count = %d, want %d", got, c.in.rows())
		}
	}
}

func TestT15_SumsAtTheLimits(t *testing.T) {
	t.Parallel()
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		in  []float64
		sum float64
	}{
		{[]float64{1.797e308, 1.797e308}, inf},
		{[]float64{1.797e308, 1.797e308, -1.797e308}, 1.797e308},
		{[]float64{1e16, 1, -1e16}, 1},
		{[]float64{1e300, 1, 1e-300, -1e300, -1}, 1e-300},
		{[]float64{inf, 1}, inf},
		{[]float64{inf, -inf}, nan},
		{[]float64{nan, 1}, nan},
		{[]float64{-inf, 1.797e308, 1.797e308}, -inf},
		{slices.Repeat([]float64{0.1}, 10), 1},
	} {
		if got := result(t, floatTable(c.in...), KindSum).Float[0]; got != c.sum && (got == got || c.sum == c.sum) {
			t.Errorf("sum(%v) = %v, want %v", c.in, got, c.sum)
		}
	}
	if got := result(t, floatTable(1e200, -1e200), KindStddev).Float[0]; got != 1e200 {
		t.Errorf("stddev = %v, want 1e200 though the variance is out of range", got)
	}
	if got := result(t, floatTable(slices.Repeat([]float64{0.1}, 7)...), KindVariance).Float[0]; got != 0 {
		t.Errorf("variance of equal values = %v, want 0", got)
	}
}

func TestT16_NaNStaysAtHome(t *testing.T) {
	t.Parallel()
	nan, inf := math.NaN(), math.Inf(1)
	for name, typ := range map[string]block.Type{"float64": block.Float64} {
		l := NewLayout(all(t, typ), []block.Type{typ})
		c := NewCells(l)
		a, b, other := c.Alloc(), c.Alloc(), c.Alloc()
		tab := floatTable(nan, 1, inf, 2)
		c.Add(Rows{Cells: []uint32{a, b, other, b}, Sel: []int32{0, 1, 2, 3}, Args: []*block.Column{tab.col}, Ts: tab.ts, Partition: tab.partition, Offset: tab.offset})
		checkCell(t, name+" b", c, b, floatTable(1, 2))
		checkCell(t, name+" a", c, a, floatTable(nan))
		checkCell(t, name+" c", c, other, floatTable(inf))
		c.Free([]uint32{a, other})
		if next := c.Alloc(); next == b { // the next window uses a freed cell
			t.Fatal("a cell in use was given out")
		} else {
			one := floatTable(1)
			c.Add(Rows{Cells: []uint32{next}, Sel: []int32{0}, Args: []*block.Column{one.col}, Ts: one.ts, Partition: one.partition, Offset: one.offset})
			checkCell(t, name+" a, next window", c, next, one)
		}
	}
}

// checkCell compares all functions over a cell with those over a store of its own.
func checkCell(t *testing.T, name string, c *Cells, cell uint32, want *table) {
	t.Helper()
	alone, _ := aggregate(t, c.layout, want, onePlan(want.rows()))
	var cols []*block.Column
	for _, s := range c.layout.specs {
		cols = append(cols, block.NewColumn(s.Out(), 1))
	}
	c.AppendResults(cols, []uint32{cell}, nil)
	for i, s := range c.layout.specs {
		if value(cols[i]) != value(alone[i]) && s.Kind != KindFirst && s.Kind != KindLast || cols[i].Len() != 1 {
			t.Errorf("%s: kind %d = %v, want %v", name, s.Kind, value(cols[i]), value(alone[i]))
		}
	}
}

func TestMinMaxOrderNaNAndZeros(t *testing.T) {
	t.Parallel()
	nan, negZero := math.NaN(), math.Copysign(0, -1)
	for _, c := range []struct{ in, want []float64 }{
		{[]float64{nan, 3, math.Inf(1)}, []float64{3, nan}},
		{[]float64{nan}, []float64{nan, nan}},
		{[]float64{math.Copysign(nan, -1), 3}, []float64{3, nan}},
		{[]float64{0, negZero}, []float64{negZero, 0}},
		{[]float64{-1, math.Inf(-1), -2}, []float64{math.Inf(-1), -1}},
	} {
		for i, kind := range []Kind{KindMin, KindMax} {
			got := result(t, floatTable(c.in...), kind)
			if want := floatTable(c.want[i]); value(got) != value(want.col) {
				t.Errorf("kind %d of %v = %v, want %v", kind, c.in, got.Float[0], c.want[i])
			}
		}
	}
}

func TestOverflowIsAnErrorOfTheResult(t *testing.T) {
	t.Parallel()
	in := intTable(math.MinInt64, math.MaxInt64)
	l := NewLayout(all(t, block.Int64), []block.Type{block.Int64})
	cols, errs := aggregate(t, l, in, onePlan(2))
	if len(errs) != 1 || errs[0].Code != CodeOverflow || l.specs[errs[0].Agg].Kind != KindSpread || !cols[errs[0].Agg].IsNull(0) {
		t.Errorf("errors %+v, want an overflow of spread", errs)
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		arg  block.Type
		out  block.Type
		err  error
	}{
		{"COUNT", block.Type{}, block.Int64, nil},
		{"count", block.JSON, block.Int64, nil},
		{"sum", block.Int64, block.Decimal(38, 0), nil},
		{"sum", block.Decimal(10, 2), block.Decimal(38, 2), nil},
		{"sum", block.Float64, block.Float64, nil},
		{"avg", block.Decimal(10, 2), block.Float64, nil},
		{"spread", block.Int64, block.Int64, nil},
		{"max", block.Timestamp, block.Timestamp, nil},
		{"first", block.JSON, block.JSON, nil},
		{"sum", block.String, block.Type{}, ErrArgType},
		{"sum", block.Type{}, block.Type{}, ErrArgType},
		{"min", block.JSON, block.Type{}, ErrArgType},
		{"percentile", block.Int64, block.Type{}, ErrNotSupportedYet},
		{"avrage", block.Int64, block.Type{}, ErrUnknown},
	} {
		_, out, err := Resolve(c.name, c.arg)
		if out != c.out || !errors.Is(err, c.err) {
			t.Errorf("%s(%s): %s, %v; want %s, %v", c.name, c.arg, out, err, c.out, c.err)
		}
	}
}

func TestDivideAgreesWithBigArithmeticNearMidpoints(t *testing.T) {
	t.Parallel()
	// Exact quotients on and beside the midpoint of two doubles: where one rounding too many shows.
	for _, tail := range []float64{0, 0x1p-80, -0x1p-80} {
		for n := int64(1); n <= 9; n++ {
			hi := float64(n) * (1 + 0x1p-52)
			lo := float64(n)*0x1p-53 + tail
			want, _ := new(big.Rat).Quo(new(big.Rat).Add(new(big.Rat).SetFloat64(hi), new(big.Rat).SetFloat64(lo)), big.NewRat(n, 1)).Float64()
			if got, ok := divide(hi, lo, n); ok && got != want {
				t.Errorf("(%v + %v)/%d = %v, want %v", hi, lo, n, got, want)
			}
		}
	}
}

func TestMalformedWideSumsAreErrors(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "1.2.3", "0.0.0.0.", "0.0.0.99.0000000000000000", "-1.0.0.0.0000000000000000", "0.0.0.0.xyz", "0.0.0.33.00000000000000000000000000000000"} {
		var f fixed
		if err := f.parse(text, sumSpan); err == nil {
			t.Errorf("parse(%q) accepted", text)
		}
	}
}

func TestFirstAndLastGoByTimePartitionOffset(t *testing.T) {
	t.Parallel()
	// Value i at these positions, in no order.
	tab := intTable(0, 1, 2, 3, 4, 5)
	tab.ts = []int64{5, 5, 5, 5, 9, -1}
	tab.partition = []int64{1, 0, 0, 1, 0, 7}
	tab.offset = []int64{3, 8, 9, 2, 0, 0}
	drop := func(rows ...int32) [][]int32 { return [][]int32{nil, rows} }
	l := NewLayout(all(t, block.Int64), []block.Type{block.Int64})
	for _, c := range []struct {
		plan        [][]int32
		first, last int64
	}{
		{onePlan(6), 5, 4},
		{drop(0, 1, 2, 3), 1, 0},
		{drop(3, 0), 3, 0},
		{drop(2, 1), 1, 2},
		{drop(4, 0), 0, 4},
	} {
		cols, _ := aggregate(t, l, tab, c.plan)
		for i, s := range l.specs {
			if s.Kind == KindFirst && cols[i].Int[0] != c.first || s.Kind == KindLast && cols[i].Int[0] != c.last {
				t.Errorf("rows %v: kind %d = %d, want first %d, last %d", c.plan[1], s.Kind, cols[i].Int[0], c.first, c.last)
			}
		}
	}
}

func TestFreedCellsGiveEverythingBack(t *testing.T) {
	t.Parallel()
	for _, tab := range []*table{floatTable(1e300, 1e-300, math.NaN()), tableOf(block.String, 3, func(c *block.Column, i int) { c.AppendString("x") })} {
		c := NewCells(NewLayout(all(t, tab.col.Type), []block.Type{tab.col.Type}))
		fill := func() {
			for range 10 {
				c.Free([]uint32{addTo(c, tab, []int32{0, 1, 2})})
			}
		}
		fill() // what is pooled grows to the largest use
		before := c.MemBytes()
		fill()
		if after := c.MemBytes(); c.Len() != 0 || after > before {
			t.Errorf("%s: %d cells in use, memory from %d to %d bytes", tab.col.Type, c.Len(), before, after)
		}
	}
}
