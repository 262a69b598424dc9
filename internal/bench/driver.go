package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/pondage/pondage/internal/kafka"
)

// Case is what is to be measured.
type Case struct {
	Query      Query
	Records    Records
	Partitions int
	Runs       int
	Sink       Sink
	Check      bool

	Kafka    []string // none: the embedded broker, as a process of its own
	Postgres string   // "": a private one
	Memory   int64    // of the worker, bytes; 0 is the default

	CPUProfile, MemProfile string
}

// validate reports everything that is wrong with the case, and completes its sink.
func (c *Case) validate() error {
	var errs []error
	for _, bound := range []struct {
		ok   bool
		what string
	}{
		{c.Records.Count > 0, "--records must be at least 1"},
		{c.Records.Devices > 0, "--devices must be at least 1"},
		{c.Records.Step >= time.Microsecond && c.Records.Step%time.Microsecond == 0, "--step must be whole microseconds, at least one"},
		{c.Partitions > 0, "--partitions must be at least 1"},
		{c.Runs > 0, "--runs must be at least 1"},
		{c.Sink.Checkpoints == 0 || c.Sink.Checkpoints >= shortestInterval, "--checkpoint-interval must be at least " + shortestInterval.String() + "; 0 for none"},
		{c.Memory >= 0, "--memory must not be negative"},
	} {
		if !bound.ok {
			errs = append(errs, errors.New(bound.what))
		}
	}
	return errors.Join(append(errs, c.Sink.validate())...)
}

// Phases of a run.
const (
	phaseCold = "cold" // the first of a process
	phaseWarm = "warm"
)

// Result is the line of a run (INTERFACE §4). Rates are over the whole of a cold run and over the steady span of a warm
// one, as at the peers.
type Result struct {
	Query          string  `json:"query"`
	Records        int64   `json:"records"`
	Devices        uint64  `json:"devices"`
	Output         string  `json:"output"`
	Delivery       string  `json:"delivery"`
	IntervalS      float64 `json:"checkpoint_interval_s"` // 0: none
	Checkpoints    int     `json:"checkpoints"`           // complete ones that were due by the interval
	Phase          string  `json:"phase"`
	WallS          float64 `json:"wall_s"`
	CPUS           float64 `json:"cpu_s"`
	SteadyWallS    float64 `json:"steady_wall_s"`
	SteadyCPUS     float64 `json:"steady_cpu_s"`
	RecordsPerS    float64 `json:"records_per_s"`
	RecordsPerCPUS float64 `json:"records_per_cpu_s"`
	PeakRSSMB      int64   `json:"peak_rss_mb"`
	Results        int64   `json:"results"`
	Different      *int64  `json:"different"` // null: not checked
}

// driver runs a case.
type driver struct {
	c    Case
	self command
	out  io.Writer
	log  io.Writer
}

// run measures the case and writes a line for each run. It fails when a result was different.
func (d *driver) run(ctx context.Context) error {
	return d.beside(ctx, d.c.Kafka, func(kc *kafka.Client, brokers []string, dir string) error {
		topic, err := ensureRecords(ctx, kc, d.c.Records, d.c.Partitions)
		if err != nil {
			return fmt.Errorf("write the records: %w", err)
		}
		var want map[window]total
		if d.c.Check {
			want = expect(d.c.Records, d.c.Query)
		}
		return d.measure(ctx, kc, want, job{
			Query: d.c.Query.Name, Topic: topic, Records: d.c.Records.Count, Runs: d.c.Runs, Sink: d.c.Sink,
			Brokers: brokers, Postgres: d.c.Postgres, Dir: filepath.Join(dir, "data"), Memory: d.c.Memory,
			CPUProfile: d.c.CPUProfile, MemProfile: d.c.MemProfile,
		})
	})
}

// beside does something with brokers, those given or the embedded one, and a fresh directory, which is removed.
func (d *driver) beside(ctx context.Context, brokers []string, do func(kc *kafka.Client, brokers []string, dir string) error) (err error) {
	dir, err := os.MkdirTemp("", "pondage-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	// The private Postgres runs as another user where we are root, and must be able to enter.
	if err := os.Chmod(dir, 0o711); err != nil {
		return err
	}
	if len(brokers) == 0 {
		b, err := startBroker(ctx, d.self, filepath.Join(dir, "broker"), d.log)
		if err != nil {
			return err
		}
		defer b.stop()
		brokers = []string{b.address}
	}
	kc, err := kafka.Open(kafka.Config{Brokers: brokers, ClientID: "pondage-bench"})
	if err != nil {
		return err
	}
	defer kc.Close()
	if err := await(ctx, kc); err != nil {
		return err
	}
	return do(kc, brokers, dir)
}

// measure starts the measured process and compares the results of each of its runs before it lets the next begin.
func (d *driver) measure(ctx context.Context, kc *kafka.Client, want map[window]total, j job) error {
	p, err := d.self.start(ctx, d.log, "measure")
	if err != nil {
		return err
	}
	defer p.stop()
	lines, answers := json.NewEncoder(p.in), json.NewDecoder(p.out)
	if err := lines.Encode(j); err != nil {
		return fmt.Errorf("begin the measured process: %w", err)
	}
	different := int64(0)
	for run := range j.Runs {
		var m measurement
		if err := answers.Decode(&m); err != nil {
			return errors.Join(fmt.Errorf("run %d: the measured process ended", run+1), p.wait())
		}
		r := d.result(run, m)
		if err := d.compare(ctx, kc, m, want, &r); err != nil {
			return fmt.Errorf("compare the results of run %d: %w", run+1, err)
		}
		if r.Different != nil {
			different += *r.Different
		}
		if err := json.NewEncoder(d.out).Encode(r); err != nil {
			return err
		}
		if err := lines.Encode(struct{}{}); err != nil {
			return fmt.Errorf("begin the next run: %w", err)
		}
	}
	if err := p.wait(); err != nil {
		return fmt.Errorf("the measured process: %w", err)
	}
	if different > 0 {
		return fmt.Errorf("%d results are different from the batch computation", different)
	}
	return nil
}

func (d *driver) result(run int, m measurement) Result {
	const mib = 1 << 20
	r := Result{
		Query: d.c.Query.Name, Records: d.c.Records.Count, Devices: d.c.Records.Devices, Phase: phaseCold,
		Output: d.c.Sink.Kind, Delivery: d.c.Sink.Delivery, IntervalS: d.c.Sink.Checkpoints.Seconds(), Checkpoints: m.Checkpoints,
		WallS: seconds(m.Total.Wall.Seconds()), CPUS: seconds(m.Total.CPU.Seconds()),
		SteadyWallS: seconds(m.Steady.Wall.Seconds()), SteadyCPUS: seconds(m.Steady.CPU.Seconds()), PeakRSSMB: m.Peak / mib,
	}
	over := m.Total
	if run > 0 {
		r.Phase, over = phaseWarm, m.Steady
	}
	r.RecordsPerS = math.Round(float64(r.Records) / over.Wall.Seconds())
	r.RecordsPerCPUS = math.Round(float64(r.Records) / over.CPU.Seconds())
	return r
}

// seconds rounds to milliseconds: nothing here is known better.
func seconds(s float64) float64 { return math.Round(s*1000) / 1000 }

// compare reads the results of a run, compares them and removes them.
func (d *driver) compare(ctx context.Context, kc *kafka.Client, m measurement, want map[window]total, r *Result) error {
	c := newComparison(d.c.Query, want)
	var err error
	switch {
	case d.c.Sink.Kind == SinkPostgres:
		err = readTable(ctx, m.DSN, m.Out, c.addRow)
	case d.c.Check:
		err = readAll(ctx, kc, m.Out, c.add)
	default:
		err = readAll(ctx, kc, m.Out, func([]byte) error { c.results++; return nil })
	}
	if err != nil {
		return err
	}
	r.Results = c.results
	if d.c.Check {
		n := c.different()
		r.Different = &n
		if n > 0 {
			fmt.Fprintf(d.log, "bench: %s\n", c)
		}
	}
	if d.c.Sink.Kind == SinkPostgres {
		return dropTable(ctx, m.DSN, m.Out)
	}
	return kc.DeleteTopic(ctx, m.Out)
}
