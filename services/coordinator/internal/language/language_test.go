package language

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/invalid"
	"github.com/pondage/pondage/internal/plan"
)

var pondage = Language{Env: plan.Env{Cluster: "pondage", VGroups: 8, Zone: time.LoadLocation}}

const source = `{"name":"flights","format":"json","kafka":{"topic":"flights"},"table":"origin","event_time":"ts","columns":[{"name":"origin","type":"string"},{"name":"delay","type":"int64"}]}`

func TestAStatementIsKnownByWhatItDoes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Statement{
		"DROP SOURCE flights": {Action: Drop, Kind: KindSource, Name: "flights"},
		"drop stream s":       {Action: Drop, Kind: KindStream, Name: "s"},
		"SHOW SOURCES":        {Action: Show, Kind: KindSource},
		"DESCRIBE x":          {Action: Describe, Kind: KindAny, Name: "x"},
		"CREATE STREAM s AS SELECT delay FROM flights": {Action: Create, Kind: KindStream, Name: "s", Source: "flights"},
		"EXPLAIN SELECT delay FROM flights":            {Action: Explain, Kind: KindStream, Source: "flights"},
	} {
		got, err := pondage.Parse(text)
		if err != nil || got.Action != want.Action || got.Kind != want.Kind || (want.Name != "" && got.Name != want.Name) || got.Source != want.Source {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
}

func TestFaultsFoundInTheDocumentStandInTheStatement(t *testing.T) {
	t.Parallel()
	text := "CREATE STREAM s AS\nSELECT delay, dely + 1 FROM flights"
	st, err := pondage.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	_, err = pondage.Understand(st, []byte(source))
	var faults *invalid.Error
	if !errors.As(err, &faults) || faults.Details[0].Span == nil || !strings.HasPrefix(text[faults.Details[0].Span.Offset:], "dely") {
		t.Errorf("%+v", err)
	}
}

func TestAStreamUnderstood(t *testing.T) {
	t.Parallel()
	st, err := pondage.Parse("CREATE STREAM s INTO KAFKA 'out' AS SELECT tbname AS origin, count(*) AS n FROM flights PARTITION BY tbname INTERVAL(1h)")
	if err != nil {
		t.Fatal(err)
	}
	s, err := pondage.Understand(st, []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	if key := strings.Join(s.NaturalKey(), " "); key != "origin _wstart" {
		t.Errorf("natural key %q", key)
	}
	if _, ok := s.Postgres(); ok {
		t.Error("a Postgres target that nobody asked for")
	}
	if k, ok := s.Kafka(); !ok || k != (Target{"out", "at_least_once"}) {
		t.Errorf("Kafka target %+v", k)
	}
	g := s.Graph(ident.StreamID(7), 4)
	if len(g.Edges) != 1 || len(g.Tasks) != 4+8 {
		t.Errorf("graph: %d edges, %d tasks", len(g.Edges), len(g.Tasks))
	}
}

func TestAProposalNamesWhatItCannotKnow(t *testing.T) {
	t.Parallel()
	doc, notes, err := pondage.Infer([]byte(`{"t_s":1785225600,"device":"a","v":1.5}`))
	if err != nil || !strings.Contains(strings.Join(notes, "\n"), "kafka.topic") || !strings.Contains(string(doc), `"device"`) {
		t.Errorf("%s, %q, %v", doc, notes, err)
	}
	var faults *invalid.Error
	if _, _, err := pondage.Infer([]byte("no record")); !errors.As(err, &faults) || faults.Details[0].Pointer != "/sample" {
		t.Errorf("%v", err)
	}
}
