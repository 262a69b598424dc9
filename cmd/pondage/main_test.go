package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pondage/pondage/internal/kafka"
)

// asProcess makes the test binary behave as the product.
const asProcess = "PONDAGE_TEST_PROCESS"

func TestMain(m *testing.M) {
	if os.Getenv(asProcess) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// command prepares a run of the binary as a process of its own.
func command(t *testing.T, args ...string) (cmd *exec.Cmd, errs *bytes.Buffer) {
	t.Helper()
	cmd, errs = exec.CommandContext(t.Context(), os.Args[0], args...), &bytes.Buffer{}
	cmd.Env = append(os.Environ(), asProcess+"=1")
	cmd.Stderr = errs
	return cmd, errs
}

// broker starts a role and waits until it says that it is ready.
func broker(t *testing.T, dir string) (cmd *exec.Cmd, brokers []string, errs *bytes.Buffer) {
	t.Helper()
	cmd, errs = command(t, "broker", "--listen", "127.0.0.1:0", "--data-dir", dir, "-o", "json")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		_ = cmd.Wait()
		t.Fatalf("not ready: %v\n%s", err, errs)
	}
	var ready struct {
		Role    string
		Ready   bool
		Brokers []string
	}
	if err := json.Unmarshal(line, &ready); err != nil || !ready.Ready || ready.Role != "broker" || len(ready.Brokers) != 1 {
		t.Fatalf("%s: %v", line, err)
	}
	return cmd, ready.Brokers, errs
}

func TestARoleRunsUntilItIsAskedToClose(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, signal := range []os.Signal{syscall.SIGTERM, syscall.SIGINT} {
		cmd, brokers, errs := broker(t, dir) // the second time: the data survives, the lock was given back
		c, err := kafka.Open(kafka.Config{Brokers: brokers})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Ping(t.Context()); err != nil {
			t.Error(err)
		}
		c.Close()
		asked := time.Now()
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("after %s: %v\n%s", signal, err, errs)
		}
		if took := time.Since(asked); took > 25*time.Second {
			t.Errorf("closing took %s", took)
		}
	}
}

func TestADirectoryHasOneProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, _, _ := broker(t, dir)
	second, errs := command(t, "broker", "--listen", "127.0.0.1:0", "--data-dir", dir)
	err := second.Run()
	if second.ProcessState.ExitCode() != 1 || !strings.Contains(errs.String(), "in use") {
		t.Errorf("a second process: %v\n%s", err, errs)
	}
	if err := first.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := first.Wait(); err != nil {
		t.Error(err)
	}
}

func TestStatuses(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]int{
		"version": 0, "hash LAX -o json": 0, "-h": 0,
		"stream list --api http://127.0.0.1:1": 1, "broker --listen 0.0.0.0:0": 1,
		"nonsense": 2, "": 2, "coordinator": 2,
	} {
		cmd, errs := command(t, strings.Fields(line)...)
		_ = cmd.Run() // the status is what is looked at
		if got := cmd.ProcessState.ExitCode(); got != want {
			t.Errorf("%q: status %d, want %d\n%s", line, got, want, errs)
		}
	}
}
