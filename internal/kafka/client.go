package kafka

import (
	"context"
	"crypto/tls"
	"net"
	"strconv"
	"sync"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Client is a handle on one Kafka cluster: administration, offsets and metadata. Fetchers and producers are made from
// it. Every call has a deadline, also where the caller's context has none.
type Client struct {
	cfg     Config
	kgo     *kgo.Client
	admin   *kadm.Client
	options []kgo.Opt // of further clients

	mu       sync.Mutex
	maxBytes map[TopicID]int // max.message.bytes, by topic; asked once
}

// Open returns a client for the cluster. It does not connect: Ping does.
func Open(cfg Config) (*Client, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	opts := []kgo.Opt{
		kgo.SeedBrokers(cfg.Brokers...),
		kgo.ClientID(cfg.ClientID),
		kgo.Dialer(func(ctx context.Context, network, address string) (net.Conn, error) {
			return cfg.connect(ctx, network, address)
		}),
		kgo.RequestTimeoutOverhead(cfg.RequestTimeout),
		kgo.RetryTimeout(2 * cfg.RequestTimeout),
	}
	if cfg.SASL != nil {
		mechanism, err := cfg.SASL.mechanism()
		if err != nil {
			return nil, err
		}
		opts = append(opts, kgo.SASL(mechanism))
	}
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, classify("open", "", NoPartition, err)
	}
	admin := kadm.NewClient(client)
	admin.SetTimeoutMillis(int32(cfg.RequestTimeout.Milliseconds()))
	return &Client{cfg: cfg, kgo: client, admin: admin, options: opts, maxBytes: map[TopicID]int{}}, nil
}

// Close ends the client's connections. Fetchers and producers made from it must be closed before.
func (c *Client) Close() { c.kgo.Close() }

// Ping returns nil when a broker answers.
func (c *Client) Ping(ctx context.Context) error {
	ctx, cancel := c.deadline(ctx)
	defer cancel()
	return classify("ping", "", NoPartition, c.kgo.Ping(ctx))
}

// BrokerCount returns how many brokers the cluster has.
func (c *Client) BrokerCount(ctx context.Context) (int, error) {
	ctx, cancel := c.deadline(ctx)
	defer cancel()
	m, err := c.admin.BrokerMetadata(ctx)
	return len(m.Brokers), classify("list brokers", "", NoPartition, err)
}

// deadline bounds one administrative call: a dial and a request.
func (c *Client) deadline(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, c.cfg.DialTimeout+c.cfg.RequestTimeout)
}

// connect opens a connection and, where configured, TLS on it.
func (c Config) connect(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, c.DialTimeout)
	defer cancel()
	conn, err := c.Dial(ctx, network, address)
	if err != nil || c.TLS == nil {
		return conn, err
	}
	settings := c.TLS.Clone()
	if settings.ServerName == "" {
		settings.ServerName, _, _ = net.SplitHostPort(address) // Validate and the brokers' metadata give host:port
	}
	secure := tls.Client(conn, settings)
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	return secure, nil
}

func itoa(n int) string { return strconv.Itoa(n) }
