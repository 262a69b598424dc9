package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"runtime/pprof"
	"time"

	"github.com/pondage/pondage/internal/api/common"
	"github.com/pondage/pondage/internal/config"
	"github.com/pondage/pondage/internal/devstack/stack"
	"github.com/pondage/pondage/internal/telemetry"
)

// job is what the driver wants to be measured: the first line that the measured process reads.
type job struct {
	Query    string
	Topic    string // of the records
	Records  int64
	Runs     int
	Sink     Sink
	Live     bool // the stream reads for ever; the driver writes its records while it runs
	Brokers  []string
	Postgres string // "" starts a private one
	Dir      string // of the process's data, fresh
	Memory   int64  // of the worker, bytes; 0 is the default

	CPUProfile, MemProfile string // files; "" for none
}

// measurement is what the measured process says of a run.
type measurement struct {
	Out         string // topic or table of the results
	DSN         string // of the database that the table is in
	Checkpoints int    // complete ones that were due by the interval
	Total       span
	Steady      span
	Peak        int64 // bytes, since the process began
}

// measure is the measured process: it reads a job from in, runs it, writes a measurement to out for each run, and begins
// every run after the first when in has another line.
func measure(ctx context.Context, in io.Reader, out io.Writer) (err error) {
	start, err := usageAtStart()
	if err != nil {
		return err
	}
	lines, answers := json.NewDecoder(in), json.NewEncoder(out)
	var j job
	if err := lines.Decode(&j); err != nil {
		return fmt.Errorf("read the job: %w", err)
	}
	stop, err := profile(j)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	s, err := open(ctx, j)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if j.Live {
		return s.live(ctx, lines, answers)
	}
	for run := range j.Runs {
		if run > 0 {
			if start, err = usageNow(); err != nil {
				return err
			}
		}
		m, err := s.run(ctx, run, start)
		if err != nil {
			return err
		}
		if err := answers.Encode(m); err != nil {
			return err
		}
		var next struct{}
		if err := lines.Decode(&next); err != nil {
			return fmt.Errorf("wait for the next run: %w", err)
		}
	}
	return nil
}

// session is a running Pondage and its client.
type session struct {
	job      job
	stack    *stack.Stack
	client   *client
	progress *progress
	failed   <-chan struct{} // closed when a part of the stack has ended
}

func open(ctx context.Context, j job) (*session, error) {
	query, err := queryNamed(j.Query)
	if err != nil {
		return nil, err
	}
	cfg := config.DefaultDev()
	cfg.DataDir, cfg.Kafka.Brokers, cfg.Postgres.URL = j.Dir, j.Brokers, j.Postgres
	cfg.HTTP.Listen = anyPort
	cfg.Log.Level = slog.LevelWarn.String()
	if j.Memory > 0 {
		cfg.Memory = config.Size(j.Memory)
	}
	version := common.Version{Role: "bench", Go: runtime.Version()}
	tel, err := telemetry.New(ctx, telemetry.Process{Role: version.Role}, cfg.Log, cfg.Telemetry, os.Stderr)
	if err != nil {
		return nil, err
	}
	p := &progress{MeterProvider: tel.Meter}
	tel.Meter = p
	st, err := stack.Start(ctx, cfg, stack.Options{Version: version, Telemetry: tel})
	if err != nil {
		return nil, err
	}
	s := &session{job: j, stack: st, progress: p, failed: st.Failed()}
	if s.client, err = newClient(st.URL(), query); err != nil {
		return nil, errors.Join(err, s.close())
	}
	if err := s.client.awaitReady(ctx); err != nil {
		return nil, errors.Join(err, s.close())
	}
	if err := s.client.createSource(ctx, j.Topic); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

const anyPort = "127.0.0.1:0"

func (s *session) close() error { return s.stack.Stop() }

// run runs the query once over the whole topic.
func (s *session) run(ctx context.Context, n int, start usage) (_ measurement, err error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer func() {
		if cause := context.Cause(ctx); err != nil && cause != nil {
			err = cause
		}
	}()
	name := fmt.Sprintf("bench_%d", n)
	m := measurement{Out: s.job.Sink.name(s.job.Topic, n), DSN: s.stack.DSN()}
	before := s.progress.records.Load()
	if err := s.client.createStream(ctx, name, m.Out, allRecords, s.job.Sink); err != nil {
		return m, err
	}
	seen := newCheckpoints()
	go s.guard(ctx, name, seen, end)
	if m.Steady, err = s.steady(ctx, before); err != nil {
		return m, err
	}
	if err := s.client.awaitState(ctx, name, stateFinished); err != nil {
		return m, err
	}
	finished, err := usageNow()
	if err != nil {
		return m, err
	}
	m.Total = finished.since(start)
	if m.Peak, err = peakMemory(); err != nil {
		return m, err
	}
	if err := seen.look(ctx, s.client, name); err != nil {
		return m, err
	}
	m.Checkpoints = seen.count()
	return m, s.client.drop(ctx, name)
}

// steady measures from the first record processed to the last.
func (s *session) steady(ctx context.Context, before int64) (span, error) {
	if err := s.progress.reach(ctx, before+1); err != nil {
		return span{}, err
	}
	first, err := usageNow()
	if err != nil {
		return span{}, err
	}
	if err := s.progress.reach(ctx, before+s.job.Records); err != nil {
		return span{}, err
	}
	last, err := usageNow()
	return last.since(first), err
}

// guard ends the run when its stream or a part of the stack has failed.
func (s *session) guard(ctx context.Context, stream string, seen *checkpoints, end context.CancelCauseFunc) {
	tick := time.NewTicker(guardEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.failed:
			end(fmt.Errorf("a part of the stack has ended: %w", s.stack.Err()))
			return
		case <-tick.C:
			if err := errors.Join(s.client.check(ctx, stream), seen.look(ctx, s.client, stream)); err != nil {
				end(err)
				return
			}
		}
	}
}

// guardEvery is how often the stream's state is asked for while it runs: seldom, since the answer costs CPU that counts.
const guardEvery = 500 * time.Millisecond

// profile begins the profiles that are wanted; stop writes them.
func profile(j job) (stop func() error, err error) {
	var cpu *os.File
	if j.CPUProfile != "" {
		if cpu, err = os.Create(j.CPUProfile); err != nil {
			return nil, err
		}
		if err := pprof.StartCPUProfile(cpu); err != nil {
			return nil, errors.Join(err, cpu.Close())
		}
	}
	return func() error {
		var errs []error
		if cpu != nil {
			pprof.StopCPUProfile()
			errs = append(errs, cpu.Close())
		}
		if j.MemProfile != "" {
			errs = append(errs, writeAllocations(j.MemProfile))
		}
		return errors.Join(errs...)
	}, nil
}

// writeAllocations writes what was allocated since the process began, and what is in use.
func writeAllocations(file string) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	runtime.GC() // the profile is of the last collection
	return errors.Join(pprof.Lookup("allocs").WriteTo(f, 0), f.Close())
}
