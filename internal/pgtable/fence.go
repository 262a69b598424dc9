package pgtable

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pondage/pondage/internal/failpoint"
	"github.com/pondage/pondage/internal/ident"
)

// ErrFenced says that another stage owns the vgroup's results: the writer is old and must stop.
var ErrFenced = errors.New("the sink's fence belongs to another stage")

// Fence names the fence row of a sink task and the stage that the task writes in.
type Fence struct {
	Cluster ident.Cluster
	Stream  ident.StreamID
	VGroup  ident.VGroup
	Stage   ident.Stage
}

// fenceDDL makes the fences of this database, the marks of what transactional streams have staged (MarkStaged) and published
// (Publish), and whose each result table is (Adopt).
// kept_since is the oldest checkpoint that the images of the vgroup's table reach back to (ForgetBefore). Repeating it
// changes nothing, and takes no lock on a table that is as it should be: writers hold its rows.
const fenceDDL = `CREATE SCHEMA IF NOT EXISTS pondage;
CREATE TABLE IF NOT EXISTS pondage.fence (
	cluster text NOT NULL, stream bigint NOT NULL, vgroup integer NOT NULL, stage bigint NOT NULL, kept_since bigint NOT NULL DEFAULT 0,
	PRIMARY KEY (cluster, stream, vgroup));
CREATE TABLE IF NOT EXISTS pondage.published (
	cluster text NOT NULL, stream bigint NOT NULL, cp bigint NOT NULL,
	PRIMARY KEY (cluster, stream));
CREATE TABLE IF NOT EXISTS pondage.staged (
	cluster text NOT NULL, stream bigint NOT NULL, vgroup integer NOT NULL, cp bigint NOT NULL,
	PRIMARY KEY (cluster, stream, vgroup));
CREATE TABLE IF NOT EXISTS pondage.owner (
	target text PRIMARY KEY, cluster text NOT NULL, stream bigint NOT NULL);
DO $$ BEGIN
	IF NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = 'pondage.fence'::regclass AND attname = 'kept_since') THEN
		ALTER TABLE pondage.fence ADD COLUMN kept_since bigint NOT NULL DEFAULT 0;
	END IF;
END $$`

// The limits of every transaction that writes results (DESIGN §9): a statement that waits for somebody's lock, or a
// session whose client has vanished, ends by itself and does not pile up at the server. They are LOCAL, so that a pooler may
// stand between. A write is given up by its caller somewhat later than statement_timeout.
const (
	limitStatement = "SET LOCAL statement_timeout = '50s'"
	limitIdle      = "SET LOCAL idle_in_transaction_session_timeout = '5s'"
	limits         = limitStatement + "; " + limitIdle
)

func ensureFence(ctx context.Context, tx pgx.Tx) error {
	// CREATE … IF NOT EXISTS is not safe against itself: two at once can both find nothing and one fails.
	if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtextextended('pondage.fence', 0))"); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, fenceDDL)
	return err
}

// Raise makes the fence this stage's. ErrFenced when a higher stage has it already.
//
// A writer of an older stage that is frozen within its transaction holds the row for as long as it likes: the statement
// waits for lockTimeout only, then the sessions of older stages are ended and it is repeated, once. An error is the caller's to
// repeat.
func (f Fence) Raise(ctx context.Context, db Beginner) error {
	err := f.raise(ctx, db)
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == lockNotAvailable {
		if err := f.endOlder(ctx, db); err != nil {
			return fmt.Errorf("raise %s: end the sessions that hold it: %w", f, err)
		}
		err = f.raise(ctx, db)
	}
	if err == nil {
		err = failpoint.Hit(failpoint.SinkFenceRaised)
	}
	if err != nil {
		return fmt.Errorf("raise %s: %w", f, err)
	}
	return nil
}

const (
	// lockTimeout is far above what a live writer holds the row for, and short enough that a reset is not felt.
	lockTimeout      = "500ms"
	lockNotAvailable = "55P03" // SQLSTATE
)

func (f Fence) raise(ctx context.Context, db Beginner) error {
	return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, limits+"; SET LOCAL lock_timeout = '"+lockTimeout+"'"); err != nil {
			return err
		}
		var stage ident.Stage
		err := tx.QueryRow(ctx, `INSERT INTO pondage.fence AS f (cluster, stream, vgroup, stage) VALUES ($1, $2, $3, $4)
			ON CONFLICT (cluster, stream, vgroup) DO UPDATE SET stage = excluded.stage WHERE f.stage <= excluded.stage
			RETURNING stage`, f.Cluster, f.Stream, int32(f.VGroup), f.Stage).Scan(&stage)
		if errors.Is(err, pgx.ErrNoRows) {
			return ErrFenced
		}
		return err
	})
}

// session is the application_name of a transaction that holds the fence; all but the stage says whose it is. The
// cluster's name is hashed: Postgres cuts application names at 63 bytes.
func (f Fence) session() (owner, name string) {
	sum := fnv.New32a()
	sum.Write([]byte(f.Cluster)) // never fails
	owner = fmt.Sprintf("pondage-%08x-%d-%d-", sum.Sum32(), f.Stream, f.VGroup)
	return owner, fmt.Sprintf("%s%d", owner, f.Stage)
}

// endOlder ends the sessions of older stages that are within a transaction that holds the fence: in this database, since a
// server may have several with a cluster of the same name.
func (f Fence) endOlder(ctx context.Context, db Beginner) error {
	owner, _ := f.session()
	return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE datname = current_database() AND starts_with(application_name, $1) AND substr(application_name, length($1) + 1) ~ '^[0-9]+$'
			AND substr(application_name, length($1) + 1)::bigint < $2 AND pid <> pg_backend_pid()`, owner, int64(f.Stage))
		return err
	})
}

// hold takes the fence for the rest of the transaction, or gives ErrFenced. It sets the transaction's limits and its
// name on the way: one trip to the server.
func (f Fence) hold(ctx context.Context, tx pgx.Tx) error {
	var stage ident.Stage
	_, name := f.session()
	lock := " FOR SHARE"
	if failpoint.On(failpoint.NoFenceLock) {
		lock = ""
	}
	var all pgx.Batch
	all.Queue(limitStatement)
	all.Queue(limitIdle)
	all.Queue("SELECT set_config('application_name', $1, true)", name)
	all.Queue("SELECT stage FROM pondage.fence WHERE cluster = $1 AND stream = $2 AND vgroup = $3"+lock,
		f.Cluster, f.Stream, int32(f.VGroup)).QueryRow(func(row pgx.Row) error { return row.Scan(&stage) })
	err := tx.SendBatch(ctx, &all).Close()
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("hold %s: %w", f, err)
	}
	if stage != f.Stage && !failpoint.On(failpoint.SkipFence) {
		return fmt.Errorf("hold %s, found stage %d: %w", f, stage, ErrFenced)
	}
	return nil
}

// String names the fence in errors.
func (f Fence) String() string {
	return fmt.Sprintf("fence of stream %d vgroup %d stage %d", f.Stream, f.VGroup, f.Stage)
}
