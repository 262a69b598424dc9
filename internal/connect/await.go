package connect

import (
	"context"
	"log/slog"
	"time"

	"github.com/pondage/pondage/internal/config"
)

const (
	// tryEvery is the pause between two attempts, sayEvery between two words about them.
	tryEvery = time.Second
	sayEvery = 10 * time.Second
)

// AwaitPostgres probes until the database can be used: a role may start before it. The log hears when the wait begins,
// then now and then, and when it is over. An error is a *Refusal that repeating does not cure, or of the configuration;
// the end of ctx is none.
func AwaitPostgres(ctx context.Context, p config.Postgres, log *slog.Logger) error {
	if _, err := DSN(p); err != nil {
		return err
	}
	return await(ctx, log, func() error { return ProbePostgres(ctx, p) })
}

// await tries until it succeeds, fails for good, or ctx ends.
func await(ctx context.Context, log *slog.Logger, try func() error) error {
	began := time.Now()
	var said time.Time
	for {
		err := try()
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // the end of the process interrupted it
		case err == nil:
			if !said.IsZero() {
				log.Info("the database answers", "after", time.Since(began).Round(time.Second))
			}
			return nil
		case Lasting(err):
			return err
		case said.IsZero() || time.Since(said) >= sayEvery:
			log.Warn("the database cannot be used yet; it is tried until it can", "error", err)
			said = time.Now()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(tryEvery):
		}
	}
}
