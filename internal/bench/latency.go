package bench

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"time"

	"github.com/pondage/pondage/internal/kafka"
)

// Live is a case of latency: records at a steady rate, each with the wall clock of its turn as event time, none out of
// order, as at the peers.
type Live struct {
	Rate       float64 // records a second
	Duration   time.Duration
	Devices    uint64
	Partitions int
	Sink       Sink
	Kafka      []string
	Postgres   string
}

// coldWindows at the beginning of a run do not count, as at the peers.
const coldWindows = 2

// watermarkDelay is delay.
const watermarkDelay = 2 * time.Second

func (l *Live) validate() error {
	var errs []error
	for _, bound := range []struct {
		ok   bool
		what string
	}{
		{l.Rate > 0, "--rate must be positive"},
		{l.Duration >= (coldWindows+2)*live().Size, fmt.Sprintf("--duration must be at least %s: two windows are cold", (coldWindows+2)*live().Size)},
		{l.Devices > 0, "--devices must be at least 1"},
		{l.Partitions > 0, "--partitions must be at least 1"},
		{l.Sink.Checkpoints == 0 || l.Sink.Checkpoints >= shortestInterval, "--checkpoint-interval must be at least " + shortestInterval.String() + "; 0 for none"},
	} {
		if !bound.ok {
			errs = append(errs, errors.New(bound.what))
		}
	}
	return errors.Join(append(errs, l.Sink.validate())...)
}

// live is the query of latency: the first one.
func live() Query { return queries[0] }

// LatencyResult is the line of a run of latency. Times are from the moment that the watermark allows a window, which is when
// the last record that its closing needs has been acknowledged by the broker, to the moment that a reader has a row of it.
// Those from the end count from the window's end and the watermark's delay instead: what the peers' figures have beyond
// their 2,000 ms.
type LatencyResult struct {
	Query       string  `json:"query"`
	Rate        float64 `json:"rate"`
	Devices     uint64  `json:"devices"`
	DurationS   float64 `json:"duration_s"`
	Output      string  `json:"output"`
	Delivery    string  `json:"delivery"`
	IntervalS   float64 `json:"checkpoint_interval_s"`
	Checkpoints int     `json:"checkpoints"`
	Windows     int     `json:"windows"`
	Rows        int     `json:"rows"`
	P50Ms       float64 `json:"p50_ms"`
	P99Ms       float64 `json:"p99_ms"`
	P999Ms      float64 `json:"p99_9_ms"`
	MaxMs       float64 `json:"max_ms"`
	FromEndP50  float64 `json:"from_end_p50_ms"`
	FromEndP99  float64 `json:"from_end_p99_ms"`
	BehindMs    float64 `json:"generator_behind_ms"` // the most that a record was sent behind its turn
	Different   int64   `json:"different"`
}

// sight is a row that a reader has seen.
type sight struct {
	row row
	at  time.Time
}

// latency runs the case.
func (d *driver) latency(ctx context.Context, l Live) error {
	return d.beside(ctx, l.Kafka, func(kc *kafka.Client, brokers []string, dir string) error {
		topic := fmt.Sprintf("bench-live-%d", time.Now().UnixMilli())
		if _, err := kc.CreateTopic(ctx, kafka.TopicSpec{Name: topic, Partitions: l.Partitions, Settings: keepAll}); err != nil {
			return err
		}
		p, err := d.self.start(ctx, d.log, "measure")
		if err != nil {
			return err
		}
		defer p.stop()
		lines, answers := json.NewEncoder(p.in), json.NewDecoder(p.out)
		begin := job{Query: live().Name, Topic: topic, Live: true, Sink: l.Sink, Brokers: brokers, Postgres: l.Postgres, Dir: filepath.Join(dir, "data")}
		if err := lines.Encode(begin); err != nil {
			return fmt.Errorf("begin the measured process: %w", err)
		}
		var m measurement
		if err := answers.Decode(&m); err != nil {
			return errors.Join(errors.New("the measured process ended"), p.wait())
		}
		g := newGenerator(l)
		sights, err := d.watch(ctx, kc, l, m, g, topic)
		if err != nil {
			return err
		}
		if err := lines.Encode(struct{}{}); err != nil {
			return fmt.Errorf("end the run: %w", err)
		}
		if err := answers.Decode(&m); err != nil {
			return errors.Join(errors.New("the measured process ended"), p.wait())
		}
		if err := p.wait(); err != nil {
			return fmt.Errorf("the measured process: %w", err)
		}
		if err := errors.Join(kc.DeleteTopic(ctx, topic), d.removeOutput(ctx, kc, l.Sink, m)); err != nil {
			return err
		}
		r, err := g.result(l, sights)
		if err != nil {
			return err
		}
		r.Checkpoints = m.Checkpoints
		if err := json.NewEncoder(d.out).Encode(r); err != nil {
			return err
		}
		if r.Different > 0 {
			return fmt.Errorf("%d results are different from the batch computation", r.Different)
		}
		return nil
	})
}

// removeOutput removes a topic of results; a private table goes with its database.
func (d *driver) removeOutput(ctx context.Context, kc *kafka.Client, s Sink, m measurement) error {
	if s.Kind == SinkPostgres {
		return nil
	}
	return kc.DeleteTopic(ctx, m.Out)
}

// watch reads the results while the records are written.
func (d *driver) watch(ctx context.Context, kc *kafka.Client, l Live, m measurement, g *generator, topic string) ([]sight, error) {
	reader, err := newReader(ctx, kc, l.Sink, m, g)
	if err != nil {
		return nil, err
	}
	if err := g.run(ctx, kc, topic); err != nil {
		return nil, errors.Join(err, reader.close())
	}
	// What the last windows that were allowed need: as long as results may take at all.
	select {
	case <-ctx.Done():
	case <-time.After(l.Sink.Checkpoints + settle):
	}
	err = reader.close()
	return reader.sights, err
}

// settle is how long a result may come after the last record, beyond the checkpoint that it may wait for.
const settle = 3 * time.Second

// result compares and measures.
func (g *generator) result(l Live, sights []sight) (LatencyResult, error) {
	r := LatencyResult{
		Query: "latency", Rate: l.Rate, Devices: l.Devices, DurationS: l.Duration.Seconds(),
		Output: l.Sink.Kind, Delivery: l.Sink.Delivery, IntervalS: l.Sink.Checkpoints.Seconds(), BehindMs: tenths(g.behind),
	}
	ends := g.allowedEnds()
	if len(ends) <= coldWindows {
		return r, fmt.Errorf("the watermark allowed %d windows, of which %d are cold", len(ends), coldWindows)
	}
	closed := map[window]total{}
	for w, t := range g.totals {
		if slices.Contains(ends, w.startMs+live().Size.Milliseconds()) {
			closed[w] = t
		}
	}
	var since, fromEnd []time.Duration
	c := newComparison(live(), closed)
	for _, s := range sights {
		end := s.row.End.UnixMilli()
		allowed, ok := g.allowedAt(end)
		if !ok {
			continue // of a window that the end of the run has left open
		}
		if err := c.addRow(s.row); err != nil {
			return r, err
		}
		if slices.Contains(ends[:coldWindows], end) {
			continue
		}
		// The answer to our write may come after the result that it led to.
		since = append(since, max(0, s.at.Sub(allowed)))
		fromEnd = append(fromEnd, s.at.Sub(s.row.End)-watermarkDelay)
	}
	r.Different = c.different()
	r.Windows, r.Rows = len(ends)-coldWindows, len(since)
	if len(since) == 0 {
		return r, errors.New("no result was seen")
	}
	slices.Sort(since)
	slices.Sort(fromEnd)
	r.P50Ms, r.P99Ms, r.P999Ms, r.MaxMs = at(since, 0.5), at(since, 0.99), at(since, 0.999), tenths(since[len(since)-1])
	r.FromEndP50, r.FromEndP99 = at(fromEnd, 0.5), at(fromEnd, 0.99)
	return r, nil
}

// at is a quantile of what is sorted, in milliseconds; as at the peers the element that this part lies before.
func at(sorted []time.Duration, q float64) float64 {
	return tenths(sorted[min(len(sorted)-1, int(q*float64(len(sorted))))])
}

// tenths is d in milliseconds with one decimal.
func tenths(d time.Duration) float64 { return math.Round(d.Seconds()*10_000) / 10 }

// live runs the job's stream until in has another line.
func (s *session) live(ctx context.Context, lines *json.Decoder, answers *json.Encoder) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	const name = "bench_live"
	m := measurement{Out: s.job.Sink.name(s.job.Topic, 0), DSN: s.stack.DSN()}
	if err := s.client.createStream(ctx, name, m.Out, forEver, s.job.Sink); err != nil {
		return err
	}
	if err := s.client.awaitState(ctx, name, stateRunning); err != nil {
		return err
	}
	seen := newCheckpoints()
	go s.guard(ctx, name, seen, end)
	if err := answers.Encode(m); err != nil {
		return err
	}
	var next struct{}
	if err := lines.Decode(&next); err != nil {
		return cmp.Or(context.Cause(ctx), fmt.Errorf("wait for the end of the run: %w", err))
	}
	if err := cmp.Or(context.Cause(ctx), seen.look(ctx, s.client, name)); err != nil {
		return err
	}
	m.Checkpoints = seen.count()
	return answers.Encode(m)
}
