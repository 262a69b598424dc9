package connect

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pondage/pondage/internal/kafka"
)

// SQLSTATEs of a connection that no repeating brings about.
const (
	invalidAuthorization = "28"    // class: no such role, wrong password, no entry in pg_hba.conf
	invalidCatalog       = "3D000" // no such database
)

// Credentials tells whether Postgres has refused who asks.
func Credentials(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && strings.HasPrefix(pg.Code, invalidAuthorization)
}

// NoDatabase tells whether the server has no database of the name.
func NoDatabase(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == invalidCatalog
}

// Lasting tells whether repeating cannot bring a connection to Postgres about.
func Lasting(err error) bool { return Credentials(err) || NoDatabase(err) }

// Refusal says why a Postgres or Kafka that somebody named cannot be used, in one sentence, and what to do.
type Refusal struct {
	What   string // "Postgres at 127.0.0.1:5432"
	Reason string
	Hint   string
	Err    error // the cause, with everything that was tried

	key string // of the configuration, where the address is
}

// Error has no hint: whoever shows it shows that too.
func (r *Refusal) Error() string { return fmt.Sprintf("%s cannot be used: %s", r.What, r.Reason) }

// Unwrap returns the cause.
func (r *Refusal) Unwrap() error { return r.Err }

// RefusedPostgres explains why a connection failed.
func RefusedPostgres(dsn string, err error) *Refusal {
	r := &Refusal{What: "Postgres", Reason: innermost(err), Err: err, key: "postgres.url"}
	name := "NAME"
	if u, failed := url.Parse(dsn); failed == nil && u.Host != "" {
		r.What, name = "Postgres at "+u.Host, strings.TrimPrefix(u.Path, "/")
	}
	var refused *pgconn.PgError
	switch {
	case errors.As(err, &refused):
		r.Reason = fmt.Sprintf("%s (SQLSTATE %s)", refused.Message, refused.Code)
		switch {
		case Credentials(err):
			r.Hint = "check the user and the password (postgres.password), and pg_hba.conf of the server"
		case NoDatabase(err):
			r.Hint = "make the database (createdb " + name + "), or name one that exists"
		}
	case strings.Contains(r.Reason, "server refused TLS"), isTLS(err):
		r.Hint = "check sslmode or postgres.tls, and the server's certificate"
	case hungUp(err):
		r.Reason = "what listens there ends the connection"
		r.Hint = "check that postgres.url has the address of a Postgres"
	default:
		r.network(err)
	}
	return r
}

// RefusedKafka explains why the brokers do not answer.
func RefusedKafka(cfg kafka.Config, err error) *Refusal {
	r := &Refusal{What: "Kafka at " + strings.Join(cfg.Brokers, ", "), Reason: innermost(err), Err: err, key: "kafka.brokers"}
	var told *kafka.Error
	if errors.As(err, &told) && told.Err != nil {
		r.Reason = innermost(told.Err)
	}
	switch {
	case kafka.CodeOf(err) == kafka.CodeNotAuthorized:
		r.Hint = "check kafka.sasl: mechanism, user and password"
	case isTLS(err):
		r.Hint = "check kafka.tls, and the brokers' certificate"
	case hungUp(err) && cfg.SASL != nil:
		r.Reason = "the broker ends the connection when it is to authenticate " + cfg.SASL.User
		r.Hint = "check kafka.sasl: mechanism, user and password; a broker without SASL does so too"
	case hungUp(err), strings.Contains(r.Reason, "SASL"), strings.Contains(r.Reason, "TLS"): // the client's own guess
		r.Hint = "check kafka.sasl and kafka.tls: the broker may want either; or something else listens there"
	case timedOut(err) && cfg.TLS != nil:
		r.Reason = "nothing answers in time"
		r.Hint = "check kafka.brokers and firewalls; a broker without TLS is silent, too: check kafka.tls"
	default:
		r.network(err)
	}
	return r
}

// network judges what never got as far as the service's own protocol.
func (r *Refusal) network(err error) {
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns):
		r.Hint = "check the name of the host in " + r.key
	case errors.Is(err, syscall.ECONNREFUSED):
		r.Hint = "check " + r.key + ", and that the server runs"
	case timedOut(err):
		r.Reason = "nothing answers in time"
		r.Hint = "check " + r.key + " and firewalls, and that it is not another service's address"
	default:
		r.Hint = "check " + r.key + "; pondage doctor looks closer"
	}
}

// hungUp tells whether the other side has ended the connection.
func hungUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

func timedOut(err error) bool {
	var at net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &at) && at.Timeout()
}

func isTLS(err error) bool {
	var record tls.RecordHeaderError
	var alert tls.AlertError
	var certificate *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	return errors.As(err, &record) || errors.As(err, &alert) || errors.As(err, &certificate) || errors.As(err, &unknown) || errors.As(err, &host)
}

// innermost leaves out what wraps an error of the network, and of several attempts all but the first: one reason is enough.
func innermost(err error) string {
	var at *net.OpError
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns):
		return dns.Error()
	case errors.As(err, &at):
		return at.Error()
	}
	var attempts interface{ Unwrap() []error }
	if errors.As(err, &attempts) && len(attempts.Unwrap()) > 0 {
		err = attempts.Unwrap()[0]
		if inner := errors.Unwrap(err); inner != nil {
			err = inner
		}
	}
	return err.Error()
}
