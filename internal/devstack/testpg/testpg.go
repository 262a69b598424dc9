package testpg

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pondage/pondage/internal/devstack"
)

const dirPrefix = "pondage-testpg-"

// shared starts the server once.
var shared = sync.OnceValues(func() (*devstack.Postgres, error) {
	removeLeftovers()
	dir, err := os.MkdirTemp("", dirPrefix)
	if err != nil {
		return nil, err
	}
	// The server may run as another user, who must pass through.
	if err := os.Chmod(dir, 0o711); err != nil {
		return nil, err
	}
	return devstack.StartPostgres(context.Background(), dir, devstack.PostgresOptions{Durability: devstack.Volatile})
})

// removeLeftovers removes the directories of binaries that have ended: their lock is free.
func removeLeftovers() {
	dirs, _ := filepath.Glob(filepath.Join(os.TempDir(), dirPrefix+"*")) // the pattern is well formed
	for _, dir := range dirs {
		// One that was made this instant and is not locked yet has no data either, and is not ours to remove.
		if _, err := os.Stat(filepath.Join(dir, "data")); err != nil {
			continue
		}
		if lock, err := devstack.LockDir(dir); err == nil {
			os.RemoveAll(dir)
			_ = lock.Unlock() // the directory is gone
		}
	}
}

var databases atomic.Int64

// DSN returns the connection URL of a fresh, empty database, dropped at the end of the test.
func DSN(t testing.TB) string {
	t.Helper()
	server, err := shared()
	if err != nil {
		t.Fatalf("start Postgres for the tests: %v", err)
	}
	name := fmt.Sprintf("test_%d", databases.Add(1))
	if err := admin(server, "CREATE DATABASE "+name+" TEMPLATE template0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := admin(server, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	})
	dsn, err := url.Parse(server.DSN())
	if err != nil {
		t.Fatal(err)
	}
	dsn.Path = "/" + name
	return dsn.String()
}

// admin runs one statement in the server's own database.
func admin(server *devstack.Postgres, statement string) error {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, server.DSN())
	if err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	_, err = conn.Exec(ctx, statement)
	return errors.Join(err, conn.Close(ctx))
}
