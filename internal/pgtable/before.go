package pgtable

import (
	"context"
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/failpoint"
	"github.com/pondage/pondage/internal/ident"
)

// The images of a table that `upsert` writes (DESIGN §9): before a write replaces a row of an older interval, the row is
// copied beside the table, once per key and interval. With them a sink goes back to a checkpoint without asking any state
// for what the results were.
//
// Intervals are named by the trigger that began them: the rows written after trigger c have _cp = c, and an image
// has _at = c when it was taken by a write of interval c. It is the row as it was before that interval, for its key.
const (
	beforeSuffix = "__before"
	// takenColumn is the interval of the write that replaced the row.
	takenColumn = "_at"
)

func (t *Table) beforeIdent() string { return t.beside(beforeSuffix) }

// beside quotes the name of a table that belongs to this one.
func (t *Table) beside(suffix string) string {
	b := Table{Schema: t.Schema, Name: named(t.Name, suffix)}
	return b.ident()
}

// beforeSQL returns the statements that make the table of images.
func (t *Table) beforeSQL() []string {
	if len(t.Key) == 0 {
		return nil // its rows are never replaced
	}
	var cols strings.Builder
	for _, f := range t.Columns {
		fmt.Fprintf(&cols, "%s %s, ", quote(f.Name), pgType(f.Type))
	}
	at := t.beforeIdent()
	return []string{
		fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s (%s%s bigint NOT NULL, %s integer NOT NULL, %s bigint NOT NULL, UNIQUE NULLS NOT DISTINCT (%s, %s))",
			at, cols.String(), CheckpointColumn, VGroupColumn, takenColumn, quoteAll(t.Key), takenColumn),
		fmt.Sprintf("CREATE INDEX IF NOT EXISTS %s ON %s (%s, %s)",
			pgx.Identifier{indexName(t.Name, beforeSuffix)}.Sanitize(), at, VGroupColumn, takenColumn),
	}
}

// nameLimit is Postgres's, in bytes: longer identifiers are cut, and two could become one.
const nameLimit = 63

// named returns the name of what belongs to a table. Where both do not fit, a hash of the table's name takes the place of its
// end: a name that Postgres cuts could be the table itself.
func named(table, suffix string) string {
	if len(table)+len(suffix) <= nameLimit {
		return table + suffix
	}
	sum := fnv.New32a()
	sum.Write([]byte(table)) // never fails
	suffix = fmt.Sprintf("_%08x%s", sum.Sum32(), suffix)
	return strings.ToValidUTF8(table[:nameLimit-len(suffix)], "") + suffix
}

// indexName is the name of the index of a table that stands beside another one.
func indexName(table, suffix string) string { return named(table, suffix+"_i") }

// allColumns are the result columns and those that both tables have of Pondage's.
func (t *Table) allColumns() string {
	names := make([]string, 0, len(t.Columns))
	for _, f := range t.Columns {
		names = append(names, f.Name)
	}
	return quoteAll(names) + ", " + CheckpointColumn + ", " + VGroupColumn
}

// mask says which columns of a natural key are null, one bit each.
type mask uint64

// keyMask returns which columns of the row's key are null.
func (w *Writer) keyMask(b *block.Batch, row int) (m mask) {
	for i, k := range w.key {
		if b.Cols[k].IsNull(row) {
			m |= 1 << i
		}
	}
	return m
}

// images copies the rows that are about to be replaced and are of an older interval than cp. Keys are looked up by the
// unique index; it does not serve IS NOT DISTINCT FROM, so keys with nulls go in statements of their own, by which of their columns are null.
func (w *Writer) images(ctx context.Context, tx pgx.Tx, cp ident.CheckpointID, rows []rowRef, batches []*block.Batch) error {
	if len(w.key) == 0 {
		return nil
	}
	groups := map[mask][]rowRef{}
	for _, r := range rows {
		m := w.keyMask(batches[r.batch], int(r.row))
		groups[m] = append(groups[m], r)
	}
	var all pgx.Batch
	for m, refs := range groups {
		var args []any
		for i, k := range w.key {
			if m&(1<<i) == 0 {
				args = append(args, array(w.table.Columns[k].Type, refs, batches, k))
			}
		}
		if len(args) == 0 { // the one key that is all null
			all.Queue(w.imageSQL(m), int64(cp))
			continue
		}
		all.Queue(w.imageSQL(m), append(args, int64(cp))...)
	}
	return tx.SendBatch(ctx, &all).Close()
}

// imageSQL copies the rows of keys whose null columns are those of the mask. It takes an array for each other column of
// the key, then the interval.
func (w *Writer) imageSQL(m mask) string {
	t := w.table
	var arrays, columns, on []string
	for i, k := range w.key {
		f := t.Columns[k]
		if m&(1<<i) != 0 {
			on = append(on, fmt.Sprintf("t.%s IS NULL", quote(f.Name)))
			continue
		}
		n := len(arrays)
		c := fmt.Sprintf("c%d", n)
		if f.Type.Kind == block.KindJSON {
			arrays = append(arrays, fmt.Sprintf("$%d::text[]", n+1))
			on = append(on, fmt.Sprintf("t.%s = u.%s::jsonb", quote(f.Name), c))
		} else {
			arrays = append(arrays, fmt.Sprintf("$%d::%s[]", n+1, pgType(f.Type)))
			on = append(on, fmt.Sprintf("t.%s = u.%s", quote(f.Name), c))
		}
		columns = append(columns, c)
	}
	from := ""
	if len(arrays) > 0 {
		from = fmt.Sprintf("unnest(%s) u(%s) JOIN ", strings.Join(arrays, ", "), strings.Join(columns, ", "))
		on = append(on, "true")
	}
	cp := len(arrays) + 1
	sql := fmt.Sprintf("INSERT INTO %s (%s, %s) SELECT %s, $%d::bigint FROM %s%s t", t.beforeIdent(), t.allColumns(), takenColumn,
		prefixed("t", t), cp, from, t.ident())
	if from != "" {
		sql += " ON " + strings.Join(on, " AND ") + " WHERE"
	} else {
		sql += " WHERE " + strings.Join(on, " AND ") + " AND"
	}
	return fmt.Sprintf("%s t.%s < $%d ON CONFLICT DO NOTHING", sql, CheckpointColumn, cp)
}

func prefixed(alias string, t *Table) string {
	names := make([]string, 0, len(t.Columns)+2)
	for _, f := range t.Columns {
		names = append(names, alias+"."+quote(f.Name))
	}
	return strings.Join(append(names, alias+"."+CheckpointColumn, alias+"."+VGroupColumn), ", ")
}

// ErrImagesGone says that the images reach back less far than the checkpoint: what the results were then is not known.
type ErrImagesGone struct {
	Table      string
	Checkpoint ident.CheckpointID // asked for
	Oldest     ident.CheckpointID // can be gone back to
}

func (e *ErrImagesGone) Error() string {
	return fmt.Sprintf("%s cannot go back to checkpoint %d: what its rows were is kept since checkpoint %d", e.Table, e.Checkpoint, e.Oldest)
}

// Restore takes back, for the fence's vgroup, what was written after trigger c: what a dead timeline has written is
// gone, and what it has replaced is back (DESIGN §9). It comes after the fence was raised and before any other write. It may be
// repeated.
//
// Of a key's images of interval c or later the oldest is the row as it was at c, unless the row was itself written after
// c: a key that is new since c, and was then replaced, has such an image only. So the image is put back when its _cp is
// below c; else the key did not exist at c.
//
// Errors: ErrFenced; *ErrImagesGone; otherwise Postgres's.
func (t *Table) Restore(ctx context.Context, db Beginner, f Fence, c ident.CheckpointID) error {
	err := pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		if err := f.hold(ctx, tx); err != nil {
			return err
		}
		if err := f.keptSince(ctx, tx, t, c); err != nil {
			return err
		}
		for _, s := range t.restoreSQL() {
			if _, err := tx.Exec(ctx, s, int32(f.VGroup), int64(c)); err != nil {
				return err
			}
		}
		return failpoint.Hit(failpoint.SinkRestoreBeforeCommit)
	})
	if err != nil {
		return fmt.Errorf("take back the rows of %s after checkpoint %d: %w", t.ident(), c, err)
	}
	return nil
}

// restoreSQL takes the vgroup and the checkpoint. First every row of a later interval goes, then the oldest images come
// back; a row with columns of the user's own keeps them where the key lived through.
func (t *Table) restoreSQL() []string {
	later := fmt.Sprintf("DELETE FROM %s WHERE %s = $1 AND %s >= $2", t.ident(), VGroupColumn, CheckpointColumn)
	if len(t.Key) == 0 {
		return []string{later}
	}
	oldest := fmt.Sprintf("(SELECT DISTINCT ON (%s) * FROM %s WHERE %s = $1 AND %s >= $2 ORDER BY %[1]s, %[4]s) o", quoteAll(t.Key), t.beforeIdent(), VGroupColumn, takenColumn)
	back := fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM %s WHERE o.%s < $2 ON CONFLICT (%s) DO UPDATE SET %s",
		t.ident(), t.allColumns(), prefixed("o", t), oldest, CheckpointColumn, quoteAll(t.Key), t.updates())
	forget := fmt.Sprintf("DELETE FROM %s WHERE %s = $1 AND %s >= $2", t.beforeIdent(), VGroupColumn, takenColumn)
	// back runs first: it finds the keys that lived through by the unique key and sets their _cp below $2, so that later
	// deletes only what did not exist at the checkpoint.
	return []string{back, later, forget}
}

// keptSince refuses a checkpoint below the oldest that images are kept for.
func (f Fence) keptSince(ctx context.Context, tx pgx.Tx, t *Table, c ident.CheckpointID) error {
	var kept int64
	err := tx.QueryRow(ctx, "SELECT kept_since FROM pondage.fence WHERE cluster = $1 AND stream = $2 AND vgroup = $3",
		f.Cluster, f.Stream, int32(f.VGroup)).Scan(&kept)
	if err != nil {
		return err
	}
	if int64(c) < kept {
		return &ErrImagesGone{Table: t.ident(), Checkpoint: c, Oldest: ident.CheckpointID(kept)}
	}
	return nil
}

// ForgetBefore deletes the images that no checkpoint from oldest on needs, of the fence's vgroup.
//
// Errors: ErrFenced; otherwise Postgres's.
func (t *Table) ForgetBefore(ctx context.Context, db Beginner, f Fence, oldest ident.CheckpointID) error {
	if len(t.Key) == 0 {
		return nil
	}
	err := pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		if err := f.hold(ctx, tx); err != nil {
			return err
		}
		// First the mark: an image is never gone while a restore would believe that it is there.
		if _, err := tx.Exec(ctx, `UPDATE pondage.fence SET kept_since = $4 WHERE cluster = $1 AND stream = $2 AND vgroup = $3 AND kept_since < $4`,
			f.Cluster, f.Stream, int32(f.VGroup), int64(oldest)); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, fmt.Sprintf("DELETE FROM %s WHERE %s = $1 AND %s < $2", t.beforeIdent(), VGroupColumn, takenColumn), int32(f.VGroup), int64(oldest))
		return err
	})
	if err != nil {
		return fmt.Errorf("forget the images of %s before checkpoint %d: %w", t.ident(), oldest, err)
	}
	return nil
}
