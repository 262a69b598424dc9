package setaside

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	api "github.com/pondage/pondage/internal/api/worker"
	"github.com/pondage/pondage/internal/connect"
	"github.com/pondage/pondage/internal/devstack/testkafka"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/kafka"
	"github.com/pondage/pondage/internal/plan"
	"github.com/pondage/pondage/internal/problem"
	"github.com/pondage/pondage/internal/spec"
	"github.com/pondage/pondage/services/worker/internal/catalog"
	"github.com/pondage/pondage/services/worker/internal/node"
)

// known is Names that know one source and one stream.
type known struct{}

func (known) Source(_ context.Context, name string) (*spec.Source, error) {
	if name != "readings" {
		return nil, problem.New(problem.CodeSourceUnknown, "unknown")
	}
	return &spec.Source{Name: name, Kafka: &spec.Kafka{Topic: "readings"}}, nil
}

func (known) Stream(_ context.Context, name string) (*catalog.Stream, error) {
	source := map[string]string{"per_minute": "readings", "per_hour": "others"}[name]
	if source == "" {
		return nil, problem.New(problem.CodeStreamUnknown, "unknown")
	}
	return &catalog.Stream{Name: name, Plan: &plan.Plan{Source: &spec.Source{Name: source}}}, nil
}

type rig struct {
	*Service
	t   *testing.T
	hub *connect.Hub
}

func newRig(t *testing.T) *rig {
	t.Helper()
	hub := connect.New(connect.Config{Kafka: kafka.Config{Brokers: testkafka.Start(t, 1)}})
	t.Cleanup(hub.Close)
	return &rig{New(known{}, hub, func() node.Cluster { return node.Cluster{Name: "test"} }), t, hub}
}

// letter is a record to be set aside.
type letter struct {
	topic             string
	partition, offset int64
	code, stream      string
	key, value        string
}

// lost is the value of a letter whose bytes were not kept.
const lost = "(lost)"

// write puts records into a topic's partitions by turns.
func (r *rig) write(topic string, partitions int, letters ...letter) {
	r.t.Helper()
	k, err := r.hub.Cluster()
	if err != nil {
		r.t.Fatal(err)
	}
	if _, err := k.Client.CreateTopic(r.t.Context(), kafka.TopicSpec{Name: topic, Partitions: partitions}); err != nil {
		r.t.Fatal(err)
	}
	for p := range partitions {
		q, err := k.Producer.Open(r.t.Context(), topic, ident.Partition(p), kafka.QueueOptions{})
		if err != nil {
			r.t.Fatal(err)
		}
		defer q.Close()
		for i, l := range letters {
			if i%partitions != p {
				continue
			}
			h := func(k, v string) kafka.Header { return kafka.Header{Key: k, Value: []byte(v)} }
			headers := []kafka.Header{h("source", "readings"), h("topic", l.topic), h("partition", strconv.FormatInt(l.partition, 10)), h("offset", strconv.FormatInt(l.offset, 10)), h("code", l.code), h("reason", "because")}
			if l.stream != "" {
				headers = append(headers, h("stream", l.stream))
			}
			m := kafka.Message{Value: []byte(l.value), Headers: headers, TimestampMs: int64(i + 1)}
			if l.value == lost {
				m.Value = nil
			}
			if l.key != "" {
				m.Key = []byte(l.key)
			}
			if err := q.Push(m); err != nil {
				r.t.Fatal(err)
			}
		}
		if err := q.Flush(r.t.Context()); err != nil {
			r.t.Fatal(err)
		}
	}
}

// all pages through a listing.
func (r *rig) all(limit int32, list func(limit *int32, cursor *string) (api.DeadLetterPage, error)) (items []api.DeadLetter, pages int) {
	r.t.Helper()
	var cursor *string
	for {
		p, err := list(&limit, cursor)
		if err != nil {
			r.t.Fatal(err)
		}
		items, pages = append(items, p.Items...), pages+1
		if cursor = p.NextCursor; cursor == nil {
			return items, pages
		}
	}
}

func TestEachRecordIsListedOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var letters []letter
	for stage := range 3 { // a reset writes the same identities again; so does another stream
		for offset := range int64(7) {
			letters = append(letters, letter{topic: "readings", partition: offset % 2, offset: offset * 100, code: "malformed_json", value: fmt.Sprint("v", offset, stage)})
		}
	}
	letters = append(letters,
		letter{partition: -1, offset: -1, code: "division_by_zero", stream: "s1", key: "k1", value: "{}"}, letter{partition: -1, offset: -1, code: "division_by_zero", stream: "s1", key: "k1", value: "{}"},
		letter{partition: -1, offset: -1, code: "division_by_zero", stream: "s2", key: "k1", value: "{}"},
	)
	r.write("test.readings.dead", 2, letters...)
	items, pages := r.all(2, func(limit *int32, cursor *string) (api.DeadLetterPage, error) {
		return r.DeadLetters(t.Context(), "readings", limit, cursor)
	})
	var got []string
	for _, i := range items {
		got = append(got, fmt.Sprintf("%s/%d/%s", i.Topic, i.Partition, i.Offset))
	}
	want := "/-1/-1 /-1/-1 readings/0/0 readings/0/200 readings/0/400 readings/0/600 readings/1/100 readings/1/300 readings/1/500"
	if strings.Join(got, " ") != want || pages != 5 {
		t.Errorf("%d pages: %s", pages, strings.Join(got, " "))
	}
}

func TestARecordIsShownUntouched(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("test.readings.dead", 1,
		letter{topic: "readings", partition: 3, offset: 9007199254740993, code: "invalid_unicode", value: "\xff\x00", key: "\xfe"},
		letter{topic: "readings", partition: 4, offset: 1, code: "empty_record"})
	p, err := r.DeadLetters(t.Context(), "readings", nil, nil)
	if err != nil || len(p.Items) != 2 || p.NextCursor != nil {
		t.Fatalf("%+v, %v", p, err)
	}
	if i := p.Items[0]; i.Offset != 9007199254740993 || i.Value != nil || i.Key != nil || i.ValueBase64 != "/wA=" || i.Code != "invalid_unicode" || i.Reason != "because" || i.Stream != nil || i.Time.UnixMilli() != 1 {
		t.Errorf("%+v", i)
	}
	if i := p.Items[1]; i.Value == nil || *i.Value != "" || i.Source != "readings" {
		t.Errorf("%+v", i)
	}
}

func TestLateRecordsNameTheirStream(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("test.per_minute.late", 1, letter{topic: "readings", offset: 5, code: "late", stream: "per_minute", key: "a", value: "{}"})
	p, err := r.LateRecords(t.Context(), "per_minute", nil, nil)
	if err != nil || len(p.Items) != 1 || *p.Items[0].Stream != "per_minute" || *p.Items[0].Key != "a" {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestNothingWasSetAside(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	if p, err := r.DeadLetters(t.Context(), "readings", nil, nil); err != nil || p.Items == nil || len(p.Items) != 0 {
		t.Errorf("no topic: %+v, %v", p, err)
	}
	r.write("test.readings.dead", 2)
	if p, err := r.DeadLetters(t.Context(), "readings", nil, nil); err != nil || len(p.Items) != 0 {
		t.Errorf("an empty topic: %+v, %v", p, err)
	}
}

func TestWrongQuestions(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	bad := "x"
	for want, err := range map[problem.Code]error{
		"source_unknown": second(r.DeadLetters(t.Context(), "nosuch", nil, nil)), "stream_unknown": second(r.LateRecords(t.Context(), "nosuch", nil, nil)),
		"bad_cursor": second(r.DeadLetters(t.Context(), "readings", nil, &bad)),
	} {
		if err == nil || problem.From(err).Code != want {
			t.Errorf("want %s, got %v", want, err)
		}
	}
	hub := connect.New(connect.Config{Kafka: kafka.Config{Brokers: []string{"127.0.0.1:1"}, DialTimeout: 100_000_000, RequestTimeout: 100_000_000}})
	defer hub.Close()
	_, err := New(known{}, hub, func() node.Cluster { return node.Cluster{Name: "test"} }).DeadLetters(t.Context(), "readings", nil, nil)
	if d := problem.From(err); d.Code != "broker_unreachable" || d.Status != 503 {
		t.Errorf("no broker: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

func TestAPageIsBoundedInBytes(t *testing.T) {
	t.Parallel()
	p := &page{limit: 100}
	for offset := range int64(20) {
		id := identity{Topic: "t", Offset: 20 - offset}
		if p.wants(id) {
			p.add(item{id: id, size: pageBytes / 4})
		}
	}
	if len(p.items) != 4 || !p.more || p.items[0].id.Offset != 1 || p.items[3].id.Offset != 4 {
		t.Errorf("%d items, more %v", len(p.items), p.more)
	}
	p = &page{limit: 100}
	p.add(item{id: identity{Offset: 1}, size: 3 * pageBytes})
	p.add(item{id: identity{Offset: 2}, size: 1})
	if len(p.items) != 1 || !p.more {
		t.Errorf("a large first item: %d items", len(p.items))
	}
}
