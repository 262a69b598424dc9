package plan

import (
	"fmt"
	"testing"

	"github.com/pondage/pondage/internal/spec"
	"github.com/pondage/pondage/internal/sql"
)

const flightsSource = `{"name": "flights", "format": "json", "kafka": {"topic": "in"}, "table": "origin", "event_time": "ts",
 "columns": [{"name": "delay", "type": "int64"}, {"name": "distance", "type": "int64"}, {"name": "carrier", "type": "string"}]}`

func mustSource(t *testing.T, text string) *spec.Source {
	t.Helper()
	src, err := spec.ParseSource([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// mustBuild builds a stream over flightsSource from YAML.
func mustBuild(t *testing.T, text string) *Plan {
	t.Helper()
	st, err := spec.ParseStream([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	p, err := Build(mustSource(t, flightsSource), st, testEnv())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// mustBuildSQL builds a stream over flightsSource from SQL.
func mustBuildSQL(t *testing.T, text string) *Plan {
	t.Helper()
	statement, err := sql.ParseStatement(text)
	if err != nil {
		t.Fatal(err)
	}
	o, err := spec.FromSQL(text, statement)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Build(mustSource(t, flightsSource), o.(*spec.Stream), testEnv())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const flights1hYAML = `
kind: stream
name: flights_1h
source: flights
start: earliest
until: latest
select:
  - {expr: tbname, as: origin}
  - {expr: _wstart, as: window_start}
  - {expr: _wend, as: window_end}
  - {expr: count(*), as: count}
  - {expr: avg(delay), as: avg_delay}
  - {expr: min(delay), as: min_delay}
  - {expr: max(delay), as: max_delay}
  - {expr: sum(distance), as: sum_distance}
partition_by: [tbname]
window: {kind: interval, size: 1h}
trigger: window_close
watermark: 2h
outputs: {postgres: {table: flights_1h}, kafka: {topic: flights_1h}}
`

const flights1hSQL = `CREATE STREAM flights_1h INTO POSTGRES flights_1h, KAFKA 'flights_1h'
WITH (start = 'earliest', until = 'latest')
AS SELECT tbname AS origin, _wstart AS window_start, _wend AS window_end, count(*) AS count, avg(delay) AS avg_delay,
          min(delay) AS min_delay, max(delay) AS max_delay, sum(distance) AS sum_distance
FROM flights PARTITION BY tbname INTERVAL(1h) WATERMARK 2h TRIGGER WINDOW_CLOSE;`

func TestOneStreamInTwoLanguagesIsOnePlan(t *testing.T) {
	t.Parallel()
	yaml, sql := mustBuild(t, flights1hYAML), mustBuildSQL(t, flights1hSQL)
	if yaml.Fingerprint() != sql.Fingerprint() {
		t.Errorf("fingerprints differ:\n%s\n%s", yaml.Explain(), sql.Explain())
	}
	if yaml.Explain() != sql.Explain() {
		t.Errorf("plans differ:\n%s\n%s", yaml.Explain(), sql.Explain())
	}
}

// TestAPlanIsAFunctionOfTheSpecs: a worker that builds from the stored specs has the coordinator's plan.
func TestAPlanIsAFunctionOfTheSpecs(t *testing.T) {
	t.Parallel()
	first := mustBuildSQL(t, flights1hSQL)
	again := mustBuild(t, string(first.Stream.Canonical()))
	if first.Fingerprint() != again.Fingerprint() {
		t.Errorf("fingerprints differ:\n%s\n%s", first.Explain(), again.Explain())
	}
}

func TestTheFingerprintIsThatOfTheQuery(t *testing.T) {
	t.Parallel()
	base := mustBuildSQL(t, "CREATE STREAM s AS SELECT count(*), avg(delay) AS a FROM flights WHERE delay > 1 PARTITION BY tbname INTERVAL(1h)").Fingerprint()
	for _, same := range []string{
		"create stream s as select COUNT( * ) AS \"count(*)\", avg(DELAY) a from flights where (delay)>1 partition by TBNAME interval(1h) /* by hour */",
		"CREATE STREAM s INTO KAFKA 'x' WITH (checkpoint_interval = 1s, max_restarts = 1) AS SELECT count(*), avg(delay) AS a FROM flights WHERE delay > 1 PARTITION BY tbname INTERVAL(1h) WATERMARK 2s TRIGGER WINDOW_CLOSE",
	} {
		if mustBuildSQL(t, same).Fingerprint() != base {
			t.Errorf("another fingerprint: %s", same)
		}
	}
	for _, other := range []string{
		"CREATE STREAM s AS SELECT count(*), avg(delay) AS b FROM flights WHERE delay > 1 PARTITION BY tbname INTERVAL(1h)",
		"CREATE STREAM s AS SELECT count(*), avg(delay) AS a FROM flights WHERE delay > 2 PARTITION BY tbname INTERVAL(1h)",
		"CREATE STREAM s AS SELECT count(*), avg(delay) AS a FROM flights WHERE delay > 1 PARTITION BY carrier INTERVAL(1h)",
		"CREATE STREAM s AS SELECT count(*), avg(delay) AS a FROM flights WHERE delay > 1 PARTITION BY tbname INTERVAL(1h) TIMEZONE 'Europe/Berlin'",
		"CREATE STREAM s AS SELECT count(*), avg(delay) AS a FROM flights WHERE delay > 1 PARTITION BY tbname INTERVAL(1h) WATERMARK 3s",
		"CREATE STREAM s AS SELECT count(*), avg(delay) AS a FROM flights WHERE delay > 1 PARTITION BY tbname INTERVAL(1h) TRIGGER AT_ONCE",
		"CREATE STREAM s AS SELECT count(*), sum(delay) AS a FROM flights WHERE delay > 1 PARTITION BY tbname INTERVAL(1h)",
	} {
		if mustBuildSQL(t, other).Fingerprint() == base {
			t.Errorf("the same fingerprint: %s", other)
		}
	}
}

func TestOperatorsAreNamedByWhatTheyKeep(t *testing.T) {
	t.Parallel()
	op, ok := mustBuildSQL(t, "CREATE STREAM s AS SELECT tbname, count(*), avg(DELAY) AS a, count(delay) FROM flights PARTITION BY tbname INTERVAL(1h) SLIDING(5m) TIMEZONE 'Europe/Berlin'").Operator()
	if !ok || op.ID != "aggregate [tbname string] INTERVAL(1h) SLIDING(5m) TIMEZONE 'Europe/Berlin'" ||
		fmt.Sprint(op.Accumulators) != "[rows(*) avg(delay int64) count(delay int64)]" {
		t.Errorf("%+v", op)
	}
	// Arguments are numbered as the accumulators meet them.
	p := mustBuildSQL(t, "CREATE STREAM s AS SELECT sum(distance) AS a, count(delay) AS c, min(distance) AS m, count(*) FROM flights INTERVAL(1h)")
	if got := p.Aggs; got[0].Arg != 0 || got[1].Arg != 1 || got[2].Arg != 0 {
		t.Errorf("arguments %+v", got)
	}
	// What is done with the results, and when they are shown, changes nothing that is kept.
	same, _ := mustBuildSQL(t, "CREATE STREAM s AS SELECT tbname, count(*), avg(DELAY) + 1 AS a, count(delay) FROM flights PARTITION BY tbname INTERVAL(1h) SLIDING(5m) TIMEZONE 'Europe/Berlin' TRIGGER AT_ONCE").Operator()
	if same.ID != op.ID || fmt.Sprint(same.Accumulators) != fmt.Sprint(op.Accumulators) {
		t.Errorf("%+v", same)
	}
	if _, ok := mustBuildSQL(t, "CREATE STREAM s AS SELECT delay FROM flights").Operator(); ok {
		t.Error("a stream without window has an operator")
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]spec.Position{
		`{"name":"s","source":"flights","select":[{"expr":"delay"}]}`:                                                          {Kind: spec.AtLatest},
		`{"name":"s","source":"flights","select":[{"expr":"delay"}],"until":"latest"}`:                                         {Kind: spec.AtEarliest},
		`{"name":"s","source":"flights","select":[{"expr":"delay"}],"until":"latest","start":{"time":"1970-01-01T00:00:00Z"}}`: {Kind: spec.AtTime},
	} {
		if got := mustBuild(t, text).Start; got.Kind != want.Kind {
			t.Errorf("%s starts at %s, want %s", text, got.Kind, want.Kind)
		}
	}
	s := mustBuild(t, `{"name":"s","source":"flights","select":[{"expr":"delay"}],"idle_timeout":"1s","watermark":"1m","close_idle_after":0,"results":{"retain":0}}`).Settings
	if s.IdleTimeout != s.Watermark+minIdleBeyondDelay {
		t.Errorf("idle after %s: shorter than the delay of %s allows", s.IdleTimeout, s.Watermark)
	}
	if s.CloseIdleAfter != 0 || s.Retain != 0 {
		t.Errorf("0 does not switch off: close_idle_after %s, retain %s", s.CloseIdleAfter, s.Retain)
	}
	if s.MaxGroups != DefaultMaxGroups || s.CheckpointInterval != DefaultCheckpointInterval || s.LateBy != spec.LateByWindow {
		t.Errorf("defaults are not filled in: %+v", s)
	}
}

func TestLimitsOfASource(t *testing.T) {
	t.Parallel()
	build := func(members string) *Input {
		in, err := BuildInput(mustSource(t, `{"name":"a","format":"json","kafka":{"topic":"t"},"table":"d","event_time":"ts"`+members+`}`))
		if err != nil {
			t.Fatal(err)
		}
		return in
	}
	if in := build(""); *in.MaxFuture != DefaultMaxFuture || *in.DedupWindow != DefaultDedupWindow || in.MinTime != nil {
		t.Errorf("defaults: %v, %v, %v", *in.MaxFuture, *in.DedupWindow, in.MinTime)
	}
	in := build(`,"max_future":null,"dedup_window":"0s","min_time":"1970-01-01T00:00:01Z"`)
	if in.MaxFuture != nil || *in.DedupWindow != 0 || *in.MinTime != 1000 {
		t.Errorf("given: %v, %v, %v", in.MaxFuture, *in.DedupWindow, *in.MinTime)
	}
}

func TestAggregatesAndArgumentsAreComputedOnce(t *testing.T) {
	t.Parallel()
	p := mustBuildSQL(t, "SELECT avg(delay + 1), AVG(delay+1) * 2 AS a, sum(delay + 1), count(*), count(*) + max(distance) AS b, min(distance) FROM flights INTERVAL(1h)")
	const aggregates, arguments = 5, 2
	if len(p.Aggs) != aggregates || len(p.Args) != arguments {
		t.Errorf("%d aggregates of %d arguments, want %d of %d", len(p.Aggs), len(p.Args), aggregates, arguments)
	}
}
