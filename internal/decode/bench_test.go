package decode_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/decode"
)

// telemetry is the source of the benchmarks: 74 bytes a record.
func telemetry(tb testing.TB) *decode.Decoder {
	tb.Helper()
	return mustNew(tb, telemetrySchema())
}

func telemetrySchema() decode.Schema {
	return decode.Schema{
		Table: decode.Members("device"), EventTime: decode.Members("ts"),
		Columns: []decode.Column{
			{Name: "temp", Type: block.Float64, Path: decode.Members("temp")},
			{Name: "hum", Type: block.Int64, Path: decode.Members("hum")},
			{Name: "status", Type: block.String, Path: decode.Members("status")},
		},
	}
}

func mustNew(tb testing.TB, s decode.Schema) *decode.Decoder {
	tb.Helper()
	d, err := decode.New(s)
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

const telemetryRecord = `{"ts":1767225599149,"device":"d00535","temp":16.54,"hum":33,"status":"ok"}`

// appendAll decodes the records in turn, n in all, into batches of a usual size.
func appendAll(tb testing.TB, d *decode.Decoder, b *block.Batch, records [][]byte, n int) {
	const batchRows = 4096
	limits := decode.AnyTime()
	for i := range n {
		if i%batchRows == 0 {
			b.Reset()
		}
		if v := d.Append(records[i%len(records)], limits, b); !v.OK() {
			tb.Fatal(v)
		}
	}
}

func TestAcceptedRecordsNeedNoMemory(t *testing.T) {
	d := telemetry(t)
	b := block.NewBatch(d.Schema().Block(), 8192)
	records := [][]byte{[]byte(telemetryRecord), []byte(`{"ts":"2026-01-01T00:00:00Z","device":"d1","temp":0.1234567890123456789,"hum":"7","status":"a\u00e9"}`)}
	appendAll(t, d, b, records, 5000)
	if n := testing.AllocsPerRun(1, func() { appendAll(t, d, b, records, 4000) }); n != 0 {
		t.Errorf("%v allocations for 4000 records", n)
	}
}

func BenchmarkAppend(b *testing.B) {
	var devices [][]byte
	for i := range 1000 {
		devices = append(devices, fmt.Appendf(nil, `{"ts":%d,"device":"d%05d","temp":%d.%02d,"hum":%d,"status":"ok"}`, 1767225599149+i, i, i%40, i%100, i%100))
	}
	for name, records := range map[string][][]byte{
		"telemetry":  devices,
		"shuffled":   {[]byte(telemetryRecord), []byte(`{"device":"d00535","ts":1767225599149,"hum":33,"temp":16.54,"status":"ok"}`)},
		"rfc3339":    {[]byte(`{"ts":"2026-01-01T00:00:00.149Z","device":"d00535","temp":16.54,"hum":33,"status":"ok"}`)},
		"undeclared": {[]byte(`{"ts":1767225599149,"device":"d00535","temp":16.54,"hum":33,"status":"ok","tags":{"site":"north","rack":[1,2,3]},"note":"` + strings.Repeat("x", 100) + `"}`)},
	} {
		b.Run(name, func(b *testing.B) {
			d := telemetry(b)
			batch := block.NewBatch(d.Schema().Block(), 8192)
			b.ReportAllocs()
			b.SetBytes(int64(len(records[0])))
			appendAll(b, d, batch, records, b.N)
		})
	}
}
