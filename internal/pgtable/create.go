package pgtable

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// ErrMismatch says that a table with the name exists and has another shape; its text lists every difference.
var ErrMismatch = errors.New("the table exists with another shape")

// DB is what this package needs of a connection, a pool or a transaction.
type DB interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Beginner starts a transaction: a pool or a connection.
type Beginner interface {
	Begin(ctx context.Context) (pgx.Tx, error)
}

// Create makes the table and the fence, or checks the table that is there. It tells whether it made the table. An
// existing table must have the result columns, the key and Pondage's own columns; it may have further columns that take
// null or a default. Nothing half-made remains: it is one transaction.
//
// Errors: ErrMismatch with the differences; otherwise Postgres's.
func (t *Table) Create(ctx context.Context, db Beginner) (made bool, err error) {
	err = pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, limits); err != nil {
			return err
		}
		// Two coordinators or workers that create at once take turns; the lock goes with the transaction.
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtextextended('pondage.create.' || $1, 0))", t.ident()); err != nil {
			return err
		}
		if err := ensureFence(ctx, tx); err != nil {
			return err
		}
		var there bool
		if err := tx.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", t.ident()).Scan(&there); err != nil {
			return err
		}
		if there {
			if err := t.check(ctx, tx); err != nil {
				return err
			}
		} else if err := execAll(ctx, tx, t.createSQL()); err != nil {
			return err
		}
		made = !there
		return t.createBeside(ctx, tx)
	})
	if err != nil {
		return false, fmt.Errorf("result table %s: %w", t.ident(), err)
	}
	return made, nil
}

// createBeside makes the table that stands beside this one. A statement that would change nothing is not sent: it would
// wait for whoever writes.
func (t *Table) createBeside(ctx context.Context, tx pgx.Tx) error {
	if t.besideIdent() == "" {
		return nil
	}
	var there bool
	if err := tx.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", t.besideIdent()).Scan(&there); err != nil || there {
		return err
	}
	return execAll(ctx, tx, t.besideSQL())
}

func execAll(ctx context.Context, tx pgx.Tx, statements []string) error {
	for _, s := range statements {
		if _, err := tx.Exec(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// Check tells whether a table that is there has the shape that Create makes; one that is not there is fine. It changes
// nothing.
//
// Errors: ErrMismatch with the differences; otherwise Postgres's.
func (t *Table) Check(ctx context.Context, db Beginner) error {
	err := pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		var there bool
		if err := tx.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", t.ident()).Scan(&there); err != nil || !there {
			return err
		}
		return t.check(ctx, tx)
	})
	if err != nil {
		return fmt.Errorf("result table %s: %w", t.ident(), err)
	}
	return nil
}

// Drop removes the table, and what stands or has stood beside it, as far as it is there.
func (t *Table) Drop(ctx context.Context, db DB) error {
	for _, name := range []string{t.ident(), t.beforeIdent(), t.stageIdent()} {
		if _, err := db.Exec(ctx, "DROP TABLE IF EXISTS "+name); err != nil {
			return fmt.Errorf("drop result table %s: %w", name, err)
		}
	}
	return nil
}

// found is a column of the existing table.
type found struct {
	Type     string
	Optional bool // takes null or has a default
}

func (t *Table) check(ctx context.Context, tx pgx.Tx) error {
	cols, err := t.existing(ctx, tx)
	if err != nil {
		return err
	}
	var wrong []string
	want := map[string]string{CheckpointColumn: "bigint", VGroupColumn: "integer"}
	if t.Retain > 0 {
		want[WrittenColumn] = "timestamp with time zone"
	}
	for _, f := range t.Columns {
		want[f.Name] = pgType(f.Type)
	}
	for name, typ := range want {
		switch have, ok := cols[name]; {
		case !ok:
			wrong = append(wrong, fmt.Sprintf("column %s %s is missing", quote(name), typ))
		case have.Type != typ:
			wrong = append(wrong, fmt.Sprintf("column %s is %s, must be %s", quote(name), have.Type, typ))
		}
	}
	for name, have := range cols {
		if _, ok := want[name]; !ok && !have.Optional {
			wrong = append(wrong, fmt.Sprintf("column %s is not of this stream and takes no null", quote(name)))
		}
	}
	if ok, err := t.keyIsUnique(ctx, tx); err != nil {
		return err
	} else if !ok {
		wrong = append(wrong, fmt.Sprintf("a unique constraint NULLS NOT DISTINCT on (%s) is missing", quoteAll(t.Key)))
	}
	if len(wrong) > 0 {
		slices.Sort(wrong)
		return fmt.Errorf("%w: %s", ErrMismatch, strings.Join(wrong, "; "))
	}
	return nil
}

func (t *Table) existing(ctx context.Context, tx pgx.Tx) (map[string]found, error) {
	rows, err := tx.Query(ctx, `SELECT attname::text, format_type(atttypid, NULL), NOT attnotnull OR atthasdef OR attidentity <> ''
		FROM pg_attribute WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped`, t.ident())
	if err != nil {
		return nil, err
	}
	cols := map[string]found{}
	var name string
	var f found
	_, err = pgx.ForEachRow(rows, []any{&name, &f.Type, &f.Optional}, func() error {
		cols[name] = f
		return nil
	})
	return cols, err
}

// keyIsUnique tells whether a unique index that treats nulls as equal covers exactly the key.
func (t *Table) keyIsUnique(ctx context.Context, tx pgx.Tx) (bool, error) {
	var ok bool
	err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = to_regclass($1)
		AND i.indisunique AND i.indisvalid AND i.indnullsnotdistinct AND i.indpred IS NULL AND i.indexprs IS NULL
		AND (SELECT array_agg(a.attname::text ORDER BY a.attname::text) FROM pg_attribute a
		     WHERE a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey[0:i.indnkeyatts - 1]))
		  = (SELECT array_agg(k ORDER BY k) FROM unnest($2::text[]) k))`, t.ident(), t.Key).Scan(&ok)
	return ok, err
}
