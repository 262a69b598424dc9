package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"github.com/pondage/pondage/internal/devstack"
	"github.com/pondage/pondage/internal/kafka"
)

// command starts this program again: the executable, the arguments up to its root command, and those up to bench.
type command struct {
	path  string
	root  []string
	bench []string
}

// process is a running one of ours.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out io.ReadCloser
}

// stopWithin is how long a process may take to end before it is killed: it stops a stack, Postgres included.
const stopWithin = 30 * time.Second

// start starts a subcommand of bench with a pipe at either end.
func (c command) start(ctx context.Context, log io.Writer, subcommand string) (*process, error) {
	p := &process{cmd: c.prepare(ctx, log, append(c.bench, subcommand))}
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if p.out, err = p.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start bench %s: %w", subcommand, err)
	}
	return p, nil
}

func (c command) prepare(ctx context.Context, log io.Writer, args []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, c.path, args...)
	cmd.Stderr = log
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopWithin
	// An interrupt from the terminal is ours to pass on.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// wait waits for the end of the process.
func (p *process) wait() error {
	p.in.Close()
	return p.cmd.Wait()
}

// stop ends a process that has not ended by itself.
func (p *process) stop() {
	if p.cmd.ProcessState != nil {
		return
	}
	_ = p.cmd.Cancel() // an error says that it has ended
	_ = p.wait()       // how it ended does not matter any more
}

// broker is the embedded broker, in a process of its own.
type broker struct {
	address string
	cmd     *exec.Cmd
}

func startBroker(ctx context.Context, c command, dir string, log io.Writer) (*broker, error) {
	port, err := devstack.FreePort()
	if err != nil {
		return nil, err
	}
	b := &broker{address: net.JoinHostPort("127.0.0.1", strconv.Itoa(port))}
	b.cmd = c.prepare(ctx, log, append(c.root, "broker", "--listen", b.address, "--data-dir", dir))
	if err := b.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the broker: %w", err)
	}
	return b, nil
}

func (b *broker) stop() {
	_ = b.cmd.Cancel() // an error says that it has ended
	_ = b.cmd.Wait()   // how it ended does not matter any more
}

const (
	brokerWithin = 10 * time.Second
	brokerPoll   = 50 * time.Millisecond
)

// await waits until the brokers answer.
func await(ctx context.Context, kc *kafka.Client) error {
	ctx, cancel := context.WithTimeout(ctx, brokerWithin)
	defer cancel()
	for {
		err := kc.Ping(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(errors.New("no broker answers: is --kafka right?"), err)
		case <-time.After(brokerPoll):
		}
	}
}

// thisCommand finds this program; path are the words that lead from its root to bench.
func thisCommand(path []string) (command, error) {
	self, err := os.Executable()
	if err != nil {
		return command{}, fmt.Errorf("find this program: %w", err)
	}
	return command{path: self, root: path[:len(path)-1], bench: path}, nil
}
