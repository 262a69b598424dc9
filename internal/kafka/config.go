package kafka

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"
)

// Config says how to reach a Kafka cluster.
type Config struct {
	// Brokers are the addresses host:port to start from; the others are learned from them. Required.
	Brokers []string
	// ClientID names this process in the brokers' logs and quotas. Default "pondage".
	ClientID string
	// TLS switches TLS on; ServerName is filled in from the broker's address where it is empty. Default nil: plain text.
	TLS *tls.Config
	// SASL switches authentication on. Default nil: none.
	SASL *SASL
	// DialTimeout bounds one connection attempt with its TLS and SASL handshakes. Default 5 s (DESIGN §5).
	DialTimeout time.Duration
	// RequestTimeout bounds one request, also a produce. Default 5 s (DESIGN §5).
	RequestTimeout time.Duration
	// Dial opens the network connection. Default net.Dialer; tests put a virtual network here.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Default bounds of Config (DESIGN §5: a produce or dial has a deadline of 5 s).
const (
	DefaultDialTimeout    = 5 * time.Second
	DefaultRequestTimeout = 5 * time.Second
	DefaultClientID       = "pondage"
)

// Mechanism names a SASL mechanism as Kafka spells it.
type Mechanism string

// The mechanisms that are understood.
const (
	MechanismPlain       Mechanism = "PLAIN"
	MechanismScramSHA256 Mechanism = "SCRAM-SHA-256"
	MechanismScramSHA512 Mechanism = "SCRAM-SHA-512"
)

// SASL is how to authenticate. The password is never logged: SASL prints without it.
type SASL struct {
	Mechanism Mechanism
	User      string
	Password  string
}

// String leaves the password out.
func (s SASL) String() string { return fmt.Sprintf("%s as %q", s.Mechanism, s.User) }

// GoString leaves the password out.
func (s SASL) GoString() string { return s.String() }

// Validate reports everything that is wrong with the configuration.
func (c Config) Validate() error {
	var errs []error
	if len(c.Brokers) == 0 {
		errs = append(errs, errors.New("kafka: brokers: at least one address host:port is needed"))
	}
	for _, b := range c.Brokers {
		if host, port, err := net.SplitHostPort(b); err != nil || host == "" || port == "" {
			errs = append(errs, fmt.Errorf("kafka: brokers: %q is not host:port", b))
		}
	}
	if c.SASL != nil {
		if _, err := c.SASL.mechanism(); err != nil {
			errs = append(errs, err)
		}
		if c.SASL.User == "" {
			errs = append(errs, errors.New("kafka: sasl: user is empty"))
		}
	}
	if c.DialTimeout < 0 || c.RequestTimeout < 0 {
		errs = append(errs, errors.New("kafka: timeouts: must not be negative"))
	}
	return errors.Join(errs...)
}

// withDefaults returns c with its empty fields filled in.
func (c Config) withDefaults() Config {
	if c.ClientID == "" {
		c.ClientID = DefaultClientID
	}
	if c.DialTimeout == 0 {
		c.DialTimeout = DefaultDialTimeout
	}
	if c.RequestTimeout == 0 {
		c.RequestTimeout = DefaultRequestTimeout
	}
	if c.Dial == nil {
		c.Dial = (&net.Dialer{}).DialContext
	}
	return c
}
