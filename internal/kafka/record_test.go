package kafka_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"pgregory.net/rapid"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/kafka"
)

// written is a record as the dumb model keeps it.
type written struct {
	key, value []byte
	headers    []kafka.Header
	time       int64
}

// Whatever is pushed comes back the same, for every codec, batch size and mixture of null, empty and long fields.
func TestEveryRecordComesBackAsItWasWritten(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.topic("t", 1)
	f := b.fetcher(kafka.FetcherConfig{})
	producer := kafka.NewProducer(b.client)
	t.Cleanup(producer.Close)
	next := ident.NextOffset(0)
	optional := rapid.OneOf(rapid.Just([]byte(nil)), rapid.SliceOfN(rapid.Byte(), 0, 300))
	rapid.Check(t, func(rt *rapid.T) {
		q, err := producer.Open(b.ctx, "t", 0, kafka.QueueOptions{
			Codec:         kafka.Codec(rapid.IntRange(0, 4).Draw(rt, "codec")),
			MaxBatchBytes: rapid.SampledFrom([]int{1, 1000, 1 << 20}).Draw(rt, "batch"),
		})
		if err != nil {
			rt.Fatal(err)
		}
		defer q.Close()
		var want []written
		for range rapid.IntRange(1, 30).Draw(rt, "records") {
			w := written{
				key: optional.Draw(rt, "key"), value: optional.Draw(rt, "value"),
				time: rapid.Int64Range(1, 1<<50).Draw(rt, "time"),
			}
			for range rapid.IntRange(0, 3).Draw(rt, "headers") {
				w.headers = append(w.headers, kafka.Header{Key: rapid.StringN(0, 9, -1).Draw(rt, "name"), Value: optional.Draw(rt, "header")})
			}
			want = append(want, w)
			if err := q.Push(kafka.Message{Key: w.key, Value: w.value, Headers: w.headers, TimestampMs: w.time}); err != nil {
				rt.Fatal(err)
			}
		}
		if err := q.Flush(b.ctx); err != nil {
			rt.Fatal(err)
		}
		x := b.subscribe(f, kafka.SubscribeSpec{Topic: "t", From: next}, 4)
		defer x.sub.Close()
		got := x.records(len(want))
		for i, w := range want {
			if !same(got[i], w) {
				rt.Fatalf("record %d is %+v, was written as %+v", i, got[i], w)
			}
		}
		next += ident.NextOffset(len(want))
	})
}

func same(a, b written) bool {
	sameBytes := func(x, y []byte) bool { return bytes.Equal(x, y) && (x == nil) == (y == nil) }
	return sameBytes(a.key, b.key) && sameBytes(a.value, b.value) && a.time == b.time &&
		slices.EqualFunc(a.headers, b.headers, func(x, y kafka.Header) bool { return x.Key == y.Key && sameBytes(x.Value, y.Value) })
}

// records takes n records, copied, and checks that their offsets have no gap.
func (x *box) records(n int) []written {
	x.bed.t.Helper()
	var got []written
	for len(got) < n {
		c := x.take()
		want := ident.LastOffset(c.From)
		err := c.Records(func(r *kafka.Record) bool {
			if r.Offset != want {
				x.bed.t.Fatalf("offset %d follows %d", r.Offset, want-1)
			}
			want++
			w := written{key: slices.Clone(r.Key), value: slices.Clone(r.Value), time: r.TimestampMs}
			if err := r.Headers(func(k, v []byte) bool {
				w.headers = append(w.headers, kafka.Header{Key: string(k), Value: slices.Clone(v)})
				return true
			}); err != nil {
				x.bed.t.Fatal(err)
			}
			got = append(got, w)
			return true
		})
		if err != nil || c.Err != nil {
			x.bed.t.Fatal(err, c.Err)
		}
		c.Release()
	}
	return got
}

func TestBatchesOfOtherClientsAreUnpacked(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.topic("t", 1)
	value := strings.Repeat("compressible ", 1000)
	for _, codec := range []kgo.CompressionCodec{
		kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression(), kgo.NoCompression(),
	} {
		c := b.franz(kgo.ProducerBatchCompression(codec), kgo.RecordPartitioner(kgo.ManualPartitioner()))
		b.produce(c, "t", value)
	}
	x := b.subscribe(b.fetcher(kafka.FetcherConfig{}), kafka.SubscribeSpec{Topic: "t"}, 4)
	for i, got := range x.values(5) {
		if got != value {
			t.Errorf("codec %d: the value is not what was written", i)
		}
	}
}

func TestHeaderIsFoundByName(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.topic("t", 1)
	producer := kafka.NewProducer(b.client)
	t.Cleanup(producer.Close)
	q, err := producer.Open(b.ctx, "t", 0, kafka.QueueOptions{})
	if err != nil {
		t.Fatal(err)
	}
	headers := []kafka.Header{{"a", []byte("1")}, {"b", []byte("2")}, {"a", []byte("3")}}
	if err := q.Push(kafka.Message{Headers: headers}); err != nil {
		t.Fatal(err)
	}
	x := b.subscribe(b.fetcher(kafka.FetcherConfig{}), kafka.SubscribeSpec{Topic: "t"}, 4)
	c := x.take()
	for c.Size() == 0 {
		c = x.take()
	}
	if err := c.Records(func(r *kafka.Record) bool {
		last, ok := r.Header("a")
		_, none := r.Header("c")
		if string(last) != "3" || !ok || none || r.HeaderCount() != 3 {
			t.Errorf("header a is %q (%v), header c is there: %v; want 3, true, false", last, ok, none)
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
}

// A batch that was damaged on the broker's disk, or has a format that is no longer written, is named; what is before it
// is delivered.
func TestDamagedBatchesAreNamed(t *testing.T) {
	t.Parallel()
	good := kafka.EncodeForTest(kafka.CodecNone, "a", "b")
	damage := func(at int, by byte) []byte {
		batch := slices.Clone(good)
		batch[at] ^= by
		return batch
	}
	refit := func(batch []byte) []byte { // a right CRC over wrong bytes
		binary.BigEndian.PutUint32(batch[17:], crc32.Checksum(batch[21:], crc32.MakeTable(crc32.Castagnoli)))
		return batch
	}
	old := damage(16, 2^1)
	for name, test := range map[string]struct {
		batch []byte
		code  kafka.Code
	}{
		"a flipped bit in a value":       {damage(len(good)-2, 1), kafka.CodeCorrupt},
		"a record longer than its batch": {refit(damage(61, 0x40)), kafka.CodeCorrupt},
		"more records than bytes":        {refit(damage(60, 4)), kafka.CodeCorrupt},
		"an impossible length":           {damage(8, 0x80), kafka.CodeCorrupt},
		"gzip that is none":              {refit(damage(22, 1)), kafka.CodeCorrupt},
		"an unknown codec":               {refit(damage(22, 7)), kafka.CodeCorrupt},
		"message format 1":               {old, kafka.CodeUnsupportedVersion},
	} {
		c := kafka.ChunkForTest(0, append(slices.Clone(good), test.batch...))
		var seen []string
		err := c.Records(func(r *kafka.Record) bool {
			seen = append(seen, string(r.Value))
			return true
		})
		if kafka.CodeOf(err) != test.code || !strings.Contains(err.Error(), "test/0") {
			t.Errorf("%s: got %v, want %s of test/0", name, err, test.code)
		}
		if len(seen) < 2 || seen[0] != "a" || seen[1] != "b" {
			t.Errorf("%s: the records before it were %v, want a and b first", name, seen)
		}
	}
}

// Nothing that a broker can send makes the decoder fall over.
func FuzzDecodeNeverPanics(f *testing.F) {
	for codec := kafka.CodecNone; codec <= kafka.CodecZstd; codec++ {
		f.Add(kafka.EncodeForTest(codec, "one", strings.Repeat("two", 100)))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) > 61 { // let the fuzzer past the CRC
			binary.BigEndian.PutUint32(raw[17:], crc32.Checksum(raw[21:], crc32.MakeTable(crc32.Castagnoli)))
		}
		c := kafka.ChunkForTest(0, raw)
		_ = c.Records(func(r *kafka.Record) bool {
			_ = r.Headers(func(k, v []byte) bool { return true })
			return true
		})
	})
}

func BenchmarkDecodeRecords(b *testing.B) {
	value := `{"device":"d0000123","ts":1700000000123,"value":123.456,"status":"ok"}`
	const perBatch = 10_000
	values := make([]string, perBatch)
	for i := range values {
		values[i] = value
	}
	for _, codec := range []kafka.Codec{kafka.CodecNone, kafka.CodecLZ4, kafka.CodecZstd} {
		b.Run(codec.String(), func(b *testing.B) {
			c := kafka.ChunkForTest(0, kafka.EncodeForTest(codec, values...))
			var it kafka.Iterator
			var n, bytes int
			b.ReportAllocs()
			for n < b.N {
				it.Reset(c)
				for it.Next() {
					n++
					bytes += len(it.Record.Value)
				}
				if it.Err() != nil {
					b.Fatal(it.Err())
				}
			}
			b.SetBytes(int64(bytes / max(n, 1)))
		})
	}
}

func ExampleIterator() {
	chunk := kafka.ChunkForTest(5, kafka.EncodeForTest(kafka.CodecNone, "skipped", "wanted"), 4)
	var it kafka.Iterator
	it.Reset(chunk)
	for it.Next() {
		fmt.Println(it.Record.Offset, string(it.Record.Value))
	}
	// Output: 5 wanted
}
