package rowjson

import (
	"encoding/json"
	"math"
	"math/big"
	"strconv"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"pgregory.net/rapid"

	"github.com/pondage/pondage/internal/block"
)

func sample() (block.Schema, *block.Batch) {
	s := block.Schema{
		{Name: "origin", Type: block.String}, {Name: "window_start", Type: block.Timestamp}, {Name: "count", Type: block.Int64},
		{Name: "avg", Type: block.Float64}, {Name: "sum", Type: block.Decimal(38, 0)}, {Name: "price", Type: block.Decimal(10, 3)},
		{Name: "ok", Type: block.Bool}, {Name: "doc", Type: block.JSON},
	}
	b := block.NewBatch(s, 2)
	b.Cols[0].AppendString("a\"b\n\x01ü")
	b.Cols[1].AppendInt(-1)
	b.Cols[2].AppendInt(math.MinInt64)
	b.Cols[3].AppendFloat(16.54)
	b.Cols[4].AppendDec(decimal128.FromBigInt(new(big.Int).Lsh(big.NewInt(1), 63)))
	b.Cols[5].AppendDec(decimal128.FromI64(-7))
	b.Cols[6].AppendBool(true)
	b.Cols[7].AppendString(`{"k":[1, 2]}`)
	for _, c := range b.Cols {
		c.AppendNull()
	}
	return s, b
}

func TestRowHasTheFormOfTheInterface(t *testing.T) {
	t.Parallel()
	s, b := sample()
	e := NewEncoder(s)
	want := `{"origin":"a\"b\n\u0001ü","window_start":"1969-12-31T23:59:59.999Z","count":"-9223372036854775808","avg":16.54,` +
		`"sum":"9223372036854775808","price":"-0.007","ok":true,"doc":{"k":[1, 2]}}`
	if got := string(e.AppendRow(nil, b.Cols, 0)); got != want {
		t.Errorf("row:\n got %s\nwant %s", got, want)
	}
	want = `{"origin":null,"window_start":null,"count":null,"avg":null,"sum":null,"price":null,"ok":null,"doc":null}`
	if got := string(e.AppendRow(nil, b.Cols, 1)); got != want {
		t.Errorf("null row:\n got %s\nwant %s", got, want)
	}
}

func TestT35_KeyOfNullAndEmptyDiffer(t *testing.T) {
	t.Parallel()
	s := block.Schema{{Name: "c", Type: block.String}, {Name: "_wstart", Type: block.Timestamp}}
	b := block.NewBatch(s, 2)
	b.Cols[0].AppendNull()
	b.Cols[0].AppendString("")
	b.Cols[1].AppendInt(0)
	b.Cols[1].AppendInt(0)
	e := NewEncoder(s)
	for i, want := range []string{`[null,"1970-01-01T00:00:00.000Z"]`, `["","1970-01-01T00:00:00.000Z"]`} {
		if got := string(e.AppendKey(nil, b.Cols, []int{0, 1}, i)); got != want {
			t.Errorf("key %d: got %s, want %s", i, got, want)
		}
	}
}

func TestT18_IntegersBeyondTheDoubleKeepTheirDigits(t *testing.T) {
	t.Parallel()
	c := block.NewColumn(block.Int64, 1)
	c.AppendInt(9007199254740993)
	if got := string(AppendValue(nil, c, 0)); got != `"9007199254740993"` {
		t.Errorf("got %s", got)
	}
}

func TestNonFiniteFloatsAreStrings(t *testing.T) {
	t.Parallel()
	for f, want := range map[float64]string{math.Inf(1): `"Infinity"`, math.Inf(-1): `"-Infinity"`} {
		if got := string(appendFloat(nil, f)); got != want {
			t.Errorf("%v: got %s", f, got)
		}
	}
	if got := string(appendFloat(nil, math.NaN())); got != `"NaN"` {
		t.Errorf("NaN: got %s", got)
	}
	if got := string(appendFloat(nil, math.Copysign(0, -1))); got != "-0" {
		t.Errorf("negative zero: got %s", got)
	}
}

func TestFloatsAreTheShortestThatReadBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.OneOf(rapid.Float64(), rapid.Custom(func(t *rapid.T) float64 {
			return float64(rapid.Int64Range(-1e16, 1e16).Draw(t, "n")) / 100
		})).Draw(t, "f")
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return
		}
		got := string(AppendFloat(nil, f))
		var back float64
		if err := json.Unmarshal([]byte(got), &back); err != nil || math.Float64bits(back) != math.Float64bits(f) {
			t.Fatalf("%v written as %s reads back as %v, %v", f, got, back, err)
		}
		shortest := strconv.FormatFloat(f, 'f', -1, 64)
		if a := math.Abs(f); a != 0 && (a < minPlain || a >= maxPlain) {
			shortest = strconv.FormatFloat(f, 'e', -1, 64)
		}
		if got != shortest {
			t.Fatalf("%v written as %s, the shortest is %s", f, got, shortest)
		}
	})
}

func TestDecimalsEqualBigIntegers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := decimal128.New(rapid.Int64().Draw(t, "hi"), rapid.Uint64().Draw(t, "lo"))
		if got, want := string(AppendDecimal(nil, v, 0)), v.BigInt().String(); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	})
}

func TestTimesEqualTheStandardLibrary(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ms := rapid.Int64Range(-62135596800000, 253402300799999).Draw(t, "ms")
		want := `"` + time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") + `"`
		if got := string(AppendTime(nil, ms)); got != want {
			t.Fatalf("%d: got %s, want %s", ms, got, want)
		}
	})
}

func BenchmarkAppendRow(b *testing.B) {
	s := block.Schema{{Name: "device", Type: block.String}, {Name: "wstart", Type: block.Timestamp}, {Name: "wend", Type: block.Timestamp},
		{Name: "cnt", Type: block.Int64}, {Name: "sum", Type: block.Float64}, {Name: "avg", Type: block.Float64}, {Name: "min", Type: block.Float64}, {Name: "max", Type: block.Float64}}
	batch := block.NewBatch(s, 1)
	batch.Cols[0].AppendString("d00535")
	batch.Cols[1].AppendInt(1767225590000)
	batch.Cols[2].AppendInt(1767225600000)
	batch.Cols[3].AppendInt(10)
	batch.Cols[4].AppendFloat(212.82999999999998)
	batch.Cols[5].AppendFloat(21.282999999999998)
	batch.Cols[6].AppendFloat(-3.5)
	batch.Cols[7].AppendFloat(48.12)
	e := NewEncoder(s)
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst = e.AppendRow(dst[:0], batch.Cols, 0)
	}
}
