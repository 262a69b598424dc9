package schema

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/golang-migrate/migrate/v4"
	"github.com/golang-migrate/migrate/v4/source"
	"github.com/golang-migrate/migrate/v4/source/iofs"
	"github.com/jackc/pgx/v5"

	"github.com/pondage/pondage/migrations"
)

// ErrBinaryTooOld says that the schema was migrated by a newer binary and this one cannot run on it.
var ErrBinaryTooOld = errors.New("the metastore's schema needs a newer binary")

// DefaultWait bounds a migration and the waiting for another replica's, when the caller's context does not.
const DefaultWait = 10 * time.Minute

// Up connects to the database and brings its schema to migrations.Latest. A schema that is newer and still allows this
// binary is left alone. It may be called by any number of processes at once.
func Up(ctx context.Context, dsn string) error {
	return run(ctx, dsn, migrations.Files, (*migrate.Migrate).Up)
}

// Down takes everything back but schema_info. For tests and for leaving Pondage.
func Down(ctx context.Context, dsn string) error {
	return run(ctx, dsn, migrations.Files, (*migrate.Migrate).Down)
}

func run(ctx context.Context, dsn string, files fs.FS, do func(*migrate.Migrate) error) error {
	ctx, cancel := context.WithTimeout(ctx, DefaultWait)
	defer cancel()
	src, err := iofs.New(files, ".")
	if err != nil {
		return fmt.Errorf("migrate the metastore: read migrations: %w", err)
	}
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return fmt.Errorf("migrate the metastore: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // ends the session, and with it lock and transaction
	if err := runOn(ctx, conn, src, do); err != nil {
		return fmt.Errorf("migrate the metastore: %w", err)
	}
	return nil
}

func runOn(ctx context.Context, conn *pgx.Conn, src source.Driver, do func(*migrate.Migrate) error) error {
	m, err := migrate.NewWithInstance("embedded", src, "pgx", &driver{ctx: ctx, conn: conn})
	if err != nil {
		return err
	}
	m.LockTimeout = DefaultWait // the context decides
	err = do(m)
	if errors.Is(err, migrate.ErrNoChange) || errors.Is(err, errNewer) {
		return nil
	}
	return err
}
