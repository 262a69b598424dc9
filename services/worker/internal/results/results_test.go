package results

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	api "github.com/pondage/pondage/internal/api/worker"
	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/devstack/testpg"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/invalid"
	"github.com/pondage/pondage/internal/pgtable"
	"github.com/pondage/pondage/internal/plan"
	"github.com/pondage/pondage/internal/problem"
	"github.com/pondage/pondage/internal/spec"
	"github.com/pondage/pondage/services/worker/internal/catalog"
	"github.com/pondage/pondage/services/worker/internal/stage"
)

const sourceSpec = `{"name":"readings","format":"json","kafka":{"topic":"readings"},"table":"device","event_time":"ts","columns":[{"name":"n","type":"int64"},{"name":"x","type":"float64"},{"name":"s","type":"string"}]}`

// streams is a Streams of one stream.
type streams struct{ stream *catalog.Stream }

func (s streams) Stream(_ context.Context, name string) (*catalog.Stream, error) {
	if name != s.stream.Name {
		return nil, problem.New(problem.CodeStreamUnknown, "there is no stream named %q", name)
	}
	return s.stream, nil
}

func newStream(t *testing.T, id ident.StreamID, extra string) streams {
	t.Helper()
	src, err := spec.ParseSource([]byte(sourceSpec))
	if err != nil {
		t.Fatal(err)
	}
	st, err := spec.ParseStream([]byte(`{"name":"per_minute","source":"readings","partition_by":["tbname"],"window":{"kind":"interval","size":"1m"},
		"select":[{"expr":"tbname","as":"device"},{"expr":"_wstart","as":"window_start"},{"expr":"last(n)","as":"n"},{"expr":"avg(x)","as":"x"},{"expr":"last(s)","as":"s"}]` + extra + `}`))
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Build(src, st, plan.Env{Cluster: "test", VGroups: 8, Zone: time.LoadLocation})
	if err != nil {
		t.Fatal(err)
	}
	return streams{&catalog.Stream{Description: catalog.Description{ID: id}, Name: st.Name, Plan: p}}
}

// database is a Databases of one.
type database struct{ pool *pgxpool.Pool }

func (d database) Postgres(*spec.SecretRef) (*pgxpool.Pool, error) { return d.pool, nil }

func newDatabase(t *testing.T) database {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), testpg.DSN(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return database{pool}
}

func newService(t *testing.T, s streams, d database) *Service {
	t.Helper()
	service := New(s, d)
	t.Cleanup(service.Close)
	return service
}

// write makes the stream's table and fills it.
func (s streams) write(t *testing.T, d database, fill func(b *block.Batch)) {
	t.Helper()
	table, _, ok := stage.ResultTable(s.stream.Plan, s.stream.ID)
	if !ok {
		t.Fatal("the stream has no table")
	}
	if _, err := table.Create(t.Context(), d.pool); err != nil {
		t.Fatal(err)
	}
	fence := pgtable.Fence{Cluster: "test", Stream: s.stream.ID, Stage: 1}
	if err := fence.Raise(t.Context(), d.pool); err != nil {
		t.Fatal(err)
	}
	b := block.NewBatch(table.Columns, 1)
	fill(b)
	if err := pgtable.NewWriter(table).Upsert(t.Context(), d.pool, fence, 0, []*block.Batch{b}); err != nil {
		t.Fatal(err)
	}
}

// four are rows with what is easily lost: digits, nulls, an empty text, separators.
func four(b *block.Batch) {
	for i, r := range []struct {
		device string
		n      int64
		x      float64
		s      string
	}{{"a", 9007199254740993, 1.5, "plain"}, {"b", math.MinInt64, math.NaN(), ""}, {"c", 3, math.Inf(-1), "x, \"y\"\r\nz"}} {
		b.Cols[0].AppendString(r.device)
		b.Cols[1].AppendInt(int64(i) * 60_000)
		b.Cols[2].AppendInt(r.n)
		b.Cols[3].AppendFloat(r.x)
		b.Cols[4].AppendString(r.s)
	}
	b.Cols[0].AppendString("d")
	b.Cols[1].AppendInt(-60_000)
	for _, c := range b.Cols[2:] {
		c.AppendNull()
	}
}

func text(s string) *string { return &s }

func limit(n int32) *int32 { return &n }

func TestFormsOfAResult(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s := newStream(t, 7, "")
	s.write(t, d, four)
	service := newService(t, s, d)
	lines := []string{
		`{"device":"a","window_start":"1970-01-01T00:00:00.000Z","n":"9007199254740993","x":1.5,"s":"plain"}`,
		`{"device":"b","window_start":"1970-01-01T00:01:00.000Z","n":"-9223372036854775808","x":"NaN","s":""}`,
		`{"device":"c","window_start":"1970-01-01T00:02:00.000Z","n":"3","x":"-Infinity","s":"x, \"y\"\r\nz"}`,
		`{"device":"d","window_start":"1969-12-31T23:59:00.000Z","n":null,"x":null,"s":null}`,
	}
	page, err := service.Page(t.Context(), "per_minute", api.GetResultsParams{})
	if err != nil || len(page.Items) != 4 || page.NextCursor != nil {
		t.Fatalf("%+v, %v", page, err)
	}
	for i, item := range page.Items {
		if string(item) != lines[i] {
			t.Errorf("row %d: %s", i, item)
		}
	}
	var out bytes.Buffer
	if err := service.NDJSON(t.Context(), "per_minute", api.GetResultsParams{}, &out); err != nil || out.String() != strings.Join(lines, "\n")+"\n" {
		t.Errorf("%v:\n%s", err, &out)
	}
	out.Reset()
	if err := service.CSV(t.Context(), "per_minute", api.GetResultsParams{Limit: limit(4)}, &out); err != nil {
		t.Fatal(err)
	}
	want := "device,window_start,n,x,s\r\n" +
		"a,1970-01-01T00:00:00.000Z,9007199254740993,1.5,plain\r\n" +
		"b,1970-01-01T00:01:00.000Z,-9223372036854775808,NaN,\"\"\r\n" +
		"c,1970-01-01T00:02:00.000Z,3,-Infinity,\"x, \"\"y\"\"\r\nz\"\r\n" +
		"d,1969-12-31T23:59:00.000Z,,,\r\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &out, want)
	}
	if rows, err := csv.NewReader(strings.NewReader(out.String())).ReadAll(); err != nil || len(rows) != 5 {
		t.Errorf("another reader: %d rows, %v", len(rows), err)
	}
}

func TestPagesFollowEachOther(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s := newStream(t, 7, "")
	s.write(t, d, four)
	service := newService(t, s, d)
	p := api.GetResultsParams{Order: text("window_start desc, device"), Limit: limit(3)}
	first, err := service.Page(t.Context(), "per_minute", p)
	if err != nil || len(first.Items) != 3 || first.NextCursor == nil {
		t.Fatalf("%+v, %v", first, err)
	}
	p.Cursor = first.NextCursor
	second, err := service.Page(t.Context(), "per_minute", p)
	if err != nil || len(second.Items) != 1 || second.NextCursor != nil || !strings.Contains(string(second.Items[0]), `"d"`) {
		t.Fatalf("%+v, %v", second, err)
	}
	p.Order = text("window_start")
	if _, err := service.Page(t.Context(), "per_minute", p); codeOf(err) != "bad_cursor" {
		t.Errorf("under another order: %v", err)
	}
	p.Order, p.Cursor = text("window_start desc, device"), text(strings.SplitN(*p.Cursor, ".", 2)[0]+".WyJ4IiwieSJd") // ["x","y"]
	if _, err := service.Page(t.Context(), "per_minute", p); codeOf(err) != "bad_cursor" {
		t.Errorf("a forged one: %v", err)
	}
	if err := service.NDJSON(t.Context(), "per_minute", p, io.Discard); codeOf(err) != "bad_cursor" {
		t.Errorf("in a stream: %v", err)
	}
}

// codeOf is the code that a client sees.
func codeOf(err error) string {
	if err == nil {
		return ""
	}
	return string(problem.From(err).Code)
}

func TestQuestionsThatCannotBeAnsweredAreTheClients(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s := newStream(t, 7, "")
	s.write(t, d, four)
	service := newService(t, s, d)
	for _, c := range []struct{ filter, order, code, pointer string }{
		{"n >", "", "syntax", "/filter"}, {"nn > 1", "", "unknown_column", "/filter"}, {"n + 1", "", "type_clash", "/filter"}, {"s > 1", "", "type_clash", "/filter"},
		// T61: a time without a zone, one that does not exist, one with an impossible zone.
		{"window_start > '2026-07-28T08:00:00'", "", "bad_literal", "/filter"}, {"window_start > '2026-02-30T00:00:00Z'", "", "bad_literal", "/filter"},
		{"window_start > '2026-07-28T08:00:00+25:00'", "", "bad_literal", "/filter"},
		{"length(s) = 1", "", "unsupported_filter", "/filter"}, {"n + 9223372036854775807 > 0", "", "unsupported_filter", "/filter"},
		{"", "nn", "unknown_column", "/order"}, {"", "n up", "invalid_value", "/order"}, {"", "n,,x", "invalid_value", "/order"}, {"", "n, n desc", "invalid_value", "/order"},
		{"", `"n`, "invalid_value", "/order"},
	} {
		p := api.GetResultsParams{}
		if c.filter != "" {
			p.Filter = &c.filter
		}
		if c.order != "" {
			p.Order = &c.order
		}
		_, err := service.Page(t.Context(), "per_minute", p)
		var faults *invalid.Error
		doc := problem.From(err)
		if !errors.As(err, &faults) || faults.Details[0].Code != c.code || faults.Details[0].Pointer != c.pointer || doc.Status != 400 {
			t.Errorf("%q %q: %v", c.filter, c.order, err)
		}
	}
	if _, err := service.Page(t.Context(), "nosuch", api.GetResultsParams{}); codeOf(err) != "stream_unknown" {
		t.Errorf("%v", err)
	}
}

func TestOrders(t *testing.T) {
	t.Parallel()
	columns := block.Schema{{Name: "n", Type: block.Int64}, {Name: `a, "b"`, Type: block.String}, {Name: "N", Type: block.Int64}}
	for text, want := range map[string]string{
		"n": "[{n false}]", " N  DESC ,\"a, \"\"b\"\"\" asc": `[{n true} {a, "b" false}]`, `"N" desc`: "[{N true}]",
	} {
		if got, err := parseOrder(text, columns); err != nil || fmt.Sprint(got) != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}

func TestAFilterSelects(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s := newStream(t, 7, "")
	s.write(t, d, four)
	page, err := newService(t, s, d).Page(t.Context(), "per_minute", api.GetResultsParams{Filter: text("n = 9007199254740993 OR n IS NULL"), Order: text("device desc")})
	if err != nil || len(page.Items) != 2 || !strings.Contains(string(page.Items[1]), "9007199254740993") {
		t.Errorf("%s, %v", page.Items, err)
	}
}

func TestAStreamThatHasWrittenNothingHasAnEmptyResult(t *testing.T) {
	t.Parallel()
	service := newService(t, newStream(t, 7, ""), newDatabase(t))
	page, err := service.Page(t.Context(), "per_minute", api.GetResultsParams{})
	if err != nil || page.Items == nil || len(page.Items) != 0 {
		t.Errorf("%+v, %v", page, err)
	}
	var out bytes.Buffer
	if err := service.CSV(t.Context(), "per_minute", api.GetResultsParams{}, &out); err != nil || out.String() != "device,window_start,n,x,s\r\n" {
		t.Errorf("%q, %v", &out, err)
	}
}

func TestResultsThatAreOffSaySo(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	if _, err := newService(t, newStream(t, 7, `,"results":{"retain":"0s"}`), d).Page(t.Context(), "per_minute", api.GetResultsParams{}); codeOf(err) != "results_off" {
		t.Errorf("%v", err)
	}
	// With a Postgres output they are that.
	if _, err := newService(t, newStream(t, 7, `,"results":{"retain":"0s"},"outputs":{"postgres":{"table":"t"}}`), d).Page(t.Context(), "per_minute", api.GetResultsParams{}); err != nil {
		t.Errorf("%v", err)
	}
}

func TestADatabaseThatDoesNotAnswerIsSaid(t *testing.T) {
	t.Parallel()
	pool, err := pgxpool.New(t.Context(), "postgres://127.0.0.1:1/x")
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	var out bytes.Buffer
	err = newService(t, newStream(t, 7, ""), database{pool}).CSV(t.Context(), "per_minute", api.GetResultsParams{}, &out)
	if doc := problem.From(err); doc.Code != "sink_unreachable" || !doc.Retryable || out.Len() != 0 {
		t.Errorf("%v: %+v, written %q", err, doc, &out)
	}
}

func TestReadersDoNotTakeTheSinksConnections(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s := newStream(t, 7, "")
	s.write(t, d, four)
	service := newService(t, s, d)
	pool, err := service.reader(nil)
	if err != nil {
		t.Fatal(err)
	}
	for range maxReaders {
		conn, err := pool.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Release()
	}
	if d.pool.Stat().AcquiredConns() != 0 {
		t.Error("readers hold connections of the sinks")
	}
	service.wait = 10 * time.Millisecond
	if _, err := service.Page(t.Context(), "per_minute", api.GetResultsParams{}); codeOf(err) != "overloaded" {
		t.Errorf("all readers busy: %v", err)
	}
}

func TestAReaderThatGoesAwayEndsTheAnswer(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s := newStream(t, 7, "")
	s.write(t, d, four)
	gone := errors.New("gone")
	err := newService(t, s, d).NDJSON(t.Context(), "per_minute", api.GetResultsParams{}, goneWriter{gone})
	if !errors.Is(err, gone) {
		t.Errorf("%v", err)
	}
}

type goneWriter struct{ err error }

func (w goneWriter) Write([]byte) (int, error) { return 0, w.err }

func TestTheTableOfADroppedStreamGoes(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s := newStream(t, 7, "")
	s.write(t, d, four)
	other := newStream(t, 8, "")
	other.write(t, d, four)
	j := NewJanitor(d, slog.New(slog.DiscardHandler))
	if left := j.drop(t.Context(), []ident.StreamID{7, 99}); len(left) != 0 {
		t.Errorf("left %v", left)
	}
	for id, want := range map[ident.StreamID]int{7: 0, 8: 4} {
		page, err := newService(t, newStream(t, id, ""), d).Page(t.Context(), "per_minute", api.GetResultsParams{})
		if err != nil || len(page.Items) != want {
			t.Errorf("stream %d: %d rows, %v", id, len(page.Items), err)
		}
	}
}

func TestDroppedStreamsWaitForTheDatabase(t *testing.T) {
	t.Parallel()
	pool, err := pgxpool.New(t.Context(), "postgres://127.0.0.1:1/x")
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	j := NewJanitor(database{pool}, slog.New(slog.DiscardHandler))
	if left := j.drop(t.Context(), []ident.StreamID{7, 8}); len(left) != 2 {
		t.Errorf("left %v", left)
	}
	for range maxDropped + 1 {
		j.Dropped(1) // never blocks
	}
}

func TestExpiredRowsGo(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s := newStream(t, 7, `,"results":{"retain":"1h"}`)
	s.write(t, d, four)
	if _, err := d.pool.Exec(t.Context(), "UPDATE pondage.results_7 SET _written = now() - interval '2 hours' WHERE device < 'c'"); err != nil {
		t.Fatal(err)
	}
	NewJanitor(d, slog.New(slog.DiscardHandler)).expire(t.Context())
	page, err := newService(t, s, d).Page(t.Context(), "per_minute", api.GetResultsParams{})
	if err != nil || len(page.Items) != 2 {
		t.Errorf("%s, %v", page.Items, err)
	}
}
