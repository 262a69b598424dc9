package pgstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pondage/pondage/services/coordinator/internal/store"
)

// The SQLSTATE codes that mean something to us.
const (
	uniqueViolation     = "23505"
	foreignKeyViolation = "23503"
	serializationFailed = "40001"
	deadlockDetected    = "40P01"
	lockNotAvailable    = "55P03"
	queryCanceled       = "57014" // by statement_timeout
	undefinedTable      = "42P01"
	undefinedSchema     = "3F000"
)

// errDeadlock: the transaction was chosen to give way and may simply be run again.
var errDeadlock = errors.New("deadlock")

// translate turns an error of Postgres or of its connection into the seam's. nil stays nil.
func translate(op string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("%s: %w", op, store.ErrNotFound)
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s: %w: %w", op, store.ErrDown, err)
	}
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return fmt.Errorf("%s: %w: %w", op, store.ErrDown, err)
	}
	switch pg.Code {
	case uniqueViolation:
		return fmt.Errorf("%s: %w", op, store.ErrExists)
	case foreignKeyViolation:
		return fmt.Errorf("%s: %s: %w", op, pg.ConstraintName, store.ErrNotFound)
	case serializationFailed, deadlockDetected:
		return fmt.Errorf("%s: %w: %w", op, errDeadlock, err)
	case undefinedTable, undefinedSchema:
		// Requests come as soon as the port is open; the schema is being brought up then.
		return fmt.Errorf("%s: the schema is not there yet: %w: %w", op, store.ErrDown, err)
	case lockNotAvailable, queryCanceled:
		return fmt.Errorf("%s: %w: %w", op, store.ErrBusy, err)
	}
	if class := pg.Code[:2]; class == "08" || class == "57" || class == "53" || class == "25" || class == "28" {
		// Connection, shutdown, resources, a transaction ended by its time-out, credentials: nothing was changed.
		return fmt.Errorf("%s: %w: %w", op, store.ErrDown, err)
	}
	return fmt.Errorf("%s: %w", op, err)
}

// conflict names what is taken when err is a unique violation.
func conflict(op string, err error, kind, name string) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == uniqueViolation {
		return fmt.Errorf("%s: %w", op, &store.ConflictError{Kind: kind, Name: name})
	}
	return translate(op, err)
}

// commitError tells apart a COMMIT that was refused and one whose answer was lost.
func commitError(err error) error {
	var pg *pgconn.PgError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, pgx.ErrTxCommitRollback):
		return fmt.Errorf("commit: %w", err)
	case errors.As(err, &pg):
		return translate("commit", err)
	}
	return fmt.Errorf("commit: %w: %w", store.ErrUnclear, err)
}
