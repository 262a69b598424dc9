package connect

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.opentelemetry.io/otel/trace"

	"github.com/pondage/pondage/internal/kafka"
	"github.com/pondage/pondage/internal/spec"
)

// Config is what a process knows of its cluster.
type Config struct {
	// Kafka is the cluster's own; specs without brokers mean it.
	Kafka kafka.Config
	// Postgres is the DSN of the database of results; specs without a dsn mean it. "" when there is none.
	Postgres string
	// Connections bounds what the process opens to each database; 0 is the driver's default.
	Connections int32
	// Secret resolves a reference.
	Secret func(spec.SecretRef) (string, error)
	// Fetch bounds the fetcher of each Kafka.
	Fetch kafka.FetcherConfig
	// Tracer makes a span of each statement that belongs to a recorded trace; nil: none.
	Tracer trace.Tracer
}

// Hub is the connections of a process.
type Hub struct {
	cfg Config

	mu     sync.Mutex
	kafkas map[[sha256.Size]byte]*Kafka // by keyOf
	pools  map[string]*pgxpool.Pool
	closed bool
}

// Kafka is one Kafka cluster: the client, and what reads and writes through it.
type Kafka struct {
	Client   *kafka.Client
	Fetcher  *kafka.Fetcher
	Producer *kafka.Producer
}

// ErrClosed says that the process is closing.
var ErrClosed = errors.New("connections are closed")

// New returns the connections of a process; it opens none.
func New(cfg Config) *Hub {
	return &Hub{cfg: cfg, kafkas: map[[sha256.Size]byte]*Kafka{}, pools: map[string]*pgxpool.Pool{}}
}

// Cluster returns the cluster's own Kafka.
func (h *Hub) Cluster() (*Kafka, error) { return h.Kafka(spec.Connection{}) }

// Kafka returns the Kafka that a spec means. It does not connect.
func (h *Hub) Kafka(c spec.Connection) (*Kafka, error) {
	cfg, err := h.kafkaConfig(c)
	if err != nil {
		return nil, err
	}
	key, err := keyOf(c, cfg)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, ErrClosed
	}
	if k := h.kafkas[key]; k != nil {
		return k, nil
	}
	client, err := kafka.Open(cfg)
	if err != nil {
		return nil, err
	}
	k := &Kafka{Client: client, Fetcher: kafka.NewFetcher(client, h.cfg.Fetch), Producer: kafka.NewProducer(client)}
	h.kafkas[key] = k
	return k, nil
}

// keyOf identifies a connection by what it says, not by where it lies in memory: each look at a spec parses it anew. The
// password is part of it, so that a secret that was changed makes a new connection.
func keyOf(c spec.Connection, cfg kafka.Config) (key [sha256.Size]byte, err error) {
	said := struct {
		Connection spec.Connection
		Password   string
	}{Connection: c}
	if cfg.SASL != nil {
		said.Password = cfg.SASL.Password
	}
	text, err := json.Marshal(said)
	if err != nil {
		return key, fmt.Errorf("kafka connection: %w", err)
	}
	return sha256.Sum256(text), nil
}

// Fetchers returns the fetcher of every Kafka in use, for readiness.
func (h *Hub) Fetchers() []*kafka.Fetcher {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []*kafka.Fetcher
	for _, k := range h.kafkas {
		all = append(all, k.Fetcher)
	}
	return all
}

// kafkaConfig is the cluster's configuration with what the spec changes: other brokers bring their own TLS and SASL.
func (h *Hub) kafkaConfig(c spec.Connection) (kafka.Config, error) {
	cfg := h.cfg.Kafka
	if len(c.Brokers) > 0 {
		cfg.Brokers, cfg.TLS, cfg.SASL = c.Brokers, nil, nil
	}
	var err error
	if c.TLS != nil {
		if cfg.TLS, err = h.tls(c.TLS); err != nil {
			return cfg, fmt.Errorf("kafka tls: %w", err)
		}
	}
	if c.SASL != nil {
		cfg.SASL = &kafka.SASL{Mechanism: kafka.Mechanism(strings.ToUpper(string(c.SASL.Mechanism))), User: c.SASL.User}
		if cfg.SASL.Password, err = h.secret(c.SASL.Password); err != nil {
			return cfg, fmt.Errorf("kafka sasl password: %w", err)
		}
	}
	return cfg, nil
}

func (h *Hub) tls(t *spec.TLS) (*tls.Config, error) {
	cfg := &tls.Config{ServerName: t.ServerName, MinVersion: tls.VersionTLS12}
	if t.CA != nil {
		pem, err := h.secret(t.CA)
		if err != nil {
			return nil, err
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM([]byte(pem)) {
			return nil, fmt.Errorf("ca: %s %s holds no PEM certificate", t.CA.From, t.CA.Name)
		}
	}
	if (t.Cert == nil) != (t.Key == nil) {
		return nil, errors.New("cert and key go together")
	}
	if t.Cert != nil {
		cert, errC := h.secret(t.Cert)
		key, errK := h.secret(t.Key)
		if err := errors.Join(errC, errK); err != nil {
			return nil, err
		}
		pair, err := tls.X509KeyPair([]byte(cert), []byte(key))
		if err != nil {
			return nil, err
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	return cfg, nil
}

// Secret reads a secret that a spec refers to.
func (h *Hub) Secret(r spec.SecretRef) (string, error) { return h.secret(&r) }

func (h *Hub) secret(r *spec.SecretRef) (string, error) {
	if r == nil {
		return "", errors.New("no secret is named")
	}
	return h.cfg.Secret(*r)
}

// ErrNoPostgres says that a spec means the cluster's database of results and there is none.
var ErrNoPostgres = errors.New("the cluster has no Postgres for results: set results.postgres, or give the output a dsn")

// Postgres returns the database that a spec means; nil is the cluster's own. It does not connect.
func (h *Hub) Postgres(dsn *spec.SecretRef) (*pgxpool.Pool, error) {
	text := h.cfg.Postgres
	if dsn != nil {
		var err error
		if text, err = h.secret(dsn); err != nil {
			return nil, fmt.Errorf("postgres dsn: %w", err)
		}
	}
	if text == "" {
		return nil, ErrNoPostgres
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, ErrClosed
	}
	if p := h.pools[text]; p != nil {
		return p, nil
	}
	cfg, err := pgxpool.ParseConfig(text)
	if err != nil {
		return nil, errors.New("postgres dsn: it is not one") // pgx's text may quote the password
	}
	if h.cfg.Connections > 0 {
		cfg.MaxConns = h.cfg.Connections
	}
	if h.cfg.Tracer != nil {
		cfg.ConnConfig.Tracer = statements{h.cfg.Tracer}
	}
	p, err := pgxpool.NewWithConfig(context.Background(), cfg)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	h.pools[text] = p
	return p, nil
}

// Close ends all connections.
func (h *Hub) Close() {
	h.mu.Lock()
	h.closed = true
	kafkas, pools := h.kafkas, h.pools
	h.kafkas, h.pools = map[[sha256.Size]byte]*Kafka{}, map[string]*pgxpool.Pool{}
	h.mu.Unlock()
	for _, k := range kafkas {
		k.Fetcher.Close()
		k.Producer.Close()
		k.Client.Close()
	}
	for _, p := range pools {
		p.Close()
	}
}
