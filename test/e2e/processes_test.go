package e2e

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/pondage/pondage/internal/config"
	"github.com/pondage/pondage/internal/devstack"
)

// binary builds the one binary, once.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "pondage-e2e-bin-")
	if err != nil {
		return "", err
	}
	whenDone(func() error { return os.RemoveAll(dir) })
	path := filepath.Join(dir, "pondage")
	out, err := exec.Command("go", "build", "-o", path, "../../cmd/pondage").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build pondage: %w\n%s", err, out)
	}
	return path, nil
})

// withoutOurs is the environment without the suite's own variables, which the product does not know.
func withoutOurs() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "PONDAGE_") })
}

// process is a role of the binary as a process of its own.
type process struct {
	name string
	args []string
	url  string
	log  string
	cmd  *exec.Cmd
}

// start starts the process and waits until it says that it lives.
func (p *process) start(t testing.TB) {
	t.Helper()
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	p.cmd = exec.Command(bin, p.args...)
	p.cmd.Env = withoutOurs()
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, patience, p.name+" lives", func() string {
		answer, err := http.Get(p.url + "/healthz")
		if err != nil {
			return err.Error()
		}
		defer answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return answer.Status
		}
		return ""
	})
}

// kill ends the process without a word.
func (p *process) kill(t testing.TB) {
	t.Helper()
	if p.cmd == nil {
		return
	}
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("kill %s: %v", p.name, err)
	}
	_ = p.cmd.Wait() // it was killed
	p.cmd = nil
}

// apart is a cluster of processes: a coordinator and two workers. Broker and Postgres belong to the test.
type apart struct {
	*cluster
	postgres    *devstack.Postgres
	pgDir       string
	coordinator *process
	workers     []*process
}

// processes starts a cluster of processes for one case.
func processes(t *testing.T) *apart {
	t.Helper()
	brokers := skipWithoutKafka(t)
	dir := t.TempDir()
	if brokers == nil {
		b, err := devstack.StartBroker(t.Context(), filepath.Join(dir, "kafka"), devstack.BrokerOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = b.Stop() })
		brokers = b.Addrs()
	}
	a := &apart{pgDir: pgDir(t)}
	a.startPostgres(t, 0)
	t.Cleanup(func() { _ = a.postgres.Stop() })
	name := clusterName()
	token := config.Secret{From: config.SecretFile, Name: filepath.Join(dir, "token")}
	const secret, private = "end-to-end", 0o600
	if err := os.WriteFile(token.Name, []byte(secret), private); err != nil {
		t.Fatal(err)
	}
	common := []string{"--postgres-url", a.postgres.DSN(), "--kafka-brokers", strings.Join(brokers, ","), "--security-admin-token", token.String(), "--security-cluster-secret", token.String()}
	url, listen := address(t)
	a.coordinator = &process{name: "coordinator", url: url, log: filepath.Join(dir, "coordinator.log"),
		args: append([]string{"coordinator", "--cluster", name, "--http-listen", listen}, common...)}
	for i := range 2 {
		n := strconv.Itoa(i + 1)
		at, listen := address(t)
		a.workers = append(a.workers, &process{name: "worker " + n, url: at, log: filepath.Join(dir, "worker"+n+".log"),
			args: append([]string{"worker", "--coordinators", url, "--data-dir", filepath.Join(dir, "node"+n), "--http-listen", listen}, common...)})
	}
	for _, p := range append([]*process{a.coordinator}, a.workers...) {
		t.Cleanup(func() { p.kill(t) })
		t.Cleanup(func() { p.show(t) })
		p.start(t)
	}
	var err error
	if a.cluster, err = newCluster(name, config.Client{API: url, Token: token}, a.postgres.DSN(), brokers); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.cluster.close() })
	a.ready(t)
	return a
}

// show puts the end of a process's log into that of a failed case.
func (p *process) show(t testing.TB) {
	const most = 3 << 10
	if !t.Failed() {
		return
	}
	text, err := os.ReadFile(p.log)
	if err != nil {
		return
	}
	t.Logf("log of %s:\n%s", p.name, text[max(0, len(text)-most):])
}

// ready waits until both workers have joined and share the vgroups.
func (a *apart) ready(t testing.TB) {
	t.Helper()
	eventually(t, patience, "two nodes share the vgroups", func() string {
		var page struct{ Items []struct{ Owner *string } }
		got, err := a.request(t.Context(), http.MethodGet, "/v1/vgroups", nil)
		if err != nil {
			return err.Error()
		}
		if got.status != http.StatusOK {
			return got.String()
		}
		decode(t, got, &page)
		owned := map[string]int{}
		for _, v := range page.Items {
			if v.Owner != nil {
				owned[*v.Owner]++
			}
		}
		for _, n := range owned {
			if len(owned) != 2 || n != len(page.Items)/2 {
				return got.String()
			}
		}
		if len(owned) == 0 {
			return "none is owned"
		}
		return ""
	})
}

// pgDir is a directory that a server under another user may pass through.
func pgDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "pondage-e2e-pg-")
	if err != nil {
		t.Fatal(err)
	}
	const passable = 0o711
	if err := os.Chmod(dir, passable); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// startPostgres starts the database, or starts it again with its data; port 0 takes a free one.
func (a *apart) startPostgres(t testing.TB, port int) {
	t.Helper()
	var err error
	a.postgres, err = devstack.StartPostgres(context.Background(), a.pgDir, devstack.PostgresOptions{Durability: devstack.Durable, Port: port})
	if err != nil {
		t.Fatal(err)
	}
}

// address is a URL that nothing listens at, and its host and port.
func address(t testing.TB) (url, listen string) {
	t.Helper()
	port, err := devstack.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	listen = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	return "http://" + listen, listen
}
