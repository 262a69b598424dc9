package devstack

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// installation is a Postgres data directory, whose it is, and with which binaries it runs. Layout of dir: data (the
// server's, owned by owner), password, port (of the last start on a port of our choice), postgres.log, lock.
type installation struct {
	dir   string
	owner *owner
	bin   string // directory of initdb and postgres

	durability Durability
}

func (in installation) dataPath() string     { return filepath.Join(in.dir, "data") }
func (in installation) logPath() string      { return filepath.Join(in.dir, "postgres.log") }
func (in installation) passwordPath() string { return filepath.Join(in.dir, "password") }
func (in installation) portPath() string     { return filepath.Join(in.dir, "port") }

// lastPort returns the port of the last start, 0 where none is noted.
func (in installation) lastPort() int {
	text, err := os.ReadFile(in.portPath())
	if err != nil {
		return 0
	}
	port, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 16)
	if err != nil {
		return 0 // damaged: a free one will do
	}
	return int(port)
}

// notePort keeps the port for the next start.
func (in installation) notePort(port int) error {
	if err := os.WriteFile(in.portPath(), []byte(strconv.Itoa(port)+"\n"), 0o644); err != nil {
		return explain("note the port in", in.dir, err)
	}
	return nil
}

// password returns the superuser's password; prepare has made it.
func (in installation) password() string {
	text, err := os.ReadFile(in.passwordPath())
	if err != nil {
		return "" // the connection is refused, and says so
	}
	return strings.TrimSpace(string(text))
}

// prepare finds the binaries and initialises the data where there is none.
func (in *installation) prepare(ctx context.Context) error {
	if err := in.owner.canEnter(in.dir); err != nil {
		return err
	}
	major, err := os.ReadFile(filepath.Join(in.dataPath(), "PG_VERSION"))
	fresh := errors.Is(err, fs.ErrNotExist)
	if err != nil && !fresh {
		return explain("read the data in", in.dir, err)
	}
	if in.bin, err = findBinaries(strings.TrimSpace(string(major))); err != nil {
		return err
	}
	if !fresh {
		return nil
	}
	return in.initialise(ctx)
}

// initialise makes the data in a directory beside, then renames it: a kill in between leaves nothing half made.
func (in *installation) initialise(ctx context.Context) error {
	making := in.dataPath() + ".new"
	if err := os.RemoveAll(making); err != nil {
		return explain("clear", making, err)
	}
	if err := os.Mkdir(making, 0o700); err != nil {
		return explain("make", making, err)
	}
	if err := os.WriteFile(in.passwordPath(), []byte(rand.Text()+"\n"), 0o600); err != nil {
		return explain("write the password in", in.dir, err)
	}
	if err := errors.Join(in.owner.own(making), in.owner.own(in.passwordPath())); err != nil {
		return err
	}
	args := []string{"-D", making, "-U", superuser, "-A", "scram-sha-256", "--pwfile", in.passwordPath(),
		"--encoding", "UTF8", "--locale", "C", "--no-instructions"}
	if in.durability == Volatile {
		args = append(args, "--no-sync")
	}
	cmd := exec.CommandContext(ctx, filepath.Join(in.bin, "initdb"), args...)
	in.owner.run(cmd)
	cmd.Dir = making
	if out, err := cmd.CombinedOutput(); err != nil {
		text := string(out)
		if strings.Contains(text, "No space left on device") {
			err = errors.Join(err, syscall.ENOSPC)
		}
		return fmt.Errorf("%w; initdb says:\n%s", explain("initialise", in.dir, err), text)
	}
	if err := os.Rename(making, in.dataPath()); err != nil {
		return explain("initialise", in.dir, err)
	}
	return nil
}

// clearStale deals with what a killed predecessor left. The lock on dir is ours, so a server on this data is an orphan:
// it is ended. A pid file whose process is another program's is removed: Postgres itself would refuse to start.
func (in installation) clearStale(ctx context.Context) error {
	path := filepath.Join(in.dataPath(), "postmaster.pid")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return explain("read", path, err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(first)
	for err == nil && in.serves(pid) {
		if kill := syscall.Kill(pid, syscall.SIGQUIT); kill != nil && !errors.Is(kill, syscall.ESRCH) {
			return fmt.Errorf("devstack: end the Postgres left behind, process %d: %w: end it yourself", pid, kill)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("devstack: the Postgres left behind, process %d, does not end: %w", pid, ctx.Err())
		case <-time.After(readyPoll):
		}
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return explain("remove", path, err)
	}
	return nil
}

// serves tells whether the process is a Postgres server on this data.
func (in installation) serves(pid int) bool {
	command, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	return err == nil && strings.Contains(string(command), "postgres") && strings.Contains(string(command), in.dataPath())
}
