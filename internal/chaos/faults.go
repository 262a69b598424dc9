package chaos

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// torment does what a schedule says, each fault in its time, and returns when all are over and healed. What could not be
// done is told by say: a fault that fails is none of the product's.
func (c *cluster) torment(ctx context.Context, faults []Fault, adm *kadm.Client, say func(string, ...any)) {
	begun := time.Now()
	var all sync.WaitGroup
	for _, f := range faults {
		all.Go(func() {
			if !sleep(ctx, time.Until(begun.Add(f.At))) {
				return
			}
			say("%s", f)
			heal, err := c.inflict(ctx, f, adm)
			if err != nil {
				say("%s could not be done: %v", f, err)
				return
			}
			sleep(ctx, f.For)
			if heal == nil {
				return
			}
			// Also when the run is given up: nothing stays stopped.
			if err := heal(context.WithoutCancel(ctx)); err != nil {
				say("%s could not be healed: %v", f, err)
			}
		})
	}
	all.Wait()
}

// sleep waits; false: the context has ended before.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

type healing func(context.Context) error

func healed(do func()) healing {
	return func(context.Context) error { do(); return nil }
}

// inflict does a fault and returns what ends it; nil: nothing.
func (c *cluster) inflict(ctx context.Context, f Fault, adm *kadm.Client) (healing, error) {
	switch f.Kind {
	case KindKill:
		p := c.role(f.Target)
		p.kill()
		return healed(p.raise), nil
	case KindStop:
		p := c.role(f.Target)
		p.signal(syscall.SIGSTOP)
		return healed(func() { p.signal(syscall.SIGCONT) }), nil
	case KindRestart:
		sig := syscall.SIGKILL
		if f.How == HowTerminate {
			sig = syscall.SIGTERM
		}
		c.role(f.Target).end(sig)
		return nil, nil
	case KindFailpoint:
		p := c.role(f.Target)
		p.withFailpoints(f.Switch)
		// It may have died of it, and run without since; else it must not meet the place during the comparison.
		return healed(func() { p.end(syscall.SIGKILL) }), nil
	case KindBroker:
		return c.inflictBroker(ctx, f, adm)
	case KindPostgres:
		if f.How == HowKill {
			return func(ctx context.Context) error { return c.startPostgres(ctx, c.pg.port) }, c.killPostgres()
		}
		return c.inflictNet(f)
	case KindNet:
		if f.Target == TargetKafka {
			return nil, cutKafka(ctx, c.kafka.addresses())
		}
		return c.inflictNet(f)
	case KindSlow:
		return c.slow(f.Target)
	case KindTopic:
		return nil, deleteEdges(ctx, adm, f.Target)
	}
	return nil, fmt.Errorf("there is no fault %q", f.Kind)
}

func (c *cluster) inflictBroker(ctx context.Context, f Fault, adm *kadm.Client) (healing, error) {
	switch f.How {
	case HowStop:
		return func(ctx context.Context) error { return c.kafka.signal(ctx, f.Target, syscall.SIGCONT) }, c.kafka.signal(ctx, f.Target, syscall.SIGSTOP)
	case HowMoveLeaders:
		return nil, moveLeaders(ctx, adm)
	}
	sig := syscall.SIGKILL
	if f.How == HowTerminate {
		sig = syscall.SIGTERM
	}
	return func(ctx context.Context) error { return c.kafka.raise(ctx, f.Target) }, c.kafka.end(ctx, f.Target, sig)
}

func (c *cluster) inflictNet(f Fault) (healing, error) {
	p := c.proxies[f.Target]
	if f.How == HowCut {
		p.cut()
		return nil, nil
	}
	p.set(f.How)
	return healed(func() {
		p.set("")
		// What was held may be in the middle of anything; a connection that stood still for long is no use to anyone.
		if f.How != HowDelay {
			p.cut()
		}
	}), nil
}

// cutKafka ends all connections to the brokers, through the system: they advertise their own addresses, so that no proxy
// can stand before them.
func cutKafka(ctx context.Context, addresses []string) error {
	for _, a := range addresses {
		_, port, _ := strings.Cut(a, ":")
		if out, err := exec.CommandContext(ctx, "ss", "-K", "dst", "127.0.0.1", "dport", "=", port).CombinedOutput(); err != nil {
			return fmt.Errorf("ss: %w: %s", err, out)
		}
	}
	return nil
}

// slowSync is what each fsync takes on a slow disk, µs.
const slowSync = 200_000

// slow makes every fsync of a process and its children take long.
func (c *cluster) slow(target string) (healing, error) {
	var pids []int
	if target == TargetPostgres {
		server, err := c.postmaster()
		if err != nil {
			return nil, err
		}
		pids = append(children(server), server)
	} else if pid := c.role(target).pid(); pid != 0 {
		pids = []int{pid}
	}
	if len(pids) == 0 {
		return nil, nil // it is down
	}
	args := []string{"-f", "-qq", "-o", "/dev/null", "-e", "trace=fsync,fdatasync", "-e", "inject=fsync,fdatasync:delay_enter=" + strconv.Itoa(slowSync)}
	for _, pid := range pids {
		args = append(args, "-p", strconv.Itoa(pid))
	}
	tracer := exec.Command("strace", args...)
	tracer.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := tracer.Start(); err != nil {
		return nil, err
	}
	return healed(func() {
		_ = tracer.Process.Signal(syscall.SIGTERM) // lets go of what it traces
		_ = tracer.Wait()                          // it was ended
	}), nil
}

// deleteEdges deletes the edge topics of a stream.
func deleteEdges(ctx context.Context, adm *kadm.Client, stream string) error {
	topics, err := adm.ListTopics(ctx)
	if err != nil {
		return err
	}
	var edges []string
	for name := range topics {
		if edge, ok := strings.CutPrefix(name, clusterName+"."+stream+"."); ok && edge != "late" && edge != "offsets" {
			edges = append(edges, name)
		}
	}
	if len(edges) == 0 {
		return nil
	}
	_, err = adm.DeleteTopics(ctx, edges...)
	return err
}
