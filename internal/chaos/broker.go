package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// brokers is the Kafka of a run. Names are those of the schedule.
type brokers interface {
	addresses() []string
	names() []string
	// end ends a broker by a signal, until it is raised.
	end(ctx context.Context, name string, sig syscall.Signal) error
	signal(ctx context.Context, name string, sig syscall.Signal) error
	raise(ctx context.Context, name string) error
	close() error
}

// embedded is the embedded broker as a process.
type embedded struct {
	*process
	address string
}

func (e *embedded) addresses() []string { return []string{e.address} }
func (e *embedded) names() []string     { return []string{e.name} }
func (e *embedded) close() error        { return nil } // the supervisor kills it

func (e *embedded) end(_ context.Context, _ string, sig syscall.Signal) error {
	e.process.down(sig)
	return nil
}

func (e *embedded) signal(_ context.Context, _ string, sig syscall.Signal) error {
	e.process.signal(sig)
	return nil
}

func (e *embedded) raise(context.Context, string) error {
	e.process.raise()
	return nil
}

// real is an Apache Kafka that a script runs.
type real struct {
	script, dir string
	count       int
	addrs       []string
	watcher     *exec.Cmd
}

const scriptName = "kafka.sh"

// startReal starts brokers by a script, or by the one in a folder. A watcher ends them when this process ends without a word:
// they are nobody's children.
func startReal(ctx context.Context, free *ports, script, dir string, count int) (*real, error) {
	if info, err := os.Stat(script); err != nil {
		return nil, err
	} else if info.IsDir() {
		script = filepath.Join(script, scriptName)
	}
	k := &real{script: script, dir: dir, count: count}
	k.watcher = exec.Command("sh", "-c", `while kill -0 "$1" 2>/dev/null; do sleep 1; done; "$2" stop --dir "$3" --wipe`,
		"sh", strconv.Itoa(os.Getpid()), script, dir)
	k.watcher.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := k.watcher.Start(); err != nil {
		return nil, err
	}
	// The controllers listen a thousand ports above the brokers.
	const controllers = 1000
	port, err := free.take(count, controllers)
	if err != nil {
		return nil, err
	}
	out, err := k.run(ctx, "start", "--dir", dir, "--port", strconv.Itoa(port), "--brokers", strconv.Itoa(count))
	if err != nil {
		_ = k.close()
		return nil, err
	}
	k.addrs = strings.Split(strings.TrimSpace(out), ",")
	return k, nil
}

// scriptWithin bounds a call of the script: a start waits until the brokers answer.
const scriptWithin = 2 * time.Minute

func (k *real) run(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, scriptWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, k.script, args...)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", scriptName, args[0], err, said.String())
	}
	return string(out), nil
}

func (k *real) addresses() []string { return k.addrs }

func (k *real) names() []string {
	var out []string
	for i := range k.count {
		out = append(out, brokerName+strconv.Itoa(i+1))
	}
	return out
}

const brokerName = "broker-"

func (k *real) end(ctx context.Context, name string, sig syscall.Signal) error {
	return k.signal(ctx, name, sig)
}

func (k *real) signal(ctx context.Context, name string, sig syscall.Signal) error {
	names := map[syscall.Signal]string{syscall.SIGKILL: "KILL", syscall.SIGTERM: "TERM", syscall.SIGSTOP: "STOP", syscall.SIGCONT: "CONT"}
	_, err := k.run(ctx, "kill", "--dir", k.dir, "--broker", strings.TrimPrefix(name, brokerName), "--signal", names[sig])
	return err
}

func (k *real) raise(ctx context.Context, _ string) error {
	_, err := k.run(ctx, "start", "--dir", k.dir) // brings back whatever is down
	return err
}

func (k *real) close() error {
	_, err := k.run(context.Background(), "stop", "--dir", k.dir, "--wipe")
	if k.watcher.Process != nil {
		_ = k.watcher.Process.Kill()
		_ = k.watcher.Wait() // it was killed
	}
	return err
}

// moveLeaders gives every partition the next of its replicas as its leader.
func moveLeaders(ctx context.Context, adm *kadm.Client) error {
	topics, err := adm.ListTopicsWithInternal(ctx)
	if err != nil {
		return err
	}
	var moved kadm.AlterPartitionAssignmentsReq
	for _, topic := range topics {
		for _, p := range topic.Partitions {
			if n := len(p.Replicas); n > 1 {
				moved.Assign(topic.Topic, p.Partition, append(append([]int32{}, p.Replicas[1:]...), p.Replicas[0]))
			}
		}
	}
	if _, err := adm.AlterPartitionAssignments(ctx, moved); err != nil {
		return err
	}
	_, err = adm.ElectLeaders(ctx, kadm.ElectPreferredReplica, nil)
	return err
}

// The ports of a run lie below those that the system gives to outgoing connections: a process that is down for a while
// must find its port free.
const (
	firstPort = 11000
	lastPort  = 19000
)

// ports gives out the ports of a run, each once.
type ports struct{ next int }

// take finds so many ports in a row on 127.0.0.1 that are free, and those so far above them.
func (p *ports) take(count, above int) (int, error) {
	if p.next == 0 {
		p.next = firstPort + rand.IntN(lastPort-firstPort) // runs at the same time begin at different ports
	}
	for range lastPort - firstPort {
		port := p.next
		if p.next += count; p.next > lastPort {
			p.next = firstPort
		}
		if allFree(port, count) && (above == 0 || allFree(port+above, count)) {
			return port, nil
		}
	}
	return 0, fmt.Errorf("no %d free ports in a row from %d to %d", count, firstPort, lastPort)
}

// listen takes a port and keeps it: what is only found free may be taken by somebody else.
func (p *ports) listen() (net.Listener, error) {
	for {
		port, err := p.take(1, 0)
		if err != nil {
			return nil, err
		}
		if l, err := net.Listen("tcp", address(port)); err == nil {
			return l, nil
		}
	}
}

func allFree(port, count int) bool {
	for p := port; p < port+count; p++ {
		l, err := net.Listen("tcp", address(p))
		if err != nil {
			return false
		}
		_ = l.Close()
	}
	return true
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
