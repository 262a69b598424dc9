package block_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/ident"
)

func fullHeader() block.Header {
	return block.Header{
		Version: block.WireVersion, Stream: 258, Stage: 3, Msg: 70000,
		Upstream: ident.Task{Level: ident.LevelSource, VGroup: 5}, UpNode: "n1",
		Downstream: ident.Task{Level: ident.LevelAgg, VGroup: 259},
		Down:       ident.Place{Node: "n2", Instance: ident.Instance{Counter: 12, Random: 0x0a1b2c3d}},
		Type:       block.MsgData, Watermark: -1, Checkpoint: 7, Tx: 9, Related: 11, Idle: true, CRC: 0xdeadbeef,
		TraceParent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", TraceState: "a=b",
	}
}

func headers(h block.Header) []block.RecordHeader {
	var e block.HeaderEncoder
	return e.Encode(&h)
}

// The bytes of the headers are an interface between versions: a change here needs a new wire version.
func TestHeaderBytesAreGolden(t *testing.T) {
	t.Parallel()
	var got strings.Builder
	plain := block.Header{Version: 1, Stream: 1, Stage: 1, Msg: 1, Upstream: ident.Task{Level: ident.LevelSource}, UpNode: "a",
		Downstream: ident.Task{Level: ident.LevelSink}, Down: ident.Place{Node: "b"}, Type: block.MsgWatermark, Watermark: ident.WatermarkEnd}
	dump(&got, "full", fullHeader())
	dump(&got, "plain", plain)
	want, err := os.ReadFile("testdata/headers.golden")
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
}

func dump(out *strings.Builder, name string, h block.Header) {
	fmt.Fprintf(out, "# %s\n", name)
	for _, r := range headers(h) {
		fmt.Fprintf(out, "%s %x\n", r.Key, r.Value)
	}
}

func TestHeaderComesBackAsItWas(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		task := func(name string) ident.Task {
			return ident.Task{Level: ident.Level(rapid.IntRange(1, 5).Draw(t, name)), VGroup: ident.VGroup(rapid.Uint16().Draw(t, name))}
		}
		want := block.Header{
			Version:    block.WireVersion,
			Stream:     ident.StreamID(rapid.Int64().Draw(t, "stream")),
			Stage:      ident.Stage(rapid.Int64().Draw(t, "stage")),
			Msg:        ident.MsgID(rapid.Uint64().Draw(t, "msg")),
			Upstream:   task("upstream"),
			UpNode:     ident.NodeID(rapid.StringN(1, 20, 40).Draw(t, "node")),
			Downstream: task("downstream"),
			Down: ident.Place{Node: ident.NodeID(rapid.StringN(1, 20, 40).Draw(t, "down")),
				Instance: ident.Instance{Counter: rapid.Uint64().Draw(t, "counter"), Random: rapid.Uint32().Draw(t, "random")}},
			Type:        block.MsgType(rapid.IntRange(1, 7).Draw(t, "type")),
			Watermark:   ident.EventMs(rapid.Int64().Draw(t, "watermark")),
			Checkpoint:  ident.CheckpointID(rapid.Int64().Draw(t, "checkpoint")),
			Tx:          ident.TxID(rapid.Int64().Draw(t, "tx")),
			Related:     rapid.Int64().Draw(t, "related"),
			Idle:        rapid.Bool().Draw(t, "idle"),
			CRC:         rapid.Uint32().Draw(t, "crc"),
			TraceParent: rapid.String().Draw(t, "traceparent"),
			TraceState:  rapid.String().Draw(t, "tracestate"),
		}
		got, err := block.ParseHeader(headers(want))
		if err != nil || got != want {
			t.Fatalf("%v\ngot  %+v\nwant %+v", err, got, want)
		}
	})
}

func TestHeaderFaults(t *testing.T) {
	t.Parallel()
	change := func(key string, value ...byte) []block.RecordHeader {
		hs := headers(fullHeader())
		for i := range hs {
			if hs[i].Key == key {
				hs[i].Value = value
			}
		}
		return hs
	}
	without := func(key string) []block.RecordHeader {
		var out []block.RecordHeader
		for _, h := range headers(fullHeader()) {
			if h.Key != key {
				out = append(out, h)
			}
		}
		return out
	}
	for name, c := range map[string]struct {
		headers []block.RecordHeader
		want    error
	}{
		"none":                 {nil, block.ErrCorrupt},
		"newer version":        {[]block.RecordHeader{{Key: "v", Value: []byte{block.WireVersion + 1}}}, block.ErrVersion},
		"version 0":            {change("v", 0), block.ErrVersion},
		"wide version":         {change("v", 0, 1), block.ErrCorrupt},
		"short stage":          {change("st", 1), block.ErrCorrupt},
		"unknown type":         {change("ty", 8), block.ErrCorrupt},
		"type 0":               {change("ty", 0), block.ErrCorrupt},
		"unknown level":        {change("ut", 9, 0, 1), block.ErrCorrupt},
		"short task":           {change("dt", 1, 1), block.ErrCorrupt},
		"place without /":      {change("dn", 'n', '1'), block.ErrCorrupt},
		"empty node":           {change("un"), block.ErrCorrupt},
		"idle 2":               {change("idle", 2), block.ErrCorrupt},
		"long crc":             {change("crc", 0, 0, 0, 0, 0), block.ErrCorrupt},
		"twice":                {append(headers(fullHeader()), block.RecordHeader{Key: "idle", Value: []byte{1}}), block.ErrCorrupt},
		"no crc":               {without("crc"), block.ErrCorrupt},
		"no msg id":            {without("mid"), block.ErrCorrupt},
		"a stranger's":         {append(headers(fullHeader()), block.RecordHeader{Key: "baggage"}), nil},
		"without the optional": {without("idle"), nil},
	} {
		if _, err := block.ParseHeader(c.headers); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

func TestValueCRCIsCastagnoli(t *testing.T) {
	t.Parallel()
	if got := block.ValueCRC([]byte("123456789")); got != 0xe3069283 { // the check value of CRC-32C
		t.Errorf("got %#x", got)
	}
	if got := block.ValueCRC(nil); got != 0 {
		t.Errorf("an empty value has the sum %#x", got)
	}
}
