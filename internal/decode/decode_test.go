package decode_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/decode"
	"github.com/pondage/pondage/internal/ident"
)

// render writes the last row of a batch as text.
func render(b *block.Batch) string {
	var out []string
	for _, c := range b.Cols {
		row := c.Len() - 1
		switch {
		case c.IsNull(row):
			out = append(out, "null")
		case c.Type.Kind == block.KindBool:
			out = append(out, strconv.FormatBool(c.Bool[row]))
		case c.Type.Kind == block.KindFloat64:
			out = append(out, strconv.FormatFloat(c.Float[row], 'g', -1, 64))
		case c.Type.Kind == block.KindDecimal:
			out = append(out, c.Dec[row].ToString(int32(c.Type.Scale)))
		case c.Type.Kind == block.KindString, c.Type.Kind == block.KindJSON:
			out = append(out, string(c.Bytes(row)))
		default:
			out = append(out, strconv.FormatInt(c.Int[row], 10))
		}
	}
	return strings.Join(out, " | ")
}

// outcome is the row of an accepted record, or code and field of a refused one.
func outcome(t testing.TB, d *decode.Decoder, b *block.Batch, record string) string {
	t.Helper()
	before := b.Rows()
	v := d.Append([]byte(record), decode.AnyTime(), b)
	if err := b.Check(); err != nil {
		t.Fatalf("%.80s: %v", record, err)
	}
	if v.OK() {
		if b.Rows() != before+1 {
			t.Fatalf("%.80s: %d rows more", record, b.Rows()-before)
		}
		return render(b)
	}
	if b.Rows() != before {
		t.Fatalf("%.80s: refused, but %d rows more", record, b.Rows()-before)
	}
	if v.Reason == "" || v.Code.Explain() == "" {
		t.Errorf("%.80s: no reason, or code %s is not explained", record, v.Code)
	}
	return strings.TrimSpace(string(v.Code) + " " + v.Field)
}

// one returns a decoder and batch for a single column v; table and time are t and ts.
func one(t testing.TB, typ block.Type) (*decode.Decoder, *block.Batch) {
	t.Helper()
	d := mustNew(t, decode.Schema{Table: decode.Members("t"), EventTime: decode.Members("ts"),
		Columns: []decode.Column{{Name: "v", Type: typ, Path: decode.Members("v")}}})
	return d, block.NewBatch(d.Schema().Block(), 1)
}

// Values of a column: what is stored, or code.
func TestColumnValues(t *testing.T) {
	t.Parallel()
	for typ, cases := range map[block.Type]map[string]string{
		block.Int64: {
			`7`: "7", `-0`: "0", `1E2`: "100", `12.50e1`: "125", `"9007199254740993"`: "9007199254740993", `"1e3"`: "1000", `"\u0037"`: "7",
			`null`: "null", `0.0`: "0", `" 7"`: "wrong_type", `"7 "`: "wrong_type", `"+7"`: "wrong_type", `"07"`: "wrong_type", `"0x7"`: "wrong_type",
			`"5.5"`: "not_integral", `1e-1`: "not_integral", `1e-999999999999`: "not_integral", `"1e99"`: "out_of_range", `true`: "wrong_type",
			`"\ud83d"`: "invalid_unicode", `{"v":7}`: "wrong_type", `"null"`: "wrong_type",
		},
		block.Float64: {
			`1e308`: "1e+308", `-1e-400`: "-0", `1e309`: "out_of_range", `"Infinity"`: "+Inf", `"\u004eaN"`: "NaN", `"nan"`: "wrong_type",
			`"0.5"`: "wrong_type", `"+Infinity"`: "wrong_type", `""`: "wrong_type", `false`: "wrong_type", `[0.5]`: "wrong_type",
			`123456789012345678901234567890`: "1.2345678901234568e+29", `0.30000000000000004`: "0.30000000000000004",
		},
		block.Decimal(5, 2): {
			`1`: "1.00", `-1.5`: "-1.50", `999.99`: "999.99", `"12.34"`: "12.34", `1.230`: "1.23", `1e2`: "100.00", `1000`: "out_of_range",
			`0.001`: "out_of_range", `"x"`: "wrong_type", `true`: "wrong_type", `0e9999`: "0.00",
		},
		block.Decimal(38, 0): {
			`99999999999999999999999999999999999999`: "99999999999999999999999999999999999999", `-1`: "-1", `0.5`: "not_integral", `1e38`: "out_of_range",
		},
		block.String: {
			`"a\"\\\/\b\f\n\r\tb"`: "a\"\\/\b\f\n\r\tb", `"\u00e9\uD83D\ude80"`: "é🚀", `""`: "", `" a "`: " a ", `1`: "wrong_type", `true`: "wrong_type",
			`"\ude80\ud83d"`: "invalid_unicode", `"\ud83d\u0041"`: "invalid_unicode", `"\ud83dx"`: "invalid_unicode", `"\\ud83d"`: `\ud83d`, `"\ufffd"`: "\ufffd",
			`"0123456789abcdef\n0123456789abcdef"`: "0123456789abcdef\n0123456789abcdef",
		},
		block.Bool: {`true`: "true", `false`: "false", `"false"`: "wrong_type", `0`: "wrong_type", `null`: "null"},
		block.Timestamp: {
			`1700000000000`: "1700000000000", `"2023-11-14T22:13:20Z"`: "1700000000000", `1.5`: "not_integral", `1e99`: "out_of_range",
			`"yesterday"`: "wrong_type", `"0000-01-01T00:00:00Z"`: "out_of_range", `true`: "wrong_type",
		},
		block.JSON: {
			`{ "a" : [1, 1.0, null] }`: `{ "a" : [1, 1.0, null] }`, `"x"`: `"x"`, `12.50`: "12.50", `true`: "true", `null`: "null",
			`["\ud83d"]`: "invalid_unicode", `["\\ud83d","\ud83d\ude80"]`: `["\\ud83d","\ud83d\ude80"]`,
		},
	} {
		d, b := one(t, typ)
		for value, want := range cases {
			got, _, _ := strings.Cut(outcome(t, d, b, `{"t":"a","ts":0,"v":`+value+`}`), " | a | 0")
			if got = strings.TrimSuffix(got, " v"); got != want {
				t.Errorf("%s as %s is %s, want %s", value, typ, got, want)
			}
		}
	}
}

func TestTableAndTime(t *testing.T) {
	t.Parallel()
	d, b := one(t, block.Int64)
	for record, want := range map[string]string{
		"{\"t\":\"a\tb\",\"ts\":0}":                       "malformed_json",
		`{"t":" \u0061\t","ts":0}`:                        "null |  a\t | 0",
		`{"t":"a\u0000b","ts":0}`:                         "bad_table t",
		`{"t":"\ud83d","ts":0}`:                           "invalid_unicode t",
		`{"t":true,"ts":0}`:                               "bad_table t",
		`{"t":"` + strings.Repeat("é", 96) + `","ts":0}`:  "null | " + strings.Repeat("é", 96) + " | 0",
		`{"t":"` + strings.Repeat("é", 96) + `x","ts":0}`: "bad_table t",
		`{"t":"a","ts":"\u0031970-01-01T00:00:00Z"}`:      "null | a | 0",
		`{"t":"a","ts":"\udead"}`:                         "invalid_unicode ts",
		`{"t":"a","ts":-62135596800000}`:                  "null | a | -62135596800000",
		`{"t":"a","ts":-62135596800001}`:                  "time_out_of_range ts",
		`{"t":"a","ts":-1e30}`:                            "time_out_of_range ts",
		`{"t":"a","ts":1e999999999999}`:                   "time_out_of_range ts",
		`{"t":"a","ts":1e-1}`:                             "bad_time ts",
		`{"t":"a","ts":0.0}`:                              "null | a | 0",
		`{"t":"a","ts":[0]}`:                              "bad_time ts",
		`{"t":"a","ts":"9999-12-31T23:59:59-00:01"}`:      "time_out_of_range ts",
		`{"t":"a","ts":"1969-12-31T23:59:59.9999Z"}`:      "null | a | -1",
		`{"ts":"x","v":1.5}`:                              "missing_table t",
		`{"t":"a","v":1.5}`:                               "missing_time ts",
		`{"v":1,"t":null,"ts":null,"v":2}`:                "duplicate_key v",
		`{"t":"a","ts":0,"t":"b","ts":1}`:                 "duplicate_key t",
		`{"t":"a","ts":0,"\u0074":"b"}`:                   "duplicate_key t",
		`{"t":"a","ts":0,"v":1,"v":2`:                     "malformed_json",
		`{"t":"a","ts":0,"x":{"v":1,"v":2,"t":0},"T":0}`:  "null | a | 0",
		"{\"t\":\"a\",\"ts\":0,\"x\":\"\xff\"":            "invalid_unicode",
		"{\"t\":\"a\",\"ts\":0,\"\xed\xa0\xbd\":1}":       "invalid_unicode",
		"\xef\xbb\xbf \n{\"t\":\"a\",\"ts\":0}\r\n":       "null | a | 0",
		"\xef\xbb\xbf\xef\xbb\xbf{\"t\":\"a\",\"ts\":0}":  "malformed_json",
		"\xef\xbb\xbf \t":                                 "empty_record",
		"{\"t\":\"a\",\"ts\":0}\v":                        "malformed_json",
		"\u00a0{\"t\":\"a\",\"ts\":0}":                    "malformed_json",
		"[]":                                              "not_an_object",
		" 1e5 ":                                           "not_an_object",
		"[}":                                              "malformed_json",
		"tru":                                             "malformed_json",
		"-":                                               "malformed_json",
		"{}":                                              "missing_table t",
		"{ }":                                             "missing_table t",
		"{,}":                                             "malformed_json",
		`{"t"}`:                                           "malformed_json",
		`{"t":}`:                                          "malformed_json",
		`{"t":"a" "ts":0}`:                                "malformed_json",
		`{"x":[1,]}`:                                      "malformed_json",
		`{"x":{"a":1,}}`:                                  "malformed_json",
		`{"x":{"a" 1}}`:                                   "malformed_json",
		`{"t":"a","ts":0,"x":[{"a":1},[1],{"b":[]}]}`:     "null | a | 0",
		`{"x":[{"a":1},[1}]}`:                             "malformed_json",
		`{"x":nul}`:                                       "malformed_json",
	} {
		if got := outcome(t, d, b, record); got != want {
			t.Errorf("%q is %s, want %s", record, got, want)
		}
	}
}

func TestDepth(t *testing.T) {
	t.Parallel()
	d, b := one(t, block.JSON)
	nested := func(member string, levels int) string {
		return `{"t":"a","ts":0,"` + member + `":` + strings.Repeat("[", levels-1) + strings.Repeat("]", levels-1) + `}`
	}
	for _, member := range []string{"v", "x"} {
		for levels, want := range map[int]bool{64: true, 256: true, 257: false, 10000: false} {
			got := outcome(t, d, b, nested(member, levels))
			if (got != "too_deep") != want {
				t.Errorf("%d levels in %s: %.60s", levels, member, got)
			}
		}
	}
}

// Nothing of a refused record stays, whichever column is at fault, also where a column had no null before.
func TestARefusedRecordLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	d := telemetry(t)
	b := block.NewBatch(d.Schema().Block(), 1)
	good := `{"ts":1,"device":"d","temp":1,"hum":2,"status":"s"}`
	want := outcome(t, d, b, good)
	for _, bad := range []string{
		`{"ts":1,"device":"d","temp":null,"hum":2,"status":7}`, `{"ts":1,"device":"d","status":"x","hum":1.5}`,
		`{"ts":1,"device":"d","temp":"x"}`, `{"ts":1,"device":"","temp":1}`, `{"ts":1,"device":"d","temp":2,"hum":2,"status":"\ud83d"}`,
	} {
		outcome(t, d, b, bad)
		if got := outcome(t, d, b, good); got != want {
			t.Errorf("after %s: %s, want %s", bad, got, want)
		}
	}
}

func TestPaths(t *testing.T) {
	t.Parallel()
	path := func(text string) decode.Path {
		p, err := decode.ParsePath(text)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	d := mustNew(t, decode.Schema{Table: path("$.meta.id"), EventTime: path("$.at[1]"), Columns: []decode.Column{
		{Name: "lat", Type: block.Float64, Path: path("$.geo.lat")},
		{Name: "geo", Type: block.JSON, Path: path("geo")},
		{Name: "odd", Type: block.Int64, Path: path(`$['a.b']["c d"]`)},
		{Name: "second", Type: block.Int64, Path: path("$.list[1][0]")},
		{Name: "id", Type: block.String, Path: path("$.meta.id")},
	}})
	b := block.NewBatch(d.Schema().Block(), 1)
	for record, want := range map[string]string{
		`{"meta":{"id":"a"},"at":[0,5]}`: "null | null | null | null | a | a | 5",
		`{"meta":{"x":1,"id":"a"},"at":[0,5,6],"geo":{"lat":1.5,"lon":2},"a.b":{"c d":3},"list":[[1],[2,3],4]}`: `1.5 | {"lat":1.5,"lon":2} | 3 | 2 | a | a | 5`,
		`{"geo":{"lat":{"x":1}},"meta":{"id":"a"},"at":[0,5]}`:                                                  "wrong_type lat",
		`{"geo":7,"meta":{"id":"a"},"at":[0,5],"list":{"1":[9]},"a.b":[]}`:                                      "null | 7 | null | null | a | a | 5",
		`{"geo":{"lat":1},"meta":{"id":"a"},"at":[0,5],"geo":{"lon":2}}`:                                        "duplicate_key lat",
		`{"geo":{"lat":1,"lat":1},"meta":{"id":"a"},"at":[0,5]}`:                                                "duplicate_key lat",
		`{"geo":{"lon":1,"lon":1},"meta":{"id":"a"},"at":[0,5]}`:                                                `null | {"lon":1,"lon":1} | null | null | a | a | 5`,
		`{"meta":{"id":"a"},"at":[0]}`:                                                                          "missing_time $.at[1]",
		`{"meta":[],"at":[0,5]}`:                                                                                "missing_table $.meta.id",
		`{"meta":{"id":"a"},"at":[0,5],"list":[1 2]}`:                                                           "malformed_json",
		`{"meta":{"id":"a"},"at":[0,5,]}`:                                                                       "malformed_json",
		`{"meta":{"id":"a"},"at":[],"list":[]}`:                                                                 "missing_time $.at[1]",
		`{"meta":{"id":"a","deep":{"er":[{"x":null}]}},"at":[{"ts":[]},5 ] , "geo" : { } }`:                     `null | { } | null | null | a | a | 5`,
	} {
		if got := outcome(t, d, b, record); got != want {
			t.Errorf("%s is %s, want %s", record, got, want)
		}
	}
}

func TestPathTexts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"a": "a", "$.a": "a", "$.a.b": "$.a.b", "$['a']": "a", `$["a b"]`: "$['a b']", "$.a[0].b": "$.a[0].b",
		"$[3]": "$[3]", `$["it']s"]`: `$["it']s"]`, "$['größe']": "$['größe']", "$['']": "$['']", "$['a-b'].c": "$['a-b'].c"} {
		p, err := decode.ParsePath(text)
		if err != nil || p.String() != want {
			t.Errorf("%s is %s, %v; want %s", text, p, err, want)
			continue
		}
		if again, err := decode.ParsePath(p.String()); err != nil || again.String() != want {
			t.Errorf("%s reads back as %s, %v", p, again, err)
		}
	}
	for _, text := range []string{"", "$", "a.b", "$a", "$.", "$..a", "$.a b", "a-b", "0", "größe", "$[a]", "$[-1]", "$['a", "$[1", "$.a[99999999999]", "$.a]", "$" + strings.Repeat(".a", 33)} {
		if p, err := decode.ParsePath(text); err == nil {
			t.Errorf("%q is taken as %s", text, p)
		}
	}
}

func TestUnitsOfTheEventTime(t *testing.T) {
	t.Parallel()
	for unit, cases := range map[string]map[string]string{
		"":   {"1500": "1500"},
		"s":  {"-1": "-1000", "253402300799": "253402300799000", "253402300800": "time_out_of_range ts", "-62135596800": "-62135596800000", "9223372036854775807": "time_out_of_range ts", "1.5": "bad_time ts", `"1970-01-01T00:00:01Z"`: "1000"},
		"us": {"1999": "1", "-1": "-1", "-1000": "-1", "-1001": "-2", "253402300799999999": "253402300799999", "253402300800000000": "time_out_of_range ts"},
		"ns": {"1999999": "1", "-1": "-1", "-1000001": "-2", "253402300799999999999": "253402300799999", "253402300800000000000": "time_out_of_range ts",
			"-62135596800000000000": "-62135596800000", "-62135596800000000001": "time_out_of_range ts", "-9223372036854775809": "-9223372036855", "1e99": "time_out_of_range ts"},
	} {
		u, err := decode.ParseUnit(unit)
		if err != nil {
			t.Fatal(err)
		}
		d := mustNew(t, decode.Schema{Table: decode.Members("t"), EventTime: decode.Members("ts"), Unit: u})
		b := block.NewBatch(d.Schema().Block(), 1)
		for value, want := range cases {
			if got := strings.TrimPrefix(outcome(t, d, b, `{"t":"a","ts":`+value+`}`), "a | "); got != want {
				t.Errorf("%s %q is %s, want %s", value, unit, got, want)
			}
		}
	}
	if _, err := decode.ParseUnit("m"); err == nil {
		t.Error("minutes are taken")
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	d, b := one(t, block.Int64)
	limits := decode.Limits{Earliest: -5, Latest: 10}
	for ts, ok := range map[ident.EventMs]bool{-6: false, -5: true, 10: true, 11: false} {
		v := d.Append([]byte(`{"t":"a","ts":`+strconv.Itoa(int(ts))+`}`), limits, b)
		if v.OK() != ok || (!ok && v.Code != decode.TimeOutOfRange) {
			t.Errorf("%d: %+v", ts, v)
		}
	}
}

func TestComputedTable(t *testing.T) {
	t.Parallel()
	d := mustNew(t, decode.Schema{
		EventTime: decode.Members("ts"),
		Columns:   []decode.Column{{Name: "v", Type: block.Int64, Path: decode.Members("v")}},
		TableOf: func(b *block.Batch, row int) ([]byte, error) {
			switch v := b.Cols[0].Int[row]; {
			case b.Cols[0].IsNull(row):
				return nil, nil
			case v < 0:
				return nil, errors.New("division by zero")
			default:
				return []byte(strings.Repeat("d", int(v))), nil
			}
		},
	})
	b := block.NewBatch(d.Schema().Block(), 1)
	for record, want := range map[string]string{
		`{"v":3,"ts":0}`: "3 | ddd | 0", `{"ts":0}`: "missing_table", `{"v":-1,"ts":0}`: "bad_table", `{"v":0,"ts":0}`: "bad_table",
		`{"v":193,"ts":0}`: "bad_table", `{"v":1.5,"ts":0}`: "not_integral v", `{"v":1.5}`: "missing_time ts",
	} {
		if got := outcome(t, d, b, record); got != want {
			t.Errorf("%s is %s, want %s", record, got, want)
		}
	}
}

func TestASchemaThatCannotWorkIsRefused(t *testing.T) {
	t.Parallel()
	good := decode.Schema{Table: decode.Members("t"), EventTime: decode.Members("ts")}
	for name, change := range map[string]func(*decode.Schema){
		"no table":     func(s *decode.Schema) { s.Table = nil },
		"two tables":   func(s *decode.Schema) { s.TableOf = func(*block.Batch, int) ([]byte, error) { return nil, nil } },
		"no time":      func(s *decode.Schema) { s.EventTime = nil },
		"no path":      func(s *decode.Schema) { s.Columns = []decode.Column{{Name: "a", Type: block.Bool}} },
		"no type":      func(s *decode.Schema) { s.Columns = []decode.Column{{Name: "a", Path: decode.Members("a")}} },
		"an endless p": func(s *decode.Schema) { s.EventTime = make(decode.Path, 33) },
	} {
		s := good
		change(&s)
		if _, err := decode.New(s); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}
