package connect

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/pondage/pondage/internal/config"
	"github.com/pondage/pondage/internal/kafka"
	"github.com/pondage/pondage/internal/spec"
)

// Settings makes a Config of a service's configuration. secrets in specs are resolved like those of the configuration.
func Settings(k config.Kafka, results config.Postgres) (Config, error) {
	var c Config
	var err error
	if c.Kafka, err = KafkaSettings(k); err != nil {
		return c, err
	}
	if c.Postgres, err = DSN(results); err != nil {
		return c, err
	}
	c.Connections = int32(results.MaxConnections)
	c.Secret = func(r spec.SecretRef) (string, error) {
		return config.Secret{From: config.SecretFrom(r.From), Name: r.Name}.Resolve()
	}
	return c, nil
}

// KafkaSettings makes the cluster's Kafka configuration.
func KafkaSettings(k config.Kafka) (kafka.Config, error) {
	c := kafka.Config{Brokers: k.Brokers}
	var err error
	if c.TLS, err = tlsOf(k.TLS); err != nil {
		return c, fmt.Errorf("kafka.tls: %w", err)
	}
	if k.SASL.Mechanism != "" {
		c.SASL = &kafka.SASL{Mechanism: kafka.Mechanism(strings.ToUpper(k.SASL.Mechanism)), User: k.SASL.Username}
		if c.SASL.Password, err = k.SASL.Password.Resolve(); err != nil {
			return c, fmt.Errorf("kafka.sasl.password: %w", err)
		}
	}
	return c, nil
}

func tlsOf(t config.TLS) (*tls.Config, error) {
	if !t.Enabled {
		return nil, nil
	}
	c := &tls.Config{ServerName: t.ServerName, MinVersion: tls.VersionTLS12}
	if t.CAFile != "" {
		pem, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, err
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s holds no PEM certificate", t.CAFile)
		}
	}
	if t.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		if err != nil {
			return nil, err
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// DSN makes the connection string of a database; "" when none is configured.
func DSN(p config.Postgres) (string, error) {
	if p.URL == "" {
		return "", nil
	}
	u, err := url.Parse(p.URL)
	if err != nil {
		return "", errors.New("postgres.url: it is no URL") // its text may hold a password
	}
	if p.Password.Set() {
		password, err := p.Password.Resolve()
		if err != nil {
			return "", fmt.Errorf("postgres.password: %w", err)
		}
		u.User = url.UserPassword(u.User.Username(), password)
	}
	q := u.Query()
	if p.TLS.Enabled {
		q.Set("sslmode", "verify-full")
		setFile(q, "sslrootcert", p.TLS.CAFile)
		setFile(q, "sslcert", p.TLS.CertFile)
		setFile(q, "sslkey", p.TLS.KeyFile)
	}
	if p.ConnectTimeout > 0 {
		q.Set("connect_timeout", fmt.Sprint(max(1, int(p.ConnectTimeout.Seconds()))))
	}
	u.RawQuery = q.Encode()
	return u.String(), nil
}

func setFile(q url.Values, key, file string) {
	if file != "" {
		q.Set(key, file)
	}
}
