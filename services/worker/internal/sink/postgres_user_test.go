package sink

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pondage/pondage/internal/devstack/testpg"
	"github.com/pondage/pondage/internal/pgtable"
)

// What a user does to a table behind the stream's back, and undoes.
var meddling = map[string]struct{ breaks, mends, says string }{
	"table dropped": {
		"ALTER TABLE target RENAME TO backup", "ALTER TABLE backup RENAME TO target",
		`"target" was dropped`,
	},
	"column changed": {
		"ALTER TABLE target RENAME n TO m", "ALTER TABLE target RENAME m TO n",
		`column "n" bigint is missing`,
	},
	"key dropped": {
		"ALTER TABLE target DROP CONSTRAINT target_k_key", "ALTER TABLE target ADD UNIQUE NULLS NOT DISTINCT (k)",
		"NULLS NOT DISTINCT on (\"k\") is missing",
	},
}

func TestAnUpsertedTableThatItsUserHasChanged(t *testing.T) {
	t.Parallel()
	for name, c := range meddling {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLife(t, 1)
			l.begin(0)
			l.write(1, "a", "b")
			cp := l.cut()
			execute(t, l.pool, c.breaks)
			if err := errors.Join(l.out.Write(t.Context(), rowsOf(5, "a", "c")), l.out.Flush(t.Context())); !errors.Is(err, pgtable.ErrMismatch) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("a write: %v", err)
			}
			// The next stage does not make it anew: what was written before the checkpoint would be missing.
			l.begin(cp)
			if err := l.out.Flush(t.Context()); !errors.Is(err, pgtable.ErrMismatch) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("the next stage: %v", err)
			}
			execute(t, l.pool, c.mends)
			l.begin(cp)
			l.write(5, "a", "c")
			l.cut()
			l.wants(l.now, "mended")
		})
	}
}

func TestATransactionalTableThatItsUserHasChanged(t *testing.T) {
	t.Parallel()
	for name, c := range meddling {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newTeam(t, 1, 2)
			l.begin(0)
			l.complete(0)
			l.write(1, "a", "b")
			l.complete(l.cut())
			l.write(5, "a", "c")
			cp := l.cut()
			execute(t, l.pool, c.breaks)
			err := l.members[0].Complete(t.Context(), cp)
			if !errors.Is(err, pgtable.ErrMismatch) || !strings.Contains(err.Error(), c.says) || !errors.Is(l.members[0].Stopped(), pgtable.ErrMismatch) {
				t.Errorf("a publication: %v; the output: %v", err, l.members[0].Stopped())
			}
			l.begin(cp)
			if err := l.members[0].Flush(t.Context()); !errors.Is(err, pgtable.ErrMismatch) {
				t.Errorf("the next stage: %v", err)
			}
			execute(t, l.pool, c.mends)
			l.begin(cp)
			l.complete(cp)
		})
	}
}

func execute(t *testing.T, db pgtable.DB, sql string) {
	t.Helper()
	if _, err := db.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

var roles atomic.Int64

// newWriterPool returns a pool of a role that is no superuser and may do what a sink needs; revoke takes the right to write from
// it, and grant gives it back.
func newWriterPool(t *testing.T) (owner, writer *pgxpool.Pool, revoke, grant func()) {
	t.Helper()
	dsn := testpg.DSN(t)
	owner, err := pgxpool.New(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(owner.Close)
	role := fmt.Sprintf("sink_writer_%d", roles.Add(1))
	execute(t, owner, "CREATE ROLE "+role+"; GRANT CREATE ON SCHEMA public TO "+role)
	var database string
	if err := owner.QueryRow(t.Context(), "SELECT current_database()").Scan(&database); err != nil {
		t.Fatal(err)
	}
	execute(t, owner, "GRANT CREATE ON DATABASE "+database+" TO "+role)
	t.Cleanup(func() {
		_, _ = owner.Exec(context.WithoutCancel(t.Context()), "DROP OWNED BY "+role+" CASCADE; DROP ROLE "+role) // goes with the server else
	})
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	config.AfterConnect = func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, "SET ROLE "+role)
		return err
	}
	if writer, err = pgxpool.NewWithConfig(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(writer.Close)
	revoke = func() { execute(t, owner, "REVOKE INSERT, UPDATE ON target FROM "+role) }
	grant = func() { execute(t, owner, "GRANT INSERT, UPDATE ON target TO "+role) }
	return owner, writer, revoke, grant
}

func TestAnUpsertWithoutGrantsIsShownAndGoesOn(t *testing.T) {
	t.Parallel()
	l := newLife(t, 1)
	owner, writer, revoke, grant := newWriterPool(t)
	l.pool = owner
	failed := make(chan struct{}, 2)
	l.db = &watched{Beginner: writer, failed: failed}
	l.begin(0)
	l.write(1, "a")
	l.cut()
	revoke()
	l.write(2, "b")
	<-failed
	<-failed // the first failure was noted before the second attempt
	if s := l.out.Status(); !strings.Contains(s.Problem, "permission denied") {
		t.Errorf("status: %+v", s)
	}
	grant()
	l.cut()
	l.wants(l.now, "mended")
}

// watched says when a transaction was rolled back.
type watched struct {
	pgtable.Beginner
	failed chan<- struct{}
}

func (w *watched) Begin(ctx context.Context) (pgx.Tx, error) {
	tx, err := w.Beginner.Begin(ctx)
	return &watchedTx{tx, w.failed}, err
}

type watchedTx struct {
	pgx.Tx
	failed chan<- struct{}
}

func (x *watchedTx) Rollback(ctx context.Context) error {
	err := x.Tx.Rollback(ctx)
	if err == nil { // it was not over
		select {
		case x.failed <- struct{}{}:
		default:
		}
	}
	return err
}

func TestAPublicationWithoutGrantsIsShownAndGoesOn(t *testing.T) {
	t.Parallel()
	l := newTeam(t, 1, 1)
	owner, writer, revoke, grant := newWriterPool(t)
	l.pool, l.db = owner, writer
	l.begin(0)
	l.complete(0)
	revoke()
	l.write(1, "a", "b")
	c := l.cut() // it is staged all the same
	if err := l.members[0].Complete(t.Context(), c); err == nil {
		t.Fatal("published without the right to")
	}
	if s := l.members[0].Status(); !strings.Contains(s.Problem, "permission denied") {
		t.Errorf("status: %+v", s)
	}
	grant()
	l.complete(c)
	if s := l.members[0].Status(); s.Problem != "" {
		t.Errorf("status when it is mended: %+v", s)
	}
}

// A constraint of the user's own refuses a row for good: it goes to the dead letters, and the others come.
func TestAConstraintOfTheUserRefusesAnUpsertedRow(t *testing.T) {
	t.Parallel()
	l := newLife(t, 1)
	l.begin(0)
	l.flush()
	execute(t, l.pool, "CREATE UNIQUE INDEX mine ON target (n); INSERT INTO target (k, n, _cp, _vgroup) VALUES ('mine', 2, 0, 0)")
	if err := l.out.Write(t.Context(), rowsOf(1, "a", "b", "c")); err != nil {
		t.Fatal(err)
	}
	l.cut()
	l.wants(map[string]int64{"a": 1, "c": 3, "mine": 2}, "with a row of the user's")
	if len(l.aside.rows) != 1 || !strings.Contains(l.aside.rows[0], `"mine"`) {
		t.Errorf("aside: %q", l.aside.rows)
	}
}
