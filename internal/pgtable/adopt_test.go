package pgtable

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/pondage/pondage/internal/ident"
)

// TestALongNameHasItsOwnTableBeside: a name that Postgres would cut to the table's own, or to another one's.
func TestALongNameHasItsOwnTableBeside(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	long := strings.Repeat("é", 27) + "_target_" // 62 bytes
	for _, d := range []Delivery{Upsert, Transactional} {
		tables := []*Table{newTable(long), newTable(long + "2")}
		for i, table := range tables {
			table.Delivery = d
			f := Fence{Cluster: "test", Stream: ident.StreamID(2000 + i), VGroup: 1, Stage: 1}
			if _, err := table.Create(t.Context(), pool); err != nil {
				t.Fatal(err)
			}
			if err := f.Raise(t.Context(), pool); err != nil {
				t.Fatal(err)
			}
			insert := fmt.Sprintf("INSERT INTO %s (k, _wstart, n, _cp, _vgroup) VALUES ('a', to_timestamp(0), $1, 500, 1)", table.ident())
			if _, err := pool.Exec(t.Context(), insert, i); err != nil {
				t.Fatal(err)
			}
			if err := table.Adopt(t.Context(), pool, f); err != nil {
				t.Fatal(err)
			}
		}
		for i, table := range tables {
			if diff := cmp.Diff(counts{"a@0": int64(i)}, held(t, pool, table)); diff != "" {
				t.Errorf("delivery %d, table %d (-want +got):\n%s", d, i, diff)
			}
			if err := table.Drop(t.Context(), pool); err != nil {
				t.Fatal(err)
			}
		}
	}
	var left int
	if err := pool.QueryRow(t.Context(), "SELECT count(*) FROM pg_tables WHERE tablename LIKE '%target%' OR tablename LIKE 'é%'").Scan(&left); err != nil || left > 0 {
		t.Errorf("%d tables are left, %v", left, err)
	}
}

func TestNamesBesideFitAndDiffer(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for n := 40; n <= nameLimit; n++ {
		table := strings.Repeat("x", n)
		for _, name := range []string{table, named(table, beforeSuffix), named(table, stageSuffix), indexName(table, beforeSuffix), indexName(table, stageSuffix)} {
			if len(name) > nameLimit || seen[name] {
				t.Errorf("%d bytes: %s", n, name)
			}
			seen[name] = true
		}
	}
	if got := fmt.Sprint(named("flights", beforeSuffix), " ", indexName("flights", stageSuffix)); got != "flights__before flights__stage_i" {
		t.Error(got)
	}
}

// TestATableGoesToYoungerStreamsOnly: a task of a dropped stream that was frozen at any point neither takes the table back nor
// writes into it.
func TestATableGoesToYoungerStreamsOnly(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	table := newTable("handed_on")
	older := Fence{Cluster: "test", Stream: 4000, VGroup: 1, Stage: 7}
	younger := Fence{Cluster: "test", Stream: 4001, VGroup: 1, Stage: 1}
	if _, err := table.Create(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	writes := func(f Fence) error {
		return pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error { return f.hold(t.Context(), tx) })
	}
	for _, f := range []Fence{older, younger} {
		if err := errors.Join(f.Raise(t.Context(), pool), table.Adopt(t.Context(), pool, f), writes(f)); err != nil {
			t.Fatalf("stream %d: %v", f.Stream, err)
		}
	}
	if err := writes(older); !errors.Is(err, ErrFenced) {
		t.Errorf("the older one writes: %v", err)
	}
	if err := older.Raise(t.Context(), pool); err != nil { // it knows of no other stream
		t.Fatal(err)
	}
	if err := table.Adopt(t.Context(), pool, older); !errors.Is(err, ErrFenced) {
		t.Errorf("the older one takes the table back: %v", err)
	}
	if err := writes(younger); err != nil {
		t.Errorf("the younger one does not write any more: %v", err)
	}
}

// TestWhatAStreamLeaves: the results stay, nothing else does; a table that is another stream's by now keeps what is beside it,
// and whoever still writes for the dropped stream is fenced.
func TestWhatAStreamLeaves(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	for i, d := range []Delivery{Upsert, Transactional} {
		table := newTable(fmt.Sprint("left_", i))
		table.Delivery = d
		first := Fence{Cluster: "test", Stream: ident.StreamID(3000 + 2*i), VGroup: 1, Stage: 1}
		second := first
		second.Stream++
		begin := func(f Fence) {
			if _, err := table.Create(t.Context(), pool); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(f.Raise(t.Context(), pool), table.Adopt(t.Context(), pool, f)); err != nil {
				t.Fatal(err)
			}
		}
		left := func() (beside, rows int) {
			err := pool.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM pg_tables WHERE starts_with(tablename, $1 || '__')),
				(SELECT count(*) FROM pondage.fence WHERE stream = $2) + (SELECT count(*) FROM pondage.owner WHERE stream = $2)`, table.Name, first.Stream).Scan(&beside, &rows)
			if err != nil {
				t.Fatal(err)
			}
			return beside, rows
		}
		leave := func() {
			if err := table.Leave(t.Context(), pool, first.Cluster, first.Stream); err != nil {
				t.Fatal(err)
			}
		}
		leave() // before anything is there
		begin(first)
		leave()
		if beside, rows := left(); beside != 0 || rows != 0 {
			t.Errorf("delivery %d: %d tables beside it and %d rows are left", d, beside, rows)
		}
		if n := len(held(t, pool, table)); n != 0 {
			t.Errorf("delivery %d: the table holds %d rows", d, n)
		}
		if err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error { return first.hold(t.Context(), tx) }); !errors.Is(err, ErrFenced) {
			t.Errorf("delivery %d: a writer of the dropped stream: %v", d, err)
		}
		leave() // again
		begin(first)
		begin(second)
		leave()
		if beside, rows := left(); beside != 1 || rows != 0 {
			t.Errorf("delivery %d, adopted by another stream: %d tables beside it, %d rows of the first", d, beside, rows)
		}
	}
}
