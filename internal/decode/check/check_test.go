package check_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/decode"
	"github.com/pondage/pondage/internal/decode/check"
)

func readSidecar(t *testing.T) (*check.Sidecar, *decode.Decoder) {
	t.Helper()
	doc, err := os.ReadFile("../testdata/bad-records.expected.json")
	if err != nil {
		t.Fatal(err)
	}
	s, err := check.ParseSidecar(doc)
	if err != nil {
		t.Fatal(err)
	}
	return s, newDecoder(t, s.Source)
}

// newDecoder reads the few members of a source that say how a record is read.
func newDecoder(t *testing.T, source []byte) *decode.Decoder {
	t.Helper()
	var src struct {
		Table     string
		EventTime string `json:"event_time"`
		Columns   []struct{ Name, Type string }
	}
	if err := json.Unmarshal(source, &src); err != nil {
		t.Fatal(err)
	}
	schema := decode.Schema{Table: decode.Members(src.Table), EventTime: decode.Members(src.EventTime)}
	for _, c := range src.Columns {
		typ, err := block.ParseType(c.Type)
		if err != nil {
			t.Fatal(err)
		}
		schema.Columns = append(schema.Columns, decode.Column{Name: c.Name, Type: typ, Path: decode.Members(c.Name)})
	}
	d, err := decode.New(schema)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// generated makes the records that are too large to keep.
func generated() fstest.MapFS {
	record := func(n, x, s, extra string) string {
		if extra != "" {
			extra = `,"extra":` + extra
		}
		return `{"device":"d1","ts":1700000000000,"n":` + n + `,"x":` + x + `,"s":` + s + `,"ok":true` + extra + `}`
	}
	deep := func(n int, open, inner, end string) string {
		return record("1", "0.5", `"a"`, strings.Repeat(open, n)+inner+strings.Repeat(end, n))
	}
	var keys strings.Builder
	for i := range 20000 {
		fmt.Fprintf(&keys, `"k%d":%d,`, i, i)
	}
	files := fstest.MapFS{}
	for name, text := range map[string]string{
		"string_200_kib":             record("1", "0.5", `"`+strings.Repeat("x", 204800)+`"`, ""),
		"depth_10000_object":         deep(10000, `{"a":`, "1", "}"),
		"depth_10000_array_unclosed": deep(10000, "[", "", ""),
		"depth_60":                   deep(59, "[", "", "]"),
		"keys_20000":                 "{" + keys.String() + record("1", "0.5", `"a"`, "")[1:],
		"int_100000_digits":          record(strings.Repeat("9", 100000), "0.5", `"a"`, ""),
		"float_100000_digits":        record("1", "0."+strings.Repeat("3", 100000), `"a"`, ""),
	} {
		files[name+".json"] = &fstest.MapFile{Data: []byte(text)}
	}
	return files
}

func TestGeneratedRecordsAreTheOnesMeant(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../testdata/bad-records.expected.json")
	if err != nil {
		t.Fatal(err)
	}
	var s struct {
		Generated []struct{ Name, SHA256 string }
	}
	if err := json.Unmarshal(doc, &s); err != nil {
		t.Fatal(err)
	}
	files := generated()
	for _, g := range s.Generated {
		sum := sha256.Sum256(files[g.Name+".json"].Data)
		if got := hex.EncodeToString(sum[:]); got != g.SHA256 {
			t.Errorf("%s has the hash %s, want %s", g.Name, got, g.SHA256)
		}
	}
}

func TestEveryBadRecordHasItsVerdict(t *testing.T) {
	t.Parallel()
	sidecar, decoder := readSidecar(t)
	records, err := os.Open("../testdata/bad-records.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	defer records.Close()
	report, err := check.Run(decoder, sidecar, records, generated())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range report.Failures {
		t.Error(f)
	}
	if got, want := report.Summary(), "121 passed, 0 failed"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// What the lines say is what the sidecar says: each could be made from the other.
func TestLinesHaveTheFormOfTheSidecar(t *testing.T) {
	t.Parallel()
	sidecar, decoder := readSidecar(t)
	data, err := os.ReadFile("../testdata/bad-records.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	reader, lines := check.NewReader(decoder), decode.NewLines(bytes.NewReader(data))
	for _, want := range sidecar.Cases {
		record, err := lines.Next()
		if err != nil {
			t.Fatal(err)
		}
		var got check.Case
		if err := json.Unmarshal(reader.AppendLine(nil, record), &got); err != nil {
			t.Fatal(err)
		}
		if got.Line != want.Line || got.Verdict != want.Verdict || len(got.Row) != len(want.Row) {
			t.Errorf("line %d: got %+v, want %+v", want.Line, got, want)
		}
		for name := range want.Row {
			var a, b any
			if json.Unmarshal(got.Row[name], &a) != nil || json.Unmarshal(want.Row[name], &b) != nil || a != b {
				t.Errorf("line %d: %s is %s, want %s", want.Line, name, got.Row[name], want.Row[name])
			}
		}
	}
}

func TestDifferencesAreFound(t *testing.T) {
	t.Parallel()
	const source = `{"table":"t","event_time":"ts","columns":[{"name":"x","type":"float64"},{"name":"s","type":"string"}]}`
	const record = `{"t":"a","ts":1,"x":-0.0,"s":"b"}`
	row := func(x, s string) string {
		return `{"verdict":"accept","row":{"table":"a","ts":"1","x":` + x + `,"s":` + s + `}}`
	}
	for name, c := range map[string]struct {
		record, expected string
		passes           bool
	}{
		"equal":                 {record, row(`"-0"`, `"b"`), true},
		"equal by hash":         {record, row(`"-0"`, `{"length":1,"sha256":"3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d"}`), true},
		"the sign of zero":      {record, row(`"0"`, `"b"`), false},
		"another string":        {record, row(`"-0"`, `"c"`), false},
		"another hash":          {record, row(`"-0"`, `{"length":1,"sha256":"00"}`), false},
		"a null":                {record, row(`null`, `"b"`), false},
		"a number, no string":   {record, row(`0`, `"b"`), false},
		"a missing column":      {record, `{"verdict":"accept","row":{"table":"a","ts":"1","x":"-0"}}`, false},
		"a further column":      {record, `{"verdict":"accept","row":{"table":"a","ts":"1","x":"-0","s":"b","y":null}}`, false},
		"refused, wants accept": {"x", row(`"-0"`, `"b"`), false},
		"accepted, wants not":   {record, `{"verdict":"dead_letter","code":"bad_time"}`, false},
		"another code":          {"x", `{"verdict":"dead_letter","code":"bad_time"}`, false},
		"a code of also":        {"x", `{"verdict":"dead_letter","code":"bad_time","also":["malformed_json"]}`, true},
		"another field":         {`{"t":"a","ts":1,"x":""}`, `{"verdict":"dead_letter","code":"wrong_type","field":"s"}`, false},
		"a field":               {`{"t":"a","ts":1,"x":""}`, `{"verdict":"dead_letter","code":"wrong_type","field":"x"}`, true},
	} {
		expected := strings.Replace(c.expected, "{", `{"line":1,"name":"c",`, 1)
		s, err := check.ParseSidecar([]byte(`{"source":` + source + `,"cases":[` + expected + `]}`))
		if err != nil {
			t.Fatal(err)
		}
		for lines, want := range map[string]int{c.record + "\n": 1, c.record + "\n" + c.record + "\n": 2} {
			report, err := check.Run(newDecoder(t, s.Source), s, strings.NewReader(lines), nil)
			if err != nil {
				t.Fatal(err)
			}
			if (len(report.Failures) == want-1) != c.passes || report.Passed+len(report.Failures) != want {
				t.Errorf("%s: %s %v", name, report.Summary(), report.Failures)
			}
		}
	}
	s, err := check.ParseSidecar([]byte(`{"source":` + source + `,"cases":[{"line":1,"name":"c","verdict":"dead_letter"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if report, err := check.Run(newDecoder(t, s.Source), s, strings.NewReader(""), nil); err != nil || report.Summary() != "0 passed, 1 failed" {
		t.Errorf("a case without a line: %v %v", report, err)
	}
}

func TestASidecarOfAnotherShapeIsRefused(t *testing.T) {
	t.Parallel()
	for _, doc := range []string{``, `[]`, `{}`, `{"source":{},"cases":[{"verdict":"reject"}]}`} {
		if _, err := check.ParseSidecar([]byte(doc)); err == nil {
			t.Errorf("%q is taken", doc)
		}
	}
}
