package connect_test

import (
	"errors"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/pondage/pondage/internal/config"
	"github.com/pondage/pondage/internal/connect"
	"github.com/pondage/pondage/internal/devstack/testkafka"
	"github.com/pondage/pondage/internal/devstack/testpg"
)

// closing listens and ends every connection at once, as a server of another kind may.
func closing(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	return l.Addr().String()
}

// says fails unless the error is a refusal whose sentence and hint have the words.
func says(t *testing.T, err error, words ...string) {
	t.Helper()
	var refused *connect.Refusal
	if !errors.As(err, &refused) {
		t.Fatalf("got %v, want a refusal", err)
	}
	text := refused.Error() + " | " + refused.Hint
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%q does not say %q", text, w)
		}
	}
	if refused.Hint == "" || strings.Contains(text, "\n") {
		t.Errorf("%q: no hint, or not one line", text)
	}
}

func TestAPostgresThatCannotBeUsedIsExplained(t *testing.T) {
	t.Parallel()
	dsn := testpg.DSN(t)
	change := func(edit func(u *url.URL)) string {
		u, err := url.Parse(dsn)
		if err != nil {
			t.Fatal(err)
		}
		edit(u)
		return u.String()
	}
	other := closing(t)
	for _, c := range []struct {
		what, dsn string
		says      []string
	}{
		{"wrong password", change(func(u *url.URL) { u.User = url.UserPassword(u.User.Username(), "wrong") }), []string{"28P01", "postgres.password"}},
		{"unknown role", change(func(u *url.URL) { u.User = url.UserPassword("nobody_here", "wrong") }), []string{"28P01", "nobody_here", "pg_hba.conf"}},
		{"unknown database", change(func(u *url.URL) { u.Path = "/nothing_here" }), []string{"3D000", "createdb nothing_here"}},
		{"no TLS", change(func(u *url.URL) { u.RawQuery = "sslmode=require" }), []string{"server refused TLS", "postgres.tls"}},
		{"nothing listens", "postgres://a@127.0.0.1:1/x", []string{"Postgres at 127.0.0.1:1", "refused", "postgres.url"}},
		{"unknown host", "postgres://a@nowhere.invalid/x", []string{"nowhere.invalid", "name of the host"}},
		{"no Postgres", "postgres://a@" + other + "/x", []string{other, "address of a Postgres"}},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			says(t, connect.ProbePostgres(t.Context(), config.Postgres{URL: c.dsn}), c.says...)
		})
	}
	if err := connect.ProbePostgres(t.Context(), config.Postgres{URL: dsn}); err != nil {
		t.Error(err)
	}
}

func TestAKafkaThatCannotBeUsedIsExplained(t *testing.T) {
	t.Parallel()
	wrong := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(wrong, []byte("wrong"), 0o600); err != nil {
		t.Fatal(err)
	}
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.EnableSASL(), kfake.Superuser("PLAIN", "me", "right"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	locked, open, other := cluster.ListenAddrs(), testkafka.Shared(t), closing(t)
	sasl := config.SASL{Mechanism: "PLAIN", Username: "me", Password: config.Secret{From: config.SecretFile, Name: wrong}}
	for _, c := range []struct {
		what string
		cfg  config.Kafka
		says []string
	}{
		{"wrong password", config.Kafka{Brokers: locked, SASL: sasl}, []string{"kafka.sasl", "me", "password"}},
		{"no password", config.Kafka{Brokers: locked}, []string{"SASL", "kafka.sasl"}},
		{"nothing listens", config.Kafka{Brokers: []string{"127.0.0.1:1"}}, []string{"Kafka at 127.0.0.1:1", "refused", "kafka.brokers"}},
		{"unknown host", config.Kafka{Brokers: []string{"nowhere.invalid:9092"}}, []string{"nowhere.invalid", "name of the host"}},
		{"no Kafka", config.Kafka{Brokers: []string{other}}, []string{other, "something else"}},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			says(t, connect.ProbeKafka(t.Context(), c.cfg), c.says...)
		})
	}
	if err := connect.ProbeKafka(t.Context(), config.Kafka{Brokers: open}); err != nil {
		t.Error(err)
	}
}
