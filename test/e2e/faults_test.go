package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/pondage/pondage/internal/api/coordinator"
)

// TestAnswersByProcessesApart: the same answers from a coordinator and two workers, with edges between them.
func TestAnswersByProcessesApart(t *testing.T) {
	t.Parallel()
	a := processes(t)
	for _, w := range answers {
		if w.dataset == "flights-nyc" { // the largest file: once is enough
			continue
		}
		t.Run(strings.TrimSuffix(filepath.Base(w.stream), ".yaml"), func(t *testing.T) {
			a.answers(t, w.dataset, w.stream, w.answer)
		})
	}
}

// spread makes records of many tables, so that both workers have groups, and the results by counted windows of the tables.
func spread(tables int, tsMs, v int64) (lines []string) {
	for i := range tables {
		lines = append(lines, record(fmt.Sprintf("t%d", i), tsMs, v))
	}
	return lines
}

// spreadResults are the results of rounds of spread with v = 1 in the first window.
func spreadResults(tables, rounds int) (lines []string) {
	for i := range tables {
		lines = append(lines, fmt.Sprintf(`{"k":"t%d","at":"1970-01-01T00:00:00.000Z","n":"%d","s":"%d"}`, i, rounds, rounds))
	}
	return lines
}

const manyTables = 40

// many makes a stream over a source with four partitions, whose tasks are spread over both workers.
func (c *cluster) many(t *testing.T) (name, source string) {
	t.Helper()
	source = c.source(t, 4, nil)
	name = c.name("st")
	c.create(t, count(name, source, object{"trigger": "at_once", "outputs": object{"postgres": object{"table": name}, "kafka": object{"topic": name}}}))
	return name, source
}

// TestKilledWorkerComesBack: the stream is reset when the node is back, and its results end up equal.
func TestKilledWorkerComesBack(t *testing.T) {
	t.Parallel()
	a := processes(t)
	name, src := a.many(t)
	for p := range 4 {
		a.put(t, src, p, spread(manyTables, 1000, 1)...)
	}
	a.settles(t, name, spreadResults(manyTables, 4)...)
	before := a.stream(t, name)
	a.workers[1].kill(t)
	for p := range 4 {
		a.put(t, src, p, spread(manyTables, 2000, 1)...)
	}
	a.workers[1].start(t)
	s := a.until(t, name, "running in a new stage", func(s coordinator.Stream) string {
		if s.Stage == before.Stage || s.State != "running" {
			return describe(s)
		}
		return ""
	})
	a.settles(t, name, spreadResults(manyTables, 8)...)
	a.conserves(t, name)
	if s.Stage < before.Stage {
		t.Errorf("stage %d after stage %d", s.Stage, before.Stage)
	}
}

// TestKilledCoordinatorComesBack: the data plane does not notice; the stage stays.
func TestKilledCoordinatorComesBack(t *testing.T) {
	t.Parallel()
	a := processes(t)
	name, src := a.many(t)
	a.put(t, src, 0, spread(manyTables, 1000, 1)...)
	a.settles(t, name, spreadResults(manyTables, 1)...)
	before := a.stream(t, name)
	columns := a.columns(t, name)
	a.coordinator.kill(t)
	a.put(t, src, 1, spread(manyTables, 2000, 1)...)
	// While nobody leads, results go on to Postgres.
	want := rowsOf(t, columns, spreadResults(manyTables, 2)...)
	eventually(t, patience, "results without a coordinator", func() string {
		got := a.query(t, "SELECT k, n::text FROM "+name+" WHERE n = 2")
		if len(got) != want.Len() {
			return fmt.Sprintf("%d of %d tables", len(got), want.Len())
		}
		return ""
	})
	a.coordinator.start(t)
	a.put(t, src, 2, spread(manyTables, 3000, 1)...)
	a.until(t, name, "running, heard from again", func(s coordinator.Stream) string {
		if s.State != "running" || s.Counters.Accepted != 3*manyTables {
			return describe(s)
		}
		return ""
	})
	a.settles(t, name, spreadResults(manyTables, 3)...)
	if s := a.stream(t, name); s.Stage != before.Stage || s.Restarts != before.Restarts {
		t.Errorf("stage %d and %d restarts, want %d and %d", s.Stage, s.Restarts, before.Stage, before.Restarts)
	}
}

// TestPostgresIsDownForAWhile: results wait, nothing is reset, and everything lands once it is back.
func TestPostgresIsDownForAWhile(t *testing.T) {
	t.Parallel()
	a := processes(t)
	name, src := a.many(t)
	a.put(t, src, 0, spread(manyTables, 1000, 1)...)
	a.settles(t, name, spreadResults(manyTables, 1)...)
	before := a.stream(t, name)
	dsn, err := url.Parse(a.postgres.DSN())
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(dsn.Port())
	if err != nil {
		t.Fatal(err)
	}
	if err := a.postgres.Stop(); err != nil {
		t.Fatal(err)
	}
	a.put(t, src, 1, spread(manyTables, 2000, 1)...)
	eventually(t, patience, "the coordinator is not ready", func() string {
		got, err := a.request(t.Context(), http.MethodGet, "/readyz", nil)
		if err != nil || got.status != http.StatusServiceUnavailable {
			return fmt.Sprint(got, err)
		}
		return ""
	})
	a.startPostgres(t, port)
	a.until(t, name, "the API answers", func(coordinator.Stream) string { return "" })
	a.settles(t, name, spreadResults(manyTables, 2)...)
	if s := a.until(t, name, "running", func(s coordinator.Stream) string {
		if s.State != "running" {
			return describe(s)
		}
		return ""
	}); s.Stage != before.Stage {
		t.Errorf("stage %d, want %d", s.Stage, before.Stage)
	}
}
