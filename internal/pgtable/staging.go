package pgtable

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/failpoint"
	"github.com/pondage/pondage/internal/ident"
)

// The staging table of `delivery: transactional` (DESIGN §9): sink tasks write their results beside the table, and when a
// checkpoint is complete one transaction moves those before it into the table. Readers see whole cuts only.
//
// A row carries _after, the last trigger that its task had passed, and _n, rising per vgroup and stage: the order in which
// the results of a key were made.
const (
	stageSuffix = "__stage"
	afterColumn = "_after"
	orderColumn = "_n"
)

func (t *Table) stageIdent() string { return t.beside(stageSuffix) }

func (t *Table) stageSQL() []string {
	var cols strings.Builder
	for _, f := range t.Columns {
		fmt.Fprintf(&cols, "%s %s, ", quote(f.Name), pgType(f.Type))
	}
	return []string{
		fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s (%s%s integer NOT NULL, %s bigint NOT NULL, %s bigint NOT NULL)",
			t.stageIdent(), cols.String(), VGroupColumn, afterColumn, orderColumn),
		fmt.Sprintf("CREATE UNIQUE INDEX IF NOT EXISTS %s ON %s (%s, %s, %s)",
			pgx.Identifier{indexName(t.Name, stageSuffix)}.Sanitize(), t.stageIdent(), afterColumn, VGroupColumn, orderColumn),
	}
}

// Stage writes the rows of the batches, in order, into the staging table, in one transaction under the fence. after is
// the last trigger the sink task has passed, first the _n of the first row; it returns that of the next one.
//
// It may be repeated with the same rows and numbers when nobody knows how it ended: rows that are there stay as they are. An
// attempt that was given up while its COMMIT was under way holds their places: the next one waits for it, so that it cannot come to
// light when the rows are published and gone (trap T31).
//
// Errors: ErrFenced; ErrMismatch where somebody has dropped or changed the tables; otherwise Postgres's.
func (w *Writer) Stage(ctx context.Context, db Beginner, f Fence, after ident.CheckpointID, first int64, batches []*block.Batch) (next int64, err error) {
	var rows []rowRef
	for b, batch := range batches {
		for i := range batch.Rows() {
			rows = append(rows, rowRef{batch: int32(b), row: int32(i)})
		}
	}
	if len(rows) == 0 {
		return first, nil
	}
	args := make([]any, 0, len(w.table.Columns)+3)
	for c, field := range w.table.Columns {
		args = append(args, array(field.Type, rows, batches, c))
	}
	args = append(args, int32(f.VGroup), int64(after), first)
	err = pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		if err := f.hold(ctx, tx); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, w.table.stageRowsSQL(), args...); err != nil {
			return err
		}
		return failpoint.Hit(failpoint.SinkStageBeforeCommit)
	})
	if err == nil {
		err = failpoint.Hit(failpoint.SinkStageCommitted)
	}
	if err != nil {
		return first, fmt.Errorf("stage %d rows for %s: %w", len(rows), w.table.ident(), w.named(ctx, db, err))
	}
	return first + int64(len(rows)), nil
}

// stageRowsSQL takes one array a column, then vgroup, after and the number of the first row.
func (t *Table) stageRowsSQL() string {
	names, arrays, columns, values := t.unnest()
	n := len(t.Columns)
	return fmt.Sprintf("INSERT INTO %s (%s, %s, %s, %s) SELECT %s, $%d::integer, $%d::bigint, $%d::bigint + row - 1 FROM unnest(%s) WITH ORDINALITY u(%s, row) ON CONFLICT DO NOTHING",
		t.stageIdent(), strings.Join(names, ", "), VGroupColumn, afterColumn, orderColumn, strings.Join(values, ", "), n+1, n+2, n+3,
		strings.Join(arrays, ", "), strings.Join(columns, ", "))
}

// Unstage deletes the fence's vgroup's staged rows from after trigger c: those of a dead timeline. It comes after the
// fence was raised and before anything is staged. It may be repeated.
//
// Errors: ErrFenced; otherwise Postgres's.
func (t *Table) Unstage(ctx context.Context, db Beginner, f Fence, c ident.CheckpointID) error {
	err := pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		if err := f.hold(ctx, tx); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, fmt.Sprintf("DELETE FROM %s WHERE %s = $1 AND %s >= $2", t.stageIdent(), VGroupColumn, afterColumn), int32(f.VGroup), int64(c))
		return err
	})
	if err != nil {
		return fmt.Errorf("unstage rows of %s after checkpoint %d: %w", t.ident(), c, err)
	}
	return nil
}

// MarkStaged notes that everything of the fence's vgroup from before trigger c is staged.
//
// Errors: ErrFenced; otherwise Postgres's.
func (f Fence) MarkStaged(ctx context.Context, db Beginner, c ident.CheckpointID) error {
	err := pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		if err := f.hold(ctx, tx); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `INSERT INTO pondage.staged AS s (cluster, stream, vgroup, cp) VALUES ($1, $2, $3, $4)
			ON CONFLICT (cluster, stream, vgroup) DO UPDATE SET cp = excluded.cp WHERE s.cp < excluded.cp`, f.Cluster, f.Stream, int32(f.VGroup), int64(c))
		return err
	})
	if err != nil {
		return fmt.Errorf("mark checkpoint %d of stream %d vgroup %d as staged: %w", c, f.Stream, f.VGroup, err)
	}
	return nil
}

// Marks are what the database knows of a stream's checkpoints; 0: of none.
type Marks struct {
	Staged    ident.CheckpointID // the newest that the fence's vgroup has staged everything before
	Published ident.CheckpointID // the newest whose results are in the table
}

// Marks reads them.
func (f Fence) Marks(ctx context.Context, db Beginner) (m Marks, err error) {
	err = pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, limits); err != nil {
			return err
		}
		return tx.QueryRow(ctx, `SELECT
			coalesce((SELECT cp FROM pondage.staged WHERE cluster = $1 AND stream = $2 AND vgroup = $3), 0),
			coalesce((SELECT cp FROM pondage.published WHERE cluster = $1 AND stream = $2), 0)`, f.Cluster, f.Stream, int32(f.VGroup)).Scan(&m.Staged, &m.Published)
	})
	if err != nil {
		return Marks{}, fmt.Errorf("read what stream %d has published: %w", f.Stream, err)
	}
	return m, nil
}

// ErrNotStaged says that a vgroup's results are not in the staging table though its task has said so: the database is older than that.
type ErrNotStaged struct {
	Table      string
	Checkpoint ident.CheckpointID
	Missing    []ident.VGroup
}

func (e *ErrNotStaged) Error() string {
	return fmt.Sprintf("the results before checkpoint %d of vgroups %v are not staged beside %s any more: the database is older than the checkpoint", e.Checkpoint, e.Missing, e.Table)
}

// staged gives *ErrNotStaged unless all the vgroups have staged everything from before c.
func (w *Writer) staged(ctx context.Context, tx pgx.Tx, f Fence, c ident.CheckpointID, of []ident.VGroup) error {
	rows, err := tx.Query(ctx, `SELECT v FROM unnest($3::integer[]) v
		WHERE NOT EXISTS (SELECT FROM pondage.staged WHERE cluster = $1 AND stream = $2 AND vgroup = v AND cp >= $4) ORDER BY v`, f.Cluster, f.Stream, of, int64(c))
	if err != nil {
		return err
	}
	missing, err := pgx.CollectRows(rows, pgx.RowTo[ident.VGroup])
	if err == nil && len(missing) > 0 {
		err = &ErrNotStaged{Table: w.table.ident(), Checkpoint: c, Missing: missing}
	}
	return err
}

// limitPublish is the limit of a statement that moves what has gathered since the last publication, which may be much.
const limitPublish = "SET LOCAL statement_timeout = '10min'"

// Publish moves the staged rows of all vgroups from before trigger c into the table, in one transaction, and returns
// the checkpoint that was published before. One that is published already changes nothing. Only when every sink task has
// staged everything from before c, and c is complete, may it be called; one task of the stream does it. of are the vgroups of
// the sink tasks.
//
// Errors: ErrFenced; *ErrNotStaged; ErrMismatch where somebody has dropped or changed the tables; otherwise Postgres's.
func (w *Writer) Publish(ctx context.Context, db Beginner, f Fence, c ident.CheckpointID, of []ident.VGroup) (before ident.CheckpointID, err error) {
	err = pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		if err := f.hold(ctx, tx); err != nil {
			return err
		}
		var cp int64
		err := tx.QueryRow(ctx, `INSERT INTO pondage.published AS p (cluster, stream, cp) VALUES ($1, $2, 0)
			ON CONFLICT (cluster, stream) DO UPDATE SET cp = p.cp RETURNING cp`, f.Cluster, f.Stream).Scan(&cp)
		if err != nil {
			return err
		}
		if before = ident.CheckpointID(cp); before >= c {
			return nil
		}
		if err := w.staged(ctx, tx, f, c, of); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, limitPublish); err != nil {
			return err
		}
		for _, s := range w.table.publishSQL() {
			if _, err := tx.Exec(ctx, s, int64(c)); err != nil {
				return err
			}
		}
		if _, err = tx.Exec(ctx, "UPDATE pondage.published SET cp = $3 WHERE cluster = $1 AND stream = $2", f.Cluster, f.Stream, int64(c)); err != nil {
			return err
		}
		return failpoint.Hit(failpoint.SinkPublishBeforeCommit)
	})
	if err == nil {
		err = failpoint.Hit(failpoint.SinkPublishCommitted)
	}
	if err != nil {
		return before, fmt.Errorf("publish checkpoint %d of %s: %w", c, w.table.ident(), w.named(ctx, db, err))
	}
	return before, nil
}

// publishSQL takes the checkpoint. The last row of a key wins: of the newest interval, and there the last one made.
func (t *Table) publishSQL() []string {
	names, _, _, _ := t.unnest()
	columns := strings.Join(names, ", ")
	move := fmt.Sprintf("INSERT INTO %s (%s, %s, %s) SELECT %s, %s, %s FROM ", t.ident(), columns, CheckpointColumn, VGroupColumn, columns, afterColumn, VGroupColumn)
	if len(t.Key) == 0 {
		move += fmt.Sprintf("%s WHERE %s < $1 ORDER BY %[2]s, %s", t.stageIdent(), afterColumn, orderColumn)
	} else {
		move += fmt.Sprintf("(SELECT DISTINCT ON (%s) * FROM %s WHERE %s < $1 ORDER BY %[1]s, %[3]s DESC, %s DESC) s ON CONFLICT (%[1]s) DO UPDATE SET %[5]s",
			quoteAll(t.Key), t.stageIdent(), afterColumn, orderColumn, t.updates())
	}
	return []string{move, fmt.Sprintf("DELETE FROM %s WHERE %s < $1", t.stageIdent(), afterColumn)}
}
