package devstack

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// server is a running Postgres process.
type server struct {
	process *os.Process
	exited  chan struct{}
	err     error // how it ended; valid once exited is closed
}

// run starts the server process.
func (in installation) run(o PostgresOptions) (*server, error) {
	log, err := os.Create(in.logPath())
	if err != nil {
		return nil, explain("write the log in", in.dir, err)
	}
	defer log.Close() // the server has its own
	cmd := exec.Command(filepath.Join(in.bin, "postgres"), serverArgs(in.dataPath(), o)...)
	in.owner.run(cmd)
	// Out of our process group: an interrupt from the terminal is ours to pass on, after the tasks have ended.
	cmd.SysProcAttr.Setpgid = true
	// If we die without a word, the server stops at once; its data survive that.
	cmd.SysProcAttr.Pdeathsig = syscall.SIGQUIT
	cmd.Dir = in.dataPath()
	cmd.Stdout, cmd.Stderr = log, log

	s := &server{exited: make(chan struct{})}
	started := make(chan error)
	go func() {
		// Pdeathsig comes when the thread that made the process ends, so this one stays until the server has ended.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		s.process = cmd.Process
		started <- err
		if err == nil {
			s.err = cmd.Wait()
			close(s.exited)
		}
	}()
	if err := <-started; err != nil {
		return nil, explain("run", cmd.Path, err)
	}
	return s, nil
}

func serverArgs(data string, o PostgresOptions) []string {
	settings := [][2]string{
		{"listen_addresses", loopback},
		{"port", strconv.Itoa(o.Port)},
		{"unix_socket_directories", ""}, // their paths have a limit of 107 bytes
		{"max_connections", "200"},      // coordinator, workers and sinks of one machine
		{"timezone", "UTC"},
		{"log_timezone", "UTC"},
	}
	if o.Durability == Volatile {
		settings = append(settings, [2]string{"fsync", "off"}, [2]string{"synchronous_commit", "off"},
			[2]string{"full_page_writes", "off"})
	}
	args := []string{"-D", data}
	for _, s := range settings {
		args = append(args, "-c", s[0]+"="+s[1])
	}
	return args
}

// stop ends the server: sessions first, and without them if they do not end.
func (s *server) stop() {
	_ = s.process.Signal(syscall.SIGINT) // fast shutdown; an error means that it has ended
	select {
	case <-s.exited:
	case <-time.After(stopWithin):
		_ = s.process.Signal(syscall.SIGQUIT) // immediate: recovers at the next start
		<-s.exited
	}
}
