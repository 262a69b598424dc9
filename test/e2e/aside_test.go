package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pondage/pondage/internal/batch/landed"
)

// setAside is a dead letter or late record as the API lists it.
type setAside struct {
	Source, Topic, Code, Reason string
	Stream                      *string
	Partition                   int
	Offset                      string
	Value                       *string
	Base64                      string `json:"value_base64"`
}

// aside lists what was set aside, all pages of it.
func (c *cluster) aside(t *testing.T, path string) []setAside {
	t.Helper()
	var all []setAside
	for cursor := ""; ; {
		var page struct {
			Items []setAside
			Next  *string `json:"next_cursor"`
		}
		decode(t, c.must(t, http.MethodGet, path+"?limit=2"+cursor, nil), &page)
		all = append(all, page.Items...)
		if page.Next == nil {
			return all
		}
		cursor = "&cursor=" + *page.Next
	}
}

func (c *cluster) clusterName(t *testing.T) string {
	t.Helper()
	var info struct{ Cluster string }
	decode(t, c.must(t, http.MethodGet, "/v1/cluster", nil), &info)
	return info.Cluster
}

// TestBadRecordsAreSetAside: they go untouched to the source's dead-letter topic, are counted and listed, and the records
// around them count.
func TestBadRecordsAreSetAside(t *testing.T) {
	t.Parallel()
	c := shared(t)
	src := c.source(t, 1, nil)
	name := c.create(t, count(c.name("st"), src, object{"trigger": "at_once"}))
	lines := []string{record("a", 1000, 1), "{", record("a", 2000, 2), `{"k":"a","ts":"soon"}`, `{"k":"a","v":1}`, `{"k":"a","ts":3000,"v":"x"}`, "\xff\xfe", record("a", 4000, 4)}
	codes := map[int]string{1: "malformed_json", 3: "bad_time", 4: "missing_time", 5: "wrong_type", 6: "invalid_unicode"}
	c.put(t, src, 0, lines...)
	c.accepted(t, name, int64(len(lines)))
	c.settles(t, name, `{"k":"a","at":"1970-01-01T00:00:00.000Z","n":"3","s":"7"}`)
	if s := c.stream(t, name); int(s.Counters.DeadLettered) != len(codes) || s.Counters.Counted != 3 {
		t.Errorf("counters %+v, want %d dead letters and 3 counted", s.Counters, len(codes))
	}
	c.conserves(t, name)

	listed := c.aside(t, "/v1/sources/"+src+"/dead-letters")
	if len(listed) != len(codes) {
		t.Fatalf("%d dead letters are listed, want %d: %+v", len(listed), len(codes), listed)
	}
	for _, l := range listed {
		at, _ := strconv.Atoi(l.Offset)
		value, _ := base64.StdEncoding.DecodeString(l.Base64)
		if l.Code != codes[at] || string(value) != lines[at] || l.Source != src || l.Topic != src || l.Reason == "" {
			t.Errorf("offset %d: %+v, want code %s and value %q", at, l, codes[at], lines[at])
		}
	}
	records, err := landed.Topic(t.Context(), c.brokers, c.clusterName(t)+"."+src+".dead")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		at, _ := strconv.Atoi(r.Headers["offset"])
		if string(r.Value) != lines[at] || r.Headers["code"] != codes[at] || r.Headers["source"] != src || r.Headers["topic"] != src || r.Headers["partition"] != "0" || r.Headers["reason"] == "" {
			t.Errorf("dead letter %q with %v, want %q and %s", r.Value, r.Headers, lines[at], codes[at])
		}
	}
}

// TestLateRecordsAreSetAside: counted, listed, and written untouched to the stream's late topic.
func TestLateRecordsAreSetAside(t *testing.T) {
	t.Parallel()
	c := shared(t)
	src := c.source(t, 1, nil)
	name := c.create(t, count(c.name("st"), src, object{"trigger": "at_once"}))
	late := record("a", 5000, 9)
	c.put(t, src, 0, record("a", 20_000, 1), late, record("a", 21_000, 2))
	c.accepted(t, name, 3)
	c.settles(t, name, `{"k":"a","at":"1970-01-01T00:00:20.000Z","n":"2","s":"3"}`)
	eventually(t, patience, "late record in its topic", func() string {
		records, err := landed.Topic(t.Context(), c.brokers, c.clusterName(t)+"."+name+".late")
		if err != nil {
			return err.Error()
		}
		if len(records) != 1 {
			return fmt.Sprintf("%d records", len(records))
		}
		r := records[0]
		if string(r.Value) != late || r.Headers["stream"] != name || r.Headers["source"] != src || r.Headers["offset"] != "1" || r.Headers["watermark"] == "" {
			t.Fatalf("late record %q with %v", r.Value, r.Headers)
		}
		return ""
	})
	listed := c.aside(t, "/v1/streams/"+name+"/late-records")
	if len(listed) != 1 || listed[0].Offset != "1" || listed[0].Stream == nil || *listed[0].Stream != name || *listed[0].Value != late {
		t.Errorf("late records %+v", listed)
	}
	if s := c.stream(t, name); s.Counters.Late != 1 {
		t.Errorf("counters %+v, want 1 late", s.Counters)
	}
}

// TestOneBadGroupIsSetAside: a row whose expression has no value is a dead letter; the other groups go on.
func TestOneBadGroupIsSetAside(t *testing.T) {
	t.Parallel()
	c := shared(t)
	src := c.source(t, 1, nil)
	name := c.create(t, count(c.name("st"), src, object{"trigger": "at_once", "select": []any{object{"expr": "tbname", "as": "k"}, object{"expr": "sum(100 / v)", "as": "q"}}}))
	c.put(t, src, 0, record("good", 1000, 4), record("bad", 1000, 0), record("good", 2000, 5), record("bad", 2000, 0))
	c.settles(t, name, `{"_wstart":"1970-01-01T00:00:00.000Z","k":"good","q":"45"}`)
	for _, l := range c.aside(t, "/v1/sources/"+src+"/dead-letters") {
		if l.Code != "division_by_zero" || !strings.Contains(*l.Value, "bad") {
			t.Errorf("dead letter %+v", l)
		}
	}
	c.accepted(t, name, 4)
	if s := c.stream(t, name); s.Counters.DeadLettered != 2 || s.State != "running" {
		t.Error(describe(s))
	}
}

// TestDeadLettersAreReplayedOnce: mended or as they were, to all streams or to the one whose expression had rejected them,
// and a request that is sent again changes nothing.
func TestDeadLettersAreReplayedOnce(t *testing.T) {
	t.Parallel()
	c := shared(t)
	src := c.source(t, 2, nil)
	sums := c.create(t, count(c.name("st"), src, object{"trigger": "at_once", "allowed_lateness": "unbounded"}))
	divides := c.create(t, count(c.name("st"), src, object{"trigger": "at_once", "allowed_lateness": "unbounded", "select": []any{
		object{"expr": "tbname", "as": "k"}, object{"expr": "count(*)", "as": "n"}, object{"expr": "sum(100 / v)", "as": "q"},
	}}))
	c.put(t, src, 0, record("a", 1000, 4), "{", record("a", 2000, 0))
	c.put(t, src, 1, record("a", 3000, 5), `{"k":"a","ts":"soon"}`)
	for _, name := range []string{sums, divides} {
		c.accepted(t, name, 5)
	}
	eventually(t, patience, "dead letters", func() string {
		if n := len(c.aside(t, "/v1/sources/"+src+"/dead-letters")); n != 3 {
			return fmt.Sprint(n)
		}
		return ""
	})
	var a struct{ Replayed, NotReplayedCount int }
	replay := func(request object) {
		t.Helper()
		decode(t, c.must(t, http.MethodPost, "/v1/sources/"+src+"/dead-letters/replay", request), &a)
	}
	for range 2 {
		replay(object{"records": []any{
			object{"partition": 0, "offset": "1", "value": record("a", 1500, 10)}, object{"partition": 1, "offset": "1", "value": record("a", 2500, 20)},
			object{"partition": 0, "offset": "2", "value": record("a", 2000, 25)},
		}})
		if a.Replayed != 3 {
			t.Errorf("%d replayed", a.Replayed)
		}
	}
	const at = "1970-01-01T00:00:00.000Z"
	c.settles(t, sums, `{"k":"a","at":"`+at+`","n":"5","s":"39"}`) // has taken 0 at 2000 when it came
	c.settles(t, divides, `{"_wstart":"`+at+`","k":"a","n":"5","q":"64"}`)
	c.accepted(t, sums, 7)
	c.accepted(t, divides, 8)

	// A stage that goes on from a checkpoint knows what was taken.
	for _, name := range []string{sums, divides} {
		c.checkpoint(t, name)
		c.must(t, http.MethodPost, "/v1/streams/"+name+"/reset", nil)
	}
	replay(object{})
	c.put(t, src, 0, record("a", 4000, 1))
	c.settles(t, sums, `{"k":"a","at":"`+at+`","n":"6","s":"40"}`)
	c.settles(t, divides, `{"_wstart":"`+at+`","k":"a","n":"6","q":"164"}`)
}

// TestNumbersSurviveTheWayThrough: 64-bit integers, sums beyond them, floats and times, in all outputs.
func TestNumbersSurviveTheWayThrough(t *testing.T) {
	t.Parallel()
	c := shared(t)
	src := c.source(t, 1, object{"columns": []any{
		object{"name": "i", "type": "int64"}, object{"name": "x", "type": "float64"}, object{"name": "d", "type": "decimal(20,4)"}, object{"name": "s", "type": "string"},
	}})
	name := c.name("st")
	c.create(t, count(name, src, object{
		"until": nil, "trigger": "at_once",
		"select": []any{
			object{"expr": "tbname", "as": "k"}, object{"expr": "_wstart", "as": "at"}, object{"expr": "sum(i)", "as": "si"}, object{"expr": "max(i)", "as": "mi"},
			object{"expr": "sum(x)", "as": "sx"}, object{"expr": "sum(d)", "as": "sd"}, object{"expr": "last(s)", "as": "ls"},
		},
		"outputs": object{"postgres": object{"table": name}, "kafka": object{"topic": name}},
	}))
	c.put(t, src, 0,
		`{"k":"a","ts":0,"i":9223372036854775807,"x":1e16,"d":"1.2345","s":"é\""}`, `{"k":"a","ts":1,"i":9223372036854775807,"x":1,"d":2,"s":null}`,
		`{"k":"a","ts":2,"i":9007199254740993,"x":-1e16,"d":0.0001}`, `{"k":"b","ts":3,"i":-9223372036854775808,"x":0.1}`)
	c.settles(t, name,
		`{"k":"a","at":"1970-01-01T00:00:00.000Z","si":"18455751272964292607","mi":"9223372036854775807","sx":1,"sd":"3.2346","ls":"é\""}`,
		`{"k":"b","at":"1970-01-01T00:00:00.000Z","si":"-9223372036854775808","mi":"-9223372036854775808","sx":0.1,"sd":null,"ls":null}`)
	var page struct{ Items []json.RawMessage }
	decode(t, c.must(t, http.MethodGet, "/v1/streams/"+name+"/results?order=k&filter="+`k%20%3D%20%27b%27`, nil), &page)
	const want = `{"k":"b","at":"1970-01-01T00:00:00.000Z","si":"-9223372036854775808","mi":"-9223372036854775808","sx":0.1,"sd":null,"ls":null}`
	if len(page.Items) != 1 || string(page.Items[0]) != want {
		t.Errorf("results with a filter: %s, want [%s]", page.Items, want)
	}
	if keys := kafkaKeys(t, c, name); !slices.Equal(keys, []string{`["a","1970-01-01T00:00:00.000Z"]`, `["b","1970-01-01T00:00:00.000Z"]`}) {
		t.Errorf("keys in Kafka: %s", keys)
	}
}

// kafkaKeys are the different keys of an output topic, sorted.
func kafkaKeys(t *testing.T, c *cluster, topic string) []string {
	t.Helper()
	records, err := landed.Topic(t.Context(), c.brokers, topic)
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, r := range records {
		keys = append(keys, r.Key)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}
