package devstack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// PostgresOptions say how the private Postgres runs.
type PostgresOptions struct {
	// Port on 127.0.0.1; 0 takes that of the last start in the directory, or a free one where there was none or it is taken.
	Port int
	// Durability says whether a commit waits for the disk. Default Durable.
	Durability Durability
	// Database is made when missing. Default "pondage".
	Database string
	// Log hears that the port had to change. Default: nobody does.
	Log *slog.Logger
}

// Durability says whether commits survive a crash of the machine.
type Durability int

const (
	// Durable waits for the disk at each commit.
	Durable Durability = iota
	// Volatile does not: faster; a crash of the machine may cost the whole database. For tests.
	Volatile
)

const (
	defaultDatabase = "pondage"
	superuser       = "pondage"

	// portTries is how often a free port is looked for: between finding and using it somebody may take it.
	portTries = 3
	// startWithin bounds the start, recovery after a kill included.
	startWithin = 60 * time.Second
	// stopWithin is how long open sessions may take to end before the server stops without them.
	stopWithin = 10 * time.Second
	readyPoll  = 20 * time.Millisecond
)

// Postgres is a running private Postgres.
type Postgres struct {
	server *server
	lock   *Lock
	dsn    string
	stop   sync.Once
	err    error
}

// StartPostgres starts a Postgres with its data in dir, which is made and initialised where missing, and waits until it
// answers. The server ends with this process.
func StartPostgres(ctx context.Context, dir string, o PostgresOptions) (*Postgres, error) {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, explain("find", dir, err)
	}
	if o.Database == "" {
		o.Database = defaultDatabase
	}
	lock, err := LockDir(dir)
	if err != nil {
		return nil, err
	}
	p, err := startPostgres(ctx, dir, o)
	if err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	p.lock = lock
	return p, nil
}

func startPostgres(ctx context.Context, dir string, o PostgresOptions) (*Postgres, error) {
	owner, err := serverUser()
	if err != nil {
		return nil, err
	}
	in := installation{dir: dir, owner: owner, durability: o.Durability}
	if err := in.prepare(ctx); err != nil {
		return nil, err
	}
	if o.Port != 0 {
		return in.start(ctx, o)
	}
	return in.startAnywhere(ctx, o)
}

// startAnywhere runs the server on the port of its last start, so that what was told about it stays true, else on a free one.
func (in installation) startAnywhere(ctx context.Context, o PostgresOptions) (*Postgres, error) {
	last := in.lastPort()
	if o.Port = last; last != 0 {
		p, err := in.start(ctx, o)
		if err == nil || !errors.Is(err, syscall.EADDRINUSE) {
			return p, err
		}
	}
	for try := 1; ; try++ {
		var err error
		if o.Port, err = FreePort(); err != nil {
			return nil, err
		}
		p, err := in.start(ctx, o)
		switch {
		case err == nil:
			if last != 0 && o.Log != nil {
				o.Log.Warn("the private Postgres has another port: its last one is taken", "port", o.Port, "last", last)
			}
			return in.keeping(p, o.Port)
		case try == portTries || !errors.Is(err, syscall.EADDRINUSE):
			return nil, err
		}
	}
}

// keeping notes the port of a server for its next start.
func (in installation) keeping(p *Postgres, port int) (*Postgres, error) {
	if err := in.notePort(port); err != nil {
		p.server.stop()
		return nil, err
	}
	return p, nil
}

// start runs the server on the port and makes the database.
func (in installation) start(ctx context.Context, o PostgresOptions) (*Postgres, error) {
	if err := in.clearStale(ctx); err != nil { // it may have the port
		return nil, err
	}
	if err := checkPort(o.Port); err != nil {
		return nil, err
	}
	server, err := in.run(o)
	if err != nil {
		return nil, err
	}
	p := &Postgres{server: server, dsn: in.dsn(o.Port, o.Database)}
	if err := in.awaitDatabase(ctx, server, o); err != nil {
		server.stop()
		return nil, err
	}
	return p, nil
}

// awaitDatabase waits until the server answers, and makes the database where it is missing.
func (in installation) awaitDatabase(ctx context.Context, server *server, o PostgresOptions) error {
	for {
		conn, err := pgx.Connect(ctx, in.dsn(o.Port, "postgres"))
		if err == nil {
			defer func() { _ = conn.Close(ctx) }() // it has done its work
			return makeDatabase(ctx, conn, o.Database)
		}
		select {
		case <-server.exited:
			return in.diagnose(server.err)
		case <-ctx.Done():
			return in.diagnose(errors.Join(ctx.Err(), err))
		case <-time.After(readyPoll):
		}
	}
}

func makeDatabase(ctx context.Context, conn *pgx.Conn, name string) error {
	var there bool
	err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", name).Scan(&there)
	if err == nil && !there {
		_, err = conn.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize())
	}
	if err != nil {
		return fmt.Errorf("devstack: make database %s: %w", name, err)
	}
	return nil
}

// DSN returns the connection URL of the database, password included.
func (p *Postgres) DSN() string { return p.dsn }

// Exited is closed when the server has ended, also by itself.
func (p *Postgres) Exited() <-chan struct{} { return p.server.exited }

// Stop ends the server: sessions are ended, what is committed is on disk. Only the first call counts.
func (p *Postgres) Stop() error {
	p.stop.Do(func() {
		p.server.stop()
		p.err = p.lock.Unlock()
	})
	return p.err
}

func (in installation) dsn(port int, database string) string {
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(superuser, in.password()),
		Host: loopback + ":" + strconv.Itoa(port), Path: "/" + database, RawQuery: "sslmode=disable",
	}
	return u.String()
}

// logTail is how much of the server's log goes into an error, bytes.
const logTail = 2000

// diagnose says why the server did not start, from its log.
func (in installation) diagnose(err error) error {
	text, readErr := os.ReadFile(in.logPath())
	if readErr != nil {
		return explain("start Postgres in", in.dir, errors.Join(err, readErr))
	}
	tail := string(text[max(0, len(text)-logTail):])
	for phrase, known := range map[string]error{
		"Address already in use":  syscall.EADDRINUSE,
		"No space left on device": syscall.ENOSPC,
		"Permission denied":       syscall.EACCES,
	} {
		if strings.Contains(tail, phrase) {
			err = errors.Join(err, known)
		}
	}
	return fmt.Errorf("%w; the end of %s:\n%s", explain("start Postgres in", in.dir, err), in.logPath(), tail)
}
