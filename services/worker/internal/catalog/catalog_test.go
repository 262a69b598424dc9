package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pondage/pondage/internal/api/common"
	"github.com/pondage/pondage/internal/problem"
	"github.com/pondage/pondage/services/worker/internal/node"
)

const (
	sourceDoc = `{"name":"r","format":"json","kafka":{"topic":"%s"},"table":"d","event_time":"ts","columns":[{"name":"n","type":"int64"}]}`
	streamDoc = `{"name":"s","source":"r","select":[{"expr":"n"}]}`
)

// coordinator is a Coordinator that counts what it is asked.
type coordinator struct {
	asked atomic.Int32
	mu    sync.Mutex
	topic string
	err   error
	hold  chan struct{} // nil: answers at once
	begun chan struct{} // told of each call that is held
}

func (c *coordinator) Source(_ context.Context, name string) (json.RawMessage, error) {
	c.asked.Add(1)
	if c.hold != nil {
		c.begun <- struct{}{}
		<-c.hold
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil, c.err
	}
	if name != "r" {
		return nil, problem.New(problem.CodeSourceUnknown, "there is no source %s", name)
	}
	return json.RawMessage(fmt.Sprintf(sourceDoc, c.topic)), nil
}

func (c *coordinator) Stream(ctx context.Context, _ string) (Description, error) {
	src, err := c.Source(ctx, "r")
	return Description{ID: 7, Stage: 3, Wanted: "running", Source: src, Spec: json.RawMessage(streamDoc)}, err
}

func (c *coordinator) set(topic string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.topic, c.err = topic, err
}

// orders is Orders with one stream.
type orders struct{ run node.Run }

func (o orders) Order(name string) (common.Order, node.Run, bool) {
	return common.Order{
		StreamID: 9, Name: name, Stage: 4, Wanted: "paused", Source: json.RawMessage(fmt.Sprintf(sourceDoc, "t")), Spec: json.RawMessage(streamDoc),
		Tasks: []common.PlacedTask{{Task: "source-1", Node: "n1", Address: "http://n1"}, {Task: "odd"}},
	}, o.run, true
}

// clock is a wall clock that is set by hand.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) read() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func newCatalog(c Coordinator, o Orders) (*Catalog, *clock) {
	k := New(c, o, func() node.Cluster { return node.Cluster{ID: "c", Name: "test", VGroups: 8} })
	now := &clock{now: time.Unix(1_000, 0)}
	k.sources.now, k.streams.now = now.read, now.read
	return k, now
}

func TestAnAnswerIsUsedForAWhile(t *testing.T) {
	t.Parallel()
	c := &coordinator{topic: "t1"}
	k, now := newCatalog(c, orders{})
	first, err := k.Source(t.Context(), "r")
	if err != nil || first.Kafka.Topic != "t1" {
		t.Fatalf("%+v, %v", first, err)
	}
	now.pass(FreshFor - 1)
	if again, _ := k.Source(t.Context(), "r"); again != first || c.asked.Load() != 1 {
		t.Errorf("asked %d times", c.asked.Load())
	}
	now.pass(1)
	if again, _ := k.Source(t.Context(), "r"); again != first || c.asked.Load() != 2 {
		t.Errorf("an unchanged definition is another one; asked %d times", c.asked.Load())
	}
	c.set("t2", nil)
	now.pass(FreshFor)
	if changed, _ := k.Source(t.Context(), "r"); changed.Kafka.Topic != "t2" {
		t.Errorf("still %s", changed.Kafka.Topic)
	}
}

func TestWhatIsKnownIsUsedWhileNobodyAnswers(t *testing.T) {
	t.Parallel()
	c := &coordinator{topic: "t1"}
	k, now := newCatalog(c, orders{})
	if _, err := k.Source(t.Context(), "r"); err != nil {
		t.Fatal(err)
	}
	c.set("", errors.New("connection refused"))
	for range 3 {
		now.pass(time.Hour)
		if s, err := k.Source(t.Context(), "r"); err != nil || s.Kafka.Topic != "t1" {
			t.Fatalf("%+v, %v", s, err)
		}
	}
	asked := c.asked.Load()
	if _, err := k.Source(t.Context(), "r"); err != nil || c.asked.Load() != asked {
		t.Errorf("each request of an outage asks: %v", err)
	}
	_, err := k.Source(t.Context(), "other")
	var p *problem.Error
	if !errors.As(err, &p) || p.Code != problem.CodeNoCoordinator || p.RetryAfter == 0 {
		t.Errorf("never known: %v", err)
	}
	c.set("", problem.New(problem.CodeSourceUnknown, "dropped"))
	now.pass(FreshFor)
	if _, err := k.Source(t.Context(), "r"); !errors.As(err, &p) || p.Code != problem.CodeSourceUnknown {
		t.Errorf("dropped meanwhile: %v", err)
	}
	c.set("", errors.New("connection refused"))
	if _, err := k.Source(t.Context(), "r"); !errors.As(err, &p) || p.Code != problem.CodeNoCoordinator {
		t.Errorf("dropped, and nobody answers: %v", err)
	}
}

func TestAnUnknownNameMayBecomeKnownAtOnce(t *testing.T) {
	t.Parallel()
	c := &coordinator{err: problem.New(problem.CodeSourceUnknown, "none")}
	k, _ := newCatalog(c, orders{})
	if _, err := k.Source(t.Context(), "r"); problem.From(err).Code != problem.CodeSourceUnknown {
		t.Fatal(err)
	}
	c.set("t1", nil)
	if _, err := k.Source(t.Context(), "r"); err != nil {
		t.Errorf("just made: %v", err)
	}
}

func TestManyWhoAskMakeOneCall(t *testing.T) {
	t.Parallel()
	c := &coordinator{topic: "t1", hold: make(chan struct{}), begun: make(chan struct{}, 16)}
	k, _ := newCatalog(c, orders{})
	gone, leave := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() { _, err := k.Source(gone, "r"); first <- err }()
	<-c.begun
	var others sync.WaitGroup
	for range 8 {
		others.Go(func() {
			if _, err := k.Source(t.Context(), "r"); err != nil {
				t.Error(err)
			}
		})
	}
	leave() // who asked first goes away: that is not the others' affair
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	close(c.hold)
	others.Wait()
	if n := c.asked.Load(); n > 2 { // one more where an asker came after the answer and before it was kept
		t.Errorf("%d calls", n)
	}
}

func TestWhatIsKeptIsBounded(t *testing.T) {
	t.Parallel()
	c := newCache[int]()
	for i := range 2 * maxKept {
		if _, err := c.get(t.Context(), fmt.Sprint(i), func(context.Context) (int, error) { return i, nil }); err != nil {
			t.Fatal(err)
		}
	}
	if len(c.entries) != maxKept {
		t.Errorf("%d kept", len(c.entries))
	}
}

func TestAStreamThatRunsHereCostsNoCall(t *testing.T) {
	t.Parallel()
	c := &coordinator{topic: "t1"}
	k, _ := newCatalog(c, orders{run: struct{ node.Run }{}})
	s, err := k.Stream(t.Context(), "s")
	if err != nil || c.asked.Load() != 0 || s.ID != 9 || s.Stage != 4 || s.Plan == nil || s.Run == nil || s.Wanted != "paused" || len(s.Tasks) != 1 || s.Tasks[0].Address != "http://n1" {
		t.Errorf("%+v, %v, asked %d times", s, err, c.asked.Load())
	}
	k, _ = newCatalog(c, orders{}) // an order, and nothing runs: it may be an old one
	if s, err = k.Stream(t.Context(), "s"); err != nil || s.ID != 7 || s.Run != nil || s.Plan == nil {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestAStoredDefinitionThatIsNotUnderstoodIsNotTheAskersFault(t *testing.T) {
	t.Parallel()
	c := &coordinator{topic: "no topic/"}
	k, _ := newCatalog(c, orders{})
	if _, err := k.Source(t.Context(), "r"); err == nil || problem.From(err).Status < 500 {
		t.Errorf("%v", err)
	}
}

func TestReplicas(t *testing.T) {
	t.Parallel()
	answer := func(w http.ResponseWriter, status int, mediaType, body string) {
		w.Header().Set("Content-Type", mediaType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
	var calls atomic.Int32
	good := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		switch r.URL.Path {
		case "/v1/sources/r":
			answer(w, 200, "application/json", `{"name":"r","spec":`+fmt.Sprintf(sourceDoc, "t")+`,"created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z"}`)
		case "/v1/streams/s":
			answer(w, 200, "application/json", `{"id":"7","name":"s","stage":"3","wanted":"paused","spec":`+streamDoc+`,"source_spec":`+fmt.Sprintf(sourceDoc, "t")+`,"created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z"}`)
		case "/v1/streams/s/tasks":
			answer(w, 200, "application/json", `{"items":[{"task":"agg-3","node":"n1","address":"http://n1"}]}`)
		default:
			answer(w, 404, problem.MediaType, `{"code":"stream_unknown","detail":"there is none","hint":"look","status":404}`)
		}
	}))
	defer good.Close()
	sick := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 503, problem.MediaType, `{"code":"metastore_unreachable","detail":"down","status":503}`)
	}))
	defer sick.Close()
	r, err := NewReplicas([]string{"http://127.0.0.1:1", sick.URL, good.URL}, http.DefaultClient)
	if err != nil {
		t.Fatal(err)
	}
	if doc, err := r.Source(t.Context(), "r"); err != nil || len(doc) == 0 {
		t.Errorf("%s, %v", doc, err)
	}
	d, err := r.Stream(t.Context(), "s")
	if err != nil || d.ID != 7 || d.Stage != 3 || d.Wanted != "paused" || len(d.Tasks) != 1 || d.Tasks[0].Task.String() != "agg-3" || d.Tasks[0].Address != "http://n1" {
		t.Errorf("%+v, %v", d, err)
	}
	_, err = r.Stream(t.Context(), "nosuch")
	var p *problem.Error
	if !errors.As(err, &p) || p.Code != problem.CodeStreamUnknown || p.Hint != "look" {
		t.Errorf("%v", err)
	}
	if n := calls.Load(); n != 4 || r.last.Load() != 2 {
		t.Errorf("%d calls; the one that answered last is asked first", n)
	}
	down, err := NewReplicas([]string{sick.URL}, http.DefaultClient)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := down.Source(t.Context(), "r"); err == nil || errors.As(err, &p) {
		t.Errorf("a coordinator that cannot answer has said nothing: %v", err)
	}
}
