package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/pondage/pondage/internal/api/common"
	"github.com/pondage/pondage/internal/api/coordinator"
)

// Config is what a run is like, beside its seed.
type Config struct {
	Duration time.Duration
	Rate     int // records a second
	Faults   []Kind
	// Failpoint is the text of the one failpoint that KindFailpoint uses; of a misbehaviour, which is on from the start.
	Failpoint string
	Sinks     []Sink
	// Kafka is the script, or its folder, that starts a real Kafka; "": the embedded broker.
	Kafka   string
	Brokers int
	// Scale stretches all time-outs.
	Scale float64
	// Keep leaves the directory of a failed run.
	Keep bool
}

// Result is what came of a run.
type Result struct {
	Seed    uint64  `json:"seed"`
	Faults  []Fault `json:"faults,omitempty"`
	Verdict Verdict `json:"verdict"`
	// Failures are broken promises beside the results: a stream that did not finish, a counter, a panic.
	Failures []string `json:"failures,omitempty"`
	// Resets is how many stages the streams had beyond their first.
	Resets int64 `json:"resets"`
	// Checkpoints is how many the streams have begun; Restored is how many of the streams stand on one after a reset.
	Checkpoints int64 `json:"checkpoints"`
	Restored    int64 `json:"restored"`
	// Met are the failpoints that have acted.
	Met  []string      `json:"failpoints_met,omitempty"`
	Took time.Duration `json:"took_ns"`
	Twin Twin          `json:"machine"`
	// Slow: the machine was slower than half of the twin's. Repeated: so this is not the first try.
	Slow     bool   `json:"slow,omitempty"`
	Repeated bool   `json:"repeated,omitempty"`
	Dir      string `json:"dir,omitempty"` // what is left to look at

	late bool // not finished in time
}

// OK tells whether everything was as it had to be.
func (r Result) OK() bool { return r.Verdict.clean() && len(r.Failures) == 0 }

// Line is the closing line of a run (INTERFACE §4).
func (r Result) Line() string { return fmt.Sprintf("seed %d: %s", r.Seed, r.Verdict) }

// run is one run of a seed.
type run struct {
	Config
	seed    uint64
	program string
	faults  []Fault
	always  string // failpoints of every start
	say     func(string, ...any)
	patience
	finishWithin time.Duration

	queries  []Query
	records  []Record
	cluster  *cluster
	adm      *kadm.Client
	observer observer
	gauge    gauge
}

// do is the whole run. An error is ours: the run says nothing about the product.
func (r *run) do(ctx context.Context) (out Result, err error) {
	begun := time.Now()
	out.Seed, out.Faults = r.seed, r.faults
	dir, err := os.MkdirTemp("", "pondage-chaos-")
	if err != nil {
		return out, err
	}
	const passable = 0o711 // a Postgres that runs as another user must pass through
	if err := os.Chmod(dir, passable); err != nil {
		return out, err
	}
	defer func() {
		out.Took = time.Since(begun)
		if r.cluster != nil {
			err = errors.Join(err, r.cluster.close())
			out.Failures = append(out.Failures, r.cluster.crashes()...)
			out.Met = r.cluster.met()
		}
		if r.Keep && (err != nil || !out.OK()) && ctx.Err() == nil {
			out.Dir = dir
			return
		}
		err = errors.Join(err, os.RemoveAll(dir))
	}()
	if r.cluster, err = startCluster(ctx, layout{dir: dir, program: r.program, script: r.Kafka, brokers: r.Brokers, always: r.always}, r.patience); err != nil {
		return out, err
	}
	w, err := newWriter(r.cluster.kafka.addresses())
	if err != nil {
		return out, err
	}
	defer w.client.Close()
	r.adm = kadm.NewClient(w.client)
	if err := r.declare(ctx); err != nil {
		return out, err
	}
	if err := r.disturb(ctx, w); err != nil {
		return out, err
	}
	return out, r.conclude(ctx, w, &out)
}

// declare makes the topic, the source and the streams.
func (r *run) declare(ctx context.Context) error {
	if err := r.patience.until(ctx, "the brokers take a topic", func(ctx context.Context) error { return makeTopic(ctx, r.adm, r.brokers()) }); err != nil {
		return err
	}
	if err := r.patience.until(ctx, "create the source", func(ctx context.Context) error {
		return decided(r.cluster.api.create(ctx, "/v1/sources", sourceSpec()))
	}); err != nil {
		return err
	}
	for _, q := range r.queries {
		if err := r.patience.until(ctx, "create stream "+q.Name, func(ctx context.Context) error {
			return decided(r.cluster.api.create(ctx, "/v1/streams", q.spec()))
		}); err != nil {
			return err
		}
	}
	return r.patience.until(ctx, "the streams run", func(ctx context.Context) error { return r.all(ctx, stateRunning) })
}

func (r *run) brokers() int {
	if r.Kafka == "" {
		return 1
	}
	return r.Brokers
}

// decided makes an error that says no to the object itself a hopeless one.
func decided(err error) error {
	var no *refusal
	const client, server = 400, 500
	if errors.As(err, &no) && no.status >= client && no.status < server && no.code != "" && no.status != tooEarly && no.status != tooMany &&
		no.code != freshTopic {
		return &hopeless{err}
	}
	return err
}

// freshTopic is what a broker says that has not heard of a topic yet which another one has just made.
const freshTopic = "topic_unknown"

const (
	tooEarly = 425
	tooMany  = 429
)

// disturb writes the records while the schedule goes on, and returns when all are written and everything is healed.
func (r *run) disturb(ctx context.Context, w *writer) error {
	beside, done := context.WithCancel(ctx)
	var background sync.WaitGroup
	defer background.Wait()
	defer done()
	background.Go(func() { r.gauge.measure(beside) })
	background.Go(func() { r.observer.watch(beside, r.cluster.pg.dsn(), r.queries) })
	background.Go(func() { r.progress(beside, w) })
	var tormented sync.WaitGroup
	defer tormented.Wait()
	tormented.Go(func() { r.cluster.torment(ctx, r.faults, r.adm, r.say) })
	within, cancel := context.WithTimeoutCause(ctx, r.patience.of(r.Duration+waitBase), errors.New("the brokers do not take the records"))
	defer cancel()
	if err := w.write(within, r.records, r.Rate); err != nil {
		return errors.Join(err, context.Cause(within))
	}
	return nil
}

// progressEvery is how often a line says how far the run is.
const progressEvery = 10 * time.Second

func (r *run) progress(ctx context.Context, w *writer) {
	for begun := time.Now(); sleep(ctx, progressEvery); {
		line := fmt.Sprintf("%5.1f s  %d of %d records written", time.Since(begun).Seconds(), w.written.Load(), len(r.records))
		if streams, err := r.streams(ctx); err == nil {
			for _, s := range streams {
				line += fmt.Sprintf(" · %s %s, stage %d, checkpoint %s, lag %d", s.Name, s.State, s.Stage, number(s.Checkpoints.Complete), s.Lag)
			}
		}
		r.say("%s", line)
	}
}

// The states of a stream that are waited for.
const (
	stateRunning = "running"
	stateFailed  = "failed"
)

// conclude writes what closes every window, waits until everything is there, and compares.
func (r *run) conclude(ctx context.Context, w *writer, out *Result) error {
	begun := time.Now()
	within, cancel := context.WithTimeout(ctx, r.patience.of(waitBase))
	defer cancel()
	if err := w.write(within, closing(len(r.records)), r.Rate); err != nil {
		return err
	}
	input, err := r.input(ctx)
	if err != nil {
		return err
	}
	answers := map[string]Answer{}
	for _, q := range r.queries {
		answers[q.Name] = Compute(q, input)
	}
	waited := r.patience.within(ctx, r.finishWithin, "the streams do not come to the answer", func(ctx context.Context) error {
		return r.missing(ctx, answers)
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	out.Twin = Twin{Work: r.gauge.median(), Drain: time.Since(begun)}
	if waited != nil {
		out.Failures = append(out.Failures, waited.Error())
		out.late = true
	}
	// What comes twice, or is taken back, may come later.
	sleep(ctx, r.patience.of(settle))
	if out.Verdict, err = r.judge(ctx, answers); err != nil {
		return err
	}
	out.Failures = append(out.Failures, r.observer.broken...)
	streams, err := r.streams(ctx)
	if err != nil {
		return err
	}
	for _, s := range streams {
		out.Resets += int64(s.Stage) - 1
		if c := s.Checkpoints.Settled; c != nil {
			out.Checkpoints += int64(*c)
		}
		if s.Checkpoints.Restored != nil {
			out.Restored++
		}
		out.Failures = append(out.Failures, answers[s.Name].counts(s)...)
	}
	if slices.Contains(r.Faults, KindTopic) && len(r.faults) > 0 && out.OK() {
		return r.loseSource(ctx, out)
	}
	return nil
}

// settle is some intervals of checkpoints.
const settle = 3 * checkpointEvery

// missing tells what is not yet as it has to be; nil: everything is there.
func (r *run) missing(ctx context.Context, answers map[string]Answer) error {
	if err := r.all(ctx, stateRunning); err != nil {
		return err
	}
	streams, err := r.streams(ctx)
	if err != nil {
		return err
	}
	for _, s := range streams {
		if different := answers[s.Name].counts(s); len(different) > 0 {
			return fmt.Errorf("%s; %s", different[0], describe(s))
		}
	}
	v, err := r.judge(ctx, answers)
	if err == nil && !v.clean() {
		err = errors.New(v.String())
	}
	return err
}

// loseSource deletes the source topic under a running stream: that has to stop it by name.
func (r *run) loseSource(ctx context.Context, out *Result) error {
	q := Query{Name: "orphan", Columns: rows, Delay: delay, Postgres: deliveryUpsert}
	if err := r.patience.until(ctx, "create stream "+q.Name, func(ctx context.Context) error {
		return decided(r.cluster.api.create(ctx, "/v1/streams", q.spec()))
	}); err != nil {
		return err
	}
	state := func(ctx context.Context, want string) error {
		s, err := r.stream(ctx, q.Name)
		if err == nil && s.State != want {
			err = errors.New(describe(s))
		}
		return err
	}
	if err := r.patience.until(ctx, "stream "+q.Name+" runs", func(ctx context.Context) error { return state(ctx, stateRunning) }); err != nil {
		out.Failures = append(out.Failures, err.Error())
		return nil
	}
	if _, err := r.adm.DeleteTopics(ctx, sourceName); err != nil {
		return err
	}
	if err := r.patience.until(ctx, "the source topic is deleted", func(ctx context.Context) error { return state(ctx, stateFailed) }); err != nil {
		out.Failures = append(out.Failures, err.Error())
		return nil
	}
	s, err := r.stream(ctx, q.Name)
	if err != nil {
		return err
	}
	if s.Error == nil || !slices.Contains(lostSource, s.Error.Code) {
		out.Failures = append(out.Failures, "the source topic is deleted, and the stream says: "+describe(s))
	}
	return nil
}

// lostSource are the codes that name a source topic which is not there any more.
var lostSource = []string{"topic_unknown", "source_topic_recreated"}

func (r *run) stream(ctx context.Context, name string) (s coordinator.Stream, err error) {
	err = r.cluster.api.led(ctx).get(ctx, "/v1/streams/"+name, &s)
	return s, err
}

func (r *run) streams(ctx context.Context) ([]coordinator.Stream, error) {
	var out []coordinator.Stream
	leader := r.cluster.api.led(ctx)
	for _, q := range r.queries {
		var s coordinator.Stream
		if err := leader.get(ctx, "/v1/streams/"+q.Name, &s); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// all tells what is missing until every stream is in the state.
func (r *run) all(ctx context.Context, state string) error {
	streams, err := r.streams(ctx)
	if err != nil {
		return err
	}
	var missing []error
	for _, s := range streams {
		switch s.State {
		case state:
		case stateFailed:
			return &hopeless{errors.New(describe(s))}
		default:
			missing = append(missing, errors.New(describe(s)))
		}
	}
	return errors.Join(missing...)
}

// describe is a stream in a few words.
func describe(s coordinator.Stream) string {
	text := fmt.Sprintf("%s is %s in stage %d with lag %d", s.Name, s.State, s.Stage, s.Lag)
	if c := s.Checkpoints.Complete; c != nil {
		text += ", checkpoint " + number(c)
	}
	if s.Waiting != nil {
		text += ", waits for " + *s.Waiting
	}
	if s.Error != nil {
		text += ", error " + s.Error.Code + ": " + s.Error.Message
	}
	return text
}

// number is a checkpoint's, or that there is none.
func number(c *common.NullableInt64) string {
	if c == nil {
		return "none"
	}
	return strconv.FormatInt(int64(*c), 10)
}

// crashes are the signs in the logs that a program has broken.
func (c *cluster) crashes() []string {
	var out []string
	for _, p := range c.roles {
		if sign := p.crashed(); sign != "" {
			out = append(out, sign)
		}
	}
	return out
}

// met are the failpoints that have acted anywhere, each once.
func (c *cluster) met() []string {
	var out []string
	for _, p := range c.roles {
		out = append(out, p.met()...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// newRun prepares a run. twin is nil for the twin itself.
func newRun(seed uint64, program string, cfg Config, twin *Twin, say func(string, ...any)) *run {
	r := &run{Config: cfg, seed: seed, program: program, say: say, patience: patience{cfg.Scale}, finishWithin: finishBase}
	r.queries = Queries(cfg.Sinks)
	r.records = Records(seed, int(part(cfg.Duration, writing).Seconds()*float64(cfg.Rate)))
	if twin == nil {
		return r
	}
	r.finishWithin = max(r.finishWithin, finishFactor*twin.Drain)
	r.faults = Schedule(seed, cfg.scene(r.queries))
	if misbehaves(cfg.Failpoint) {
		r.always = cfg.Failpoint
	}
	return r
}

const (
	// writing is the part of the run in which records are written: its end is the streams'.
	writing = 0.9
	// finishBase is how long the streams may take to finish after everything is healed; a stream that starts again after
	// many failures waits for its turn. finishFactor bounds it by the twin's time.
	finishBase   = 150 * time.Second
	finishFactor = 10
)

func (c Config) scene(queries []Query) Scene {
	s := Scene{Duration: c.Duration}
	for i := range coordinators {
		s.Coordinators = append(s.Coordinators, fmt.Sprintf("coordinator-%d", i+1))
	}
	for i := range workers {
		s.Workers = append(s.Workers, fmt.Sprintf("worker-%d", i+1))
	}
	s.Brokers, s.BrokerEnd = []string{brokerName + "1"}, HowKill
	if c.Kafka == "" && slices.Contains(c.Sinks, SinkTransactionalKafka) {
		// A kill -9 of the embedded broker may leave a part of a transaction's end (docs/exactly-once.md): that it cannot keep the
		// promise is known, so it is only asked to end in order.
		s.BrokerEnd = HowTerminate
	}
	if c.Kafka != "" {
		s.Brokers = (&real{count: c.Brokers}).names()
	}
	for _, q := range queries {
		if q.edges() {
			s.Streams = append(s.Streams, q.Name)
		}
	}
	for _, k := range c.Faults {
		if k == KindFailpoint && misbehaves(c.Failpoint) {
			continue
		}
		s.Kinds = append(s.Kinds, k)
	}
	if !misbehaves(c.Failpoint) {
		s.Failpoint = c.Failpoint
	}
	return s
}
