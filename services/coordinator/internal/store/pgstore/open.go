package pgstore

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pondage/pondage/services/coordinator/internal/store"
)

// The bounds of every session. They are the database's, so that they hold for a coordinator that is frozen, too.
const (
	statementTimeout = 5 * time.Second
	// lockTimeout: what is not had in this time is somebody's who hangs; the caller hears ErrBusy (DESIGN §11).
	lockTimeout = 500 * time.Millisecond
	// idleInTransaction ends the transaction of a leader that sleeps while it holds locks (DESIGN §11).
	idleInTransaction = 2 * time.Second
	// connectTimeout bounds a dial.
	connectTimeout = 5 * time.Second
)

// Config says how to reach the metastore.
type Config struct {
	DSN string
	// Cluster and Holder name this process among all that use the database; see applicationName.
	Cluster, Holder string
	// MaxConns bounds the pool; 0 means DefaultMaxConns.
	MaxConns int32
}

// DefaultMaxConns is enough for a coordinator: its loop, the lease, LISTEN, and a few requests at once.
const DefaultMaxConns = 8

// Store is a store.Store over Postgres.
type Store struct {
	pool    *pgxpool.Pool
	cluster string
}

var _ store.Store = (*Store)(nil)

// Open makes the pool. It does not connect: a metastore that is down is no reason not to start.
func Open(c Config) (*Store, error) {
	s := &Store{cluster: c.Cluster}
	pc, err := pgxpool.ParseConfig(c.DSN)
	if err != nil {
		return nil, fmt.Errorf("open metastore: %w", err)
	}
	pc.MaxConns = c.MaxConns
	if c.MaxConns == 0 {
		pc.MaxConns = DefaultMaxConns
	}
	pc.ConnConfig.ConnectTimeout = connectTimeout
	for name, value := range map[string]string{
		"application_name":                    s.applicationOf(c.Holder),
		"statement_timeout":                   millis(statementTimeout),
		"lock_timeout":                        millis(lockTimeout),
		"idle_in_transaction_session_timeout": millis(idleInTransaction),
	} {
		pc.ConnConfig.RuntimeParams[name] = value
	}
	s.pool, err = pgxpool.NewWithConfig(context.Background(), pc)
	if err != nil {
		return nil, fmt.Errorf("open metastore: %w", err)
	}
	return s, nil
}

// maxApplicationName is what Postgres keeps of an application name, in bytes; a longer one is cut without a word.
const maxApplicationName = 63

// applicationOf names the sessions of a coordinator process.
func (s *Store) applicationOf(holder string) string {
	name := s.cluster + ".coordinator." + holder
	return name[:min(len(name), maxApplicationName)]
}

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// Close ends all sessions.
func (s *Store) Close() { s.pool.Close() }

// Ping tells whether the metastore answers.
func (s *Store) Ping(ctx context.Context) error { return translate("ping metastore", s.pool.Ping(ctx)) }
