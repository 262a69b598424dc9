package landed_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pondage/pondage/internal/batch"
	"github.com/pondage/pondage/internal/batch/landed"
	"github.com/pondage/pondage/internal/devstack/testkafka"
	"github.com/pondage/pondage/internal/devstack/testpg"
	"github.com/pondage/pondage/internal/kafka"
)

var columns = []batch.Column{
	{Name: "k", Type: batch.TypeText, Key: true}, {Name: "at", Type: batch.TypeTime, Key: true}, {Name: "n"}, {Name: "x", Type: batch.TypeFloat},
}

// rows are what every output of these tests holds, in the form of INTERFACE §3.
var rows = []string{
	`{"k":"a","at":"2024-03-31T01:00:00.250Z","n":"9223372036854775808","x":0.1,"other":1}`,
	`{"k":"a","at":"1969-12-31T23:59:59.999Z","n":null,"x":null,"other":2}`,
}

// holds compares an output with rows.
func holds(t *testing.T, got *batch.Rows, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	want := batch.NewRows(columns)
	for _, r := range rows {
		if err := want.AddJSON([]byte(r)); err != nil {
			t.Fatal(err)
		}
	}
	if c := batch.Compare(want, batch.Output{Name: "output", Rows: got}); c.Different > 0 || c.Equal != len(rows) {
		t.Errorf("%d equal, %d different: %v", c.Equal, c.Different, c.First)
	}
}

func TestPostgresWhateverTheSessionsZone(t *testing.T) {
	t.Parallel()
	dsn := testpg.DSN(t)
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for _, statement := range []string{
		`CREATE TABLE "results" (k text, at timestamptz, n numeric, x double precision, _cp bigint)`,
		`INSERT INTO results VALUES ('a', '2024-03-31T01:00:00.25Z', 9223372036854775808, 0.1, 0), ('a', '1969-12-31T23:59:59.999Z', NULL, NULL, 0)`,
		`ALTER ROLE CURRENT_USER SET TimeZone = 'Asia/Tokyo'`,
	} {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	got, err := landed.Postgres(t.Context(), dsn, "results", columns)
	holds(t, got, err)
}

// TestKafkaTakesTheLatestOfAKey: a tombstone deletes, a later value replaces.
func TestKafkaTakesTheLatestOfAKey(t *testing.T) {
	t.Parallel()
	brokers, topic := testkafka.Start(t, 1), testkafka.Topic(t)
	client, err := kafka.Open(kafka.Config{Brokers: brokers})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := client.CreateTopic(t.Context(), kafka.TopicSpec{Name: topic, Partitions: 2, ReplicationFactor: 1}); err != nil {
		t.Fatal(err)
	}
	producer := kafka.NewProducer(client)
	defer producer.Close()
	q, err := producer.Open(t.Context(), topic, 1, kafka.QueueOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range [][2]string{{"1", rows[1]}, {"2", rows[1]}, {"3", rows[0]}, {"1", rows[0]}, {"3", ""}} {
		message := kafka.Message{Key: []byte(m[0])}
		if m[1] != "" {
			message.Value = []byte(m[1])
		}
		if err := q.Send(t.Context(), message); err != nil {
			t.Fatal(err)
		}
	}
	if err := q.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, err := landed.Kafka(t.Context(), brokers, topic, columns)
	holds(t, got, err)
}

// TestHTTPReadsAllLinesAndNoError: what is no result is none.
func TestHTTPReadsAllLinesAndNoError(t *testing.T) {
	t.Parallel()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/streams/s/results" || r.Header.Get("Accept") != "application/x-ndjson" {
			http.Error(w, `{"code":"stream_unknown"}`, http.StatusNotFound)
			return
		}
		w.Write([]byte(rows[0] + "\n" + rows[1] + "\n"))
	}))
	defer api.Close()
	got, err := landed.HTTP(t.Context(), api.Client(), api.URL, "s", columns)
	holds(t, got, err)
	if _, err := landed.HTTP(t.Context(), api.Client(), api.URL, "other", columns); err == nil {
		t.Error("an error answer is read as a result")
	}
}
