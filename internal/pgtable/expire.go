package pgtable

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// retainComment begins the comment of a table whose rows expire; milliseconds follow. The table says so itself, so that
// any worker can do it, also when nothing of the stream runs.
const retainComment = "pondage.retain_ms="

// retainSQL returns the statements that make a new table's rows expire.
func (t *Table) retainSQL() []string {
	return []string{
		fmt.Sprintf("COMMENT ON TABLE %s IS '%s%d'", t.ident(), retainComment, t.Retain.Milliseconds()),
		fmt.Sprintf("CREATE INDEX ON %s (%s)", t.ident(), WrittenColumn),
	}
}

// Expiring lists the tables of a Postgres schema whose rows expire: Schema, Name and Retain are set.
func Expiring(ctx context.Context, db DB, schema string) ([]*Table, error) {
	rows, err := db.Query(ctx, `SELECT c.relname::text, obj_description(c.oid, 'pg_class')
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = $1 AND c.relkind = 'r' AND starts_with(obj_description(c.oid, 'pg_class'), $2)`, schema, retainComment)
	if err != nil {
		return nil, fmt.Errorf("list the tables of schema %s whose rows expire: %w", schema, err)
	}
	var tables []*Table
	var name, comment string
	_, err = pgx.ForEachRow(rows, []any{&name, &comment}, func() error {
		// Nothing of a table is deleted whose comment somebody has changed.
		if ms, err := strconv.ParseInt(strings.TrimPrefix(comment, retainComment), 10, 64); err == nil && ms > 0 {
			tables = append(tables, &Table{Schema: schema, Name: name, Retain: time.Duration(ms) * time.Millisecond})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list the tables of schema %s whose rows expire: %w", schema, err)
	}
	return tables, nil
}

// ErrExpiring says that another session deletes expired rows of the table at the moment.
var ErrExpiring = errors.New("another session is at it")

// Expire deletes at most limit rows that were written longer than Retain ago, by the database's clock, and returns how
// many it deleted. Rows that a writer holds are left for the next time.
//
// Errors: ErrExpiring; otherwise Postgres's.
func (t *Table) Expire(ctx context.Context, db Beginner, limit int) (deleted int64, err error) {
	err = pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		var mine bool
		if err := tx.QueryRow(ctx, "SELECT pg_try_advisory_xact_lock(hashtextextended('pondage.expire.' || $1, 0))", t.ident()).Scan(&mine); err != nil {
			return err
		}
		if !mine {
			return ErrExpiring
		}
		tag, err := tx.Exec(ctx, fmt.Sprintf(`DELETE FROM %[1]s WHERE ctid = ANY (ARRAY(
			SELECT ctid FROM %[1]s WHERE %[2]s < now() - $1::bigint * interval '1 ms' ORDER BY %[2]s LIMIT $2 FOR UPDATE SKIP LOCKED))`,
			t.ident(), WrittenColumn), t.Retain.Milliseconds(), limit)
		deleted = tag.RowsAffected()
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("expire rows of %s: %w", t.ident(), err)
	}
	return deleted, nil
}
