package pgtable

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/pondage/pondage/internal/ident"
)

// foreign is the _cp of rows that were in the table before the stream: older than all its checkpoints, so that what the
// stream replaces of them is kept and comes back, and nothing of theirs goes with a dead timeline.
const foreign = -1

// adoptRows is how many rows one transaction of Adopt rewrites: a few seconds' work.
const adoptRows = 200_000

// Adopt makes a table that may have been another stream's this one's, before its first row: checkpoints count anew in each
// stream, and what the other one has left beside the table means nothing here. Rows that are there stay, and are no
// checkpoint's (DESIGN §9). Later calls change nothing. It may be called by all tasks of the stream at once, by each before
// it writes.
//
// Errors: ErrFenced when the table is a younger stream's; otherwise Postgres's. What was done until then need not be done again.
func (t *Table) Adopt(ctx context.Context, db Beginner, f Fence) error {
	for done := false; !done; {
		err := pgx.BeginFunc(ctx, db, func(tx pgx.Tx) (err error) {
			done, err = t.adopt(ctx, tx, f)
			return err
		})
		if err != nil {
			return fmt.Errorf("adopt table %s: %w", t.ident(), err)
		}
	}
	return nil
}

// adopt takes one step. The owner is looked at under the lock in which it is written: no step comes after the last one,
// when other tasks write already.
func (t *Table) adopt(ctx context.Context, tx pgx.Tx, f Fence) (done bool, err error) {
	if _, err := tx.Exec(ctx, limits); err != nil {
		return false, err
	}
	if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtextextended('pondage.create.' || $1, 0))", t.ident()); err != nil {
		return false, err
	}
	var cluster ident.Cluster
	var stream ident.StreamID
	err = tx.QueryRow(ctx, "SELECT cluster, stream FROM pondage.owner WHERE target = $1", t.ident()).Scan(&cluster, &stream)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return false, err
	}
	switch {
	case cluster == f.Cluster && stream == f.Stream:
		return true, nil
	case cluster == f.Cluster && stream > f.Stream:
		// Ids rise, and a table has one stream at a time: ours was dropped while this task was frozen. The table is the
		// younger one's, whose _cp mean something.
		return false, fmt.Errorf("the table is stream %d's by now: %w", stream, ErrFenced)
	case cluster == f.Cluster:
		// A task of the older stream that is frozen behind its look at the fence would go on writing into a table that is
		// ours. Without the row it writes nothing; within its transaction it holds the row, and this waits.
		if _, err := tx.Exec(ctx, "DELETE FROM pondage.fence WHERE cluster = $1 AND stream = $2", cluster, stream); err != nil {
			return false, err
		}
	}
	tag, err := tx.Exec(ctx, fmt.Sprintf("UPDATE %s SET %s = $1 WHERE ctid = ANY (ARRAY(SELECT ctid FROM %[1]s WHERE %[2]s > $1 LIMIT $2))",
		t.ident(), CheckpointColumn), int64(foreign), adoptRows)
	if err != nil || tag.RowsAffected() == adoptRows {
		return false, err
	}
	if beside := t.besideIdent(); beside != "" {
		if _, err := tx.Exec(ctx, "DELETE FROM "+beside); err != nil {
			return false, err
		}
	}
	_, err = tx.Exec(ctx, `INSERT INTO pondage.owner (target, cluster, stream) VALUES ($1, $2, $3)
		ON CONFLICT (target) DO UPDATE SET cluster = excluded.cluster, stream = excluded.stream`, t.ident(), f.Cluster, f.Stream)
	return true, err
}

// leaveLock bounds how long Leave waits for anybody's lock: a writer that is frozen within its transaction keeps no stream
// from being dropped.
const leaveLock = "SET LOCAL lock_timeout = '2s'"

// Leave removes what a stream that is no more has left in the database beside the results: the tables beside the table, unless
// another stream has adopted it since, and the stream's rows in the schema pondage. Without its fence a writer of the
// stream that lives on writes nothing. The table itself is its user's. It is one transaction; repeating it does no harm.
//
// Errors: Postgres's.
func (t *Table) Leave(ctx context.Context, db Beginner, c ident.Cluster, s ident.StreamID) error {
	err := pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		for _, statement := range []string{limits, leaveLock} {
			if _, err := tx.Exec(ctx, statement); err != nil {
				return err
			}
		}
		var there bool
		if err := tx.QueryRow(ctx, "SELECT to_regclass('pondage.owner') IS NOT NULL").Scan(&there); err != nil || !there {
			return err // no task of the stream has come as far
		}
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtextextended('pondage.create.' || $1, 0))", t.ident()); err != nil {
			return err
		}
		owned, err := tx.Exec(ctx, "DELETE FROM pondage.owner WHERE target = $1 AND cluster = $2 AND stream = $3", t.ident(), c, s)
		if err != nil {
			return err
		}
		if beside := t.besideIdent(); beside != "" && owned.RowsAffected() > 0 {
			if _, err := tx.Exec(ctx, "DROP TABLE IF EXISTS "+beside); err != nil {
				return err
			}
		}
		for _, rows := range []string{"fence", "staged", "published"} {
			if _, err := tx.Exec(ctx, "DELETE FROM pondage."+rows+" WHERE cluster = $1 AND stream = $2", c, s); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("leave table %s: %w", t.ident(), err)
	}
	return nil
}
