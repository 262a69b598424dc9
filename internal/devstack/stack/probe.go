package stack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pondage/pondage/internal/config"
	"github.com/pondage/pondage/internal/connect"
	"github.com/pondage/pondage/internal/kafka"
)

// probeWithin is how long a Postgres or Kafka that the user named may take for its first answer. Roles that run apart wait for
// ever; who types `pondage dev --kafka …` wants to know now.
const probeWithin = 10 * time.Second

// probePostgres connects once to the database that the user named.
func probePostgres(ctx context.Context, p config.Postgres) error {
	dsn, err := connect.DSN(p)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, probeWithin)
	defer cancel()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return fmt.Errorf("the Postgres of --postgres cannot be used: %w (%s)", shortly(err), postgresHint(err))
	}
	return conn.Close(ctx)
}

// shortly leaves the attempts out that a connection error lists: one reason is enough.
func shortly(err error) error {
	var pg *pgconn.PgError
	var at net.Error
	switch {
	case errors.As(err, &pg):
		return fmt.Errorf("%s (SQLSTATE %s)", pg.Message, pg.Code)
	case errors.As(err, &at):
		return at
	}
	return err
}

func postgresHint(err error) string {
	var dns *net.DNSError
	switch {
	case connect.Credentials(err):
		return "check the user and password, and pg_hba.conf of the server"
	case connect.NoDatabase(err):
		return "create the database: createdb NAME"
	case errors.As(err, &dns):
		return "check the host's name"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "check the address and that the server runs; without --postgres a private one is started"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Sprintf("nothing answers within %s: check the address and firewalls", probeWithin)
	case strings.Contains(err.Error(), "TLS"), strings.Contains(err.Error(), "certificate"):
		return "check postgres.tls and the server's certificate"
	}
	return "pondage doctor looks closer"
}

// probeKafka asks the brokers that the user named once.
func probeKafka(ctx context.Context, k config.Kafka) error {
	cfg, err := connect.KafkaSettings(k)
	if err != nil {
		return err
	}
	client, err := kafka.Open(cfg)
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, probeWithin)
	defer cancel()
	if err := client.Ping(ctx); err != nil {
		return fmt.Errorf("the Kafka of --kafka cannot be used: %w", err)
	}
	return nil
}
