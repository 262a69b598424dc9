package bench

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/pondage/pondage/internal/api/coordinator"
	"github.com/pondage/pondage/internal/config"
	"github.com/pondage/pondage/internal/devstack"
	"github.com/pondage/pondage/internal/kafka"
)

// Loss is a case of recovery: a worker with many open windows is killed, and started again at once.
type Loss struct {
	Windows    uint64 // one a device
	Runs       int
	Partitions int
	Kafka      []string
}

func (l *Loss) validate() error {
	var errs []error
	for _, bound := range []struct {
		ok   bool
		what string
	}{
		{l.Windows > 0, "--windows must be at least 1"},
		{l.Runs > 0, "--runs must be at least 1"},
		{l.Partitions > 0, "--partitions must be at least 1"},
	} {
		if !bound.ok {
			errs = append(errs, errors.New(bound.what))
		}
	}
	return errors.Join(errs...)
}

// lasting is the query of recovery: its windows stay open, and each record that comes is told at once.
func lasting() Query {
	const day = 24 * time.Hour
	return Query{Name: "recovery", Size: day, Step: day, Trigger: atOnce}
}

// RecoveryResult is the line of a run of recovery. Times count from the start of the worker's new process, each to the end
// of its step, so that the difference of two is what a step takes.
type RecoveryResult struct {
	Query        string  `json:"query"`
	Windows      uint64  `json:"windows"`
	Bytes        int64   `json:"checkpoint_bytes"` // of the restored checkpoint
	RegisteredMs float64 `json:"registered_ms"`    // the coordinator knows the new instance
	PlacedMs     float64 `json:"placed_ms"`        // the new stage is decided
	RestoredMs   float64 `json:"restored_ms"`      // all tasks of it have their state and run
	ResultMs     float64 `json:"result_ms"`        // a reader has a result of a record written after the kill
	Different    int64   `json:"different"`        // 1: that result does not count every record before the kill
}

// recovery runs the case.
func (d *driver) recovery(ctx context.Context, l Loss) error {
	return d.beside(ctx, l.Kafka, func(kc *kafka.Client, brokers []string, dir string) (err error) {
		pg, err := devstack.StartPostgres(ctx, filepath.Join(dir, "postgres"), devstack.PostgresOptions{})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, pg.Stop()) }()
		p, err := d.startPair(ctx, pg.DSN(), brokers, dir)
		if err != nil {
			return err
		}
		defer p.stop()
		return p.measure(ctx, kc, l, d)
	})
}

// pair is a coordinator and a worker as processes of their own.
type pair struct {
	self        command
	log         logger
	client      *client
	coordinator *exec.Cmd
	worker      *exec.Cmd
	args        []string // the worker's
}

// logger is where processes say what goes wrong.
type logger interface{ Write(p []byte) (int, error) }

func (d *driver) startPair(ctx context.Context, dsn string, brokers []string, dir string) (*pair, error) {
	secret := config.Secret{From: config.SecretFile, Name: filepath.Join(dir, "secret")}
	token := rand.Text()
	const private = 0o600
	if err := os.WriteFile(secret.Name, []byte(token), private); err != nil {
		return nil, err
	}
	p := &pair{self: d.self, log: d.log}
	var addresses [2]string
	for i := range addresses {
		port, err := devstack.FreePort()
		if err != nil {
			return nil, err
		}
		addresses[i] = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	}
	url := "http://" + addresses[0]
	both := []string{"--postgres-url", dsn, "--log-level", "warn", "--security-admin-token", secret.String(), "--security-cluster-secret", secret.String()}
	for _, b := range brokers {
		both = append(both, "--kafka-brokers", b)
	}
	p.args = append([]string{"worker", "--coordinators", url, "--http-listen", addresses[1], "--data-dir", filepath.Join(dir, "worker")}, both...)
	p.coordinator = p.self.prepare(ctx, p.log, p.words(append([]string{"coordinator", "--cluster", "bench", "--http-listen", addresses[0]}, both...)))
	if err := p.coordinator.Start(); err != nil {
		return nil, fmt.Errorf("start the coordinator: %w", err)
	}
	if err := p.startWorker(ctx); err != nil {
		p.stop()
		return nil, err
	}
	var err error
	if p.client, err = newClient(url, lasting(), coordinator.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+token)
		return nil
	})); err == nil {
		err = p.client.awaitReady(ctx)
	}
	if err != nil {
		p.stop()
	}
	return p, err
}

func (p *pair) words(args []string) []string {
	return append(append([]string{}, p.self.root...), args...)
}

func (p *pair) startWorker(ctx context.Context) error {
	p.worker = p.self.prepare(ctx, p.log, p.words(p.args))
	if err := p.worker.Start(); err != nil {
		return fmt.Errorf("start the worker: %w", err)
	}
	return nil
}

func (p *pair) killWorker() {
	_ = p.worker.Process.Kill() // an error says that it has ended
	_ = p.worker.Wait()         // it was killed
}

func (p *pair) stop() {
	for _, cmd := range []*exec.Cmd{p.worker, p.coordinator} {
		if cmd != nil && cmd.Process != nil && cmd.ProcessState == nil {
			_ = cmd.Cancel() // an error says that it has ended
			_ = cmd.Wait()   // how it ended does not matter any more
		}
	}
}

// The stream of recovery.
const (
	lastingStream = "bench_recovery"
	// recoverWithin bounds a run: something is wrong that the worker's log says.
	recoverWithin = time.Minute
	// stateEvery is how often the stream is looked at meanwhile: the error of what its state says.
	stateEvery = 5 * time.Millisecond
)

// measure fills the windows, and kills the worker as often as is wanted.
func (p *pair) measure(ctx context.Context, kc *kafka.Client, l Loss, d *driver) error {
	topic := fmt.Sprintf("bench-lasting-%d", time.Now().UnixMilli())
	out := topic + "-out"
	if _, err := kc.CreateTopic(ctx, kafka.TopicSpec{Name: topic, Partitions: l.Partitions, Settings: keepAll}); err != nil {
		return err
	}
	if err := fill(ctx, kc, topic, l); err != nil {
		return fmt.Errorf("write the records: %w", err)
	}
	if err := p.client.createSource(ctx, topic); err != nil {
		return err
	}
	// No checkpoint but those that are asked for: each run restores all windows.
	sink := Sink{Kind: SinkKafka, Delivery: AtLeastOnce}
	if err := p.client.createStream(ctx, lastingStream, out, reach{start: allRecords.start}, sink); err != nil {
		return err
	}
	if err := p.await(ctx, "all records are counted", func(s *coordinator.Stream) bool {
		return s.State == stateRunning && int64(s.Counters.Accepted) == int64(l.Windows) //nolint:gosec // far below 2^63
	}); err != nil {
		return err
	}
	results, err := follow(ctx, kc, out)
	if err != nil {
		return err
	}
	defer results.close()
	for run := range l.Runs {
		r, err := p.lose(ctx, kc, topic, results, l, int64(run)+2)
		if err != nil {
			return fmt.Errorf("run %d: %w", run+1, err)
		}
		if err := json.NewEncoder(d.out).Encode(r); err != nil {
			return err
		}
		if r.Different > 0 {
			return fmt.Errorf("run %d: a result does not count every record", run+1)
		}
	}
	return errors.Join(kc.DeleteTopic(ctx, topic), kc.DeleteTopic(ctx, out))
}

// fill writes a record a device, all within one window.
func fill(ctx context.Context, kc *kafka.Client, topic string, l Loss) error {
	return send(ctx, kc, topic, l.Partitions, func(write func(record) error) error {
		for i := range l.Windows {
			if err := write(record{device: i, timeMs: begin.UnixMilli(), temp: int64(i % 100), hum: i % 100, status: "ok"}); err != nil { //nolint:gosec // below 100
				return err
			}
		}
		return nil
	})
}

// lose takes a checkpoint, kills the worker, starts it again and waits for the first result that is new: the one of a device
// with so many records.
func (p *pair) lose(ctx context.Context, kc *kafka.Client, topic string, results *following, l Loss, records int64) (r RecoveryResult, err error) {
	run := ctx // the worker outlives what follows
	ctx, cancel := context.WithTimeout(ctx, recoverWithin)
	defer cancel()
	r = RecoveryResult{Query: lasting().Name, Windows: l.Windows}
	if r.Bytes, err = p.checkpoint(ctx); err != nil {
		return r, err
	}
	before, err := p.look(ctx)
	if err != nil {
		return r, err
	}
	results.seen.Store(nil)
	p.killWorker()
	start := time.Now()
	if err := p.startWorker(run); err != nil {
		return r, err
	}
	err = send(ctx, kc, topic, l.Partitions, func(write func(record) error) error {
		return write(record{timeMs: begin.UnixMilli(), status: "ok"})
	})
	if err != nil {
		return r, err
	}
	var restored time.Time
	if err := p.await(ctx, "the stream runs again", func(s *coordinator.Stream) bool {
		restored = time.Now()
		return s.Stage > before.Stage && s.State == stateRunning
	}); err != nil {
		return r, err
	}
	first, err := results.next(ctx)
	if err != nil {
		return r, err
	}
	registered, err := p.eventSince(ctx, "node_registered", start)
	if err != nil {
		return r, err
	}
	placed, err := p.eventSince(ctx, "stage_begun", start)
	if err != nil {
		return r, err
	}
	r.RegisteredMs, r.PlacedMs = tenths(registered.Sub(start)), tenths(placed.Sub(start))
	r.RestoredMs, r.ResultMs = tenths(restored.Sub(start)), tenths(first.at.Sub(start))
	if first.row.Count != strconv.FormatInt(records, 10) {
		r.Different = 1
	}
	return r, nil
}

// checkpoint takes one and returns its bytes.
func (p *pair) checkpoint(ctx context.Context) (int64, error) {
	asked, err := p.client.api.TakeCheckpointWithResponse(ctx, lastingStream, nil, coordinator.TakeCheckpointJSONRequestBody{})
	if err != nil {
		return 0, fmt.Errorf("ask for a checkpoint: %w", err)
	}
	if err := answered("ask for a checkpoint", asked.HTTPResponse, asked.Body); err != nil {
		return 0, err
	}
	var done coordinator.Checkpoint
	if err := json.Unmarshal(asked.Body, &done); err != nil {
		return 0, fmt.Errorf("read the answer to the checkpoint: %w", err)
	}
	err = p.await(ctx, "the checkpoint is complete", func(s *coordinator.Stream) bool {
		return s.Checkpoints.Complete != nil && int64(*s.Checkpoints.Complete) >= int64(done.Checkpoint)
	})
	if err != nil {
		return 0, err
	}
	c, err := p.client.api.GetCheckpointWithResponse(ctx, lastingStream, done.Checkpoint)
	if err != nil {
		return 0, fmt.Errorf("look at checkpoint %d: %w", done.Checkpoint, err)
	}
	if err := answered("look at the checkpoint", c.HTTPResponse, c.Body); err != nil {
		return 0, err
	}
	return int64(c.JSON200.BytesFull), nil
}

func (p *pair) look(ctx context.Context) (*coordinator.Stream, error) {
	r, err := p.client.api.GetStreamWithResponse(ctx, lastingStream)
	if err != nil {
		return nil, fmt.Errorf("look at stream %s: %w", lastingStream, err)
	}
	if err := answered("look at stream "+lastingStream, r.HTTPResponse, r.Body); err != nil {
		return nil, err
	}
	if r.JSON200.State == stateFailed {
		return nil, fmt.Errorf("stream %s has failed: %s", lastingStream, r.Body)
	}
	return r.JSON200, nil
}

func (p *pair) await(ctx context.Context, what string, reached func(*coordinator.Stream) bool) error {
	tick := time.NewTicker(stateEvery)
	defer tick.Stop()
	for {
		s, err := p.look(ctx)
		if err != nil {
			return fmt.Errorf("wait until %s: %w", what, err)
		}
		if reached(s) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until %s: %w: the stream is %s in stage %d", what, ctx.Err(), s.State, s.Stage)
		case <-tick.C:
		}
	}
}

// eventSince is when the coordinator noted an event, the first one since.
func (p *pair) eventSince(ctx context.Context, code string, since time.Time) (at time.Time, err error) {
	r, err := p.client.api.ListEventsWithResponse(ctx, nil)
	if err != nil {
		return at, fmt.Errorf("list the events: %w", err)
	}
	if err := answered("list the events", r.HTTPResponse, r.Body); err != nil {
		return at, err
	}
	for _, e := range r.JSON200.Items { // newest first
		if e.Code == code && e.Time.After(since) {
			at = e.Time
		}
	}
	if at.IsZero() {
		return at, fmt.Errorf("there is no event %s since the kill", code)
	}
	return at, nil
}

// following reads the results that come from now on.
type following struct {
	fetcher *kafka.Fetcher
	seen    atomic.Pointer[sight] // the first since it was taken
	come    chan struct{}
}

func follow(ctx context.Context, kc *kafka.Client, topic string) (*following, error) {
	ends, err := kc.Ends(ctx, topic)
	if err != nil {
		return nil, err
	}
	f := &following{fetcher: kafka.NewFetcher(kc, kafka.FetcherConfig{}), come: make(chan struct{}, 1)}
	for n, end := range ends {
		if _, err := f.fetcher.Subscribe(kafka.SubscribeSpec{
			Topic: topic, Partition: n, From: end, Isolation: kafka.ReadCommitted, Inbox: kafka.InboxFunc(f.offer),
		}); err != nil {
			f.close()
			return nil, err
		}
	}
	return f, nil
}

func (f *following) close() { f.fetcher.Close() }

func (f *following) offer(c *kafka.Chunk) bool {
	now := time.Now()
	return takeChunk(c, func(value []byte) error {
		s := &sight{at: now}
		if err := json.Unmarshal(value, &s.row); err != nil {
			return err
		}
		f.seen.CompareAndSwap(nil, s)
		select {
		case f.come <- struct{}{}:
		default: // somebody was told already
		}
		return nil
	}) == nil
}

// next waits for the first result since seen was emptied.
func (f *following) next(ctx context.Context) (*sight, error) {
	for {
		if s := f.seen.Load(); s != nil {
			return s, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("no result comes: %w", ctx.Err())
		case <-f.come:
		}
	}
}
