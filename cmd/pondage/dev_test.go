package main

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"syscall"
	"testing"
)

// dev runs `pondage dev` in the directory until it is ready, and closes it.
func dev(t *testing.T, dir string) (ready struct{ Postgres string }, log string) {
	t.Helper()
	cmd, errs := command(t, "dev", "--http-listen", "127.0.0.1:0", "--broker-listen", "127.0.0.1:0", "--data-dir", dir, "-o", "json", "--log-format", "text")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &ready)
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	if ended := cmd.Wait(); err != nil || ended != nil {
		t.Fatalf("%v, %v\n%s", err, ended, errs)
	}
	return ready, errs.String()
}

// TestDevStartsAgainAsItWas: quietly but for what must be said, once; and where people have noted it.
func TestDevStartsAgainAsItWas(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "pondage-dev-")
	if err == nil {
		err = os.Chmod(dir, 0o711) // Postgres may run as another user
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	first, log := dev(t, dir)
	for line := range strings.Lines(log) {
		if !strings.Contains(line, "level=INFO") && !strings.Contains(line, "AUTHENTICATION IS OFF") {
			t.Error("it says " + line)
		}
	}
	if n := strings.Count(log, "AUTHENTICATION IS OFF"); n != 1 {
		t.Errorf("it says %d times that authentication is off:\n%s", n, log)
	}
	if second, _ := dev(t, dir); second.Postgres != first.Postgres {
		t.Errorf("Postgres is at %s, and was at %s", second.Postgres, first.Postgres)
	}
}
