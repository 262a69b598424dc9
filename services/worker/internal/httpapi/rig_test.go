package httpapi

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pondage/pondage/internal/api/common"
	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/config"
	"github.com/pondage/pondage/internal/connect"
	"github.com/pondage/pondage/internal/devstack/testkafka"
	"github.com/pondage/pondage/internal/devstack/testpg"
	"github.com/pondage/pondage/internal/dispatch"
	"github.com/pondage/pondage/internal/httpserver"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/kafka"
	"github.com/pondage/pondage/internal/pgtable"
	"github.com/pondage/pondage/internal/problem"
	"github.com/pondage/pondage/internal/telemetry"
	"github.com/pondage/pondage/openapi"
	"github.com/pondage/pondage/services/worker/internal/catalog"
	"github.com/pondage/pondage/services/worker/internal/explain"
	"github.com/pondage/pondage/services/worker/internal/ingest"
	"github.com/pondage/pondage/services/worker/internal/live"
	"github.com/pondage/pondage/services/worker/internal/node"
	"github.com/pondage/pondage/services/worker/internal/peers"
	"github.com/pondage/pondage/services/worker/internal/results"
	"github.com/pondage/pondage/services/worker/internal/setaside"
	"github.com/pondage/pondage/services/worker/internal/stage"
	"github.com/pondage/pondage/services/worker/internal/watch"
)

// rig is a worker's API over the real packages, a broker, and a database. The coordinator, the orders and the tasks are
// stand-ins.
type rig struct {
	t      *testing.T
	server *httpserver.Server
	http   *httptest.Server
	hub    *connect.Hub
	pool   *pgxpool.Pool
	topic  string
	place  ident.Place

	mu     sync.Mutex
	feed   *live.Feed
	orders []common.Orders
	taken  []dispatch.CreditMessage
	refuse error // of Push
}

const streamID = 7

var cluster = node.Cluster{ID: "c1", Name: "test", VGroups: 2}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, feed: live.NewFeed(1, cluster.VGroups), place: ident.Place{Node: "n1", Instance: ident.Instance{Counter: 3, Random: 0x0a1b2c3d}}}
	dsn := testpg.DSN(t)
	r.hub = connect.New(connect.Config{Kafka: kafka.Config{Brokers: testkafka.Start(t, 1)}, Postgres: dsn})
	t.Cleanup(r.hub.Close)
	var err error
	if r.pool, err = r.hub.Postgres(nil); err != nil {
		t.Fatal(err)
	}
	r.topic = r.newTopic("readings", 1, nil)
	names := catalog.New(r, r, func() node.Cluster { return cluster })
	peer := peers.New(http.DefaultTransport)
	taking, kept := ingest.New(names, r.hub), results.New(names, r.hub)
	t.Cleanup(func() { taking.Close(); kept.Close() })
	doc, err := openapi.Document(openapi.Worker)
	if err != nil {
		t.Fatal(err)
	}
	tel, err := telemetry.New(t.Context(), telemetry.Process{Role: "worker", Version: "1"}, config.Log{Level: "error", Format: config.LogText}, config.Telemetry{}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if r.server, err = httpserver.New(httpserver.Config{Document: doc, Telemetry: tel}); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	Mount(r.server, Config{
		Node: common.Place{Node: "n1", Instance: r.place.Instance.String()}, Orders: r, Edges: r, Checkpoints: r, Ingest: taking, Results: kept,
		Live: watch.New("n1", names, r, peer, log), Explain: explain.New("n1", names, peer),
		SetAside: setaside.New(names, r.hub, func() node.Cluster { return cluster }), Version: common.Version{Version: "1", Commit: "abc", Role: "worker", Go: "go1"},
	})
	r.http = httptest.NewServer(r.server.Handler())
	t.Cleanup(r.http.Close)
	return r
}

func (r *rig) newTopic(name string, partitions int, settings map[string]string) string {
	r.t.Helper()
	k, err := r.hub.Cluster()
	if err != nil {
		r.t.Fatal(err)
	}
	if _, err := k.Client.CreateTopic(r.t.Context(), kafka.TopicSpec{Name: name, Partitions: partitions, Settings: settings}); err != nil {
		r.t.Fatal(err)
	}
	return name
}

// The definitions that the coordinator has.
const (
	sourceJSON = `{"name":"readings","format":"json","kafka":{"topic":"readings"},"table":"device","event_time":"ts","columns":[{"name":"n","type":"int64"}]}`
	streamJSON = `{"name":"per_minute","source":"readings","partition_by":["tbname"],"window":{"kind":"interval","size":"1m"},
		"select":[{"expr":"tbname","as":"device"},{"expr":"_wstart","as":"window_start"},{"expr":"last(n)","as":"n"}]}`
)

// Source implements catalog.Coordinator.
func (r *rig) Source(_ context.Context, name string) (json.RawMessage, error) {
	if name != "readings" {
		return nil, problem.New(problem.CodeSourceUnknown, "there is no source named %q", name)
	}
	return json.RawMessage(sourceJSON), nil
}

// Stream implements catalog.Coordinator.
func (r *rig) Stream(_ context.Context, name string) (catalog.Description, error) {
	if name != "per_minute" {
		return catalog.Description{}, problem.New(problem.CodeStreamUnknown, "there is no stream named %q", name)
	}
	return catalog.Description{ID: streamID, Stage: 1, Wanted: "running", Source: json.RawMessage(sourceJSON), Spec: json.RawMessage(streamJSON)}, nil
}

// Order implements catalog.Orders: nothing runs here.
func (r *rig) Order(string) (common.Order, node.Run, bool) { return common.Order{}, nil, false }

// Feed implements watch.Feeds.
func (r *rig) Feed(ident.StreamID) *live.Feed {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.feed
}

// Push implements Orders.
func (r *rig) Push(o common.Orders) error {
	r.orders = append(r.orders, o)
	return r.refuse
}

// Take implements Edges.
func (r *rig) Take(m dispatch.CreditMessage) { r.taken = append(r.taken, m) }

// Check implements Edges: the pairs of stage 2 are ready, a higher one never is.
func (r *rig) Check(ctx context.Context, c dispatch.Check) (dispatch.CheckAnswer, error) {
	if c.Stage > 2 {
		<-ctx.Done()
		return dispatch.CheckAnswer{}, ctx.Err()
	}
	return dispatch.CheckAnswer{Stream: c.Stream, Stage: c.Stage, From: r.place, Verdict: dispatch.VerdictReady}, nil
}

// Request implements Checkpoints: the first task takes its part, others refuse it.
func (r *rig) Request(_ context.Context, q common.CheckpointRequest) (common.CheckpointTaken, error) {
	out := common.CheckpointTaken{Taken: q.Tasks[:1], Refused: []common.CheckpointRefusal{}}
	for _, t := range q.Tasks[1:] {
		out.Refused = append(out.Refused, common.CheckpointRefusal{Task: t, Cause: common.Cause{Code: "busy"}})
	}
	return out, nil
}

// Triggers implements Checkpoints: no task runs.
func (r *rig) Triggers(_ context.Context, q common.TriggerQuestions) (common.TriggerAnswers, error) {
	return common.TriggerAnswers{Answers: []common.TriggerAnswer{{Status: "not_running", WaitingFor: []string{}}}}, nil
}

// rows are results: one a device.
func rows(t *testing.T, r *rig, n ...int64) *block.Batch {
	t.Helper()
	names := catalog.New(r, r, func() node.Cluster { return cluster })
	s, err := names.Stream(t.Context(), "per_minute")
	if err != nil {
		t.Fatal(err)
	}
	b := block.NewBatch(s.Plan.Result.Fields(), len(n))
	for i, v := range n {
		b.Cols[0].AppendString(string(rune('a' + i)))
		b.Cols[1].AppendInt(0)
		b.Cols[2].AppendInt(v)
	}
	return b
}

// keep writes results as the stream's sink does.
func (r *rig) keep(b *block.Batch) {
	r.t.Helper()
	names := catalog.New(r, r, func() node.Cluster { return cluster })
	s, err := names.Stream(r.t.Context(), "per_minute")
	if err != nil {
		r.t.Fatal(err)
	}
	table, _, _ := stage.ResultTable(s.Plan, streamID)
	fence := pgtable.Fence{Cluster: cluster.Name, Stream: streamID, Stage: 1}
	if _, err := table.Create(r.t.Context(), r.pool); err != nil {
		r.t.Fatal(err)
	}
	if err := fence.Raise(r.t.Context(), r.pool); err != nil {
		r.t.Fatal(err)
	}
	if err := pgtable.NewWriter(table).Upsert(r.t.Context(), r.pool, fence, 0, []*block.Batch{b}); err != nil {
		r.t.Fatal(err)
	}
}

// call makes a request over the network and returns the answer with its body.
func (r *rig) call(method, path string, body io.Reader, header ...string) (*http.Response, []byte) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, r.http.URL+path, body)
	if err != nil {
		r.t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	answer, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		r.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		r.t.Fatalf("%s %s: %v", method, path, err)
	}
	return answer, text
}

// wantProblem checks that an answer is the problem.
func wantProblem(t *testing.T, answer *http.Response, body []byte, status int, code string) problem.Document {
	t.Helper()
	var d problem.Document
	if err := json.Unmarshal(body, &d); err != nil || answer.Header.Get("Content-Type") != problem.MediaType || answer.StatusCode != status || string(d.Code) != code || d.TraceID == "" {
		t.Errorf("want %d %s, got %d (%s): %s", status, code, answer.StatusCode, answer.Header.Get("Content-Type"), body)
	}
	return d
}
