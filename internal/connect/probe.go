package connect

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pondage/pondage/internal/config"
	"github.com/pondage/pondage/internal/kafka"
)

// probeWithin bounds a probe: longer than a connection may take by the configuration (5 s), so that what is said is the
// connection's own error.
const probeWithin = 10 * time.Second

// ProbePostgres connects once. An error is a *Refusal, or of the configuration.
func ProbePostgres(ctx context.Context, p config.Postgres) error {
	dsn, err := DSN(p)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, probeWithin)
	defer cancel()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return RefusedPostgres(dsn, err)
	}
	return conn.Close(ctx)
}

// ProbeKafka asks the brokers once. An error is a *Refusal, or of the configuration.
func ProbeKafka(ctx context.Context, k config.Kafka) error {
	cfg, err := KafkaSettings(k)
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
		return RefusedKafka(cfg, err)
	}
	return nil
}
