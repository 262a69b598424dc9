package sink

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/failpoint"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/kafka"
	"github.com/pondage/pondage/internal/manifest"
	"github.com/pondage/pondage/internal/pgtable"
	"github.com/pondage/pondage/internal/rowjson"
	"github.com/pondage/pondage/internal/storage"
)

// Brokers is what a transactional output needs of Kafka (*kafka.Client).
type Brokers interface {
	Topic(ctx context.Context, name string) (kafka.Topic, error)
	NewTransactor(ctx context.Context, id string) (*kafka.Transactor, error)
	Newest(ctx context.Context, topic string, p ident.Partition, keys ...string) (map[string][]byte, error)
}

// KafkaTransactional is where a transactional Kafka output writes, and what it stands on.
type KafkaTransactional struct {
	Brokers Brokers
	Topic   string
	Commits string // topic of markers
	ID      string // transactional id and key of the marker, the same in all stages
	Stream  ident.StreamID
	Task    ident.Task
	Columns block.Schema
	Keys    []int // columns of the natural key
	Store   storage.Store
	// Current returns nil when the stage is still the stream's, as the coordinator has it, and wraps pgtable.ErrFenced when
	// it is not. It is asked before the id is taken over: a task that slept would fence the stage that has taken its place.
	Current func(ctx context.Context) error
	Start   Start
	Bounds  TransactionalBounds
}

// TransactionalBounds are the sizes of a transactional Kafka output, bytes.
type TransactionalBounds struct {
	// Segment is when results become a file.
	Segment int
	// Transaction is when a transaction takes no further interval.
	Transaction int64
	// Due is how much may wait, of complete checkpoints, for brokers that are away (DESIGN §9). Beyond it the output takes no more,
	// and so the sources pause. What no complete checkpoint covers does not count: only a checkpoint frees it, and the
	// checkpoint's trigger must not wait behind it.
	Due int64
}

// DefaultTransactionalBounds are few enough files, and little to lose count of in memory; far less in a transaction than brokers
// take within commitWithin; with some tasks on a node, about the 1 GiB of results that DESIGN §9 lets wait there.
func DefaultTransactionalBounds() TransactionalBounds {
	return TransactionalBounds{Segment: 4 << 20, Transaction: 64 << 20, Due: 128 << 20}
}

// kafkaTransactional is the output whose readers see committed results only (DESIGN §9). What comes between two triggers is an
// interval, kept in files of the checkpoint store. When checkpoint c is complete, the intervals up to c that are not
// committed yet and the marker c are written in one transaction; what has gathered while the brokers were away, in several of
// whole intervals, each with the trigger that ends it as its marker, so that no transaction outlives its time.
//
// The marker decides. It is the newest checkpoint whose intervals are committed; an interval whose trigger before it is below
// the marker is committed, since markers are triggers that this task has passed. After an unclear end the id is taken over,
// which settles the transaction, and the marker says how: nothing is committed twice, and no commit is forgotten.
//
// A stage that begins below the marker has gone back by its user's wish: it sets the marker back first, so that the sentence
// above holds in it too.
type kafkaTransactional struct {
	*pump
	cfg     KafkaTransactional
	encoder *rowjson.Encoder
	key     []byte

	// The pump's.
	cp    ident.CheckpointID // last trigger passed
	taken int                // batches of the write at hand that are in the segment
	value []byte
	buf   []byte // the segment: records that are in no file yet
	rows  int64  // in it

	committing sync.Mutex // one at a time
	tx         *kafka.Transactor
	partition  ident.Partition // of the output's topic
	marks      ident.Partition // of the topic of markers

	mu       sync.Mutex
	segments []segment // whose commit is not known, in order
	marker   ident.CheckpointID
	due      ident.CheckpointID // the newest that Complete was called for
	freed    chan struct{}      // closed when segments are committed
	problem  Status             // of committing
}

// segment is a part of an interval that is a file.
type segment struct {
	manifest.Interval
	file manifest.File
}

// commitWithin bounds one commit: below the time after which brokers abort a transaction.
const commitWithin = kafka.TransactionTimeout - 5*time.Second

// NewKafkaTransactional returns an output that shows the results of complete checkpoints in the topic.
func NewKafkaTransactional(cfg KafkaTransactional, env Env) Output {
	o := &kafkaTransactional{cfg: cfg, encoder: rowjson.NewEncoder(cfg.Columns), cp: cfg.Start.Restored, freed: make(chan struct{})}
	o.pump = newPump(KindKafkaTransactional, env, o.open, o.write, stopsKafka)
	o.passed = o.pass
	o.pump.start()
	return o
}

// stopsKafka tells whether no repeating cures an error of the transactional output.
func stopsKafka(err error) bool {
	var stop *Stop
	return errors.As(err, &stop) || kafka.CodeOf(err) == kafka.CodeFenced || errors.Is(err, pgtable.ErrFenced)
}

// open takes the transactional id over and reads the marker.
func (o *kafkaTransactional) open(ctx context.Context) error {
	o.committing.Lock()
	defer o.committing.Unlock()
	ctx, cancel := context.WithTimeout(ctx, commitWithin)
	defer cancel()
	if err := o.takeOver(ctx); err != nil {
		return err
	}
	s, marker := o.cfg.Start, o.known()
	switch {
	case s.Sink != nil && marker < s.Sink.Marker:
		return &Stop{Code: CodeWentBack, Err: fmt.Errorf("topic %s: the newest committed checkpoint of %s is %d, and %d had been committed: the results between are missing",
			o.cfg.Topic, o.cfg.ID, marker, s.Sink.Marker)}
	case marker > s.Restored:
		if err := o.tx.Write(ctx, func(send func(kafka.TransactionRecord) error) error { return send(o.mark(s.Restored)) }); err != nil {
			return o.outcome(err)
		}
		o.committed(s.Restored)
	}
	segments, err := restoredSegments(s)
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.segments) == 0 { // the first attempt
		o.segments = slices.DeleteFunc(segments, func(x segment) bool { return x.After < marker })
	}
	return nil
}

// restoredSegments are the results that were not known to be committed at the restored checkpoint.
func restoredSegments(s Start) ([]segment, error) {
	if s.Sink == nil {
		return nil, nil
	}
	var out []segment
	for _, i := range s.Sink.Intervals {
		n := slices.IndexFunc(s.Files, func(f manifest.File) bool { return f.Hash == i.Hash })
		if n < 0 {
			return nil, &Stop{Code: codeDamaged, Err: fmt.Errorf("checkpoint %d names an interval without its file %s", s.Restored, i.Hash)}
		}
		out = append(out, segment{i, s.Files[n]})
	}
	return out, nil
}

// takeOver makes the transactional id this task's: what an earlier holder has open has ended then. So the marker that is read
// afterwards is the last word about it.
func (o *kafkaTransactional) takeOver(ctx context.Context) error {
	if o.tx != nil {
		return nil
	}
	topic, err := o.cfg.Brokers.Topic(ctx, o.cfg.Topic)
	if err != nil {
		return err
	}
	commits, err := o.cfg.Brokers.Topic(ctx, o.cfg.Commits)
	if err != nil {
		return err
	}
	vg := int(o.cfg.Task.VGroup)
	o.partition, o.marks = ident.Partition(vg%len(topic.Partitions)), ident.Partition(vg%len(commits.Partitions))
	if err := o.cfg.Current(ctx); err != nil {
		return err
	}
	tx, err := o.cfg.Brokers.NewTransactor(ctx, o.cfg.ID)
	if err != nil {
		return err
	}
	// Asked again: stage 4 looks, sleeps, stage 5 takes the id over and commits; stage 4 goes on, has the id, finds a marker above
	// what it has restored, and would set it back. Whoever takes the id over after this look fences this task.
	if err := o.cfg.Current(ctx); err != nil {
		tx.Close()
		return err
	}
	marks, err := o.cfg.Brokers.Newest(ctx, o.cfg.Commits, o.marks, o.cfg.ID)
	if err == nil {
		var marker ident.CheckpointID
		if marker, err = markerOf(marks[o.cfg.ID]); err == nil {
			o.tx = tx
			o.committed(marker)
			return nil
		}
	}
	tx.Close()
	return err
}

func markerOf(value []byte) (ident.CheckpointID, error) {
	if value == nil {
		return 0, nil
	}
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil || n < 0 {
		return 0, &Stop{Code: CodeWentBack, Err: fmt.Errorf("the marker %q is no checkpoint", value)}
	}
	return ident.CheckpointID(n), nil
}

func (o *kafkaTransactional) mark(c ident.CheckpointID) kafka.TransactionRecord {
	return kafka.TransactionRecord{
		Topic: o.cfg.Commits, Partition: o.marks, Message: kafka.Message{Key: []byte(o.cfg.ID), Value: strconv.AppendInt(nil, int64(c), 10)},
	}
}

// write encodes rows into the segment. A repetition goes on behind the batches that are in it.
func (o *kafkaTransactional) write(ctx context.Context, batches []*block.Batch) error {
	for _, b := range batches[o.taken:] {
		if err := o.encode(b); err != nil {
			return err
		}
		o.taken++
		o.env.Memory.Give(int64(b.MemBytes()))
		if len(o.buf) < o.cfg.Bounds.Segment {
			continue
		}
		if err := o.cut(ctx); err != nil {
			return err
		}
	}
	if len(o.buf) >= o.cfg.Bounds.Segment { // a repetition of a cut
		if err := o.cut(ctx); err != nil {
			return err
		}
	}
	o.taken = 0
	return nil
}

// encode appends the rows of a batch, or nothing.
func (o *kafkaTransactional) encode(b *block.Batch) error {
	buf, rows := o.buf, o.rows
	for i := range b.Rows() {
		o.key = o.encoder.AppendKey(o.key[:0], b.Cols, o.cfg.Keys, i)
		o.value = o.encoder.AppendRow(o.value[:0], b.Cols, i)
		if n := len(o.key) + len(o.value); n > kafka.MaxTransactionRecord {
			err := o.env.Reject(Rejected{Rows: b, Row: i, Reason: fmt.Sprintf("a record of %d bytes; brokers take %d", n, kafka.MaxTransactionRecord)})
			if err != nil {
				return err
			}
			continue
		}
		buf, rows = appendRecord(buf, o.key, o.value), rows+1
	}
	o.buf, o.rows = buf, rows
	return nil
}

// room waits until what is due to be committed is below its bound.
func (o *kafkaTransactional) room(ctx context.Context) error {
	for {
		o.mu.Lock()
		waiting, freed := int64(0), o.freed
		for _, s := range o.segments {
			if s.After < o.due {
				waiting += s.file.Bytes
			}
		}
		o.mu.Unlock()
		if waiting <= o.cfg.Bounds.Due {
			return nil
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// cut makes the segment a file.
func (o *kafkaTransactional) cut(ctx context.Context) error {
	if len(o.buf) == 0 {
		return nil
	}
	if err := o.room(ctx); err != nil {
		return err
	}
	if err := failpoint.Hit(failpoint.SinkIntervalBeforeWrite); err != nil {
		return err
	}
	w, err := o.cfg.Store.Create(ctx, o.cfg.Stream, o.cfg.Task, max(o.cp, o.cfg.Start.Settled)+1)
	if err != nil {
		return fmt.Errorf("write an interval of results: %w", err)
	}
	defer w.Abort() // nothing once it is committed
	if _, err := w.Write(o.buf); err != nil {
		return fmt.Errorf("write an interval of results: %w", err)
	}
	f, err := w.Commit()
	if err != nil {
		return fmt.Errorf("write an interval of results: %w", err)
	}
	f.Role, f.Of = manifest.RoleSink, KindKafkaTransactional
	o.mu.Lock()
	o.segments = append(o.segments, segment{manifest.Interval{After: o.cp, Hash: f.Hash, Rows: o.rows}, f})
	o.mu.Unlock()
	o.buf, o.rows = o.buf[:0], 0
	return nil
}

// pass ends the interval before a trigger.
func (o *kafkaTransactional) pass(ctx context.Context, c ident.CheckpointID) error {
	if err := o.cut(ctx); err != nil {
		return err
	}
	o.cp = c
	return nil
}

// before returns the segments from before a trigger whose commit is not known, in order.
func (o *kafkaTransactional) before(c ident.CheckpointID) []segment {
	o.mu.Lock()
	defer o.mu.Unlock()
	var out []segment
	for _, s := range o.segments {
		if s.After < c {
			out = append(out, s)
		}
	}
	return out
}

// Prepare implements Checkpointed: what the pump has let pass is in files.
func (o *kafkaTransactional) Prepare(ctx context.Context, c ident.CheckpointID) (manifest.Sink, []manifest.File, error) {
	if err := o.await(ctx, c); err != nil {
		return manifest.Sink{}, nil, err
	}
	if failpoint.On(failpoint.CommitEarly) {
		if err := o.Complete(ctx, c); err != nil {
			return manifest.Sink{}, nil, err
		}
	}
	// The marker first: a commit between the two may take segments away that are at or below it, never the other way round.
	out := manifest.Sink{Kind: KindKafkaTransactional, Marker: o.known()}
	var files []manifest.File
	for _, s := range o.before(c) {
		out.Intervals, files = append(out.Intervals, s.Interval), append(files, s.file)
	}
	return out, files, nil
}

// Complete implements Checkpointed: it returns when the results from before c are committed.
func (o *kafkaTransactional) Complete(ctx context.Context, c ident.CheckpointID) error {
	if err := o.await(ctx, 0); err != nil {
		return err
	}
	o.mu.Lock()
	o.due = max(o.due, c)
	o.mu.Unlock()
	err := o.commit(ctx, c)
	o.tell(err)
	if err != nil && stopsKafka(err) {
		o.halt(err)
	}
	return err
}

func (o *kafkaTransactional) commit(ctx context.Context, c ident.CheckpointID) error {
	o.committing.Lock()
	defer o.committing.Unlock()
	for o.known() < c || o.tx == nil {
		if err := o.commitSome(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// commitSome commits the oldest intervals before c that wait, as many as one transaction takes.
func (o *kafkaTransactional) commitSome(ctx context.Context, c ident.CheckpointID) error {
	ctx, cancel := context.WithTimeout(ctx, commitWithin)
	defer cancel()
	if err := o.takeOver(ctx); err != nil { // after an unclear end
		return err
	}
	if o.known() >= c {
		return nil
	}
	segments, c := o.some(c)
	if err := failpoint.Hit(failpoint.SinkCommitBeforeBegin); err != nil {
		return err
	}
	err := o.tx.Write(ctx, func(send func(kafka.TransactionRecord) error) error {
		for _, s := range segments {
			if err := o.send(ctx, s, send); err != nil {
				return err
			}
		}
		if err := failpoint.Hit(failpoint.SinkCommitBeforeMarker); err != nil {
			return err
		}
		if err := send(o.mark(c)); err != nil {
			return err
		}
		return failpoint.Hit(failpoint.SinkCommitBeforeEnd)
	})
	if err != nil {
		return o.outcome(err)
	}
	o.committed(c)
	return failpoint.Hit(failpoint.SinkCommitEnded)
}

// some returns the oldest segments before c that one transaction takes, and the trigger that ends them: whole intervals, at
// least one.
func (o *kafkaTransactional) some(c ident.CheckpointID) ([]segment, ident.CheckpointID) {
	all, bytes := o.before(c), int64(0)
	for i, s := range all {
		if bytes >= o.cfg.Bounds.Transaction && s.After > all[i-1].After {
			return all[:i], s.After
		}
		bytes += s.file.Bytes
	}
	return all, c
}

// send hands the records of a segment to the transaction.
func (o *kafkaTransactional) send(ctx context.Context, s segment, send func(kafka.TransactionRecord) error) error {
	in, err := o.cfg.Store.Open(ctx, o.cfg.Stream, s.file)
	switch {
	case errors.Is(err, storage.ErrMissing), errors.Is(err, storage.ErrDamaged):
		return o.lost(s, err)
	case err != nil:
		return err
	}
	err = readRecords(in, func(key, value []byte) error {
		return send(kafka.TransactionRecord{Topic: o.cfg.Topic, Partition: o.partition, Message: kafka.Message{Key: key, Value: value}})
	})
	if errors.Is(err, errInterval) {
		err = o.lost(s, err)
	}
	return errors.Join(err, in.Close())
}

// lost is the stop of a segment that cannot be read any more.
func (o *kafkaTransactional) lost(s segment, err error) error {
	return &Stop{Code: codeResultsLost, Err: fmt.Errorf("%d results for topic %s from after checkpoint %d, which are not committed: %w", s.Rows, o.cfg.Topic, s.After, err)}
}

const (
	// codeResultsLost is the code of results of a complete checkpoint whose file is gone before they were committed. It says nothing
	// about the checkpoint that the stage began with.
	codeResultsLost = "results_lost"
	codeDamaged     = "checkpoint_damaged"
)

// outcome names the error of a transaction, and gives up a transactor that writes nothing more: the next attempt takes the id
// over, and reads how the transaction has ended.
func (o *kafkaTransactional) outcome(err error) error {
	var stop *Stop
	switch code := kafka.CodeOf(err); {
	case code == kafka.CodeOutcomeUnknown:
		o.tx.Close()
		o.tx = nil
	case errors.As(err, &stop):
	case code != "" && code != kafka.CodeFenced && !kafka.Transient(err):
		return &Stop{Code: string(code), Err: err}
	}
	return err
}

// known is the newest checkpoint that is known to be committed.
func (o *kafkaTransactional) known() ident.CheckpointID {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.marker
}

// committed notes the marker, and forgets what it covers.
func (o *kafkaTransactional) committed(c ident.CheckpointID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.marker = c
	o.segments = slices.DeleteFunc(o.segments, func(s segment) bool { return s.After < c })
	close(o.freed)
	o.freed = make(chan struct{})
}

// tell keeps the problem of committing for the status.
func (o *kafkaTransactional) tell(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case err == nil:
		o.problem = Status{}
	case errors.Is(err, context.Canceled):
	case o.problem.Problem == "":
		o.problem = Status{Problem: err.Error(), Since: time.Now()}
	default:
		o.problem.Problem = err.Error()
	}
}

// Status implements Output: what keeps results from being kept, or from being committed.
func (o *kafkaTransactional) Status() Status {
	s := o.pump.Status()
	o.mu.Lock()
	defer o.mu.Unlock()
	if s.Problem == "" {
		s.Problem, s.Since = o.problem.Problem, o.problem.Since
	}
	return s
}

// Close ends the output. A transaction that is being written is aborted first: Complete's context is over by then.
func (o *kafkaTransactional) Close() {
	o.pump.Close()
	o.committing.Lock()
	defer o.committing.Unlock()
	if o.tx != nil {
		o.tx.Close()
		o.tx = nil
	}
}
