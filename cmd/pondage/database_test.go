package main

import (
	"bufio"
	"bytes"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pondage/pondage/internal/devstack/testpg"
)

// apart returns the arguments that roles of a cluster need beside their own.
func apart(t *testing.T, dsn string) []string {
	t.Helper()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("of the cluster"), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"--http-listen", "127.0.0.1:0", "--postgres-url", dsn, "--security-cluster-secret", "file:" + secret}
}

// TestADatabaseThatRefusesEndsEveryRoleAtOnce: repeating does not change a password.
func TestADatabaseThatRefusesEndsEveryRoleAtOnce(t *testing.T) {
	t.Parallel()
	u, err := url.Parse(testpg.DSN(t))
	if err != nil {
		t.Fatal(err)
	}
	unknown, wrong := *u, *u
	unknown.Path = "/nothing_here"
	wrong.User = url.UserPassword(u.User.Username(), "wrong")
	roles := map[string]func(*testing.T) []string{
		"coordinator": func(*testing.T) []string { return nil },
		"worker":      func(t *testing.T) []string { return []string{"--data-dir", t.TempDir()} },
		"node": func(t *testing.T) []string {
			return []string{"--data-dir", t.TempDir(), "--snapshotter-listen", "127.0.0.1:0"}
		},
	}
	for role, own := range roles {
		for state, dsn := range map[string]string{"3D000": unknown.String(), "28P01": wrong.String()} {
			t.Run(role+" "+state, func(t *testing.T) {
				t.Parallel()
				cmd, errs := command(t, slices.Concat([]string{role}, own(t), apart(t, dsn))...)
				begun := time.Now()
				_ = cmd.Run() // the status is what is looked at
				if cmd.ProcessState.ExitCode() != 1 || !strings.Contains(errs.String(), "cannot be used") || !strings.Contains(errs.String(), state) {
					t.Errorf("status %d\n%s", cmd.ProcessState.ExitCode(), errs)
				}
				if took := time.Since(begun); took > 10*time.Second {
					t.Errorf("it took %s", took)
				}
			})
		}
	}
}

// TestAWorkerWaitsForItsDatabase: processes of a cluster start in any order.
func TestAWorkerWaitsForItsDatabase(t *testing.T) {
	t.Parallel()
	cmd, _ := command(t, append([]string{"worker", "--data-dir", t.TempDir()}, apart(t, "postgres://nobody@127.0.0.1:1/none")...)...)
	cmd.Stderr = nil
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(said)
	for lines.Scan() && !bytes.Contains(lines.Bytes(), []byte("cannot be used yet")) {
		continue // of other matters
	}
	if line := lines.Text(); !strings.Contains(line, "WARN") || !strings.Contains(line, "refused") {
		t.Errorf("it says %q", line)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
		if bytes.Contains(lines.Bytes(), []byte("ERROR")) {
			t.Error(lines.Text())
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
