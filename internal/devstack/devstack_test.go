package devstack_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/pondage/pondage/internal/devstack"
)

// roleVariable makes this test binary play another process: see TestMain.
const roleVariable = "DEVSTACK_TEST_ROLE"

// TestMain plays the process that a test kills: it starts what the role says in the directory named, says so, and waits.
func TestMain(m *testing.M) {
	role, dir, ok := strings.Cut(os.Getenv(roleVariable), ":")
	if !ok {
		os.Exit(m.Run())
	}
	if err := play(role, dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("ready")
	select {}
}

func play(role, dir string) error {
	switch role {
	case "lock":
		_, err := devstack.LockDir(dir)
		return err
	case "postgres":
		p, err := devstack.StartPostgres(context.Background(), dir, devstack.PostgresOptions{})
		if err != nil {
			return err
		}
		return execute(context.Background(), p.DSN(), "CREATE TABLE kept AS SELECT 42 AS answer")
	}
	return fmt.Errorf("no role %q", role)
}

// another starts a process in a role and waits until it is ready.
func another(t *testing.T, role, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"="+role+":"+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("role %s says %q, %v", role, line, err)
	}
	return cmd
}

func execute(ctx context.Context, dsn, statement string) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statement)
	return errors.Join(err, conn.Close(ctx))
}

// directory returns an empty directory that any user can reach: Postgres may run as another one.
func directory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "pondage-devstack-")
	if err == nil {
		err = os.Chmod(dir, 0o711)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func TestLockedDirectoryNamesItsHolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	holder := another(t, "lock", dir)
	_, err := devstack.LockDir(dir)
	if !errors.Is(err, devstack.ErrLocked) || !strings.Contains(err.Error(), strconv.Itoa(holder.Process.Pid)) {
		t.Fatalf("got %v, want ErrLocked naming process %d", err, holder.Process.Pid)
	}
	holder.Process.Kill()
	holder.Wait()
	lock, err := devstack.LockDir(dir)
	if err != nil {
		t.Fatalf("after the holder was killed: %v", err)
	}
	for range 2 {
		if err := lock.Unlock(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestBrokerKeepsItsDataOverARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	produce := func(value string) {
		b, err := devstack.StartBroker(t.Context(), dir, devstack.BrokerOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Stop()
		c, err := kgo.NewClient(kgo.SeedBrokers(b.Addrs()...), kgo.DefaultProduceTopic("t"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if value == "a" {
			if _, err := kadm.NewClient(c).CreateTopic(t.Context(), 1, 1, nil, "t"); err != nil {
				t.Fatal(err)
			}
		}
		record, err := c.ProduceSync(t.Context(), kgo.StringRecord(value)).First()
		if err != nil {
			t.Fatal(err)
		}
		if want := int64(value[0] - 'a'); record.Offset != want {
			t.Fatalf("%q was written at offset %d, want %d", value, record.Offset, want)
		}
	}
	for _, value := range []string{"a", "b", "c"} {
		produce(value)
	}
}

func TestTopicsAreNotMadeOnUse(t *testing.T) {
	t.Parallel()
	b, err := devstack.StartBroker(t.Context(), "", devstack.BrokerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Stop()
	c, err := kgo.NewClient(kgo.SeedBrokers(b.Addrs()...), kgo.AllowAutoTopicCreation(), kgo.UnknownTopicRetries(0))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.ProduceSync(t.Context(), &kgo.Record{Topic: "nosuch", Value: []byte("x")}).FirstErr(); err == nil {
		t.Fatal("a record was written to a topic that nobody made")
	}
}

func TestUsedPortIsExplained(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	_, brokerErr := devstack.StartBroker(t.Context(), t.TempDir(), devstack.BrokerOptions{Port: port})
	_, postgresErr := devstack.StartPostgres(t.Context(), directory(t), devstack.PostgresOptions{Port: port, Durability: devstack.Volatile})
	for _, err := range []error{brokerErr, postgresErr} {
		if !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(), strconv.Itoa(port)) ||
			strings.Count(err.Error(), "choose another port") != 1 {
			t.Errorf("got %v, want an error that names port %d and says what to do", err, port)
		}
	}
}

func TestPostgresKeepsItsDataOverAKill(t *testing.T) {
	t.Parallel()
	dir := directory(t)
	first := another(t, "postgres", dir)
	if _, err := devstack.StartPostgres(t.Context(), dir, devstack.PostgresOptions{}); !errors.Is(err, devstack.ErrLocked) {
		t.Fatalf("a second server on the same data: got %v, want ErrLocked", err)
	}
	first.Process.Kill()
	first.Wait()
	p, err := devstack.StartPostgres(t.Context(), dir, devstack.PostgresOptions{})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), p.DSN())
	if err != nil {
		t.Fatal(err)
	}
	var answer int
	if err := conn.QueryRow(t.Context(), "SELECT answer FROM kept").Scan(&answer); err != nil || answer != 42 {
		t.Fatalf("got %d, %v; want the row that was committed before the kill", answer, err)
	}
	conn.Close(t.Context())
	for range 2 {
		if err := p.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	<-p.Exited()
}

func TestStalePidFileDoesNotStopPostgres(t *testing.T) {
	t.Parallel()
	dir := directory(t)
	p, err := devstack.StartPostgres(t.Context(), dir, devstack.PostgresOptions{Durability: devstack.Volatile})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	// The pid of a process that lives and is not Postgres: this one.
	stale := fmt.Sprintf("%d\n%s/data\n", os.Getpid(), dir)
	if err := os.WriteFile(filepath.Join(dir, "data", "postmaster.pid"), []byte(stale), 0o644); err != nil {
		t.Fatal(err)
	}
	p, err = devstack.StartPostgres(t.Context(), dir, devstack.PostgresOptions{Durability: devstack.Volatile})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
}

func TestDirectoryThatPostgresCannotEnterIsExplained(t *testing.T) {
	t.Parallel()
	dir := directory(t)
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	p, err := devstack.StartPostgres(t.Context(), filepath.Join(dir, "pg"), devstack.PostgresOptions{Durability: devstack.Volatile})
	if os.Geteuid() != 0 { // it runs as this user, who can
		if err != nil {
			t.Fatal(err)
		}
		p.Stop()
		return
	}
	if err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "chmod o+x") {
		t.Fatalf("got %v, want an error that names %s and says what to do", err, dir)
	}
}
