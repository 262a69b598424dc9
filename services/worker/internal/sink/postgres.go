package sink

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/manifest"
	"github.com/pondage/pondage/internal/pgtable"
)

// postgres is what the Postgres outputs have in common: a table, a fence, and how a row that Postgres refuses is found. As soon as
// the database can be reached, rows or not, an output makes or checks its table and raises its fence: a stream without
// results has a table all the same, and an older stage cannot write any more.
type postgres struct {
	*pump
	db     pgtable.Beginner
	table  *pgtable.Table
	writer *pgtable.Writer
	fence  pgtable.Fence
	start  *Start // nil: the stream takes no checkpoints
}

// upsert is the output that writes results as they come (DESIGN §9). What it has written since the restored checkpoint it takes back
// at the start of a stage, before anything else.
type upsert struct {
	postgres
	cp     ident.CheckpointID // last trigger passed; the pump's
	images *images
}

// NewPostgres returns an output that upserts into the table. start nil: the stream takes no checkpoints.
func NewPostgres(db pgtable.Beginner, table *pgtable.Table, fence pgtable.Fence, start *Start, env Env) Output {
	o := &upsert{postgres: postgres{db: db, table: table, writer: pgtable.NewWriter(table), fence: fence, start: start}}
	if start != nil {
		o.cp = start.Restored
		o.images = newImages(start.Restored, start.Retain)
	}
	o.pump = newPump(KindPostgres, env, o.open, o.write, stopsPostgres)
	o.passed = func(_ context.Context, c ident.CheckpointID) error { o.cp = c; return nil }
	o.pump.start()
	return o
}

// stopsPostgres tells whether no repeating cures an error.
func stopsPostgres(err error) bool {
	var stop *Stop
	return errors.Is(err, pgtable.ErrFenced) || errors.Is(err, pgtable.ErrMismatch) || errors.As(err, &stop)
}

func (o *upsert) open(ctx context.Context) error {
	if err := o.own(ctx); err != nil || o.start == nil {
		return err
	}
	return o.within(ctx, o.restore)
}

// own makes or checks the table, makes it the stream's and then this stage's. A table that the restored checkpoint speaks of is not
// made.
func (o *postgres) own(ctx context.Context) error {
	err := o.within(ctx, func(ctx context.Context) error {
		if o.start != nil && o.start.Sink != nil {
			if err := o.table.Fits(ctx, o.db); err != nil {
				return err
			}
		}
		_, err := o.table.Create(ctx, o.db)
		return err
	})
	if err != nil {
		return err
	}
	if o.start != nil {
		if err := o.adopt(ctx); err != nil {
			return err
		}
	}
	return o.within(ctx, func(ctx context.Context) error { return o.fence.Raise(ctx, o.db) })
}

// adopt makes the table the stream's: where it was another stream's that may be long.
func (o *postgres) adopt(ctx context.Context) error {
	return o.env.Gate.pass(ctx, func() error {
		ctx, cancel := context.WithTimeout(ctx, adoptWithin)
		defer cancel()
		return o.table.Adopt(ctx, o.db, o.fence)
	})
}

// adoptWithin bounds one attempt to make a table the stream's; the next one goes on from where it has come to.
const adoptWithin = 10 * time.Minute

// restore takes back what dead stages have written since the restored checkpoint. A stage goes on from one that the images do
// not reach back to only where the user has accepted that results may be seen twice: then it is as far as they do.
func (o *upsert) restore(ctx context.Context) error {
	err := o.table.Restore(ctx, o.db, o.fence, o.start.Restored)
	var gone *pgtable.ErrImagesGone
	if errors.As(err, &gone) {
		err = o.table.Restore(ctx, o.db, o.fence, gone.Oldest)
	}
	return err
}

// Prepare implements Checkpointed: what the pump has let pass is committed.
func (o *upsert) Prepare(ctx context.Context, c ident.CheckpointID) (manifest.Sink, []manifest.File, error) {
	return manifest.Sink{Kind: KindPostgres}, nil, o.await(ctx, c)
}

// Complete implements Checkpointed. Nothing is to be shown: it only forgets how rows were before the oldest checkpoint that the
// stream may still go back to. What it fails to forget goes at the next one.
func (o *upsert) Complete(ctx context.Context, c ident.CheckpointID) error {
	if err := o.await(ctx, 0); err != nil {
		return err
	}
	oldest, due := o.images.complete(c)
	if !due {
		return nil
	}
	err := o.within(ctx, func(ctx context.Context) error { return o.table.ForgetBefore(ctx, o.db, o.fence, oldest) })
	if err == nil {
		o.images.forgot(oldest)
	}
	return ctx.Err()
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
func (o *upsert) write(ctx context.Context, batches []*block.Batch) error {
	err := o.within(ctx, func(ctx context.Context) error {
		return o.sifting(batches, func(part []*block.Batch, _ int) error { return o.writer.Upsert(ctx, o.db, o.fence, o.cp, part) })
	})
	if err != nil {
		return err
	}
	if o.images != nil {
		o.images.wrote(o.cp)
	}
	o.written(batches)
	return nil
}

// written gives the batches' memory back.
func (o *postgres) written(batches []*block.Batch) {
	for _, b := range batches {
		o.env.Memory.Give(int64(b.MemBytes()))
	}
}

// put writes batches, the first row of which is the at-th of a write.
type put func(part []*block.Batch, at int) error

// sifting writes the batches. Where they hold a row that Postgres refuses it writes what can be written, by halving, and
// rejects the rest. Repeating it is harmless: what is written again changes nothing, and a dead letter carries its identity.
func (o *postgres) sifting(batches []*block.Batch, write put) error {
	err := write(batches, 0)
	if err == nil || !dataError(err) {
		return err
	}
	at := 0
	for _, b := range batches {
		if err := o.sift(b, 0, b.Rows(), at, write); err != nil {
			return err
		}
		at += b.Rows()
	}
	return nil
}

func (o *postgres) sift(b *block.Batch, from, to, at int, write put) error {
	if from == to {
		return nil
	}
	err := write([]*block.Batch{b.Slice(from, to)}, at+from)
	switch {
	case err == nil || !dataError(err):
		return err
	case to-from == 1:
		return o.env.Reject(Rejected{Rows: b, Row: from, Reason: reason(err)})
	}
	middle := (from + to) / 2
	if err := o.sift(b, from, middle, at, write); err != nil {
		return err
	}
	return o.sift(b, middle, to, at, write)
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
