package chaos

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/pondage/pondage/internal/devstack"
)

// clusterName starts the names of all topics.
const clusterName = "chaos"

// How many of each there are: a standby that takes over, and a worker more than fails at a time.
const (
	coordinators = 2
	workers      = 3
	// workerMemory is what each worker may use for its queues.
	workerMemory = "128MiB"
)

// cluster is all processes of a run.
type cluster struct {
	dir     string
	program string
	kafka   brokers
	roles   []*process // coordinators, then workers
	proxies map[string]*proxy
	api     *api
	ports   ports
	// token is where the secret of users and services lies.
	token string

	pg   database
	stop context.CancelFunc
	done sync.WaitGroup
}

// database is the Postgres of a run, which is killed and started again.
type database struct {
	sync.Mutex
	*devstack.Postgres
	port int
}

func (d *database) running() bool {
	if d.Postgres == nil {
		return false
	}
	select {
	case <-d.Exited():
		return false
	default:
		return true
	}
}

// dsn is the URL past the proxy; it stays the same.
func (d *database) dsn() string {
	d.Lock()
	defer d.Unlock()
	return d.DSN()
}

// layout says what a cluster is made of.
type layout struct {
	dir     string
	program string
	script  string // of a real Kafka; "": the embedded broker
	brokers int
	// always are the failpoints of every start of the workers, or of the coordinators where they belong there.
	always string
}

// startCluster starts everything and waits until the workers share the vgroups. What it returns must be closed, also with
// an error.
func startCluster(ctx context.Context, l layout, patience patience) (_ *cluster, err error) {
	c := &cluster{dir: l.dir, program: l.program, proxies: map[string]*proxy{}, token: filepath.Join(l.dir, "token")}
	var living context.Context
	living, c.stop = context.WithCancel(context.WithoutCancel(ctx))
	const secret, private = "chaos", 0o600
	if err := os.WriteFile(c.token, []byte(secret), private); err != nil {
		return c, err
	}
	if err := c.startPostgres(ctx, 0); err != nil {
		return c, err
	}
	if err := c.startBrokers(ctx, living, l); err != nil {
		return c, err
	}
	dsn, err := c.proxied(living, TargetPostgres, c.pg.DSN())
	if err != nil {
		return c, err
	}
	if err := c.startRoles(living, l, dsn); err != nil {
		return c, err
	}
	return c, patience.until(ctx, "the workers share the vgroups", c.shared)
}

func (c *cluster) startBrokers(ctx, living context.Context, l layout) (err error) {
	dir := filepath.Join(c.dir, "kafka")
	if l.script != "" {
		var k *real
		if k, err = startReal(ctx, &c.ports, l.script, dir, l.brokers); err != nil {
			return err
		}
		c.kafka = k
		return nil
	}
	port, err := c.ports.take(1, 0)
	if err != nil {
		return err
	}
	e := &embedded{address: address(port)}
	e.process = c.add(living, brokerName+"1", "", "broker", "--listen", e.address, "--data-dir", dir)
	c.kafka = e
	return nil
}

// startRoles starts coordinators and workers, each behind a proxy that the others reach it through.
func (c *cluster) startRoles(living context.Context, l layout, dsn string) error {
	security := "file:" + c.token
	common := []string{"--postgres-url", dsn, "--kafka-brokers", strings.Join(c.kafka.addresses(), ","), "--security-admin-token", security, "--security-cluster-secret", security}
	ofCoordinators, ofWorkers := "", l.always
	if Coordinators(pointOf(l.always)) {
		ofCoordinators, ofWorkers = l.always, ""
	}
	var urls []string
	for i := range coordinators {
		name := "coordinator-" + strconv.Itoa(i+1)
		listen, advertise, err := c.addresses(living, name)
		if err != nil {
			return err
		}
		urls = append(urls, advertise)
		c.roles = append(c.roles, c.add(living, name, ofCoordinators,
			append([]string{"coordinator", "--cluster", clusterName, "--http-listen", listen, "--http-advertise", advertise}, common...)...))
	}
	for i := range workers {
		name := "worker-" + strconv.Itoa(i+1)
		listen, advertise, err := c.addresses(living, name)
		if err != nil {
			return err
		}
		c.roles = append(c.roles, c.add(living, name, ofWorkers, append([]string{
			"worker", "--coordinators", strings.Join(urls, ","), "--data-dir", filepath.Join(c.dir, name), "--memory", workerMemory,
			"--http-listen", listen, "--http-advertise", advertise,
		}, common...)...))
	}
	c.api = newAPI(urls, c.token)
	return nil
}

// addresses gives a role a port, and a proxy before it.
func (c *cluster) addresses(living context.Context, name string) (listen, advertise string, err error) {
	port, err := c.ports.take(1, 0)
	if err != nil {
		return "", "", err
	}
	before, err := c.before(living, name, address(port))
	return address(port), "http://" + before, err
}

// before puts a proxy before a target and returns its address.
func (c *cluster) before(living context.Context, name, target string) (string, error) {
	l, err := c.ports.listen()
	if err != nil {
		return "", err
	}
	c.proxies[name] = startProxy(living, l, target)
	return l.Addr().String(), nil
}

// proxied puts a proxy before the database and returns the URL through it.
func (c *cluster) proxied(living context.Context, name, dsn string) (string, error) {
	u, err := url.Parse(dsn)
	if err != nil {
		return "", err
	}
	u.Host, err = c.before(living, name, u.Host)
	return u.String(), err
}

// add starts a supervised process.
func (c *cluster) add(living context.Context, name, always string, args ...string) *process {
	p := &process{name: name, path: c.program, args: args, always: always, log: filepath.Join(c.dir, name+".log"), wanted: make(chan struct{})}
	p.raise()
	c.done.Go(func() { p.supervise(living) })
	return p
}

// close kills everything, also what is stopped.
func (c *cluster) close() error {
	c.stop()
	c.done.Wait()
	var errs []error
	if c.kafka != nil {
		errs = append(errs, c.kafka.close())
	}
	c.pg.Lock()
	defer c.pg.Unlock()
	if c.pg.Postgres != nil {
		errs = append(errs, c.pg.Stop())
	}
	return errors.Join(errs...)
}

// role finds a process by its name; nil when it is none of the roles.
func (c *cluster) role(name string) *process {
	if i := slices.IndexFunc(c.roles, func(p *process) bool { return p.name == name }); i >= 0 {
		return c.roles[i]
	}
	return nil
}

// shared tells what is missing until every worker has its part of the vgroups.
func (c *cluster) shared(ctx context.Context) error {
	var page struct{ Items []struct{ Owner *string } }
	if err := c.api.get(ctx, "/v1/vgroups", &page); err != nil {
		return err
	}
	owned := map[string]int{}
	for _, v := range page.Items {
		if v.Owner != nil {
			owned[*v.Owner]++
		}
	}
	if len(owned) < workers {
		return fmt.Errorf("%d of %d workers own vgroups", len(owned), workers)
	}
	return nil
}

// startPostgres starts the database, or starts it again with its data; port 0 takes a free one.
func (c *cluster) startPostgres(ctx context.Context, port int) (err error) {
	c.pg.Lock()
	defer c.pg.Unlock()
	if c.pg.running() {
		return nil // another fault's end has started it
	}
	if port == 0 {
		if port, err = c.ports.take(1, 0); err != nil {
			return err
		}
	}
	pg, err := devstack.StartPostgres(ctx, filepath.Join(c.dir, "postgres"), devstack.PostgresOptions{Port: port})
	if err != nil {
		return err
	}
	c.pg.Postgres, c.pg.port = pg, port
	return nil
}

// killPostgres is kill -9 of the server and of all its sessions.
func (c *cluster) killPostgres() error {
	c.pg.Lock()
	defer c.pg.Unlock()
	if !c.pg.running() {
		return nil // another fault has killed it
	}
	pid, err := c.postmaster()
	if err != nil {
		return err
	}
	// The server first: it would see a session's end as a crash and begin anew by itself.
	sessions := children(pid)
	for _, p := range append([]int{pid}, sessions...) {
		_ = syscall.Kill(p, syscall.SIGKILL) // an error says that it has ended
	}
	<-c.pg.Exited()
	return c.pg.Stop() // gives the directory free
}

// postmaster is the pid of the server.
func (c *cluster) postmaster() (int, error) {
	text, err := os.ReadFile(filepath.Join(c.dir, "postgres", "data", "postmaster.pid"))
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return strconv.Atoi(first)
}

// children are the processes whose parent is this one.
func children(parent int) []int {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is right
	var out []int
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		// pid (name) state ppid …; the name may have spaces and brackets.
		end := strings.LastIndexByte(string(text), ')')
		fields := strings.Fields(string(text[end+1:]))
		if len(fields) > 1 && fields[1] == strconv.Itoa(parent) {
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
				out = append(out, pid)
			}
		}
	}
	return out
}
