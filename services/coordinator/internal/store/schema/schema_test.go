package schema

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/golang-migrate/migrate/v4"
	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/pondage/pondage/internal/devstack/testpg"
	"github.com/pondage/pondage/migrations"
)

var rewrite = flag.Bool("rewrite", false, "write the golden file anew")

const golden = "testdata/schema.golden"

// describe prints tables, columns, constraints and indexes in an order of its own, and in words that are the same on
// every version of Postgres.
const describe = `
SELECT format('%s.%s %s%s%s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
              CASE WHEN a.attnotnull THEN ' not null' ELSE '' END,
              CASE WHEN a.attidentity <> '' THEN ' identity' ELSE coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '') END)
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
WHERE c.relnamespace = 'pondage'::regnamespace AND c.relkind = 'r'
UNION ALL
SELECT format('%s: %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid))
FROM pg_constraint WHERE connamespace = 'pondage'::regnamespace AND contype <> 'n'
UNION ALL
SELECT indexdef FROM pg_indexes WHERE schemaname = 'pondage'
UNION ALL
SELECT format('version %s, min_binary %s', version, min_binary) FROM pondage.schema_info
ORDER BY 1`

func dump(t *testing.T, dsn string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	rows, err := conn.Query(t.Context(), describe)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n") + "\n"
}

func wantGolden(t *testing.T, dsn string) {
	t.Helper()
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), dump(t, dsn)); diff != "" {
		t.Fatalf("schema (-want +got)\n%s", diff)
	}
}

func TestUpDownUpIsTheGoldenSchema(t *testing.T) {
	t.Parallel()
	dsn := testpg.DSN(t)
	for _, step := range []func(context.Context, string) error{Up, Up, Down, Up} {
		if err := step(t.Context(), dsn); err != nil {
			t.Fatal(err)
		}
	}
	if *rewrite {
		if err := os.WriteFile(golden, []byte(dump(t, dsn)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	wantGolden(t, dsn)
}

func TestDownLeavesNothingButTheVersion(t *testing.T) {
	t.Parallel()
	dsn := testpg.DSN(t)
	for _, step := range []func(context.Context, string) error{Up, Down} {
		if err := step(t.Context(), dsn); err != nil {
			t.Fatal(err)
		}
	}
	for line := range strings.Lines(dump(t, dsn)) {
		if !strings.Contains(line, "schema_info") && line != "version -1, min_binary 0\n" {
			t.Errorf("left behind: %s", line)
		}
	}
}

func TestLatestIsTheNewestFile(t *testing.T) {
	t.Parallel()
	files, err := fs.Glob(migrations.Files, fmt.Sprintf("%04d_*.up.sql", migrations.Latest))
	if err != nil || len(files) != 1 {
		t.Fatalf("version %d: %v, %v", migrations.Latest, files, err)
	}
	if newer, _ := fs.Glob(migrations.Files, fmt.Sprintf("%04d_*", migrations.Latest+1)); len(newer) > 0 {
		t.Fatalf("Latest is %d, but there is %v", migrations.Latest, newer)
	}
}

// edited returns the migrations with the file changed.
func edited(t *testing.T, name string, edit func(statements []string) []string) fs.FS {
	t.Helper()
	out := fstest.MapFS{}
	entries, err := fs.ReadDir(migrations.Files, ".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		body, err := fs.ReadFile(migrations.Files, e.Name())
		if err != nil {
			t.Fatal(err)
		}
		if e.Name() == name {
			body = []byte(strings.Join(edit(strings.SplitAfter(string(body), ";\n")), ""))
		}
		out[e.Name()] = &fstest.MapFile{Data: body}
	}
	return out
}

func names(t *testing.T, pattern string) []string {
	t.Helper()
	out, err := fs.Glob(migrations.Files, pattern)
	if err != nil || len(out) == 0 {
		t.Fatalf("%s: %v, %v", pattern, out, err)
	}
	return out
}

// dies ends the session in the middle of whatever it does, as a kill of the process does.
const dies = "SELECT pg_terminate_backend(pg_backend_pid());\n"

func TestT55_KilledAtEveryStatement(t *testing.T) {
	t.Parallel()
	for _, name := range names(t, "*.up.sql") {
		statements := 0
		edited(t, name, func(s []string) []string { statements = len(s); return s })
		for k := range statements + 1 {
			t.Run(fmt.Sprint(name, " before statement ", k), func(t *testing.T) {
				t.Parallel()
				dsn := testpg.DSN(t)
				killed := edited(t, name, func(s []string) []string {
					return append(append(append([]string{}, s[:k]...), dies), s[k:]...)
				})
				if err := run(t.Context(), dsn, killed, (*migrate.Migrate).Up); err == nil {
					t.Fatal("the killed migration went through")
				}
				if err := Up(t.Context(), dsn); err != nil {
					t.Fatal(err)
				}
				wantGolden(t, dsn)
			})
		}
	}
}

// TestAStreamOfTheFirstSchemaGoesOn: what was written before checkpoints has none, and its next one is the first.
func TestAStreamOfTheFirstSchemaGoesOn(t *testing.T) {
	t.Parallel()
	dsn := testpg.DSN(t)
	first := func(m *migrate.Migrate) error { return m.Migrate(1) }
	if err := run(t.Context(), dsn, migrations.Files, first); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	const old = `
WITH s AS (INSERT INTO pondage.sources (name, spec) VALUES ('flights', '{}') RETURNING id)
INSERT INTO pondage.streams (name, source_id, source_spec, spec, partitions, state, wanted, generation, stage, stage_due, stage_begun, ready, restarts)
SELECT 'hourly', id, '{}', '{}', '[]', 'running', 'running', 1, 3, false, now(), true, 0 FROM s`
	if _, err := conn.Exec(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	if err := Up(t.Context(), dsn); err != nil {
		t.Fatal(err)
	}
	var got [5]int64
	err = conn.QueryRow(t.Context(), `SELECT stage, next_checkpoint, settled_checkpoint, failed_checkpoints, coalesce(complete_checkpoint, start_checkpoint, 0)
FROM pondage.streams`).Scan(&got[0], &got[1], &got[2], &got[3], &got[4])
	if want := [5]int64{3, 1, 0, 0, 0}; err != nil || got != want {
		t.Fatalf("got %v, %v, want %v", got, err, want)
	}
}

func TestT56_ThreeStartAtOnce(t *testing.T) {
	t.Parallel()
	const replicas, rounds = 3, 5
	newest := names(t, fmt.Sprintf("%04d_*.up.sql", migrations.Latest))[0]
	slow := edited(t, newest, func(s []string) []string {
		return append([]string{"SELECT pg_sleep(0.3);\n", "CREATE TABLE pondage.ran_once ();\n"}, s...)
	})
	for range rounds {
		dsn := testpg.DSN(t)
		var wg sync.WaitGroup
		for range replicas {
			wg.Go(func() {
				if err := run(t.Context(), dsn, slow, (*migrate.Migrate).Up); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
}

func TestAWaiterEndsByItsDeadline(t *testing.T) {
	t.Parallel()
	dsn := testpg.DSN(t)
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.Exec(t.Context(), "SELECT pg_advisory_lock($1)", lockKey); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := Up(ctx, dsn); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v, want the deadline", err)
	}
}

func TestANewerSchema(t *testing.T) {
	t.Parallel()
	dsn := testpg.DSN(t)
	if err := Up(t.Context(), dsn); err != nil {
		t.Fatal(err)
	}
	set := func(version, minBinary int) {
		conn, err := pgx.Connect(t.Context(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close(context.Background()) }()
		if _, err := conn.Exec(t.Context(), "UPDATE pondage.schema_info SET version = $1, min_binary = $2", version, minBinary); err != nil {
			t.Fatal(err)
		}
	}
	set(migrations.Latest+1, migrations.Latest)
	if err := Up(t.Context(), dsn); err != nil {
		t.Fatalf("a schema that allows this binary was refused: %v", err)
	}
	set(migrations.Latest+1, migrations.Latest+1)
	if err := Up(t.Context(), dsn); !errors.Is(err, ErrBinaryTooOld) {
		t.Fatalf("got %v, want ErrBinaryTooOld", err)
	}
}
