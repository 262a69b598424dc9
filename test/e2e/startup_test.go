package e2e

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pondage/pondage/internal/api/coordinator"
)

// TestAProcessThatCannotStartSaysWhy: it ends with status 1 and names what is in its way.
func TestAProcessThatCannotStartSaysWhy(t *testing.T) {
	t.Parallel()
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { taken.Close() })
	port := taken.Addr().String()
	const private = 0o600
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("log: {levels: info}\n"), private); err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("end-to-end"), private); err != nil {
		t.Fatal(err)
	}
	known := "file:" + secret
	stack := shared(t)
	const noDatabase = "postgres://nobody@127.0.0.1:1/none"
	for what, test := range map[string]struct {
		args   []string
		status int
		says   []string
	}{
		"a port in use":                     {[]string{"coordinator", "--http-listen", port, "--postgres-url", noDatabase, "--security-cluster-secret", known}, 1, []string{port, "in use"}},
		"a broker's port in use":            {[]string{"broker", "--listen", port, "--data-dir", t.TempDir()}, 1, []string{port, "in use"}},
		"a file where data go":              {[]string{"worker", "--data-dir", filepath.Join(file, "node"), "--postgres-url", noDatabase, "--security-cluster-secret", known}, 1, []string{file}},
		"an unknown key":                    {[]string{"coordinator", "--config", file}, 2, []string{"levels", "level"}},
		"an unknown flag":                   {[]string{"coordinator", "--http-lisen", port}, 2, []string{"http-lisen"}},
		"no database":                       {[]string{"coordinator", "--http-listen", "127.0.0.1:0", "--security-cluster-secret", known}, 2, []string{"postgres"}},
		"nothing at the database's address": {[]string{"dev", "--http-listen", "127.0.0.1:0", "--broker-listen", "127.0.0.1:0", "--data-dir", t.TempDir(), "--postgres", noDatabase}, 1, []string{"127.0.0.1:1", "refused", "--postgres"}},
		"nothing at the broker's address":   {[]string{"dev", "--http-listen", "127.0.0.1:0", "--data-dir", t.TempDir(), "--kafka", "127.0.0.1:1"}, 1, []string{"127.0.0.1:1", "refused", "kafka.brokers"}},
		"no such database, apart":           {[]string{"coordinator", "--http-listen", "127.0.0.1:0", "--security-cluster-secret", known, "--postgres-url", withDatabase(t, stack.dsn, "no_such_database")}, 1, []string{"no_such_database", "3D000"}},
		"no such role, in one":              {[]string{"dev", "--http-listen", "127.0.0.1:0", "--broker-listen", "127.0.0.1:0", "--data-dir", t.TempDir(), "--postgres", withUser(t, stack.dsn, "no_such_role")}, 1, []string{"no_such_role", "SQLSTATE 28", "user"}},
		"an address outside alone":          {[]string{"coordinator", "--http-listen", "0.0.0.0:0", "--postgres-url", noDatabase}, 2, []string{"cluster-secret"}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			cmd := exec.CommandContext(ctx, bin, test.args...)
			cmd.Env, cmd.Dir = withoutOurs(), t.TempDir()
			out, _ := cmd.CombinedOutput() // the status says it
			if got := cmd.ProcessState.ExitCode(); got != test.status {
				t.Errorf("status %d, want %d:\n%s", got, test.status, out)
			}
			for _, want := range test.says {
				if !strings.Contains(strings.ToLower(string(out)), strings.ToLower(want)) {
					t.Errorf("no %q in:\n%s", want, out)
				}
			}
		})
	}
}

func withDatabase(t *testing.T, dsn, name string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	return u.String()
}

func withUser(t *testing.T, dsn, name string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User(name)
	return u.String()
}

// TestASourceThatCannotBeReachedIsRefusedByName: nothing remains of the request.
func TestASourceThatCannotBeReachedIsRefusedByName(t *testing.T) {
	t.Parallel()
	c := shared(t)
	src, name := c.name("away"), c.name("st")
	c.must(t, http.MethodPost, "/v1/sources", object{
		"name": src, "format": "json", "kafka": object{"topic": src, "brokers": []string{"127.0.0.1:1"}}, "table": "k", "event_time": "ts",
		"columns": []any{object{"name": "v", "type": "int64"}},
	})
	begun := time.Now()
	a := c.do(t, http.MethodPost, "/v1/streams", count(name, src, nil))
	if (a.code() != "broker_unreachable" && a.code() != "kafka_unreachable") || a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" {
		t.Errorf("%s with Retry-After %q", a, a.header.Get("Retry-After"))
	}
	if took := time.Since(begun); took > patience/2 {
		t.Errorf("it took %s to say so", took)
	}
	if a := c.do(t, http.MethodGet, "/v1/streams/"+name, nil); a.status != http.StatusNotFound {
		t.Errorf("the refused stream: %s", a)
	}
}

// TestAnOutputThatCannotBeReachedIsWaitedFor: the stream is taken and runs, says what it waits for, and can be dropped.
func TestAnOutputThatCannotBeReachedIsWaitedFor(t *testing.T) {
	t.Parallel()
	c := shared(t)
	const away = "127.0.0.1:1"
	src, name := c.source(t, 1, nil), c.name("st")
	c.create(t, count(name, src, object{"outputs": object{"kafka": object{"topic": name, "brokers": []string{away}}}}))
	c.put(t, src, 0, record("a", 1000, 1), record("a", 11000, 1))
	c.until(t, name, "waits for its output", func(s coordinator.Stream) string {
		if s.State != "running" || s.Waiting == nil || !strings.Contains(*s.Waiting, away) {
			return describe(s)
		}
		return ""
	})
	c.drop(t, name)
}
