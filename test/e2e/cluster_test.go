package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pondage/pondage/internal/api/coordinator"
	"github.com/pondage/pondage/internal/cli/client"
	"github.com/pondage/pondage/internal/config"
	"github.com/pondage/pondage/internal/devstack/scratch"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/kafka"
)

// cluster is a running Pondage as its users see it.
type cluster struct {
	id       string // names begin with it: clusters may share a Kafka
	url, dsn string
	api      *client.Client // shows the token
	brokers  []string
	kafka    *kafka.Client
	producer *kafka.Producer
	names    atomic.Int64
	datasets sync.Map // key → *dataset
}

var clusters atomic.Int64

// clusterName is a name that no other cluster of this run has: they may share a Kafka.
func clusterName() string { return fmt.Sprintf("e2e%d", clusters.Add(1)) }

// newCluster connects to what runs there.
func newCluster(id string, api config.Client, dsn string, brokers []string) (*cluster, error) {
	c := &cluster{id: id, url: api.API, dsn: dsn, brokers: brokers}
	var err error
	if c.api, err = client.New(api); err != nil {
		return nil, err
	}
	if c.kafka, err = kafka.Open(kafka.Config{Brokers: brokers}); err != nil {
		return nil, err
	}
	c.producer = kafka.NewProducer(c.kafka)
	return c, nil
}

func (c *cluster) close() error {
	c.producer.Close()
	c.kafka.Close()
	return nil
}

var inProcess = sync.OnceValues(func() (*cluster, error) {
	brokers, err := outsideKafka()
	if err != nil {
		return nil, err
	}
	id := clusterName()
	s, err := scratch.Start(context.Background(), "e2e", func(cfg *config.Dev) {
		cfg.Cluster, cfg.Kafka.Brokers = id, brokers
	})
	if err != nil {
		return nil, err
	}
	whenDone(s.Stop)
	c, err := newCluster(id, config.Client{API: s.URL()}, s.DSN(), s.Brokers())
	if err == nil {
		whenDone(c.close)
	}
	return c, err
})

// shared is the stack in this process that most cases use.
func shared(t testing.TB) *cluster {
	t.Helper()
	skipWithoutKafka(t)
	c, err := inProcess()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// name makes a name that no other case has.
func (c *cluster) name(base string) string {
	return fmt.Sprintf("%s_%s_%d", c.id, base, c.names.Add(1))
}

// answer is what the API says.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// code is the code of a problem document.
func (a answer) code() string {
	var p struct {
		Code string `json:"code"`
	}
	_ = json.Unmarshal(a.body, &p) // no document has no code
	return p.Code
}

func (a answer) String() string { return fmt.Sprintf("%d %s", a.status, a.body) }

// request asks the API. body is nil, bytes, or a value that becomes JSON; headers are name, value, …
func (c *cluster) request(ctx context.Context, method, path string, body any, headers ...string) (answer, error) {
	var text []byte
	switch b := body.(type) {
	case nil:
	case []byte:
		text = b
	default:
		var err error
		if text, err = json.Marshal(b); err != nil {
			return answer{}, err
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, c.url+path, bytes.NewReader(text))
	if err != nil {
		return answer{}, err
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := c.api.HTTP.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header, got}, err
}

// do is request for a case that goes on whatever the answer is.
func (c *cluster) do(t testing.TB, method, path string, body any, headers ...string) answer {
	t.Helper()
	a, err := c.request(t.Context(), method, path, body, headers...)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return a
}

// must is do for a request that has to succeed.
func (c *cluster) must(t testing.TB, method, path string, body any) answer {
	t.Helper()
	a := c.do(t, method, path, body)
	if a.status >= http.StatusMultipleChoices {
		t.Fatalf("%s %s: %s", method, path, a)
	}
	return a
}

// checkpoint takes a checkpoint of a stream and waits until it is complete.
func (c *cluster) checkpoint(t testing.TB, name string) {
	t.Helper()
	eventually(t, patience, "running stream", func() string {
		if state := c.stream(t, name).State; state != "running" {
			return state
		}
		return ""
	})
	var asked coordinator.Checkpoint
	decode(t, c.must(t, http.MethodPost, "/v1/streams/"+name+"/checkpoints", nil), &asked)
	eventually(t, patience, "checkpoint", func() string {
		if done := c.stream(t, name).Checkpoints.Complete; done == nil || *done < asked.Checkpoint {
			return fmt.Sprintf("%d of %s is not complete", asked.Checkpoint, name)
		}
		return ""
	})
}

// stream returns a stream as the API shows it.
func (c *cluster) stream(t testing.TB, name string) coordinator.Stream {
	t.Helper()
	s, err := c.lookUp(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// lookUp is stream while the API may not answer.
func (c *cluster) lookUp(ctx context.Context, name string) (s coordinator.Stream, err error) {
	a, err := c.request(ctx, http.MethodGet, "/v1/streams/"+name, nil)
	if err != nil {
		return s, err
	}
	if a.status != http.StatusOK {
		return s, fmt.Errorf("stream %s: %s", name, a)
	}
	return s, json.Unmarshal(a.body, &s)
}

func decode(t testing.TB, a answer, into any) {
	t.Helper()
	if err := json.Unmarshal(a.body, into); err != nil {
		t.Fatalf("%s: %v", a, err)
	}
}

// patience is how long a case waits for what should take a few seconds: the machine may be slow and shared.
const patience = 60 * time.Second

// eventually waits until check says nothing. What it said last is the failure.
func eventually(t testing.TB, within time.Duration, what string, check func() string) {
	t.Helper()
	const every = 50 * time.Millisecond
	deadline := time.Now().Add(within)
	for {
		missing := check()
		if missing == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %s: %s", what, within, missing)
		}
		time.Sleep(every)
	}
}

// until waits for a state of a stream; reached says what is missing, "" when nothing is. While the API does not answer, it
// goes on waiting.
func (c *cluster) until(t testing.TB, name, what string, reached func(coordinator.Stream) string) coordinator.Stream {
	t.Helper()
	var s coordinator.Stream
	eventually(t, patience, "stream "+name+": "+what, func() string {
		var err error
		if s, err = c.lookUp(t.Context(), name); err != nil {
			return err.Error()
		}
		return reached(s)
	})
	return s
}

// untilState waits until the stream is in a state. A failed stream ends the wait.
func (c *cluster) untilState(t testing.TB, name, state string) coordinator.Stream {
	t.Helper()
	return c.until(t, name, state, func(s coordinator.Stream) string {
		if s.State == "failed" && state != "failed" {
			t.Fatalf("stream %s has failed: %+v", name, s.Error)
		}
		if s.State != state {
			return describe(s)
		}
		return ""
	})
}

// describe is a stream in a few words.
func describe(s coordinator.Stream) string {
	waiting, failure := "", ""
	if s.Waiting != nil {
		waiting = *s.Waiting
	}
	if s.Error != nil {
		failure = s.Error.Code + " " + s.Error.Message
	}
	return fmt.Sprintf("it is %s in stage %d, waits for %q, error %q, counters %+v, watermark %v", s.State, s.Stage, waiting, failure, s.Counters, s.Watermark)
}

// accepted waits until so many records are taken from the source.
func (c *cluster) accepted(t testing.TB, name string, records int64) {
	t.Helper()
	c.until(t, name, fmt.Sprintf("%d records", records), func(s coordinator.Stream) string {
		if int64(s.Counters.Accepted) != records {
			return describe(s)
		}
		return ""
	})
}

// topic makes a topic.
func (c *cluster) topic(t testing.TB, name string, partitions int) {
	t.Helper()
	if _, err := c.kafka.CreateTopic(t.Context(), kafka.TopicSpec{Name: name, Partitions: partitions, ReplicationFactor: 1}); err != nil {
		t.Fatal(err)
	}
}

// object is a JSON object.
type object = map[string]any

// source makes a source with the columns v and w (int64) over a fresh topic, and returns its name, which is the topic's.
func (c *cluster) source(t testing.TB, partitions int, members object) string {
	t.Helper()
	name := c.name("src")
	c.topic(t, name, partitions)
	spec := object{
		"name": name, "format": "json", "kafka": object{"topic": name}, "table": "k", "event_time": "ts",
		"columns": []any{object{"name": "v", "type": "int64"}, object{"name": "w", "type": "int64"}},
	}
	for k, v := range members {
		spec[k] = v
	}
	c.must(t, http.MethodPost, "/v1/sources", spec)
	return name
}

// count is the spec of a stream that counts and sums by table in windows of ten seconds.
func count(name, source string, members object) object {
	spec := object{
		"name": name, "source": source, "start": "earliest", "partition_by": []string{"tbname"}, "watermark": "0s",
		"select": []any{
			object{"expr": "tbname", "as": "k"}, object{"expr": "_wstart", "as": "at"}, object{"expr": "count(*)", "as": "n"}, object{"expr": "sum(v)", "as": "s"},
		},
		"window": object{"kind": "interval", "size": "10s"},
	}
	for k, v := range members {
		spec[k] = v
	}
	return spec
}

// create makes a stream. It is dropped at the end of the case.
func (c *cluster) create(t testing.TB, spec object) string {
	t.Helper()
	name := spec["name"].(string)
	c.must(t, http.MethodPost, "/v1/streams", spec)
	t.Cleanup(func() {
		// The stack may be down by then, or the stream dropped.
		_, _ = c.request(context.Background(), http.MethodDelete, "/v1/streams/"+name, nil)
	})
	return name
}

// send sends records through ingest; each is a line of JSON.
func (c *cluster) send(t testing.TB, source string, lines ...string) {
	t.Helper()
	var got struct{ Accepted int }
	a := c.do(t, http.MethodPost, "/v1/ingest/"+source, []byte(strings.Join(lines, "\n")+"\n"), "Content-Type", "application/x-ndjson")
	if a.status != http.StatusOK {
		t.Fatalf("ingest into %s: %s", source, a)
	}
	decode(t, a, &got)
	if got.Accepted != len(lines) {
		t.Fatalf("ingest into %s: %d accepted of %d", source, got.Accepted, len(lines))
	}
}

// put writes records to a partition of a topic, past ingest.
func (c *cluster) put(t testing.TB, topic string, partition int, lines ...string) {
	t.Helper()
	var q *kafka.Queue
	// Brokers hear of new partitions one after the other, and any of them may be asked.
	eventually(t, patience, fmt.Sprintf("partition %d of %s", partition, topic), func() string {
		var err error
		if q, err = c.producer.Open(t.Context(), topic, ident.Partition(partition), kafka.QueueOptions{}); err != nil {
			return err.Error()
		}
		return ""
	})
	defer q.Close()
	for _, line := range lines {
		if err := q.Send(t.Context(), kafka.Message{Value: []byte(line)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := q.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// record is a line of the source that cluster.source makes.
func record(table string, tsMs, v int64) string {
	return fmt.Sprintf(`{"k":%q,"ts":%d,"v":%d}`, table, tsMs, v)
}

// exec runs a statement in the cluster's Postgres.
func (c *cluster) exec(t testing.TB, statement string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), c.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// query returns the rows of a query as text; a null is "".
func (c *cluster) query(t testing.TB, text string, args ...any) [][]string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), c.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	found, err := conn.Query(t.Context(), text, args...)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	rows, err := pgx.CollectRows(found, func(row pgx.CollectableRow) ([]string, error) {
		values, err := row.Values()
		cells := make([]string, len(values))
		for i, v := range values {
			if v != nil {
				cells[i] = fmt.Sprint(v)
			}
		}
		return cells, err
	})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return rows
}

// lock keeps everybody from writing a table until unlock is called.
func (c *cluster) lock(t testing.TB, table string) (unlock func()) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), c.dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "LOCK TABLE "+pgx.Identifier{table}.Sanitize()+" IN EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if err := tx.Rollback(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
