// Package readme follows the README as a newcomer would: its tour is run, command by command, against `pondage dev`.
package readme

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pondage/pondage/internal/cli"
	"github.com/pondage/pondage/internal/cli/commands"
)

const root = "../.."

// block is a fenced block of commands; info is what stands behind the fence.
type block struct{ info, text string }

func blocks(t *testing.T) []block {
	t.Helper()
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var out []block
	for _, m := range regexp.MustCompile("(?ms)^```(sh[^\n]*)\n(.*?)^```$").FindAllStringSubmatch(string(readme), -1) {
		out = append(out, block{info: m[1], text: m[2]})
	}
	return out
}

// folder is a checkout as the tour sees it: the binary, built, and the examples.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "pondage-readme-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil { // Postgres may run as another user, who must pass through
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, "bin/pondage"), root+"/cmd/pondage").CombinedOutput()
	if err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	examples, err := filepath.Abs(filepath.Join(root, "examples"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(examples, filepath.Join(dir, "examples")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// stack is a running pondage dev.
type stack struct {
	API     string
	Brokers []string
}

// dev starts everything in one process.
func dev(t *testing.T, dir string) stack {
	t.Helper()
	var log bytes.Buffer
	cmd := exec.Command("bin/pondage", "dev", "--http-listen", "127.0.0.1:0", "--broker-listen", "127.0.0.1:0", "-o", "json")
	cmd.Dir, cmd.Stderr = dir, &log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
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
		t.Fatalf("dev is not ready: %v\n%s", err, &log)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("dev ends with %v", err)
		}
		if t.Failed() {
			t.Logf("the log of dev:\n%s", &log)
		}
	})
	var ready stack
	if err := json.Unmarshal(line, &ready); err != nil || ready.API == "" {
		t.Fatalf("%s: %v", line, err)
	}
	return ready
}

// shell runs a block as one would type it; it stops at the first command that fails.
func shell(dir string, at stack, text string) *exec.Cmd {
	cmd := exec.Command("bash", "-euo", "pipefail", "-c", text)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "PONDAGE_API="+at.API, "PONDAGE_KAFKA_BROKERS="+strings.Join(at.Brokers, ","))
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	return cmd
}

// follower is a block that goes on in the background.
type follower struct {
	cmd  *exec.Cmd
	rows chan string
}

func follow(t *testing.T, cmd *exec.Cmd) follower {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	f := follower{cmd, make(chan string, 100)}
	go func() {
		defer close(f.rows)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			f.rows <- lines.Text()
		}
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait() // it was killed
	})
	return f
}

func TestTheTour(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	at := dev(t, dir)
	var followers []follower
	ran := 0
	for _, b := range blocks(t) {
		switch b.info {
		case "sh tour background":
			f := follow(t, shell(dir, at, b.text))
			sees(t, f, "following")
			followers = append(followers, f)
		case "sh tour":
			ran++
			out, err := shell(dir, at, b.text).CombinedOutput()
			t.Logf("%s%s", b.text, out)
			if err != nil {
				t.Fatalf("the tour fails: %v", err)
			}
		}
	}
	if ran < 5 || len(followers) != 1 {
		t.Errorf("%d blocks were run, %d followed", ran, len(followers))
	}
	sees(t, followers[0], "JFK")
}

// sees waits until a follower has shown a text.
func sees(t *testing.T, f follower, text string) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		select {
		case row, open := <-f.rows:
			if strings.Contains(row, text) {
				return
			}
			if !open {
				t.Fatalf("it ended without showing %q", text)
			}
		case <-deadline:
			t.Fatalf("it does not show %q", text)
		}
	}
}

// What the README shows and the tour does not run exists all the same: commands with their flags, and files.
func TestWhatTheReadmeNamesExists(t *testing.T) {
	t.Parallel()
	for _, b := range blocks(t) {
		if strings.Contains(b.info, "tour") {
			continue
		}
		for _, m := range regexp.MustCompile(`(?m)^(?:bin/)?pondage ([^\n"|]*)`).FindAllStringSubmatch(b.text, -1) {
			if err := parses(strings.Fields(m[1])); err != nil {
				t.Errorf("pondage %s: %v", m[1], err)
			}
		}
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`\]\(([^)#:]+)\)`).FindAllStringSubmatch(string(readme), -1) {
		if _, err := os.Stat(filepath.Join(root, m[1])); errors.Is(err, os.ErrNotExist) {
			t.Errorf("the README links to %s, which is not there", m[1])
		}
	}
}

func parses(args []string) error {
	cmd, rest, err := cli.New(cli.Shell{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}, commands.All()...).Find(args)
	if err != nil {
		return err
	}
	return cmd.ParseFlags(rest)
}
