package block_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"pgregory.net/rapid"

	"github.com/pondage/pondage/internal/block"
)

var allTypes = block.Schema{
	{Name: "ok", Type: block.Bool},
	{Name: "n", Type: block.Int64},
	{Name: "x", Type: block.Float64},
	{Name: "price", Type: block.Decimal(20, 4)},
	{Name: "s", Type: block.String},
	{Name: "at", Type: block.Timestamp},
	{Name: "doc", Type: block.JSON},
}

// sample makes a batch of all types; every nullEvery-th row is null in all columns (0: none).
func sample(rows, nullEvery int) *block.Batch {
	b := block.NewBatch(allTypes, rows)
	for i := range rows {
		if nullEvery > 0 && i%nullEvery == 0 {
			for _, c := range b.Cols {
				c.AppendNull()
			}
			continue
		}
		b.Cols[0].AppendBool(i%3 == 0)
		b.Cols[1].AppendInt(math.MaxInt64 - int64(i))
		b.Cols[2].AppendFloat(float64(i) / 3)
		b.Cols[3].AppendDec(decimal128.New(int64(i), uint64(i)))
		b.Cols[4].AppendString(fmt.Sprintf("é%d", i%10))
		b.Cols[5].AppendInt(int64(-i))
		b.Cols[6].AppendString(`{"a": [1, null]}`)
	}
	return b
}

func encode(t testing.TB, c block.Compression, b *block.Batch) []byte {
	t.Helper()
	value, err := block.NewEncoder(c).Append(nil, b)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// render writes a batch as text, bit for bit.
func render(b *block.Batch) string {
	var out bytes.Buffer
	for i, c := range b.Cols {
		fmt.Fprintf(&out, "%s %s:", b.Schema[i].Name, c.Type)
		for r := range b.Rows() {
			switch {
			case c.IsNull(r):
				out.WriteString(" null")
			case c.Type.Kind == block.KindBool:
				fmt.Fprintf(&out, " %v", c.Bool[r])
			case c.Type.Kind == block.KindInt64 || c.Type.Kind == block.KindTimestamp:
				fmt.Fprintf(&out, " %d", c.Int[r])
			case c.Type.Kind == block.KindFloat64:
				fmt.Fprintf(&out, " %x", math.Float64bits(c.Float[r]))
			case c.Type.Kind == block.KindDecimal:
				fmt.Fprintf(&out, " %s", c.Dec[r].BigInt())
			default:
				fmt.Fprintf(&out, " %q", c.Bytes(r))
			}
		}
		out.WriteByte('\n')
	}
	return out.String()
}

func TestBatchComesBackAsItWas(t *testing.T) {
	t.Parallel()
	dec, got := block.NewDecoder(), &block.Batch{}
	for _, compression := range []block.Compression{block.CompressionNone, block.CompressionLZ4, block.CompressionZSTD} {
		for _, rows := range []int{0, 1, 7, 8, 9, 1000} {
			for _, nullEvery := range []int{0, 1, 3} {
				want := sample(rows, nullEvery)
				if err := dec.Decode(encode(t, compression, want), got); err != nil {
					t.Fatalf("compression %d, %d rows, null every %d: %v", compression, rows, nullEvery, err)
				}
				if a, b := render(got), render(want); a != b {
					t.Fatalf("compression %d, %d rows, null every %d:\ngot  %s\nwant %s", compression, rows, nullEvery, a, b)
				}
			}
		}
	}
}

func TestDecoderFollowsAChangeOfSchema(t *testing.T) {
	t.Parallel()
	other := block.NewBatch(block.Schema{{Name: "n", Type: block.Float64}}, 1)
	other.Cols[0].AppendFloat(math.Copysign(0, -1))
	none := block.NewBatch(nil, 0)
	dec, enc, got := block.NewDecoder(), block.NewEncoder(block.CompressionNone), &block.Batch{}
	for _, want := range []*block.Batch{sample(3, 0), other, sample(3, 2), none, other} {
		value, err := enc.Append([]byte("x"), want)
		if err != nil {
			t.Fatal(err)
		}
		if err := dec.Decode(value[1:], got); err != nil {
			t.Fatal(err)
		}
		if a, b := render(got), render(want); a != b {
			t.Errorf("got  %s\nwant %s", a, b)
		}
	}
}

// Any Arrow reader can read an edge topic: here, Arrow's own.
func TestArrowReadsABlock(t *testing.T) {
	t.Parallel()
	for _, compression := range []block.Compression{block.CompressionNone, block.CompressionLZ4, block.CompressionZSTD} {
		r, err := ipc.NewReader(bytes.NewReader(encode(t, compression, sample(1000, 4))))
		if err != nil {
			t.Fatal(err)
		}
		if !r.Next() || r.RecordBatch().NumRows() != 1000 {
			t.Fatalf("compression %d: no batch of 1000 rows: %v", compression, r.Err())
		}
		const want = "schema:\n  fields: 7\n    - ok: type=bool, nullable\n    - n: type=int64, nullable\n    - x: type=float64, nullable\n" +
			"    - price: type=decimal(20, 4), nullable\n    - s: type=utf8, nullable\n    - at: type=timestamp[ms, tz=UTC], nullable\n" +
			"    - doc: type=utf8, nullable\n     metadata: [\"pondage.type\": \"json\"]"
		if got := r.Schema().String(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if got := r.RecordBatch().Column(1).ValueStr(3); got != "9223372036854775804" {
			t.Errorf("row 3 of n is %s", got)
		}
		if r.Next() || r.Err() != nil {
			t.Errorf("more than one batch, or %v", r.Err())
		}
		r.Release()
	}
}

func TestCompressionIsKeptOnlyWhereItPays(t *testing.T) {
	t.Parallel()
	same := block.NewBatch(block.Schema{{Name: "n", Type: block.Int64}}, 10000)
	for range 10000 {
		same.Cols[0].AppendInt(42)
	}
	plain, packed := len(encode(t, block.CompressionNone, same)), len(encode(t, block.CompressionLZ4, same))
	if packed > plain/10 {
		t.Errorf("10000 equal numbers: %d bytes, %d without compression", packed, plain)
	}
	small := sample(3, 0)
	if a, b := len(encode(t, block.CompressionNone, small)), len(encode(t, block.CompressionZSTD, small)); a != b {
		t.Errorf("a small batch was compressed: %d bytes instead of %d", b, a)
	}
}

func TestEveryCutIsCorrupt(t *testing.T) {
	t.Parallel()
	for _, compression := range []block.Compression{block.CompressionNone, block.CompressionLZ4} {
		value := encode(t, compression, sample(200, 3))
		dec, into := block.NewDecoder(), &block.Batch{}
		for n := range value {
			if err := dec.Decode(value[:n], into); !errors.Is(err, block.ErrCorrupt) {
				t.Fatalf("%d of %d bytes: %v", n, len(value), err)
			}
		}
		if err := dec.Decode(append(value, 0), into); !errors.Is(err, block.ErrCorrupt) {
			t.Fatalf("a byte too many: %v", err)
		}
	}
}

func TestStringsMustBeWholeUTF8(t *testing.T) {
	t.Parallel()
	c := &block.Column{Type: block.String, Off: []int32{0, 1, 2}, Data: []byte("é")}
	cut := &block.Batch{Schema: block.Schema{{Name: "s", Type: block.String}}, Cols: []*block.Column{c}}
	raw := &block.Batch{Schema: cut.Schema, Cols: []*block.Column{{Type: block.String, Off: []int32{0, 1}, Data: []byte{0xff}}}}
	falling := &block.Batch{Schema: cut.Schema, Cols: []*block.Column{{Type: block.String, Off: []int32{0, 2, 1, 2}, Data: []byte("ab")}}}
	for name, b := range map[string]*block.Batch{"cut character": cut, "not UTF-8": raw, "falling offsets": falling} {
		if err := block.NewDecoder().Decode(encode(t, block.CompressionNone, b), &block.Batch{}); !errors.Is(err, block.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestColumnsHaveNamesOfTheirOwn(t *testing.T) {
	t.Parallel()
	twice := block.NewBatch(block.Schema{{Name: "n", Type: block.Bool}, {Name: "n", Type: block.Int64}}, 0)
	if err := block.NewDecoder().Decode(encode(t, block.CompressionNone, twice), &block.Batch{}); !errors.Is(err, block.ErrCorrupt) {
		t.Error(err)
	}
}

// An Arrow type that is not ours is refused, also where its bytes would fit.
func TestForeignTypesAreRefused(t *testing.T) {
	t.Parallel()
	for _, typ := range []arrow.DataType{arrow.PrimitiveTypes.Uint64, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Float32, arrow.BinaryTypes.Binary,
		arrow.FixedWidthTypes.Timestamp_us, &arrow.TimestampType{Unit: arrow.Millisecond}, &arrow.Decimal128Type{Precision: 5, Scale: -1},
		&arrow.Decimal256Type{Precision: 5}, arrow.ListOf(arrow.PrimitiveTypes.Int64), &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}} {
		var value bytes.Buffer
		if err := ipc.NewWriter(&value, ipc.WithSchema(arrow.NewSchema([]arrow.Field{{Name: "x", Type: typ}}, nil))).Close(); err != nil {
			t.Fatal(err)
		}
		err := block.NewDecoder().Decode(value.Bytes(), &block.Batch{})
		if !errors.Is(err, block.ErrCorrupt) || !strings.Contains(err.Error(), `"x"`) {
			t.Errorf("%s: %v", typ, err)
		}
	}
}

// Damage anywhere gives an error or another well-formed batch, never a panic and no more memory than is allowed.
func TestDamageNeverPanics(t *testing.T) {
	t.Parallel()
	values := [][]byte{encode(t, block.CompressionNone, sample(20, 3)), encode(t, block.CompressionLZ4, sample(500, 3)), encode(t, block.CompressionZSTD, sample(500, 0))}
	rapid.Check(t, func(rt *rapid.T) {
		value := bytes.Clone(rapid.SampledFrom(values).Draw(rt, "value"))
		for range rapid.IntRange(1, 4).Draw(rt, "damages") {
			value[rapid.IntRange(0, len(value)-1).Draw(rt, "at")] = rapid.Byte().Draw(rt, "byte")
		}
		mustSurvive(rt, value)
	})
}

// mustSurvive decodes bytes that may be anything.
func mustSurvive(t rapid.TB, value []byte) {
	b := &block.Batch{}
	err := block.NewDecoder().Decode(value, b)
	if err != nil && !errors.Is(err, block.ErrCorrupt) {
		t.Fatalf("%v is not ErrCorrupt", err)
	}
	if err == nil {
		render(b)
	}
}

func FuzzDecode(f *testing.F) {
	for _, compression := range []block.Compression{block.CompressionNone, block.CompressionLZ4, block.CompressionZSTD} {
		f.Add(encode(f, compression, sample(300, 3)))
	}
	f.Fuzz(func(t *testing.T, value []byte) { mustSurvive(t, value) })
}

func TestSteadyStateNeedsNoMemoryPerRow(t *testing.T) {
	want := sample(1000, 3)
	enc, dec, got := block.NewEncoder(block.CompressionNone), block.NewDecoder(), &block.Batch{}
	var value []byte
	allocs := testing.AllocsPerRun(20, func() {
		var err error
		if value, err = enc.Append(value[:0], want); err != nil {
			t.Fatal(err)
		}
		if err := dec.Decode(value, got); err != nil {
			t.Fatal(err)
		}
	})
	const perBlock = 250 // Arrow's writer, a handful a column; 7000 values
	if allocs > perBlock {
		t.Errorf("%v allocations a block", allocs)
	}
}

func BenchmarkEncode(b *testing.B) {
	batch := sample(5000, 0)
	for name, c := range map[string]block.Compression{"none": block.CompressionNone, "lz4": block.CompressionLZ4, "zstd": block.CompressionZSTD} {
		b.Run(name, func(b *testing.B) {
			enc := block.NewEncoder(c)
			var value []byte
			b.ReportAllocs()
			for b.Loop() {
				value, _ = enc.Append(value[:0], batch)
			}
			b.SetBytes(int64(batch.MemBytes()))
			b.ReportMetric(float64(len(value)), "bytes/block")
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	for name, c := range map[string]block.Compression{"none": block.CompressionNone, "lz4": block.CompressionLZ4, "zstd": block.CompressionZSTD} {
		b.Run(name, func(b *testing.B) {
			value := encode(b, c, sample(5000, 0))
			dec, into := block.NewDecoder(), &block.Batch{}
			b.ReportAllocs()
			for b.Loop() {
				if err := dec.Decode(value, into); err != nil {
					b.Fatal(err)
				}
			}
			b.SetBytes(int64(into.MemBytes()))
		})
	}
}
