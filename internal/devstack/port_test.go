package devstack_test

import (
	"bytes"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"testing"

	"github.com/pondage/pondage/internal/devstack"
)

// TestPostgresKeepsItsPortOverARestart: what people noted of it, a psql command or a dashboard, goes on working.
func TestPostgresKeepsItsPortOverARestart(t *testing.T) {
	t.Parallel()
	dir := directory(t)
	var log bytes.Buffer
	start := func() *devstack.Postgres {
		t.Helper()
		p, err := devstack.StartPostgres(t.Context(), dir, devstack.PostgresOptions{
			Durability: devstack.Volatile, Log: slog.New(slog.NewTextHandler(&log, nil)),
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Stop() })
		return p
	}
	address := func(p *devstack.Postgres) string {
		u, err := url.Parse(p.DSN())
		if err != nil {
			t.Fatal(err)
		}
		return u.Host
	}
	first := start()
	first.Stop()
	second := start()
	if second.DSN() != first.DSN() || log.Len() != 0 {
		t.Fatalf("at %s after a restart, at %s before; the log says %q", address(second), address(first), log.String())
	}
	second.Stop()
	l, err := net.Listen("tcp", address(first))
	if err != nil {
		t.Fatal(err)
	}
	third := start()
	if address(third) == address(first) || !strings.Contains(log.String(), "taken") {
		t.Fatalf("with another process on its port it is at %s and the log says %q", address(third), log.String())
	}
	l.Close()
	third.Stop()
	if fourth := start(); address(fourth) != address(third) {
		t.Errorf("at %s, having moved to %s", address(fourth), address(third))
	}
}
