package agg

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/pondage/pondage/internal/block"
	"pgregory.net/rapid"
)

// table is a set of rows with one argument.
type table struct {
	col                   *block.Column
	ts, partition, offset []int64
}

func (t *table) rows() int { return t.col.Len() }

// all resolves every supported function that takes the type, and count(*).
func all(tb rapid.TB, typ block.Type) []Spec {
	tb.Helper()
	star, _, err := Resolve("count", block.Type{})
	if err != nil {
		tb.Fatal(err)
	}
	specs := []Spec{star}
	for _, name := range Names() {
		if s, _, err := Resolve(name, typ); err == nil {
			specs = append(specs, s)
		}
	}
	return specs
}

// aggregate adds the rows, cut into partials and merged as the plan says, and returns the results.
// plan lists, per partial, its rows. Every other partial goes over the wire form, the rest by Merge.
func aggregate(tb rapid.TB, l *Layout, t *table, plan [][]int32) ([]*block.Column, []ResultError) {
	state := NewCells(l)
	total := state.Alloc()
	for i, sel := range plan {
		if len(sel) == 0 {
			continue
		}
		if i%2 == 0 {
			source := NewCells(l)
			mergeOverWire(tb, l, state, total, source, addTo(source, t, sel))
			continue
		}
		cell := addTo(state, t, sel)
		state.Merge([]uint32{total}, []uint32{cell})
		state.Free([]uint32{cell})
	}
	var cols []*block.Column
	for _, s := range l.specs {
		cols = append(cols, block.NewColumn(s.Out(), 1))
	}
	errs := state.AppendResults(cols, []uint32{total}, nil)
	return cols, errs
}

func addTo(c *Cells, t *table, sel []int32) uint32 {
	cell := c.Alloc()
	cells := slices.Repeat([]uint32{cell}, len(sel))
	c.Add(Rows{Cells: cells, Sel: sel, Args: []*block.Column{t.col}, Ts: t.ts, Partition: t.partition, Offset: t.offset})
	return cell
}

func mergeOverWire(tb rapid.TB, l *Layout, dst *Cells, total uint32, src *Cells, cell uint32) {
	full := block.NewBatch(l.PartialFields(), 1)
	src.AppendPartials(full.Cols, []uint32{cell})
	sent := &block.Batch{}
	for i, col := range full.Cols {
		if col.Len() > 0 {
			sent.Schema, sent.Cols = append(sent.Schema, full.Schema[i]), append(sent.Cols, col)
		}
	}
	cols, err := l.Bind(sent, 0)
	if err != nil {
		tb.Fatalf("bind: %v", err)
	}
	if err := dst.MergePartials(cols, []uint32{total}); err != nil {
		tb.Fatalf("merge partials: %v", err)
	}
}

// onePlan adds all rows to one partial.
func onePlan(n int) [][]int32 {
	sel := make([]int32, n)
	for i := range sel {
		sel[i] = int32(i)
	}
	return [][]int32{nil, sel}
}

// drawPlan shuffles the rows and cuts them anywhere.
func drawPlan(t *rapid.T, n int) [][]int32 {
	order := rapid.Permutation(onePlan(n)[1]).Draw(t, "order")
	var plan [][]int32
	for len(order) > 0 {
		k := rapid.IntRange(1, len(order)).Draw(t, "cut")
		plan, order = append(plan, order[:k]), order[k:]
	}
	return plan
}

// cell is the only value of a column, in a comparable form with all bits.
func value(col *block.Column) any {
	if col.IsNull(0) {
		return nil
	}
	switch col.Type.Kind {
	case block.KindFloat64:
		if v := col.Float[0]; v != v {
			return "NaN"
		}
		return math.Float64bits(col.Float[0])
	case block.KindDecimal:
		return col.Dec[0]
	case block.KindBool:
		return col.Bool[0]
	case block.KindString, block.KindJSON:
		return string(col.Bytes(0))
	default:
		return col.Int[0]
	}
}

// hardFloats are values that break a careless sum.
var hardFloats = []float64{0, math.Copysign(0, -1), 1, -1, 0.1, 21.5, 1e16, -1e16, 1e-17, 1.797e308, -1.797e308, math.MaxFloat64, -math.MaxFloat64,
	math.SmallestNonzeroFloat64, -math.SmallestNonzeroFloat64, 0x1p-1022, 1e-200, 1e200, math.Pi, 1e300, -1e-300}

var specialFloats = append(slices.Clone(hardFloats), math.NaN(), math.Copysign(math.NaN(), -1), math.Inf(1), math.Inf(-1))

func drawTable(t *rapid.T, typ block.Type, floats []float64) *table {
	n := rapid.IntRange(1, 30).Draw(t, "rows")
	out := &table{col: block.NewColumn(typ, n)}
	ints := rapid.OneOf(rapid.Int64(), rapid.SampledFrom([]int64{math.MaxInt64, math.MinInt64, 0, 1, -1}))
	for i := range n {
		out.ts = append(out.ts, rapid.Int64Range(-3, 3).Draw(t, "ts"))
		out.partition = append(out.partition, rapid.Int64Range(0, 2).Draw(t, "partition"))
		out.offset = append(out.offset, int64(i))
		if rapid.IntRange(0, 5).Draw(t, "null") == 0 {
			out.col.AppendNull()
			continue
		}
		switch typ.Kind {
		case block.KindFloat64:
			out.col.AppendFloat(rapid.OneOf(rapid.SampledFrom(floats), rapid.Float64(), rapid.Float64Range(15, 30)).Draw(t, "x"))
		case block.KindDecimal:
			limit := decimal128.GetScaleMultiplier(block.MaxDecimalPrecision).Sub(decimal128.FromI64(1))
			small := rapid.Custom(func(t *rapid.T) decimal128.Num { return decimal128.FromI64(ints.Draw(t, "v")) })
			out.col.AppendDec(rapid.OneOf(small, rapid.SampledFrom([]decimal128.Num{limit, limit.Negate()})).Draw(t, "dec"))
		case block.KindBool:
			out.col.AppendBool(rapid.Bool().Draw(t, "b"))
		case block.KindString, block.KindJSON:
			out.col.AppendString(rapid.StringN(0, 4, -1).Draw(t, "s"))
		default:
			out.col.AppendInt(ints.Draw(t, "i"))
		}
	}
	return out
}

var allTypes = []block.Type{block.Int64, block.Float64, block.Decimal(38, 4), block.String, block.Timestamp, block.Bool, block.JSON}

func TestResultsDependOnRowsOnly(t *testing.T) {
	t.Parallel()
	for _, typ := range allTypes {
		t.Run(typ.String(), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				tab := drawTable(t, typ, specialFloats)
				l := NewLayout(all(t, typ), []block.Type{typ})
				want, wantErrs := aggregate(t, l, tab, onePlan(tab.rows()))
				got, gotErrs := aggregate(t, l, tab, drawPlan(t, tab.rows()))
				for i := range want {
					if value(got[i]) != value(want[i]) {
						t.Fatalf("kind %d: %v in one cut, %v in another", l.specs[i].Kind, value(want[i]), value(got[i]))
					}
				}
				if !slices.Equal(gotErrs, wantErrs) {
					t.Fatalf("errors %v in one cut, %v in another", wantErrs, gotErrs)
				}
			})
		})
	}
}

// model computes the functions with rational numbers.
type model struct {
	n            int64
	sum, squares *big.Rat
}

func modelOf(tab *table) model {
	m := model{sum: new(big.Rat), squares: new(big.Rat)}
	for i := range tab.rows() {
		if tab.col.IsNull(i) {
			continue
		}
		v := new(big.Rat)
		switch tab.col.Type.Kind {
		case block.KindFloat64:
			v.SetFloat64(tab.col.Float[i])
		case block.KindDecimal:
			v.SetFrac(tab.col.Dec[i].BigInt(), tenTo(int(tab.col.Type.Scale)))
		default:
			v.SetInt64(tab.col.Int[i])
		}
		m.n++
		m.sum.Add(m.sum, v)
		m.squares.Add(m.squares, new(big.Rat).Mul(v, v))
	}
	return m
}

func nearest(r *big.Rat) float64 { f, _ := r.Float64(); return f }

func (m model) average() *big.Rat { return new(big.Rat).Quo(m.sum, big.NewRat(m.n, 1)) }

func (m model) variance() *big.Rat {
	mean := m.average()
	v := new(big.Rat).Quo(m.squares, big.NewRat(m.n, 1))
	return v.Sub(v, mean.Mul(mean, mean))
}

func TestNumbersEqualBigArithmetic(t *testing.T) {
	t.Parallel()
	for _, typ := range []block.Type{block.Int64, block.Float64, block.Decimal(38, 4)} {
		t.Run(typ.String(), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				tab := drawTable(t, typ, hardFloats)
				l := NewLayout(all(t, typ), []block.Type{typ})
				got, errs := aggregate(t, l, tab, drawPlan(t, tab.rows()))
				m := modelOf(tab)
				for i, s := range l.specs {
					checkNumber(t, s, got[i], m, slices.ContainsFunc(errs, func(e ResultError) bool { return e.Agg == i }))
				}
			})
		})
	}
}

func checkNumber(t *rapid.T, s Spec, got *block.Column, m model, failed bool) {
	if m.n == 0 {
		return
	}
	switch s.Kind {
	case KindAvg:
		if want := nearest(m.average()); got.Float[0] != want {
			t.Fatalf("avg = %v, want %v", got.Float[0], want)
		}
	case KindVariance:
		if want := nearest(m.variance()); got.Float[0] != want {
			t.Fatalf("variance = %v, want %v", got.Float[0], want)
		}
	case KindStddev:
		root := new(big.Float).SetPrec(300).SetRat(m.variance())
		if want, _ := root.Sqrt(root).Float64(); got.Float[0] != want {
			t.Fatalf("stddev = %v, want %v", got.Float[0], want)
		}
	case KindSum:
		if s.Out().Kind == block.KindFloat64 {
			if want := nearest(m.sum); got.Float[0] != want {
				t.Fatalf("sum = %v, want %v", got.Float[0], want)
			}
			return
		}
		want := new(big.Rat).Mul(m.sum, new(big.Rat).SetInt(tenTo(int(s.ArgType.Scale))))
		if fits := want.Num().CmpAbs(tenTo(block.MaxDecimalPrecision)) < 0; fits == failed {
			t.Fatalf("sum %v: failed = %v", want, failed)
		}
		if !failed && got.Dec[0].BigInt().Cmp(want.Num()) != 0 {
			t.Fatalf("sum = %v, want %v", got.Dec[0].BigInt(), want)
		}
	}
}
