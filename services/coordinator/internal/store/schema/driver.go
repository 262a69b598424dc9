package schema

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/golang-migrate/migrate/v4/database"
	"github.com/jackc/pgx/v5"

	"github.com/pondage/pondage/migrations"
)

// lockKey is the advisory lock of migrations; any number will do that nobody else in the database uses ("pondage" in
// ASCII).
const lockKey = 0x706f6e64616765

// lockPoll is how often a waiting replica asks for the lock.
const lockPoll = 100 * time.Millisecond

// infoSQL makes schema_info; it may run any number of times.
//
//go:embed info.sql
var infoSQL string

// errNewer ends a run on a schema that a newer binary made and that allows this one.
var errNewer = errors.New("the schema is newer than this binary and allows it")

// driver is golang-migrate's database driver over one session. Its calls come in the order Lock, Version, then for each
// migration SetVersion(v, dirty), Run, SetVersion(v, clean), then Unlock; the first SetVersion begins the migration's
// transaction and the second commits it.
type driver struct {
	ctx  context.Context // of the run: golang-migrate's interface carries none
	conn *pgx.Conn
	tx   pgx.Tx // of the migration under way
}

// Open is not used: the driver is made over an open session.
func (d *driver) Open(string) (database.Driver, error) {
	return nil, errors.New("not opened by URL")
}

// Close leaves the session to who opened it.
func (d *driver) Close() error { return nil }

// Lock waits for the advisory lock and makes schema_info.
func (d *driver) Lock() error {
	ticker := time.NewTicker(lockPoll)
	defer ticker.Stop()
	for {
		var got bool
		if err := d.conn.QueryRow(d.ctx, "SELECT pg_try_advisory_lock($1)", lockKey).Scan(&got); err != nil {
			return fmt.Errorf("ask for the migration lock: %w", err)
		}
		if got {
			break
		}
		select {
		case <-d.ctx.Done():
			return fmt.Errorf("wait for another replica's migration: %w", d.ctx.Err())
		case <-ticker.C:
		}
	}
	if _, err := d.conn.Exec(d.ctx, infoSQL, pgx.QueryExecModeSimpleProtocol); err != nil {
		return fmt.Errorf("make pondage.schema_info: %w", err)
	}
	return d.checkBinary()
}

func (d *driver) checkBinary() error {
	var version, minBinary int64
	err := d.conn.QueryRow(d.ctx, "SELECT version, min_binary FROM pondage.schema_info").Scan(&version, &minBinary)
	switch {
	case err != nil:
		return fmt.Errorf("read pondage.schema_info: %w", err)
	case minBinary > migrations.Latest:
		return fmt.Errorf("%w: it is at version %d and wants a binary that knows at least %d, this one knows %d",
			ErrBinaryTooOld, version, minBinary, migrations.Latest)
	case version > migrations.Latest:
		return errNewer
	}
	return nil
}

// Unlock takes back a migration that failed and gives the lock back.
func (d *driver) Unlock() error {
	if d.tx != nil {
		_ = d.tx.Rollback(d.ctx) // a broken session has done it
		d.tx = nil
	}
	if _, err := d.conn.Exec(d.ctx, "SELECT pg_advisory_unlock($1)", lockKey); err != nil {
		return fmt.Errorf("give the migration lock back: %w", err)
	}
	return nil
}

// Version returns the schema's version, or database.NilVersion; it is never dirty.
func (d *driver) Version() (version int, dirty bool, err error) {
	err = d.conn.QueryRow(d.ctx, "SELECT version FROM pondage.schema_info").Scan(&version)
	return version, false, err
}

// SetVersion begins a migration's transaction, or ends it with the version written.
func (d *driver) SetVersion(version int, dirty bool) error {
	if dirty {
		tx, err := d.conn.Begin(d.ctx)
		if err != nil {
			return fmt.Errorf("begin migration to version %d: %w", version, err)
		}
		d.tx = tx
		return nil
	}
	tx := d.tx
	if tx == nil {
		return fmt.Errorf("migration to version %d was not begun", version)
	}
	if _, err := tx.Exec(d.ctx, "UPDATE pondage.schema_info SET version = $1", version); err != nil {
		return fmt.Errorf("write version %d: %w", version, err)
	}
	d.tx = nil
	if err := tx.Commit(d.ctx); err != nil {
		return fmt.Errorf("commit migration to version %d: %w", version, err)
	}
	return nil
}

// Run executes a migration's statements in its transaction.
func (d *driver) Run(migration io.Reader) error {
	sql, err := io.ReadAll(migration)
	if err != nil {
		return fmt.Errorf("read migration: %w", err)
	}
	if _, err := d.tx.Exec(d.ctx, string(sql), pgx.QueryExecModeSimpleProtocol); err != nil {
		return fmt.Errorf("run migration: %w", err)
	}
	return nil
}

// Drop is not offered.
func (d *driver) Drop() error { return errors.New("not offered") }
