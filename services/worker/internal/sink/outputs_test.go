package sink

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/devstack/testkafka"
	"github.com/pondage/pondage/internal/devstack/testpg"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/kafka"
	"github.com/pondage/pondage/internal/pgtable"
)

var columns = block.Schema{{Name: "k", Type: block.String}, {Name: "n", Type: block.Int64}}

// rowsOf are results with the keys; their n counts from first.
func rowsOf(first int, keys ...string) *block.Batch {
	b := block.NewBatch(columns, len(keys))
	for i, k := range keys {
		b.Cols[0].AppendString(k)
		b.Cols[1].AppendInt(int64(first + i))
	}
	return b
}

// rejects gathers what an output will never take.
type rejects struct {
	mu   sync.Mutex
	rows []string
	err  error // of the next rejection
}

func (r *rejects) take(x Rejected) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.err; err != nil {
		r.err = nil
		return err
	}
	r.rows = append(r.rows, fmt.Sprintf("%d %s", x.Rows.Cols[1].Int[x.Row], x.Reason))
	return nil
}

// memory counts what outputs hold.
type memory struct {
	mu   sync.Mutex
	held int64
}

func (m *memory) TryTake(n int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held += n
	return true
}

func (m *memory) Changed() <-chan struct{} { return nil }

func (m *memory) Give(n int64) { m.TryTake(-n) }

func (m *memory) left() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.held
}

func envOf(m *memory, r *rejects) Env {
	e := env(m)
	e.Reject = r.take
	return e
}

func newPool(t *testing.T) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), testpg.DSN(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

func target() *pgtable.Table {
	return &pgtable.Table{Name: "target", Columns: columns, Key: []string{"k"}}
}

func fenceOf(stage ident.Stage) pgtable.Fence {
	return pgtable.Fence{Cluster: "test", Stream: 7, VGroup: 1, Stage: stage}
}

// table reads the target as "k=n", in order.
func table(t *testing.T, pool *pgxpool.Pool) string {
	t.Helper()
	rows, err := pool.Query(t.Context(), "SELECT k || '=' || n FROM target ORDER BY k")
	if err != nil {
		t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, " ")
}

func TestPostgresMakesItsTableAndKeepsTheLastOfEachKey(t *testing.T) {
	t.Parallel()
	pool, m := newPool(t), &memory{}
	o := NewPostgres(pool, target(), fenceOf(1), nil, envOf(m, &rejects{}))
	defer o.Close()
	for i, b := range []*block.Batch{rowsOf(1, "a", "b", "a"), rowsOf(0), rowsOf(10, "b", "c")} {
		if err := o.Write(t.Context(), b); err != nil {
			t.Fatalf("batch %d: %v", i, err)
		}
	}
	if err := o.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := table(t, pool); got != "a=3 b=10 c=11" {
		t.Errorf("table: %s", got)
	}
	if s := o.Status(); s.Problem != "" || s.Kind != "postgres" || m.left() != 0 {
		t.Errorf("%+v, %d bytes held", s, m.left())
	}
}

func TestT17_OneRowThatPostgresRefusesStopsNoOther(t *testing.T) {
	t.Parallel()
	pool, r, m := newPool(t), &rejects{}, &memory{}
	r.err = errors.New("the dead-letter topic is away") // then all of it is tried again
	o := NewPostgres(pool, target(), fenceOf(1), nil, envOf(m, r))
	defer o.Close()
	keys := []string{"a", "b", "c", "d\x00", "e", "f", "g\x00", "h"}
	if err := errors.Join(o.Write(t.Context(), rowsOf(0, keys...)), o.Write(t.Context(), rowsOf(100, "i")), o.Flush(t.Context())); err != nil {
		t.Fatal(err)
	}
	if got := table(t, pool); got != "a=0 b=1 c=2 e=4 f=5 h=7 i=100" {
		t.Errorf("table: %s", got)
	}
	if len(r.rows) != 2 || !strings.HasPrefix(r.rows[0], "3 ") || !strings.HasPrefix(r.rows[1], "6 ") || !strings.Contains(r.rows[0], "SQLSTATE 22") {
		t.Errorf("rejected: %q", r.rows)
	}
	if m.left() != 0 {
		t.Errorf("%d bytes held", m.left())
	}
}

func TestT21_AnOutputOfAnOldStageStops(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	old := NewPostgres(pool, target(), fenceOf(1), nil, envOf(&memory{}, &rejects{}))
	defer old.Close()
	if err := errors.Join(old.Write(t.Context(), rowsOf(1, "a")), old.Flush(t.Context())); err != nil {
		t.Fatal(err)
	}
	next := NewPostgres(pool, target(), fenceOf(2), nil, envOf(&memory{}, &rejects{}))
	defer next.Close()
	if err := errors.Join(next.Write(t.Context(), rowsOf(2, "a")), next.Flush(t.Context())); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(old.Write(t.Context(), rowsOf(3, "a")), old.Flush(t.Context())); !errors.Is(err, pgtable.ErrFenced) {
		t.Errorf("the old one: %v", err)
	}
	if err := old.Write(t.Context(), rowsOf(4, "a")); !errors.Is(err, pgtable.ErrFenced) {
		t.Errorf("and again: %v", err)
	}
	if got := table(t, pool); got != "a=2" {
		t.Errorf("table: %s", got)
	}
}

// A stream whose WHERE keeps nothing has a table to look into, and its stage is a fence before it has results.
func TestAnOutputWithoutRowsHasItsTableAndItsFence(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	old := NewPostgres(pool, target(), fenceOf(1), nil, envOf(&memory{}, &rejects{}))
	defer old.Close()
	if err := old.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := table(t, pool); got != "" {
		t.Errorf("table: %s", got)
	}
	next := NewPostgres(pool, target(), fenceOf(2), nil, envOf(&memory{}, &rejects{}))
	defer next.Close()
	if err := next.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(old.Write(t.Context(), rowsOf(1, "a")), old.Flush(t.Context())); !errors.Is(err, pgtable.ErrFenced) {
		t.Errorf("the old one: %v", err)
	}
	if got := table(t, pool); got != "" {
		t.Errorf("table: %s", got)
	}
}

func TestATargetOfAnotherShapeStopsTheOutput(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	if _, err := pool.Exec(t.Context(), "CREATE TABLE target (k text, n text)"); err != nil {
		t.Fatal(err)
	}
	o := NewPostgres(pool, target(), fenceOf(1), nil, envOf(&memory{}, &rejects{}))
	defer o.Close()
	if err := errors.Join(o.Write(t.Context(), rowsOf(1, "a")), o.Flush(t.Context())); !errors.Is(err, pgtable.ErrMismatch) || !strings.Contains(err.Error(), `"n" is text`) {
		t.Errorf("%v", err)
	}
}

// away is a database that cannot be reached at first.
type away struct {
	*pgxpool.Pool
	mu    sync.Mutex
	fails int
	asked chan struct{}
}

func (a *away) Begin(ctx context.Context) (pgx.Tx, error) {
	a.mu.Lock()
	a.fails--
	down := a.fails >= 0
	a.mu.Unlock()
	if down {
		select {
		case a.asked <- struct{}{}:
		default:
		}
		return nil, errors.New("connection refused")
	}
	return a.Pool.Begin(ctx)
}

func TestADatabaseThatIsAwayIsShownAndWaitedFor(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	db := &away{Pool: pool, fails: 2, asked: make(chan struct{}, 2)}
	o := NewPostgres(db, target(), fenceOf(1), nil, envOf(&memory{}, &rejects{}))
	defer o.Close()
	if err := o.Write(t.Context(), rowsOf(1, "a")); err != nil {
		t.Fatal(err)
	}
	<-db.asked
	<-db.asked // the first failure was noted before the second attempt
	if s := o.Status(); s.Problem == "" || s.Since.IsZero() {
		t.Errorf("while it is away: %+v", s)
	}
	if err := o.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := table(t, pool); got != "a=1" || o.Status().Problem != "" {
		t.Errorf("table: %s, %+v", got, o.Status())
	}
}

// broker is a cluster with one topic.
type broker struct {
	client   *kafka.Client
	producer *kafka.Producer
	fetcher  *kafka.Fetcher
}

func newBroker(t *testing.T, addresses []string) *broker {
	t.Helper()
	client, err := kafka.Open(kafka.Config{Brokers: addresses, DialTimeout: time.Second, RequestTimeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	b := &broker{client, kafka.NewProducer(client), kafka.NewFetcher(client, kafka.FetcherConfig{})}
	t.Cleanup(func() { b.producer.Close(); b.fetcher.Close(); client.Close() })
	return b
}

// open opens the queue of a topic's only partition.
func (b *broker) open(topic string) func(context.Context) (*kafka.Queue, error) {
	return func(ctx context.Context) (*kafka.Queue, error) {
		return b.producer.Open(ctx, topic, 0, kafka.QueueOptions{Mode: kafka.RetryItself})
	}
}

// read returns the first n records as "key value".
func (b *broker) read(t *testing.T, topic string, n int) (out []string) {
	t.Helper()
	chunks := make(chan *kafka.Chunk, 16)
	sub, err := b.fetcher.Subscribe(kafka.SubscribeSpec{Topic: topic, Inbox: kafka.InboxFunc(func(c *kafka.Chunk) bool { chunks <- c; return true })})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	for len(out) < n {
		c := <-chunks
		err := c.Records(func(r *kafka.Record) bool { out = append(out, string(r.Key)+" "+string(r.Value)); return true })
		if err = errors.Join(err, c.Err); err != nil {
			t.Fatal(err)
		}
		c.Release()
	}
	return out
}

func TestKafkaRowsAreKeyedAndInOrder(t *testing.T) {
	t.Parallel()
	b, m := newBroker(t, testkafka.Shared(t)), &memory{}
	topic := testkafka.Topic(t)
	if _, err := b.client.CreateTopic(t.Context(), kafka.TopicSpec{Name: topic, Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	o := NewKafka(b.open(topic), columns, []int{0}, envOf(m, &rejects{}))
	defer o.Close()
	if err := errors.Join(o.Write(t.Context(), rowsOf(9007199254740993, "a", "b")), o.Write(t.Context(), rowsOf(3, "a")), o.Flush(t.Context())); err != nil {
		t.Fatal(err)
	}
	want := []string{`["a"] {"k":"a","n":"9007199254740993"}`, `["b"] {"k":"b","n":"9007199254740994"}`, `["a"] {"k":"a","n":"3"}`}
	if got := b.read(t, topic, 3); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q", got)
	}
	if m.left() != 0 {
		t.Errorf("%d bytes held after the flush", m.left())
	}
}

func TestARowThatIsTooLargeForItsTopicIsSetAside(t *testing.T) {
	t.Parallel()
	b, r, m := newBroker(t, testkafka.Shared(t)), &rejects{}, &memory{}
	topic := testkafka.Topic(t)
	if _, err := b.client.CreateTopic(t.Context(), kafka.TopicSpec{Name: topic, Partitions: 1, Settings: map[string]string{kafka.SettingMaxMessageBytes: "1000"}}); err != nil {
		t.Fatal(err)
	}
	o := NewKafka(b.open(topic), columns, []int{0}, envOf(m, r))
	defer o.Close()
	large := strings.Repeat("x", 2000)
	if err := errors.Join(o.Write(t.Context(), rowsOf(1, "a", large, "b", large)), o.Flush(t.Context())); err != nil {
		t.Fatal(err)
	}
	if got := b.read(t, topic, 2); len(got) != 2 || len(r.rows) != 2 || !strings.Contains(r.rows[0], "record_too_large") || m.left() != 0 {
		t.Errorf("written %q, rejected %q, %d bytes held", got, r.rows, m.left())
	}
}

func TestATopicThatComesLaterIsWaitedFor(t *testing.T) {
	t.Parallel()
	b := newBroker(t, testkafka.Shared(t))
	topic := testkafka.Topic(t)
	asked := make(chan struct{}, 100)
	open := b.open(topic)
	o := NewKafka(func(ctx context.Context) (*kafka.Queue, error) {
		asked <- struct{}{}
		return open(ctx)
	}, columns, []int{0}, envOf(&memory{}, &rejects{}))
	defer o.Close()
	if err := o.Write(t.Context(), rowsOf(1, "a")); err != nil {
		t.Fatal(err)
	}
	<-asked
	<-asked // the first failure was noted before the second attempt
	if s := o.Status(); !strings.Contains(s.Problem, "topic_unknown") {
		t.Errorf("while it is missing: %+v", s)
	}
	if _, err := b.client.CreateTopic(t.Context(), kafka.TopicSpec{Name: topic, Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	if err := o.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := b.read(t, topic, 1); got[0] != `["a"] {"k":"a","n":"1"}` {
		t.Errorf("got %q", got)
	}
}

func TestAnOutputThatIsClosedLetsGoOfEverything(t *testing.T) {
	t.Parallel()
	b := newBroker(t, []string{"127.0.0.1:1"})
	o := NewKafka(b.open("t"), columns, []int{0}, envOf(&memory{}, &rejects{}))
	if err := o.Write(t.Context(), rowsOf(1, "a")); err != nil {
		t.Fatal(err)
	}
	flushed := make(chan error, 1)
	go func() { flushed <- o.Flush(t.Context()) }()
	o.Close()
	if err := <-flushed; !errors.Is(err, ErrClosed) {
		t.Errorf("a flush meanwhile: %v", err)
	}
	if err := o.Write(t.Context(), rowsOf(1, "a")); !errors.Is(err, ErrClosed) {
		t.Errorf("a write afterwards: %v", err)
	}
}
