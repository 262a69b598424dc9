package decode_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/decode"
)

// drawMembers draws the members of a record of the telemetry source, good ones and bad.
func drawMembers(t *rapid.T) []string {
	value := func(name string, values ...string) string {
		return `"` + name + `":` + rapid.SampledFrom(values).Draw(t, name)
	}
	members := []string{
		value("ts", "1767225599149", "1767225599149", `"2026-01-01T00:00:00Z"`, "1.5", "null"),
		value("device", `"d1"`, `"d00535"`, `"\u0064"`, `""`, "17"),
		value("temp", "16.54", "-3", `"NaN"`, "null", "1e999"),
		value("hum", "33", `"7"`, "5.5", "1e2"),
		value("status", `"ok"`, `"a long status with \"quotes\" and é"`, "true", `"\ud83d"`),
		value("note", `{"a":[1,2,{"b":null}]}`, `"x"`, "[]", "-0.0e-1"),
		value("a name that nobody declared and that is longer than what is remembered of a key", "1"),
	}
	n := rapid.IntRange(0, len(members)).Draw(t, "members")
	return rapid.Permutation(members).Draw(t, "order")[:n]
}

// spell writes members as a record, with white space and escaped keys as drawn.
func spell(t *rapid.T, members []string) string {
	space := func() string { return rapid.SampledFrom([]string{"", "", "", " ", "\n\t"}).Draw(t, "space") }
	var out strings.Builder
	out.WriteString(space() + "{" + space())
	for i, m := range members {
		if i > 0 {
			out.WriteString(space() + "," + space())
		}
		key, value, _ := strings.Cut(m, `":`)
		if rapid.IntRange(0, 5).Draw(t, "escape") == 0 {
			key = strings.Replace(key, "e", `\u0065`, 1)
		}
		out.WriteString(key + `"` + space() + ":" + space() + value)
	}
	out.WriteString(space() + "}" + space())
	return out.String()
}

// What a decoder has seen before never changes what it makes of a record, and neither does the order of the members,
// white space or the spelling of a key.
func TestVerdictsDependOnTheRecordAlone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		used := mustNewRapid(t)
		batch := block.NewBatch(used.Schema().Block(), 1)
		for range rapid.IntRange(1, 6).Draw(t, "records") {
			members := drawMembers(t)
			plain := "{" + strings.Join(members, ",") + "}"
			fresh := mustNewRapid(t)
			want := short(fresh.Append([]byte(plain), decode.AnyTime(), block.NewBatch(fresh.Schema().Block(), 1)))
			before := batch.Rows()
			record := spell(t, members)
			got := short(used.Append([]byte(record), decode.AnyTime(), batch))
			if got != want {
				t.Fatalf("%q is %s, %q is %s", record, got, plain, want)
			}
			if err := batch.Check(); err != nil || batch.Rows()-before > 1 {
				t.Fatalf("%v, %d rows more", err, batch.Rows()-before)
			}
			if want == "" {
				again := block.NewBatch(fresh.Schema().Block(), 1)
				fresh.Append([]byte(plain), decode.AnyTime(), again)
				if a, b := render(batch), render(again); a != b {
					t.Fatalf("%q is %s, %q is %s", record, a, plain, b)
				}
			}
		}
	})
}

func short(v decode.Verdict) string { return strings.TrimSpace(string(v.Code) + " " + v.Field) }

func mustNewRapid(t *rapid.T) *decode.Decoder {
	d, err := decode.New(telemetrySchema())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// nesting is the depth of a JSON text, valid or not, as far as brackets outside of strings tell.
func nesting(text []byte) int {
	deepest, depth, inString, escaped := 0, 0, false, false
	for _, c := range text {
		switch {
		case escaped:
			escaped = false
		case inString:
			escaped, inString = c == '\\', c != '"'
		case c == '"':
			inString = true
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return deepest
}

// checkAgainstModel compares the verdict on any bytes with what encoding/json says of them.
func checkAgainstModel(t *testing.T, d *decode.Decoder, b *block.Batch, record []byte) {
	v := d.Append(record, decode.AnyTime(), b)
	if err := b.Check(); err != nil {
		t.Fatal(err)
	}
	text := bytes.TrimPrefix(record, []byte("\xef\xbb\xbf"))
	const certainlyRead = 64
	if nesting(text) > certainlyRead {
		return
	}
	want := "accepted, or refused for its fields"
	switch {
	case len(bytes.Trim(text, " \t\r\n")) == 0:
		want = string(decode.EmptyRecord)
	case !utf8.Valid(text):
		want = string(decode.InvalidUnicode)
	case !json.Valid(text):
		want = string(decode.MalformedJSON)
	case bytes.TrimLeft(text, " \t\r\n")[0] != '{':
		want = string(decode.NotAnObject)
	}
	got := string(v.Code)
	switch v.Code {
	case decode.EmptyRecord, decode.MalformedJSON, decode.NotAnObject, decode.TooDeep:
	case decode.InvalidUnicode:
		if v.Field != "" { // half a pair in a field, not the bytes
			got = "accepted, or refused for its fields"
		}
	default:
		got = "accepted, or refused for its fields"
	}
	if got != want {
		t.Fatalf("%q is %s (%s), want %s", record, got, v.Reason, want)
	}
}

func FuzzDecode(f *testing.F) {
	records, err := os.ReadFile("testdata/bad-records.ndjson")
	if err != nil {
		f.Fatal(err)
	}
	for r := range bytes.SplitSeq(records, []byte("\n")) {
		f.Add(r)
	}
	f.Add([]byte(`{"geo":{"lat":1,"x":[[],[1]]},"list":[{},{"a":null}],"t":"a","ts":0}`))
	f.Fuzz(func(t *testing.T, record []byte) {
		d, err := decode.New(decode.Schema{Table: decode.Members("device"), EventTime: decode.Members("ts"), Columns: []decode.Column{
			{Name: "n", Type: block.Int64, Path: decode.Members("n")},
			{Name: "x", Type: block.Float64, Path: decode.Members("x")},
			{Name: "s", Type: block.String, Path: decode.Members("s")},
			{Name: "ok", Type: block.Bool, Path: decode.Members("ok")},
			{Name: "d", Type: block.Decimal(20, 3), Path: decode.Members("n")},
			{Name: "lat", Type: block.Float64, Path: decode.Members("geo", "lat")},
			{Name: "list", Type: block.JSON, Path: decode.Path{{Name: "list"}, {Index: 1, IsIndex: true}}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		b := block.NewBatch(d.Schema().Block(), 1)
		checkAgainstModel(t, d, b, record)
		checkAgainstModel(t, d, b, record) // now with its keys remembered
	})
}

func TestDamagedRecordsAgainstTheModel(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/bad-records.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	records := bytes.Split(data, []byte("\n"))
	d := mustNew(t, telemetrySchema())
	b := block.NewBatch(d.Schema().Block(), 1)
	rapid.Check(t, func(rt *rapid.T) {
		record := bytes.Clone(rapid.SampledFrom(records).Draw(rt, "record"))
		for range rapid.IntRange(0, 3).Draw(rt, "damages") {
			at := rapid.IntRange(0, len(record)).Draw(rt, "at")
			piece := rapid.SampledFrom([]string{"", "\"", "\\", "{", "}", "[", "]", ",", ":", "0", "-", ".", "e", "\xff", "\x00", " ", "é", "null", "\\u12", "\\ud83d"}).Draw(rt, "piece")
			cut := min(at+rapid.IntRange(0, 2).Draw(rt, "cut"), len(record))
			record = append(record[:at:at], append([]byte(piece), record[cut:]...)...)
		}
		checkAgainstModel(t, d, b, record)
	})
}
