package decode_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pondage/pondage/internal/decode"
)

// describe writes a proposal as text.
func describe(p *decode.Proposal) string {
	var out strings.Builder
	fmt.Fprintf(&out, "table %s time %s %d:", p.Table, p.EventTime, p.Unit)
	for _, c := range p.Columns {
		fmt.Fprintf(&out, " %s %s", c.Name, c.Type)
		if c.Path != "$."+c.Name {
			fmt.Fprintf(&out, " (%s)", c.Path)
		}
	}
	return out.String()
}

func TestInfer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ sample, want, note string }{
		"telemetry": {
			"{\"ts\":1767225599149,\"device\":\"d1\",\"temp\":16,\"ok\":true}\n{\"ts\":1767225599150,\"device\":\"d2\",\"temp\":16.5,\"ok\":null,\"status\":\"x\"}\n",
			"table device time ts 0: temp float64 ok bool status string", "temp: integers and fractions",
		},
		"nested, seconds": {
			`{"meta":{"site":"n","host":"h"},"time":1767225599,"big":18446744073709551616,"list":[1],"Odd Name":"1970-01-01T00:00:00Z"}`,
			"table $.meta.host time time 1: meta_site string ($.meta.site) big decimal(38,0) list json odd_name timestamp ($['Odd Name'])", "time looks like seconds since 1970",
		},
		"mixtures": {
			"{\"t\":\"2026-01-01T00:00:00Z\",\"v\":1,\"n\":null}\n{\"t\":\"2026-01-01T00:00:01+02:00\",\"v\":\"x\",\"n\":null}",
			"table  time t 0: v json", "n is null in every record",
		},
		"names that meet": {
			`{"ts":"2026-01-01T00:00:00Z","a b":1,"a-b":2,"a":{"b":3},"tbname":4,"0":5,"ä":6}`,
			"table  time ts 0: a_b int64 ($['a b']) a_b_2 int64 ($['a-b']) a_b_3 int64 ($.a.b) tbname_2 int64 ($.tbname) c_0 int64 ($['0']) c_ int64 ($['ä'])", "no member looks like a table name",
		},
		"an id for each record is no table": {
			ids(200), "table net time  0: id string v int64", "no member looks like an event time",
		},
		"not all lines are records":   {"x\n[]\n{\"a\":1}\n\n", "table  time  0: a int64", "2 of 4 lines are not JSON: lines 1, 4"},
		"one line is cut":             {sampleWith(`{"device":"d1","ts":17672`), good, "1 of 100 lines is not JSON: line 7; left out"},
		"one line is no object":       {sampleWith(`[1]`), good, "1 of 100 lines is no JSON object: line 7"},
		"one record has no time":      {sampleWith(`{"device":"d1","v":1}`), good, "1 of 100 records without an event time at ts"},
		"one record has another time": {sampleWith(`{"device":"d1","ts":"n/a","v":1}`), good, "1 of 100 records without an event time at ts"},
		"one record has no name":      {sampleWith(`{"device":null,"ts":1767225599149,"v":1}`), good, "1 of 100 records without a table name at device"},
	} {
		p, notes, err := decode.Infer([]byte(c.sample))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := describe(p); got != c.want {
			t.Errorf("%s: got  %s\nwant %s", name, got, c.want)
		}
		if !strings.Contains(strings.Join(notes, "\n"), c.note) {
			t.Errorf("%s: no note %q in %q", name, c.note, notes)
		}
	}
	if _, _, err := decode.Infer([]byte("x\n")); !errors.Is(err, decode.ErrNoSample) {
		t.Errorf("no record: %v", err)
	}
}

// good is what a hundred good records propose.
const good = "table device time ts 0: v int64"

// sampleWith is a hundred records, all good but the seventh line.
func sampleWith(bad string) string {
	var out strings.Builder
	for i := range 100 {
		if i == 6 {
			out.WriteString(bad + "\n")
			continue
		}
		fmt.Fprintf(&out, "{\"device\":\"d%d\",\"ts\":%d,\"v\":1}\n", i%3, 1767225599149+i)
	}
	return out.String()
}

func ids(n int) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, "{\"id\":\"e%d\",\"net\":\"n%d\",\"v\":1}\n", i, i%3)
	}
	return out.String()
}

func TestLines(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<17)
	for in, want := range map[string][]string{
		"": nil, "\n": {""}, "a": {"a"}, "a\n": {"a"}, "a\r\n\nb": {"a\r", "", "b"}, "\x00\n\xff\u2028\n": {"\x00", "\xff\u2028"},
		long + "\n" + long + "y": {long, long + "y"}, long + "\n\n": {long, ""},
	} {
		lines, got := decode.NewLines(strings.NewReader(in)), []string(nil)
		for {
			line, err := lines.Next()
			if err != nil {
				break
			}
			got = append(got, string(line))
		}
		if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Errorf("%.40q: got %.80q, want %.80q", in, got, want)
		}
	}
}
