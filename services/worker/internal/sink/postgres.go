package sink

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/pgtable"
)

// postgres is the upsert output. As soon as the database can be reached, rows or not, it makes or checks its table and
// raises its fence: a stream without results has a table all the same, and an older stage cannot write any more.
type postgres struct {
	*pump
	db     pgtable.Beginner
	table  *pgtable.Table
	writer *pgtable.Writer
	fence  pgtable.Fence
	reject func(Rejected) error
}

// NewPostgres returns an output that upserts into the table.
func NewPostgres(db pgtable.Beginner, table *pgtable.Table, fence pgtable.Fence, start *Start, env Env) Output {
	o := &postgres{db: db, table: table, writer: pgtable.NewWriter(table), fence: fence, reject: env.Reject}
	o.pump = newPump(KindPostgres, env, o.open, o.write, func(err error) bool {
		return errors.Is(err, pgtable.ErrFenced) || errors.Is(err, pgtable.ErrMismatch)
	})
	o.start()
	return o
}

func (o *postgres) open(ctx context.Context) error {
	return o.within(ctx, func(ctx context.Context) error {
		if _, err := o.table.Create(ctx, o.db); err != nil {
			return err
		}
		return o.fence.Raise(ctx, o.db)
	})
}

// writeWithin bounds one attempt of a write: far above what a database that lives takes for it, so that a server that
// hangs or a connection that is half open shows as a problem and is tried again (trap T33).
const writeWithin = time.Minute

// within does a piece of work with one of the stream's connections, within writeWithin from when it has its turn.
func (o *postgres) within(ctx context.Context, work func(context.Context) error) error {
	return o.env.Gate.pass(ctx, func() error {
		ctx, cancel := context.WithTimeout(ctx, writeWithin)
		defer cancel()
		return work(ctx)
	})
}

// write gives the batches' memory back when they are committed.
func (o *postgres) write(ctx context.Context, batches []*block.Batch) error {
	err := o.within(ctx, func(ctx context.Context) error { return o.upsert(ctx, batches) })
	if err != nil {
		return err
	}
	for _, b := range batches {
		o.env.Memory.Give(int64(b.MemBytes()))
	}
	return nil
}

func (o *postgres) upsert(ctx context.Context, batches []*block.Batch) error {
	err := o.writer.Upsert(ctx, o.db, o.fence, 0, batches)
	if err == nil || !dataError(err) {
		return err
	}
	return o.sift(ctx, batches)
}

// sift writes what can be written of batches that hold a row Postgres refuses, by halving, and rejects the rest.
// Repeating it is harmless: an upsert of the same rows changes nothing, and a dead letter carries its identity.
func (o *postgres) sift(ctx context.Context, batches []*block.Batch) error {
	for _, b := range batches {
		if err := o.siftRows(ctx, b, 0, b.Rows()); err != nil {
			return err
		}
	}
	return nil
}

func (o *postgres) siftRows(ctx context.Context, b *block.Batch, from, to int) error {
	part := b.Slice(from, to)
	err := o.writer.Upsert(ctx, o.db, o.fence, 0, []*block.Batch{part})
	switch {
	case err == nil || !dataError(err):
		return err
	case to-from == 1:
		return o.reject(Rejected{Rows: b, Row: from, Reason: reason(err)})
	}
	middle := (from + to) / 2
	if err := o.siftRows(ctx, b, from, middle); err != nil {
		return err
	}
	return o.siftRows(ctx, b, middle, to)
}

// dataError tells whether Postgres refused a value, not the statement or the session: SQLSTATE class 22 (data exception:
// a NUL in a text, a number out of range) and 23 (a constraint that the user put on the table).
func dataError(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (strings.HasPrefix(pg.Code, "22") || strings.HasPrefix(pg.Code, "23"))
}

func reason(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return fmt.Sprintf("%s (SQLSTATE %s)", pg.Message, pg.Code)
	}
	return err.Error()
}
