package devstack

import "context"

// PostgresOptions say how the private Postgres runs.
type PostgresOptions struct {
	// Port on 127.0.0.1; 0 takes a free one.
	Port int
	// Durability says whether a commit waits for the disk. Default Durable.
	Durability Durability
	// Database is made when missing. Default "pondage".
	Database string
}

// Durability says whether commits survive a crash of the machine.
type Durability int

const (
	// Durable waits for the disk at each commit.
	Durable Durability = iota
	// Volatile does not: for tests only.
	Volatile
)

// Postgres is a running private Postgres.
type Postgres struct{}

// StartPostgres starts a Postgres with its data in dir, which is made and initialised where missing.
func StartPostgres(ctx context.Context, dir string, o PostgresOptions) (*Postgres, error) { return nil, nil }

// DSN returns the connection URL of the database.
func (p *Postgres) DSN() string { return "" }

// Stop ends the server after its sessions; only the first call counts.
func (p *Postgres) Stop() error { return nil }
