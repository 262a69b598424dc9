package tablehash

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"pgregory.net/rapid"

	"github.com/pondage/pondage/internal/block"
)

func one(t block.Type, add func(*block.Column)) []*block.Column {
	c := block.NewColumn(t, 1)
	add(c)
	return []*block.Column{c}
}

func text(s string) func(*block.Column)   { return func(c *block.Column) { c.AppendString(s) } }
func integer(n int64) func(*block.Column) { return func(c *block.Column) { c.AppendInt(n) } }
func float(x float64) func(*block.Column) { return func(c *block.Column) { c.AppendFloat(x) } }
func boolean(v bool) func(*block.Column)  { return func(c *block.Column) { c.AppendBool(v) } }
func null(c *block.Column)                { c.AppendNull() }
func decimal(n int64) func(c *block.Column) {
	return func(c *block.Column) { c.AppendDec(decimal128.FromI64(n)) }
}

// The bytes identify groups in stored state: a change here loses them.
func TestKeyBytesAreGolden(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cols []*block.Column
		want string
	}{
		{one(block.String, null), "00"},
		{one(block.String, text("")), "0600"},
		{one(block.String, text("é")), "0602c3a9"},
		{one(block.Bool, boolean(false)), "01"},
		{one(block.Bool, boolean(true)), "02"},
		{one(block.Int64, integer(-2)), "03fffffffffffffffe"},
		{one(block.Float64, float(1)), "043ff0000000000000"},
		{one(block.Float64, float(math.NaN())), "047ff8000000000001"},
		{one(block.Decimal(20, 2), decimal(-1)), "0502ffffffffffffffffffffffffffffffff"},
		{one(block.Timestamp, integer(1)), "070000000000000001"},
		{one(block.JSON, text("{}")), "08027b7d"},
		{append(one(block.String, text("a")), one(block.Int64, null)...), "06016100"},
		{nil, ""},
	} {
		if got := hex.EncodeToString(AppendKey(nil, c.cols, 0)); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

// T35: identity of a result is total.
func TestT35_NullIsAGroupOfItsOwn(t *testing.T) {
	t.Parallel()
	different := [][]*block.Column{
		one(block.String, null), one(block.String, text("")), one(block.String, text("\x00")), one(block.Int64, integer(1)),
		one(block.Float64, float(1)), one(block.String, text("1")), one(block.Bool, boolean(true)), one(block.Timestamp, integer(1)),
		one(block.Decimal(10, 0), decimal(1)), one(block.Decimal(10, 1), decimal(1)), one(block.JSON, text("1")),
		append(one(block.String, text("a")), one(block.String, text("bc"))...),
		append(one(block.String, text("ab")), one(block.String, text("c"))...),
		append(one(block.String, null), one(block.String, text(""))...),
		append(one(block.String, text("")), one(block.String, null)...),
	}
	seen := map[string]int{}
	for i, cols := range different {
		key := string(AppendKey(nil, cols, 0))
		if j, ok := seen[key]; ok {
			t.Errorf("groups %d and %d are one", i, j)
		}
		seen[key] = i
	}
	otherNaN := math.Float64frombits(math.Float64bits(math.NaN()) ^ 1<<63 ^ 7)
	for _, same := range [][2]float64{{0, math.Copysign(0, -1)}, {math.NaN(), otherNaN}} {
		a, b := AppendKey(nil, one(block.Float64, float(same[0])), 0), AppendKey(nil, one(block.Float64, float(same[1])), 0)
		if !bytes.Equal(a, b) {
			t.Errorf("%x and %x are two groups", a, b)
		}
	}
}

var keyTypes = []block.Type{block.Bool, block.Int64, block.Float64, block.Decimal(38, 3), block.String, block.Timestamp, block.JSON}

func drawValue(t *rapid.T, c *block.Column) {
	if rapid.IntRange(0, 3).Draw(t, "null") == 0 {
		c.AppendNull()
		return
	}
	switch c.Type.Kind {
	case block.KindBool:
		c.AppendBool(rapid.Bool().Draw(t, "bool"))
	case block.KindFloat64:
		c.AppendFloat(rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1, math.NaN(), math.Inf(1), math.Inf(-1), 0.1}).Draw(t, "float"))
	case block.KindDecimal:
		c.AppendDec(decimal128.New(rapid.Int64().Draw(t, "hi"), rapid.Uint64().Draw(t, "lo")))
	case block.KindString, block.KindJSON:
		c.AppendString(rapid.SampledFrom([]string{"", "a", "ab", "b", "\x00", "é"}).Draw(t, "text"))
	default:
		c.AppendInt(rapid.Int64Range(-2, 2).Draw(t, "int"))
	}
}

// same is a dumb model of "one group": by values, not by bytes.
func same(a, b *block.Column) bool {
	if a.IsNull(0) || b.IsNull(0) {
		return a.IsNull(0) && b.IsNull(0)
	}
	if x, y := a.Float, b.Float; len(x) > 0 {
		return x[0] == y[0] || (math.IsNaN(x[0]) && math.IsNaN(y[0]))
	}
	return fmt.Sprint(a.Bool, a.Int, a.Dec, string(a.Data)) == fmt.Sprint(b.Bool, b.Int, b.Dec, string(b.Data))
}

func TestEqualBytesMeanEqualGroups(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 3).Draw(t, "columns")
		var a, b []*block.Column
		equal := true
		for range n {
			typ := rapid.SampledFrom(keyTypes).Draw(t, "type")
			x, y := block.NewColumn(typ, 1), block.NewColumn(typ, 1)
			drawValue(t, x)
			drawValue(t, y)
			a, b, equal = append(a, x), append(b, y), equal && same(x, y)
		}
		ka, kb := AppendKey(nil, a, 0), AppendKey(nil, b, 0)
		if bytes.Equal(ka, kb) != equal {
			t.Fatalf("%x and %x, but equal is %v", ka, kb, equal)
		}
		back := make([]*block.Column, n)
		for i := range back {
			back[i] = block.NewColumn(a[i].Type, 1)
		}
		if err := DecodeKey(ka, back); err != nil {
			t.Fatal(err)
		}
		for i := range back {
			if !same(a[i], back[i]) {
				t.Fatalf("column %d: %+v came back as %+v", i, a[i], back[i])
			}
		}
	})
}

func FuzzDecodeKey(f *testing.F) {
	f.Add([]byte{tagString, 1, 'a', tagNull, tagInt, 0, 0, 0, 0, 0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, key []byte) {
		cols := []*block.Column{block.NewColumn(block.String, 1), block.NewColumn(block.Float64, 1), block.NewColumn(block.Decimal(5, 1), 1)}
		if err := DecodeKey(key, cols); err != nil && !errors.Is(err, ErrKey) {
			t.Fatal(err)
		}
	})
}

func TestGroupIDText(t *testing.T) {
	t.Parallel()
	for id, want := range map[uint64]string{0: "0000000000000000", 0xdeadbeef: "00000000deadbeef", math.MaxUint64: "ffffffffffffffff"} {
		if got := string(AppendGroupID(nil, id)); got != want {
			t.Errorf("%d is %s, want %s", id, got, want)
		}
	}
	if got := GroupID(nil); got != 0xef46db3751d8e999 { // xxhash64 of nothing
		t.Errorf("the id of no group is %x", got)
	}
}
