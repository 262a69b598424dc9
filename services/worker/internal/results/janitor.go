package results

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/pgtable"
	"github.com/pondage/pondage/services/worker/internal/stage"
)

const (
	// tidyEvery is how often expired rows are looked for: retention is in days, and a round that finds nothing costs a
	// look at an index.
	tidyEvery = time.Minute
	// tidyRows is how many rows one statement deletes: a short transaction, that no writer waits for.
	tidyRows = 5_000
	// tidyRounds bounds the statements for one table in a row, so that all tables have their turn.
	tidyRounds = 20
	// maxDropped bounds the dropped streams whose tables wait to be removed while the database is away.
	maxDropped = 1024
)

// Janitor removes results that are kept no longer: rows after results.retain, tables of dropped streams. Each worker has
// one; for a table one of them works at a time.
type Janitor struct {
	databases Databases
	log       *slog.Logger
	dropped   chan ident.StreamID
}

// NewJanitor returns a janitor of the cluster's own database.
func NewJanitor(d Databases, log *slog.Logger) *Janitor {
	return &Janitor{databases: d, log: log, dropped: make(chan ident.StreamID, maxDropped)}
}

// Dropped says that a stream was dropped and nothing of it runs on this node any more. Each node with tasks of it says so,
// and the last one finds no writer left. It does not block.
func (j *Janitor) Dropped(id ident.StreamID) {
	select {
	case j.dropped <- id:
	default: // the table stays: it is named by an id that is never used again
		j.log.Warn("the results of a dropped stream stay", "stream_id", id, "table", stage.OwnTable(id).Name)
	}
}

// Run works until the context ends.
func (j *Janitor) Run(ctx context.Context) {
	tick := time.NewTicker(tidyEvery)
	defer tick.Stop()
	var waiting []ident.StreamID
	for {
		select {
		case <-ctx.Done():
			return
		case id := <-j.dropped:
			waiting = append(waiting, id)
		case <-tick.C:
			j.expire(ctx)
		}
		waiting = j.drop(ctx, waiting)
	}
}

// pool returns the database of own tables; nil when there is none.
func (j *Janitor) pool() *pgxpool.Pool {
	pool, err := j.databases.Postgres(nil)
	if err != nil {
		return nil // without one no stream has a table of its own
	}
	return pool
}

// drop removes the tables of the streams and returns those that have to be tried again.
func (j *Janitor) drop(ctx context.Context, ids []ident.StreamID) (left []ident.StreamID) {
	pool := j.pool()
	if pool == nil {
		return nil
	}
	for i, id := range ids {
		if err := stage.OwnTable(id).Drop(ctx, pool); err != nil {
			j.log.Debug("the results of dropped streams wait", "streams", len(ids)-i, "error", err)
			return append(left, ids[i:min(len(ids), i+maxDropped)]...)
		}
	}
	return nil
}

// expire deletes rows of all tables that have some to delete.
func (j *Janitor) expire(ctx context.Context) {
	pool := j.pool()
	if pool == nil {
		return
	}
	tables, err := pgtable.Expiring(ctx, pool, stage.ResultsSchema)
	if err != nil {
		j.log.Debug("expired results wait", "error", err)
		return
	}
	for _, t := range tables {
		if err := expireTable(ctx, pool, t); err != nil && !errors.Is(err, pgtable.ErrExpiring) && ctx.Err() == nil {
			j.log.Warn("expired results could not be deleted", "table", t.Name, "error", err)
		}
	}
}

func expireTable(ctx context.Context, pool *pgxpool.Pool, t *pgtable.Table) error {
	for range tidyRounds {
		n, err := t.Expire(ctx, pool, tidyRows)
		if err != nil || n < tidyRows {
			return err
		}
	}
	return nil
}
