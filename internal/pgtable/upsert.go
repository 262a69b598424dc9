package pgtable

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/failpoint"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/rowjson"
)

// Writer upserts result rows into one table.
type Writer struct {
	table *Table
	sql   string
	key   []int
	enc   *rowjson.Encoder
}

// NewWriter returns a writer for the table.
func NewWriter(t *Table) *Writer {
	w := &Writer{table: t, sql: t.upsertSQL(), enc: rowjson.NewEncoder(t.Columns)}
	for _, k := range t.Key {
		w.key = append(w.key, t.Columns.Index(k))
	}
	return w
}

// unnest returns the parts of a statement that takes one array a column: the columns' names, the arrays as parameters,
// the names of their elements, and the elements as values.
func (t *Table) unnest() (names, arrays, columns, values []string) {
	for i, f := range t.Columns {
		names = append(names, quote(f.Name))
		columns = append(columns, fmt.Sprintf("c%d", i))
		// The driver would marshal a text once more if it were sent as json.
		if f.Type.Kind == block.KindJSON {
			arrays = append(arrays, fmt.Sprintf("$%d::text[]", i+1))
			values = append(values, fmt.Sprintf("c%d::jsonb", i))
		} else {
			arrays = append(arrays, fmt.Sprintf("$%d::%s[]", i+1, pgType(f.Type)))
			values = append(values, fmt.Sprintf("c%d", i))
		}
	}
	return names, arrays, columns, values
}

// updates is what ON CONFLICT does to a row that is there.
func (t *Table) updates() string {
	var all []string
	for _, f := range t.Columns {
		if !slices.Contains(t.Key, f.Name) {
			all = append(all, fmt.Sprintf("%s = excluded.%[1]s", quote(f.Name)))
		}
	}
	all = append(all, CheckpointColumn+" = excluded."+CheckpointColumn, VGroupColumn+" = excluded."+VGroupColumn)
	if t.Retain > 0 {
		all = append(all, WrittenColumn+" = now()")
	}
	return strings.Join(all, ", ")
}

// upsertSQL takes one array a column, then _cp and _vgroup.
func (t *Table) upsertSQL() string {
	names, arrays, columns, values := t.unnest()
	n := len(t.Columns)
	sql := fmt.Sprintf("INSERT INTO %s (%s, %s, %s) SELECT %s, $%d::bigint, $%d::integer FROM unnest(%s) u(%s)",
		t.ident(), strings.Join(names, ", "), CheckpointColumn, VGroupColumn, strings.Join(values, ", "), n+1, n+2,
		strings.Join(arrays, ", "), strings.Join(columns, ", "))
	if len(t.Key) == 0 {
		return sql
	}
	return fmt.Sprintf("%s ON CONFLICT (%s) DO UPDATE SET %s", sql, quoteAll(t.Key), t.updates())
}

// Upsert writes the rows of the batches, in order, in one transaction under the fence: the last row of a key wins.
// cp is the id of the last trigger the sink task has passed. What it replaces of older intervals is kept beside the table
// (Restore).
//
// Errors: ErrFenced; ErrMismatch where somebody has dropped or changed the table since Create; otherwise Postgres's.
func (w *Writer) Upsert(ctx context.Context, db Beginner, f Fence, cp ident.CheckpointID, batches []*block.Batch) error {
	rows := w.lastOfEachKey(batches)
	if len(rows) == 0 {
		return nil
	}
	args := make([]any, 0, len(w.table.Columns)+2)
	for c, field := range w.table.Columns {
		args = append(args, array(field.Type, rows, batches, c))
	}
	args = append(args, int64(cp), int32(f.VGroup))
	err := pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		if err := f.hold(ctx, tx); err != nil {
			return err
		}
		if err := w.images(ctx, tx, cp, rows, batches); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, w.sql, args...); err != nil {
			return err
		}
		return failpoint.Hit(failpoint.SinkUpsertBeforeCommit)
	})
	if err == nil {
		err = failpoint.Hit(failpoint.SinkUpsertCommitted)
	}
	if err != nil {
		return fmt.Errorf("upsert %d rows into %s: %w", len(rows), w.table.ident(), w.named(ctx, db, err))
	}
	return nil
}

// named says of an error whether it is that somebody has dropped or changed the table.
func (w *Writer) named(ctx context.Context, db Beginner, err error) error {
	if mayBeShape(err) {
		if changed := w.table.Fits(ctx, db); errors.Is(changed, ErrMismatch) {
			return changed
		}
	}
	return err
}

// accessRules is the SQLSTATE class of statements that do not fit what is there: no such table, column or constraint.
const accessRules = "42"

func mayBeShape(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && strings.HasPrefix(pg.Code, accessRules)
}

// gone is the mismatch of a table that is not there any more. It is not made again on the way: it would lack what was written
// before, and nobody would know.
type gone struct{ table string }

func (g gone) Error() string {
	return g.table + " was dropped: made again it would lack what the stream has written before; put it back, or begin the stream anew from its start"
}

func (gone) Is(target error) bool { return target == ErrMismatch }

// Fits checks the table that Create has made before, and what stands beside it.
//
// Errors: ErrMismatch, also where one of them is not there any more; otherwise Postgres's.
func (t *Table) Fits(ctx context.Context, db Beginner) error {
	return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		var there bool
		for _, name := range []string{t.ident(), t.besideIdent()} {
			if name == "" {
				continue
			}
			if err := tx.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", name).Scan(&there); err != nil {
				return err
			}
			if !there {
				return gone{name}
			}
		}
		return t.check(ctx, tx)
	})
}

// rowRef is a row of one of the batches.
type rowRef struct{ batch, row int32 }

// lastOfEachKey returns the rows to write, one a key, in the order of their last appearance. One statement may not
// touch a row twice.
func (w *Writer) lastOfEachKey(batches []*block.Batch) []rowRef {
	var refs []rowRef
	seen := map[string]int{}
	var key []byte
	dropped := false
	for b, batch := range batches {
		for i := range batch.Rows() {
			ref := rowRef{batch: int32(b), row: int32(i)}
			if len(w.key) > 0 {
				key = w.enc.AppendKey(key[:0], batch.Cols, w.key, i)
				if before, ok := seen[string(key)]; ok {
					refs[before].row, dropped = -1, true
				}
				seen[string(key)] = len(refs)
			}
			refs = append(refs, ref)
		}
	}
	if dropped {
		refs = slices.DeleteFunc(refs, func(r rowRef) bool { return r.row < 0 })
	}
	return refs
}

// array returns column c of the rows in the form that pgx sends as a Postgres array.
func array(t block.Type, rows []rowRef, batches []*block.Batch, c int) any {
	switch t.Kind {
	case block.KindBool:
		return fill(rows, batches, c, func(col *block.Column, i int32, ok bool) pgtype.Bool {
			return pgtype.Bool{Bool: col.Bool[i], Valid: ok}
		})
	case block.KindInt64:
		return fill(rows, batches, c, func(col *block.Column, i int32, ok bool) pgtype.Int8 {
			return pgtype.Int8{Int64: col.Int[i], Valid: ok}
		})
	case block.KindFloat64:
		return fill(rows, batches, c, func(col *block.Column, i int32, ok bool) pgtype.Float8 {
			return pgtype.Float8{Float64: col.Float[i], Valid: ok}
		})
	case block.KindDecimal:
		return fill(rows, batches, c, func(col *block.Column, i int32, ok bool) pgtype.Numeric {
			return pgtype.Numeric{Int: unscaled(col, i, ok), Exp: -int32(t.Scale), Valid: ok}
		})
	case block.KindTimestamp:
		return fill(rows, batches, c, func(col *block.Column, i int32, ok bool) pgtype.Timestamptz {
			return pgtype.Timestamptz{Time: time.UnixMilli(col.Int[i]).UTC(), Valid: ok}
		})
	case block.KindString, block.KindJSON:
		return fill(rows, batches, c, func(col *block.Column, i int32, ok bool) pgtype.Text {
			return pgtype.Text{String: string(col.Bytes(int(i))), Valid: ok}
		})
	case block.KindInvalid:
	}
	panic("pgtable: column without a type")
}

func unscaled(col *block.Column, i int32, ok bool) *big.Int {
	if !ok {
		return nil
	}
	return col.Dec[i].BigInt()
}

func fill[T any](rows []rowRef, batches []*block.Batch, c int, get func(col *block.Column, i int32, ok bool) T) []T {
	out := make([]T, len(rows))
	for n, r := range rows {
		col := batches[r.batch].Cols[c]
		out[n] = get(col, r.row, !col.IsNull(int(r.row)))
	}
	return out
}
