package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// again is how long a process that ended by itself stays down: a supervisor's pause, well below the 300 ms of a restart.
const again = 100 * time.Millisecond

// process is a role of this program as a process of its own, started again whenever it ends.
type process struct {
	name string
	path string
	args []string
	log  string // file

	mu     sync.Mutex
	cmd    *exec.Cmd     // nil: not running
	exited chan struct{} // of cmd
	wanted chan struct{} // closed while the process is to run
	// failpoints of the next start only.
	failpoints string
	// always are the failpoints of every other start.
	always string
	asked  bool // the present process was told to end
	// deaths are the ends that nobody asked for, in words.
	deaths []string
	starts int
}

// supervise runs the process until the context ends, and kills it then.
func (p *process) supervise(ctx context.Context) {
	// Pdeathsig comes when the thread that made the process ends, so this goroutine keeps it.
	runtime.LockOSThread()
	for ctx.Err() == nil {
		p.mu.Lock()
		wanted := p.wanted
		p.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-wanted:
		}
		if err := p.once(ctx); err != nil {
			p.noteDeath(err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(again):
		}
	}
}

// once starts the process and waits for its end.
func (p *process) once(ctx context.Context) error {
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(p.path, p.args...)
	cmd.Stdout, cmd.Stderr = log, log
	// In a group of its own: an interrupt from the terminal is ours to pass on.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	p.mu.Lock()
	cmd.Env = environment(cmd.Environ(), p.failpoints, p.always)
	p.failpoints = ""
	err = cmd.Start()
	exited := make(chan struct{})
	if err == nil {
		p.cmd, p.exited, p.asked = cmd, exited, false
		p.starts++
	}
	p.mu.Unlock()
	if err != nil {
		return err
	}
	// A kill reaches a process that is stopped, too.
	unwatch := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	defer unwatch()
	err = cmd.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cmd = nil
	close(exited)
	if p.asked || ctx.Err() != nil {
		return nil
	}
	if err == nil {
		err = errors.New("ended with status 0")
	}
	return err
}

// environment is that of a role: without our own variables, which would be configuration.
func environment(ours []string, once, always string) []string {
	var out []string
	for _, v := range ours {
		if !strings.HasPrefix(v, prefix) {
			out = append(out, v)
		}
	}
	if once == "" {
		once = always
	}
	if once != "" {
		out = append(out, prefix+"FAILPOINTS="+once)
	}
	return out
}

// prefix of the variables that roles read.
const prefix = "PONDAGE_"

func (p *process) noteDeath(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deaths = append(p.deaths, err.Error())
}

// raise wants the process to run.
func (p *process) raise() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.wanted:
	default:
		close(p.wanted)
	}
}

// kill ends the process without a word and keeps it down.
func (p *process) kill() { p.down(syscall.SIGKILL) }

// down ends the process by a signal and keeps it down.
func (p *process) down(sig syscall.Signal) {
	p.mu.Lock()
	select {
	case <-p.wanted:
		p.wanted = make(chan struct{})
	default: // it is down already, and its supervisor waits for this channel
	}
	p.mu.Unlock()
	p.end(sig)
}

// end sends a signal that ends the process, and waits for that; where it is still wanted, it is started again.
func (p *process) end(sig syscall.Signal) {
	p.mu.Lock()
	cmd, exited := p.cmd, p.exited
	p.asked = true
	if cmd != nil {
		_ = cmd.Process.Signal(syscall.SIGCONT) // a process that is stopped cannot end in order
		_ = cmd.Process.Signal(sig)
	}
	p.mu.Unlock()
	if cmd == nil {
		return
	}
	select {
	case <-exited:
	case <-time.After(longestEnd):
		_ = cmd.Process.Kill()
		<-exited
	}
}

// longestEnd is more than a role's own limit for closing.
const longestEnd = 30 * time.Second

// signal sends a signal to the process, if it runs.
func (p *process) signal(sig syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		_ = p.cmd.Process.Signal(sig) // an error says that it has ended
	}
}

// pid is 0 when it does not run.
func (p *process) pid() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return 0
	}
	return p.cmd.Process.Pid
}

// withFailpoints starts the process anew with failpoints in its next life.
func (p *process) withFailpoints(text string) {
	p.mu.Lock()
	p.failpoints = text
	p.mu.Unlock()
	p.end(syscall.SIGKILL)
}

// crashes are signs in a log that a program has broken.
var crashes = []string{"panic: ", "fatal error: ", "WARNING: DATA RACE", "SIGSEGV"}

// met lists the failpoints that have acted in the process, as its log says.
func (p *process) met() []string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return nil // it has said nothing
	}
	var out []string
	for line := range strings.SplitSeq(string(text), "\n") {
		if point, ok := strings.CutPrefix(line, "failpoint "); ok {
			point, _, _ = strings.Cut(point, ": ")
			out = append(out, point)
		}
	}
	return out
}

// crashed returns the first sign of a break in the log, with what follows; "" when there is none.
func (p *process) crashed() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return fmt.Sprintf("read the log of %s: %v", p.name, err)
	}
	for _, sign := range crashes {
		if at := strings.Index(string(text), sign); at >= 0 {
			const most = 2000
			return p.name + ": " + string(text[at:min(len(text), at+most)])
		}
	}
	return ""
}
