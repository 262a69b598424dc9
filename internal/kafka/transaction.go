package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/pondage/pondage/internal/ident"
)

// TransactionTimeout is how long a transaction may stay open before the broker aborts it: what a process that died has begun
// holds back the readers of an output no longer than this, whoever comes after it (trap T29). A commit writes what is
// ready, so it takes far less.
const TransactionTimeout = 45 * time.Second

// MaxTransactionRecord is the largest key and value that a set may have, bytes: what a broker takes by its defaults in one
// request, less what a batch has around a record.
const MaxTransactionRecord = 1_000_000 - 4<<10

// Transactor writes whole sets of records: a reader that reads committed records sees all of a set or none (DESIGN §9).
// One that was made later for the same id ends it. Its methods are not for concurrent use, but for Close.
type Transactor struct {
	id     string
	client *kgo.Client
	broken error // an unclear end or a fence: nothing more is written
}

// NewTransactor takes over the transactional id: what an earlier holder has open is aborted, or finished where its commit was
// decided, and that holder writes nothing any more. So when it returns, every transaction of the id has ended.
//
// Errors: transient ones, and the named stops.
func (c *Client) NewTransactor(ctx context.Context, id string) (*Transactor, error) {
	opts := append(slices.Clone(c.options),
		kgo.TransactionalID(id), kgo.TransactionTimeout(TransactionTimeout), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.RequiredAcks(kgo.AllISRAcks()), kgo.ProducerLinger(0), kgo.RecordDeliveryTimeout(TransactionTimeout),
	)
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, classify("open transactional producer "+id, "", NoPartition, err)
	}
	ctx, cancel := context.WithTimeout(ctx, TransactionTimeout)
	defer cancel()
	if _, _, err := client.ProducerID(ctx); err != nil {
		client.Close()
		return nil, classify("take over transactional id "+id, "", NoPartition, err)
	}
	return &Transactor{id: id, client: client}, nil
}

// TransactionRecord is a record of a set, for a partition of its choice.
type TransactionRecord struct {
	Topic     string
	Partition ident.Partition
	Message   Message // Tag and Done are not used
}

// Write writes a set of records in one transaction. produce is called once and hands them over; it may wait.
//
// Errors: that of produce, with the transaction aborted; CodeFenced when another holder has taken the id over;
// CodeOutcomeUnknown when nobody knows whether the set is committed: a new Transactor settles it, and a marker in the set
// tells how (DESIGN §9: never a second EndTxn). After the latter two this one writes nothing more.
func (t *Transactor) Write(ctx context.Context, produce func(send func(TransactionRecord) error) error) error {
	if t.broken != nil {
		return t.broken
	}
	if err := t.client.BeginTransaction(); err != nil {
		return t.fail("begin", err)
	}
	var failed first
	err := produce(func(r TransactionRecord) error {
		if err := failed.get(); err != nil {
			return err
		}
		t.client.Produce(ctx, record(r), func(_ *kgo.Record, err error) { failed.set(err) })
		return nil
	})
	sent := failed.get()
	if err != nil && sent == nil { // the caller's own
		return errors.Join(err, t.abort(ctx))
	}
	if err = sent; err == nil {
		if err = t.client.Flush(ctx); err == nil {
			err = failed.get()
		}
	}
	if err != nil {
		return errors.Join(t.fail("write", err), t.abort(ctx))
	}
	if err := t.client.EndTransaction(ctx, kgo.TryCommit); err != nil {
		return t.fail("commit", unclear{err})
	}
	return nil
}

// abort ends a transaction of which nothing shall be seen. Where even that fails, the next holder of the id does it, or
// the broker when its time is over.
func (t *Transactor) abort(ctx context.Context) error {
	if t.broken != nil {
		return nil
	}
	// The caller's context may be what ended the writing.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTime)
	defer cancel()
	if err := t.client.AbortBufferedRecords(ctx); err != nil {
		return t.fail("abort", unclear{err})
	}
	if err := t.client.EndTransaction(ctx, kgo.TryAbort); err != nil {
		return t.fail("abort", unclear{err})
	}
	return nil
}

// abortTime bounds the end of a transaction that is given up.
const abortTime = 10 * time.Second

// unclear is an end of a transaction that may have happened.
type unclear struct{ error }

func (u unclear) Unwrap() error { return u.error }

// fail names an error, and notes one after which the transactor is of no use.
func (t *Transactor) fail(op string, err error) error {
	op = op + " transaction of " + t.id
	var end unclear
	switch {
	case fenced(err):
		t.broken = &Error{Code: CodeFenced, Op: op, Partition: NoPartition, Err: err}
		return t.broken
	case errors.As(err, &end):
		t.broken = &Error{Code: CodeOutcomeUnknown, Op: op, Partition: NoPartition, Err: err}
		return t.broken
	}
	return classify(op, "", NoPartition, err)
}

// Close ends the connections. An open transaction stays the broker's, or the next holder's, to end.
func (t *Transactor) Close() { t.client.Close() }

func record(r TransactionRecord) *kgo.Record {
	out := &kgo.Record{Topic: r.Topic, Partition: int32(r.Partition), Key: r.Message.Key, Value: r.Message.Value}
	for _, h := range r.Message.Headers {
		out.Headers = append(out.Headers, kgo.RecordHeader{Key: h.Key, Value: h.Value})
	}
	if r.Message.TimestampMs != 0 {
		out.Timestamp = time.UnixMilli(r.Message.TimestampMs)
	}
	return out
}

// first keeps the first error that many report.
type first struct {
	mu  sync.Mutex
	err error
}

func (f *first) set(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = err
	}
}

func (f *first) get() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// Newest returns, for each of the keys, the value of its newest committed record in a partition; a key without one, or
// with a tombstone, is left out.
//
// It reads to what was the end of the partition when it was called, not only to the last stable offset. Another
// transactional id may have a transaction open there that began before a record that is asked for:
//
//	a begins a transaction · b writes marker 7 and commits · a dies · b starts again and reads the marker
//
// Up to the last stable offset b would find no marker 7 and write everything again. So it waits until a's transaction is ended, by
// who takes over its id, or by the broker after TransactionTimeout.
func (c *Client) Newest(ctx context.Context, topic string, p ident.Partition, keys ...string) (map[string][]byte, error) {
	const op = "read the newest records"
	starts, err := c.Starts(ctx, topic)
	if err != nil {
		return nil, err
	}
	ends, err := c.Ends(ctx, topic)
	if err != nil {
		return nil, err
	}
	end, known := ends[p]
	if !known {
		return nil, &Error{Code: CodeTopicUnknown, Op: op, Topic: topic, Partition: p}
	}
	out := map[string][]byte{}
	if starts[p] >= end {
		return out, nil
	}
	from := map[string]map[int32]kgo.Offset{topic: {int32(p): kgo.NewOffset().At(int64(starts[p]))}}
	reader, err := kgo.NewClient(append(slices.Clone(c.options),
		kgo.ConsumePartitions(from), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords())...)
	if err != nil {
		return nil, classify(op, topic, p, err)
	}
	defer reader.Close()
	for next := starts[p]; next < end; {
		fetches := reader.PollFetches(ctx)
		if err := fetches.Err0(); err != nil {
			return nil, classify(op, topic, p, err)
		}
		for _, e := range fetches.Errors() {
			if err := classify(op, topic, p, e.Err); !Transient(err) {
				return nil, err
			}
		}
		fetches.EachRecord(func(r *kgo.Record) {
			next = ident.LastOffset(r.Offset).Next()
			if r.Attrs.IsControl() || next > end || !slices.Contains(keys, string(r.Key)) {
				return
			}
			if out[string(r.Key)] = r.Value; r.Value == nil {
				delete(out, string(r.Key))
			}
		})
	}
	return out, nil
}

// String names the transactor.
func (t *Transactor) String() string { return fmt.Sprintf("transactional id %s", t.id) }
