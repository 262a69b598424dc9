package pgtable

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/devstack/testpg"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/invalid"
	"github.com/pondage/pondage/internal/rowjson"
	"github.com/pondage/pondage/internal/sql"
)

// schema has a column of every type.
var schema = block.Schema{
	{Name: "k", Type: block.String}, {Name: "_wstart", Type: block.Timestamp}, {Name: "n", Type: block.Int64}, {Name: "x", Type: block.Float64},
	{Name: "sum", Type: block.Decimal(38, 2)}, {Name: "ok", Type: block.Bool}, {Name: "doc", Type: block.JSON},
}

func newTable(name string) *Table {
	return &Table{Schema: "pondage", Name: name, Columns: schema, Key: []string{"k", "_wstart"}}
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

// row is one result; nil values are null.
type row struct {
	k     any
	start int64
	n     any
	x     any
	sum   any
	ok    any
	doc   any
}

func batch(rows ...row) *block.Batch {
	b := block.NewBatch(schema, len(rows))
	for _, r := range rows {
		for i, v := range []any{r.k, r.start, r.n, r.x, r.sum, r.ok, r.doc} {
			put(b.Cols[i], v)
		}
	}
	return b
}

func put(c *block.Column, v any) {
	switch v := v.(type) {
	case nil:
		c.AppendNull()
	case string:
		c.AppendString(v)
	case int64:
		c.AppendInt(v)
	case int:
		c.AppendInt(int64(v))
	case float64:
		c.AppendFloat(v)
	case bool:
		c.AppendBool(v)
	case *big.Int:
		c.AppendDec(decimal128.FromBigInt(v))
	}
}

func big10(text string) *big.Int {
	n, ok := new(big.Int).SetString(text, 10)
	if !ok {
		panic(text)
	}
	return n
}

func fence(stage ident.Stage) Fence {
	return Fence{Cluster: "test", Stream: 7, VGroup: 3, Stage: stage}
}

// made returns a table of the name that exists, with the fence of stage 1.
func made(t *testing.T, pool *pgxpool.Pool, table *Table) *Table {
	t.Helper()
	if _, err := table.Create(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	if err := fence(1).Raise(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	return table
}

func upsert(t *testing.T, pool *pgxpool.Pool, table *Table, batches ...*block.Batch) {
	t.Helper()
	if err := NewWriter(table).Upsert(t.Context(), pool, fence(1), 0, batches); err != nil {
		t.Fatal(err)
	}
}

// list reads the rows of a query in the JSON form.
func list(ctx context.Context, db DB, table *Table, q Query) (out []string, err error) {
	enc := rowjson.NewEncoder(table.Columns)
	err = table.Read(ctx, db, q, func(b *block.Batch) error {
		for i := range b.Rows() {
			out = append(out, string(enc.AppendRow(nil, b.Cols, i)))
		}
		return nil
	})
	return out, err
}

func TestEveryValueComesBackAsItWas(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	table := made(t, pool, newTable("values"))
	// T18, T14, T15: digits, sums beyond 64 bits, what is no number.
	rows := []row{
		{k: "", start: -1, n: 9007199254740993, x: 0.1, sum: big10("99999999999999999999999999999999999999"), ok: true, doc: `{"a": [1, 2]}`},
		{k: "a", start: 0, n: math.MinInt64, x: math.NaN(), sum: big10("-922337203685477580900"), ok: false, doc: `null`},
		{k: "a\"\\'ü", start: 253402300799999, n: math.MaxInt64, x: math.Inf(1), sum: big10("100"), doc: `"x"`},
		{k: "b", start: -62135596800000, x: math.Inf(-1)},
		{k: "c", start: 1, x: 5e-324, sum: big10("1")}, {start: 0},
	}
	b := batch(rows...)
	upsert(t, pool, table, b)
	got, err := list(t.Context(), pool, table, Query{})
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	enc := rowjson.NewEncoder(schema)
	for i := range b.Rows() {
		want = append(want, string(enc.AppendRow(nil, b.Cols, i)))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestT35_NullInTheKeyIsOneGroup(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	table := made(t, pool, newTable("nulls"))
	for revision := range 5 {
		upsert(t, pool, table, batch(row{start: 0, n: revision}, row{k: "", start: 0, n: revision}), batch(row{start: 0, n: revision + 1}))
	}
	got, err := list(t.Context(), pool, table, Query{})
	if err != nil || len(got) != 2 || !strings.Contains(got[0], `"k":"","_wstart":"1970-01-01T00:00:00.000Z","n":"4"`) || !strings.Contains(got[1], `"n":"5"`) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestT21_AnOldStageWritesNothing(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	table := made(t, pool, newTable("fenced"))
	old := NewWriter(table)
	if err := fence(2).Raise(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	if err := old.Upsert(t.Context(), pool, fence(1), 0, []*block.Batch{batch(row{k: "a"})}); !errors.Is(err, ErrFenced) {
		t.Errorf("write of stage 1: %v", err)
	}
	if err := fence(1).Raise(t.Context(), pool); !errors.Is(err, ErrFenced) {
		t.Errorf("stage 1 raised again: %v", err)
	}
	if err := fence(2).Raise(t.Context(), pool); err != nil {
		t.Errorf("stage 2 again: %v", err)
	}
	other := fence(1)
	other.VGroup = 4
	if err := old.Upsert(t.Context(), pool, other, 0, []*block.Batch{batch(row{k: "a"})}); !errors.Is(err, ErrFenced) {
		t.Errorf("write without a fence: %v", err)
	}
	if got, err := list(t.Context(), pool, table, Query{}); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestATableOfAnotherShapeIsRefusedByItsDifferences(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	table := newTable("taken")
	if made, err := table.Create(t.Context(), pool); err != nil || !made {
		t.Fatalf("made %v, %v", made, err)
	}
	if made, err := table.Create(t.Context(), pool); err != nil || made {
		t.Fatalf("again: made %v, %v", made, err)
	}
	other := newTable("taken")
	other.Columns = slices.Clone(schema)
	other.Columns[2].Type = block.Float64
	other.Columns[3].Name = "y"
	other.Key = []string{"k"}
	_, err := other.Create(t.Context(), pool)
	if !errors.Is(err, ErrMismatch) {
		t.Fatalf("%v", err)
	}
	for _, part := range []string{`"n" is bigint, must be double precision`, `"y" double precision is missing`, `NULLS NOT DISTINCT on ("k")`} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not say: %s", err, part)
		}
	}
	if _, err := pool.Exec(t.Context(), `ALTER TABLE pondage.taken ADD extra text, ADD late timestamptz NOT NULL DEFAULT now()`); err != nil {
		t.Fatal(err)
	}
	if _, err := table.Create(t.Context(), pool); err != nil {
		t.Errorf("further columns that take null: %v", err)
	}
	if _, err := pool.Exec(t.Context(), `ALTER TABLE pondage.taken ADD must int NOT NULL`); err != nil {
		t.Fatal(err)
	}
	if _, err := table.Create(t.Context(), pool); !errors.Is(err, ErrMismatch) || !strings.Contains(err.Error(), `"must"`) {
		t.Errorf("a further column that takes none: %v", err)
	}
	if err := table.Drop(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	if err := table.Drop(t.Context(), pool); err != nil {
		t.Errorf("dropped again: %v", err)
	}
}

// Repeating such a write for ever would look like a database that is away, while no result arrives.
func TestATableThatIsTakenAwayWhileItIsWrittenIsAMismatch(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ change, says string }{
		"dropped":    {`DROP TABLE pondage.away`, "was dropped"},
		"column":     {`ALTER TABLE pondage.away DROP COLUMN n`, `"n" bigint is missing`},
		"type":       {`ALTER TABLE pondage.away ALTER COLUMN n TYPE boolean USING n > 0`, `"n" is boolean`},
		"constraint": {`ALTER TABLE pondage.away DROP CONSTRAINT away_k__wstart_key`, "NULLS NOT DISTINCT"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := newPool(t)
			table := made(t, pool, newTable("away"))
			upsert(t, pool, table, batch(row{k: "a"}))
			if _, err := pool.Exec(t.Context(), c.change); err != nil {
				t.Fatal(err)
			}
			err := NewWriter(table).Upsert(t.Context(), pool, fence(1), 0, []*block.Batch{batch(row{k: "b"})})
			if !errors.Is(err, ErrMismatch) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v does not say: %s", err, c.says)
			}
		})
	}
}

func TestT56_ManyMakeOneTable(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	const callers = 4
	count := make(chan bool, callers)
	for range callers {
		go func() {
			made, err := newTable("together").Create(t.Context(), pool)
			if err != nil {
				t.Error(err)
			}
			count <- made
		}()
	}
	n := 0
	for range callers {
		if <-count {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d made it", n)
	}
}

// parse reads a filter.
func parse(t *testing.T, text string) sql.Expr {
	t.Helper()
	e, err := sql.ParseExpr(text)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// keys reads the key column of a query.
func keys(t *testing.T, pool *pgxpool.Pool, table *Table, q Query) (out []string) {
	t.Helper()
	err := table.Read(t.Context(), pool, q, func(b *block.Batch) error {
		for i := range b.Rows() {
			if b.Cols[0].IsNull(i) {
				out = append(out, "NULL")
				continue
			}
			out = append(out, string(b.Cols[0].Bytes(i)))
		}
		return nil
	})
	if err != nil {
		t.Fatalf("%+v: %v", q, err)
	}
	return out
}

func TestFilters(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	table := made(t, pool, newTable("filters"))
	upsert(t, pool, table, batch(
		row{k: "a_1", start: 0, n: 1, x: 0.5, sum: big10("150"), ok: true}, row{k: "B", start: 1000, n: 9007199254740993, x: -1.0, ok: false},
		row{k: "b%", start: 2000, x: 2.0, sum: big10("-1")}, row{start: 3000, n: -1},
	))
	for filter, want := range map[string]string{
		`n = 9007199254740993`: "B", `n <> 1 AND n < 5`: "NULL", `x >= 0.5`: "a_1 b%", `sum = 1.5`: "a_1", `ok`: "a_1", `NOT ok`: "B", `ok = false`: "B",
		`k IS NULL`: "NULL", `k IS NOT NULL AND n IS NULL`: "b%", `k IN ('a_1', 'zz')`: "a_1", `k NOT IN ('a_1', 'B')`: "b%", `k LIKE 'b!%' ESCAPE '!'`: "b%",
		`k LIKE 'a!_%' ESCAPE '!' OR k = 'B'`: "B a_1", `n BETWEEN 1 AND 2`: "a_1", `n NOT BETWEEN 0 AND 10`: "B NULL", `n + 1 = 2`: "a_1", `n * -1 = 1`: "NULL",
		`_wstart = '1970-01-01T01:00:01+01:00'`: "B", `_wstart BETWEEN '1970-01-01T00:00:00.9995Z' AND '1970-01-01T00:00:01.0005Z'`: "B",
		`_wstart IN ('1970-01-01T00:00:02Z')`: "b%", `k > 'a'`: "a_1 b%", `k = ''' OR true --'`: "",
	} {
		if got := strings.Join(keys(t, pool, table, Query{Filter: parse(t, filter)}), " "); got != want {
			t.Errorf("%s: got %q, want %q", filter, got, want)
		}
	}
}

func TestWhatPostgresWouldReadOtherwiseIsRefused(t *testing.T) {
	t.Parallel()
	for filter, code := range map[string]string{
		`n / 2 = 1`: CodeFilter, `length(k) = 1`: CodeFilter, `CASE WHEN ok THEN true ELSE false END`: CodeFilter, `CAST(n AS string) = '1'`: CodeFilter,
		`_wstart > '2026-07-28T08:00:00'`: "bad_time", `_wstart > '2026-02-30T00:00:00Z'`: "bad_time", `_wstart > '2026-07-28T08:00:00+25:00'`: "bad_time",
	} {
		_, _, err := newTable("t").querySQL(Query{Filter: parse(t, filter)})
		var faults *invalid.Error
		if !errors.As(err, &faults) || faults.Details[0].Code != code || faults.Details[0].Span == nil {
			t.Errorf("%s: %v", filter, err)
		}
	}
}

func TestPagesCoverEveryRowOnce(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	table := made(t, pool, newTable("pages"))
	var rows []row
	for i := range 17 {
		r := row{k: fmt.Sprintf("k%02d", i%5), start: int64(i) * 1000, n: i / 3, x: float64(i % 2)}
		if i%4 == 0 {
			r.n, r.x = nil, nil
		}
		if i == 11 {
			r.k = nil
		}
		if i == 13 {
			r.x = math.NaN()
		}
		rows = append(rows, r)
	}
	upsert(t, pool, table, batch(rows...))
	for _, order := range [][]Order{
		nil, {{Column: "n"}}, {{Column: "n", Descending: true}}, {{Column: "x", Descending: true}, {Column: "k"}}, {{Column: "k", Descending: true}, {Column: "n"}},
		{{Column: "_wstart", Descending: true}}, {{Column: "x"}, {Column: "n", Descending: true}},
	} {
		whole, err := list(t.Context(), pool, table, Query{Order: order})
		if err != nil || len(whole) != len(rows) {
			t.Fatalf("%v: %d rows, %v", order, len(whole), err)
		}
		var paged []string
		cursor := ""
		for range rows {
			enc := rowjson.NewEncoder(schema)
			err := table.Read(t.Context(), pool, Query{Order: order, Limit: 3, After: cursor}, func(b *block.Batch) error {
				for i := range b.Rows() {
					paged = append(paged, string(enc.AppendRow(nil, b.Cols, i)))
					cursor = table.Cursor(order, b, i)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(whole, paged) {
			t.Errorf("%v:\n%s\npaged\n%s", order, strings.Join(whole, "\n"), strings.Join(paged, "\n"))
		}
	}
	for _, cursor := range []string{"x", "bnVsbA", "W10"} {
		var faults *invalid.Error
		if _, err := list(t.Context(), pool, table, Query{After: cursor}); !errors.As(err, &faults) || faults.Details[0].Code != CodeCursor {
			t.Errorf("cursor %s: %v", cursor, err)
		}
	}
}

func TestRowsExpireAfterTheirLastWrite(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	table := newTable("results_1")
	table.Retain = time.Hour
	made(t, pool, table)
	made(t, pool, newTable("kept"))
	upsert(t, pool, table, batch(row{k: "a"}, row{k: "b"}, row{k: "c"}, row{k: "d"}))
	if _, err := pool.Exec(t.Context(), `UPDATE pondage.results_1 SET _written = now() - interval '61 minutes' WHERE k <> 'd'`); err != nil {
		t.Fatal(err)
	}
	upsert(t, pool, table, batch(row{k: "b", n: 2})) // a late row: it is as new as its last write
	tables, err := Expiring(t.Context(), pool, "pondage")
	if err != nil || len(tables) != 1 || tables[0].Name != "results_1" || tables[0].Retain != time.Hour {
		t.Fatalf("%+v, %v", tables, err)
	}
	for i, want := range []int64{1, 1, 0} {
		if n, err := tables[0].Expire(t.Context(), pool, 1); n != want || err != nil {
			t.Errorf("round %d: %d deleted, %v", i, n, err)
		}
	}
	if got := keys(t, pool, table, Query{}); !slices.Equal(got, []string{"b", "d"}) {
		t.Errorf("left: %v", got)
	}
}

func TestOneSessionExpiresATable(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	table := newTable("results_2")
	table.Retain = time.Hour
	made(t, pool, table)
	err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), "SELECT pg_advisory_xact_lock(hashtextextended('pondage.expire.' || $1, 0))", table.ident()); err != nil {
			return err
		}
		if _, err := table.Expire(t.Context(), pool, 1); !errors.Is(err, ErrExpiring) {
			t.Errorf("while another does: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestATableWithoutItsWriteTimeIsNoOwnTable(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	made(t, pool, newTable("results_3"))
	table := newTable("results_3")
	table.Retain = time.Hour
	if _, err := table.Create(t.Context(), pool); !errors.Is(err, ErrMismatch) || !strings.Contains(err.Error(), WrittenColumn) {
		t.Errorf("%v", err)
	}
}

func TestNamesThatNeedQuotes(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	table := &Table{Name: `odd "name"; DROP`, Columns: block.Schema{{Name: `a "b"`, Type: block.String}, {Name: "select", Type: block.Int64}}, Key: []string{`a "b"`}}
	made(t, pool, table)
	b := block.NewBatch(table.Columns, 1)
	b.Cols[0].AppendString("x")
	b.Cols[1].AppendInt(1)
	upsert(t, pool, table, b)
	got, err := list(t.Context(), pool, table, Query{Filter: parse(t, `"select" = 1`), Order: []Order{{Column: `a "b"`}}})
	if err != nil || len(got) != 1 {
		t.Errorf("%v, %v", got, err)
	}
}
