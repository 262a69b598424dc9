package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"pgregory.net/rapid"

	"github.com/pondage/pondage/internal/connect"
	"github.com/pondage/pondage/internal/devstack/testkafka"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/kafka"
	"github.com/pondage/pondage/internal/problem"
	"github.com/pondage/pondage/internal/spec"
)

// source is a Sources with one source.
type source struct{ spec *spec.Source }

func (s source) Source(_ context.Context, name string) (*spec.Source, error) {
	if name != s.spec.Name {
		return nil, problem.New(problem.CodeSourceUnknown, "there is no source named %q", name)
	}
	return s.spec, nil
}

func newSource(t *testing.T, topic, table string) source {
	t.Helper()
	src, err := spec.ParseSource([]byte(fmt.Sprintf(
		`{"name":"readings","format":"json","kafka":{"topic":%q},"table":%q,"event_time":"ts","columns":[{"name":"device","type":"string"},{"name":"n","type":"int64"}]}`, topic, table)))
	if err != nil {
		t.Fatal(err)
	}
	return source{src}
}

func newHub(t *testing.T, brokers []string) *connect.Hub {
	t.Helper()
	hub := connect.New(connect.Config{Kafka: kafka.Config{Brokers: brokers, DialTimeout: time.Second, RequestTimeout: time.Second}})
	t.Cleanup(hub.Close)
	return hub
}

// newTopic makes a topic of the test's own.
func newTopic(t *testing.T, hub *connect.Hub, partitions int, settings map[string]string) string {
	t.Helper()
	k, err := hub.Cluster()
	if err != nil {
		t.Fatal(err)
	}
	topic, err := k.Client.CreateTopic(t.Context(), kafka.TopicSpec{Name: testkafka.Topic(t), Partitions: partitions, Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	return topic.Name
}

// written is a record as a reader of the topic finds it.
type written struct {
	partition       ident.Partition
	key, value, ik  string
	hasKey, isTombs bool
}

// read returns what the topic holds, by partition and offset.
func read(t *testing.T, hub *connect.Hub, topic string) []written {
	t.Helper()
	k, err := hub.Cluster()
	if err != nil {
		t.Fatal(err)
	}
	ends, err := k.Client.Ends(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	var out []written
	for _, p := range slices.Sorted(maps.Keys(ends)) {
		if ends[p] == 0 {
			continue
		}
		chunks := make(chan *kafka.Chunk, 1)
		sub, err := k.Fetcher.Subscribe(kafka.SubscribeSpec{Topic: topic, Partition: p, Inbox: kafka.InboxFunc(func(c *kafka.Chunk) bool { chunks <- c; return true })})
		if err != nil {
			t.Fatal(err)
		}
		for next := ident.NextOffset(0); next < ends[p]; {
			c := <-chunks
			err := c.Records(func(r *kafka.Record) bool {
				ik, _ := r.Header("ik")
				out = append(out, written{partition: p, key: string(r.Key), hasKey: r.Key != nil, value: string(r.Value), isTombs: r.Value == nil, ik: string(ik)})
				return true
			})
			if err = errors.Join(err, c.Err); err != nil {
				t.Fatal(err)
			}
			next = c.Next
			c.Release()
		}
		sub.Close()
	}
	return out
}

func TestEachLineIsARecord(t *testing.T) {
	t.Parallel()
	hub := newHub(t, testkafka.Shared(t))
	topic := newTopic(t, hub, 1, nil)
	s := New(newSource(t, topic, "device"), hub)
	// T18: digits beyond a double pass untouched; T34: what is no record of the source passes too.
	lines := []string{`{"device":"a","n":9007199254740993}`, ``, ` {"device" : "b"}` + "\r", `not json`, "\x00\xff", `{"device":"a","n":-9223372036854775808}`}
	n, err := s.Take(t.Context(), Request{Source: "readings", Body: iotest.OneByteReader(strings.NewReader(strings.Join(lines, "\n") + "\n"))})
	if err != nil || n != int64(len(lines)) {
		t.Fatalf("accepted %d, %v", n, err)
	}
	got := read(t, hub, topic)
	keys := []string{"a", "", "b", "", "", "a"}
	for i, r := range got {
		if r.value != lines[i] || r.key != keys[i] || r.hasKey != (keys[i] != "") || r.isTombs || r.ik != "" {
			t.Errorf("record %d: %+v", i, r)
		}
	}
	if len(got) != len(lines) {
		t.Errorf("%d records in the topic", len(got))
	}
}

func TestAnArraysElementsAreRecords(t *testing.T) {
	t.Parallel()
	hub := newHub(t, testkafka.Shared(t))
	topic := newTopic(t, hub, 1, nil)
	s := New(newSource(t, topic, "$.meta['the device']"), hub)
	body := " [ {\"meta\": {\"x\":[1,{}],\"the device\":\"d\\u0031\"} ,\n \"n\": 1.0e2} , \"],\\\"[\" ,null,[[],{\"a\":\"}\"}] ] \n"
	n, err := s.Take(t.Context(), Request{Source: "readings", Form: Array, Key: "k", Body: strings.NewReader(body)})
	if err != nil || n != 4 {
		t.Fatalf("accepted %d, %v", n, err)
	}
	want := []written{
		{key: "d1", hasKey: true, value: "{\"meta\": {\"x\":[1,{}],\"the device\":\"d\\u0031\"} ,\n \"n\": 1.0e2}", ik: "k/0"},
		{value: `"],\"["`, ik: "k/1"}, {value: "null", ik: "k/2"}, {value: `[[],{"a":"}"}]`, ik: "k/3"},
	}
	if got := read(t, hub, topic); !slices.Equal(got, want) {
		t.Errorf("got %+v", got)
	}
}

func TestBrokenArraysAreNamed(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]problem.Code{
		"": "body_required", " ": "body_required", "{}": "malformed_json", `[{"a":1}`: "malformed_json", `["a`: "malformed_json", "[1,]": "malformed_json",
		"[,1]": "malformed_json", "[1]x": "malformed_json", "[}": "malformed_json", "[1]]": "malformed_json",
	} {
		c := newCutter(Array, strings.NewReader(body))
		var err error
		for err == nil {
			_, err = c.next()
		}
		var p *problem.Error
		if !errors.As(err, &p) || p.Code != want {
			t.Errorf("%q: %v, want %s", body, err, want)
		}
	}
	c := newCutter(Array, strings.NewReader(" [ ] "))
	if _, err := c.next(); !errors.Is(err, io.EOF) {
		t.Errorf("an empty array: %v", err)
	}
}

func TestCuttingIsTheInverseOfJoining(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		element := rapid.SampledFrom([]string{`1`, `"a\"]"`, `{"a":[1,2,"}"]}`, `[]`, `null`, `{"b":{"c":"\\"}}`, `"` + strings.Repeat("x", readBuffer) + `"`})
		want := rapid.SliceOfN(element, 1, 5).Draw(t, "elements")
		space := rapid.SampledFrom([]string{"", " ", "\n\t"}).Draw(t, "space")
		for form, body := range map[Form]string{Array: space + "[" + space + strings.Join(want, space+","+space) + space + "]" + space, Lines: strings.Join(want, "\n")} {
			c := newCutter(form, strings.NewReader(body))
			for i, w := range want {
				if got, err := c.next(); err != nil || string(got) != w {
					t.Fatalf("form %d, record %d: %.40q, %v", form, i, got, err)
				}
			}
			if _, err := c.next(); !errors.Is(err, io.EOF) {
				t.Fatalf("form %d: no end: %v", form, err)
			}
		}
	})
}

func TestKeysLieWhereKafkaPutsThem(t *testing.T) {
	t.Parallel()
	// The values of Apache Kafka's own test of its hash.
	for key, want := range map[string]int32{
		"21": -973932308, "foobar": -790332482, "a-little-bit-long-string": -985981536, "a-little-bit-longer-string": -1486304829,
		"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971, "abc": 479470107,
	} {
		if got := int32(murmur2([]byte(key))); got != want {
			t.Errorf("murmur2(%q) = %d, want %d", key, got, want)
		}
	}
}

func TestARepeatMeetsItsFirstAttempt(t *testing.T) {
	t.Parallel()
	hub := newHub(t, testkafka.Shared(t))
	topic := newTopic(t, hub, 4, nil)
	s := New(newSource(t, topic, "device || 'x'"), hub) // computed: no key
	body := strings.Repeat("{}\n", 99)                  // a number that does not go round
	for range 2 {
		if n, err := s.Take(t.Context(), Request{Source: "readings", Key: "again", Body: strings.NewReader(body)}); err != nil || n != 99 {
			t.Fatalf("accepted %d, %v", n, err)
		}
	}
	where := map[string]ident.Partition{}
	used := map[ident.Partition]bool{}
	for _, r := range read(t, hub, topic) {
		if p, ok := where[r.ik]; ok && p != r.partition {
			t.Errorf("%s is in partitions %d and %d: the source task of one does not know the other's", r.ik, p, r.partition)
		}
		where[r.ik], used[r.partition] = r.partition, true
	}
	if len(where) != 99 || len(used) != 4 {
		t.Errorf("%d keys in %d partitions", len(where), len(used))
	}
}

func TestKeylessRecordsGoRound(t *testing.T) {
	t.Parallel()
	hub := newHub(t, testkafka.Shared(t))
	topic := newTopic(t, hub, 3, nil)
	s := New(newSource(t, topic, "device"), hub)
	for range 3 {
		if _, err := s.Take(t.Context(), Request{Source: "readings", Body: strings.NewReader("1\n2\n")}); err != nil {
			t.Fatal(err)
		}
	}
	count := map[ident.Partition]int{}
	for _, r := range read(t, hub, topic) {
		count[r.partition]++
	}
	if !maps.Equal(count, map[ident.Partition]int{0: 2, 1: 2, 2: 2}) {
		t.Errorf("by partition: %v", count)
	}
}

func TestATopicThatWasMadeAgainIsWrittenWhole(t *testing.T) {
	t.Parallel()
	hub := newHub(t, testkafka.Shared(t))
	topic := newTopic(t, hub, 1, nil)
	src := newSource(t, topic, "device")
	s := New(src, hub)
	request := func() Request {
		return Request{Source: "readings", Key: "k", Body: strings.NewReader(strings.Repeat("{}\n", 50))}
	}
	if _, err := s.Take(t.Context(), request()); err != nil {
		t.Fatal(err)
	}
	k, err := hub.Cluster()
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Client.DeleteTopic(t.Context(), topic); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Client.CreateTopic(t.Context(), kafka.TopicSpec{Name: topic, Partitions: 3}); err != nil {
		t.Fatal(err)
	}
	w, err := s.writer(src.spec)
	if err != nil {
		t.Fatal(err)
	}
	w.looked = time.Time{} // long ago
	if n, err := s.Take(t.Context(), request()); err != nil || n != 50 {
		t.Fatalf("accepted %d, %v", n, err)
	}
	used := map[ident.Partition]bool{}
	for _, r := range read(t, hub, topic) {
		used[r.partition] = true
	}
	if len(used) != 3 {
		t.Errorf("partitions used: %v", used)
	}
}

// asProblem returns the error as it is answered.
func asProblem(t *testing.T, err error) *problem.Error {
	t.Helper()
	var p *problem.Error
	if !errors.As(err, &p) {
		t.Fatalf("not for the client: %v", err)
	}
	return p
}

func TestWhatKafkaRefusesIsNamed(t *testing.T) {
	t.Parallel()
	hub := newHub(t, testkafka.Shared(t))
	topic := newTopic(t, hub, 1, map[string]string{"max.message.bytes": "1000"})
	s := New(newSource(t, topic, "device"), hub)
	_, err := s.Take(t.Context(), Request{Source: "readings", Body: strings.NewReader("{}\n{}\n" + strings.Repeat("x", 2000) + "\n{}\n")})
	if p := asProblem(t, err); p.Code != problem.CodeRecordTooLarge || !strings.Contains(p.Detail, "record 3") {
		t.Errorf("%s: %s", p.Code, p.Detail)
	}
	_, err = s.Take(t.Context(), Request{Source: "readings", Body: io.MultiReader(strings.NewReader("{}\n"), bytes.NewReader(make([]byte, maxRecord+1)))})
	if p := asProblem(t, err); p.Code != problem.CodeRecordTooLarge || !strings.Contains(p.Detail, "record 2") || !strings.HasPrefix(p.Hint, "Raise max.message.bytes") {
		t.Errorf("%s: %s; %s", p.Code, p.Detail, p.Hint)
	}
	_, err = s.Take(t.Context(), Request{Source: "nosuch", Body: strings.NewReader("{}\n")})
	if p := asProblem(t, err); p.Code != problem.CodeSourceUnknown {
		t.Errorf("%s: %s", p.Code, p.Detail)
	}
}

func TestATopicThatIsMissingIsMade(t *testing.T) {
	t.Parallel()
	hub := newHub(t, testkafka.Shared(t))
	topic := testkafka.Topic(t)
	src := newSource(t, topic, "device")
	var workers sync.WaitGroup
	for range 3 { // workers, at once
		workers.Go(func() {
			if n, err := New(src, hub).Take(t.Context(), Request{Source: "readings", Body: strings.NewReader("1\n2\n")}); n != 2 || err != nil {
				t.Errorf("%d accepted, %v", n, err)
			}
		})
	}
	workers.Wait()
	if got := read(t, hub, topic); len(got) != 6 || got[5].partition != 0 {
		t.Errorf("%+v", got)
	}
}

func TestABodyThatBreaksIsAnErrorWithItsCode(t *testing.T) {
	t.Parallel()
	hub := newHub(t, testkafka.Shared(t))
	s := New(newSource(t, newTopic(t, hub, 1, nil), "device"), hub)
	broken := io.MultiReader(strings.NewReader("{}\n{}"), iotest.ErrReader(problem.New(problem.CodeBodyUnreadable, "unexpected EOF")))
	_, err := s.Take(t.Context(), Request{Source: "readings", Body: broken})
	if p := asProblem(t, err); p.Code != problem.CodeBodyUnreadable || !strings.Contains(p.Detail, "record 2") {
		t.Errorf("%s: %s", p.Code, p.Detail)
	}
}

func TestPressureIsSaidSoonAndMayBeRepeated(t *testing.T) {
	t.Parallel()
	brokers := testkafka.Start(t, 1)
	hub := newHub(t, brokers)
	topic := newTopic(t, hub, 1, nil)
	s := New(newSource(t, topic, "device"), hub)
	if _, err := s.Take(t.Context(), Request{Source: "readings", Body: strings.NewReader("{}\n")}); err != nil {
		t.Fatal(err)
	}
	// A queue that is closed behind the writer's back stands for any that stopped: it is opened anew.
	w, err := s.writer(s.sources.(source).spec)
	if err != nil {
		t.Fatal(err)
	}
	w.queues[0].Close()
	if n, err := s.Take(t.Context(), Request{Source: "readings", Body: strings.NewReader("{}\n")}); err != nil || n != 1 {
		t.Fatalf("after its queue had stopped: %d, %v", n, err)
	}
	if got := len(read(t, hub, topic)); got != 2 {
		t.Errorf("%d records", got)
	}
	for range maxRequests {
		s.requests <- struct{}{}
	}
	_, err = s.Take(t.Context(), Request{Source: "readings", Body: strings.NewReader("{}\n")})
	if p := asProblem(t, err); p.Code != problem.CodeOverloaded || p.RetryAfter == 0 {
		t.Errorf("%s after %s: %s", p.Code, p.RetryAfter, p.Detail)
	}

}

func TestKafkaThatDoesNotAnswerIsSaid(t *testing.T) {
	t.Parallel()
	hub := newHub(t, []string{"127.0.0.1:1"})
	s := New(newSource(t, "readings", "device"), hub)
	_, err := s.Take(t.Context(), Request{Source: "readings", Body: strings.NewReader("{}\n")})
	if p := asProblem(t, err); p.Code != problem.CodeBrokerUnreachable || p.RetryAfter == 0 || p.Detail != "Kafka: broker_unreachable" {
		t.Errorf("%s after %s: %s", p.Code, p.RetryAfter, p.Detail)
	}
}

func TestAnAnswerThatDoesNotComeIsGivenUp(t *testing.T) {
	t.Parallel()
	hub := newHub(t, testkafka.Shared(t))
	topic := newTopic(t, hub, 1, nil)
	s := New(newSource(t, topic, "device"), hub)
	s.patience = 0 // what takes longer than nothing
	_, err := s.Take(t.Context(), Request{Source: "readings", Body: strings.NewReader("{}\n")})
	if p := asProblem(t, err); p.Code != problem.CodeOverloaded || p.RetryAfter == 0 || !strings.HasSuffix(p.Hint, ".") || !strings.Contains(p.Hint, "same Idempotency-Key") {
		t.Errorf("%s: %s; %s", p.Code, p.Detail, p.Hint)
	}
}

func TestARecordThatKafkaRefusesLaterFailsItsRequest(t *testing.T) {
	t.Parallel()
	r := newReceipt()
	for range 3 {
		r.handed()
	}
	refused := &kafka.Error{Code: kafka.CodeNotAuthorized}
	r.answer(kafka.Result{})
	r.answer(kafka.Result{Err: refused})
	if err := r.wait(t.Context()); !errors.Is(err, refused) {
		t.Errorf("while one is open: %v", err)
	}
	r.answer(kafka.Result{}) // the answer of one that came too late for the request
	if n, err := r.taken(); n != 2 || !errors.Is(err, refused) {
		t.Errorf("%d taken, %v", n, err)
	}
}

func FuzzKeyFinder(f *testing.F) {
	for _, seed := range []string{`{"device":"a"}`, `{"x":[{"device":1}],"device":"\u0041"}`, `{"device":`, `{"a":"\`, "\xef\xbb\xbf{\"device\":\"b\"}"} {
		f.Add([]byte(seed))
	}
	finder := newKeyFinder("device")
	f.Fuzz(func(_ *testing.T, record []byte) { finder.find(record) }) // any bytes end
}
