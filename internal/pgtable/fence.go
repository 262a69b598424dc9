package pgtable

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

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

// fenceDDL makes the fences of this database. Repeating it changes nothing.
const fenceDDL = `CREATE SCHEMA IF NOT EXISTS pondage;
CREATE TABLE IF NOT EXISTS pondage.fence (
	cluster text NOT NULL, stream bigint NOT NULL, vgroup integer NOT NULL, stage bigint NOT NULL,
	PRIMARY KEY (cluster, stream, vgroup))`

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
// The statement waits at most lock_timeout for a writer of an older stage that holds the row; the caller repeats it.
func (f Fence) Raise(ctx context.Context, db Beginner) error {
	return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, limits+"; SET LOCAL lock_timeout = '500ms'"); err != nil {
			return fmt.Errorf("raise %s: %w", f, err)
		}
		var stage ident.Stage
		err := tx.QueryRow(ctx, `INSERT INTO pondage.fence AS f (cluster, stream, vgroup, stage) VALUES ($1, $2, $3, $4)
			ON CONFLICT (cluster, stream, vgroup) DO UPDATE SET stage = excluded.stage WHERE f.stage <= excluded.stage
			RETURNING stage`, f.Cluster, f.Stream, int32(f.VGroup), f.Stage).Scan(&stage)
		if errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("raise %s: %w", f, ErrFenced)
		}
		if err != nil {
			return fmt.Errorf("raise %s: %w", f, err)
		}
		return nil
	})
}

// hold takes the fence for the rest of the transaction, or gives ErrFenced. It sets the transaction's limits on the way:
// one trip to the server.
func (f Fence) hold(ctx context.Context, tx pgx.Tx) error {
	var stage ident.Stage
	var both pgx.Batch
	both.Queue(limitStatement)
	both.Queue(limitIdle)
	both.Queue("SELECT stage FROM pondage.fence WHERE cluster = $1 AND stream = $2 AND vgroup = $3 FOR SHARE",
		f.Cluster, f.Stream, int32(f.VGroup)).QueryRow(func(row pgx.Row) error { return row.Scan(&stage) })
	err := tx.SendBatch(ctx, &both).Close()
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("hold %s: %w", f, err)
	}
	if stage != f.Stage {
		return fmt.Errorf("hold %s, found stage %d: %w", f, stage, ErrFenced)
	}
	return nil
}

// String names the fence in errors.
func (f Fence) String() string {
	return fmt.Sprintf("fence of stream %d vgroup %d stage %d", f.Stream, f.VGroup, f.Stage)
}
