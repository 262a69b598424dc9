package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pondage/pondage/internal/connect"
	"github.com/pondage/pondage/internal/kafka"
	"github.com/pondage/pondage/internal/problem"
	"github.com/pondage/pondage/internal/spec"
	"github.com/pondage/pondage/services/worker/internal/task"
)

// Sources finds sources by name (*catalog.Catalog).
type Sources interface {
	Source(ctx context.Context, name string) (*spec.Source, error)
}

// Brokers reaches the Kafka that a source means (*connect.Hub).
type Brokers interface {
	Kafka(c spec.Connection) (*connect.Kafka, error)
}

// Service takes records. Make it with New.
type Service struct {
	sources  Sources
	brokers  Brokers
	patience time.Duration
	requests chan struct{} // a place for each that may run at once

	mu      sync.Mutex
	writers map[place]*writer
}

// place is a topic in a Kafka.
type place struct {
	kafka *connect.Kafka
	topic string
}

const (
	// maxRequests bounds the requests that run at once; with one record each in memory, also what they hold.
	maxRequests = 256
	// defaultPatience is how long a request waits for room in a queue, and for Kafka's last answer, before its client is
	// told: longer than a change of leaders, well below the operation's own limit.
	defaultPatience = 10 * time.Second
	// retryAfter is when a client may try again: about what a full queue or a change of leaders takes.
	retryAfter = 2 * time.Second
)

// New returns a service that writes through the brokers' producers.
func New(s Sources, b Brokers) *Service {
	return &Service{sources: s, brokers: b, patience: defaultPatience, requests: make(chan struct{}, maxRequests), writers: map[place]*writer{}}
}

// Close ends the queues. Requests must have ended before.
func (s *Service) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.writers {
		w.close()
	}
	clear(s.writers)
}

// Request is one ingest request.
type Request struct {
	Source string
	Form   Form
	// Key is the Idempotency-Key; "" when there is none.
	Key string
	// Body is read to its end, or up to the first error.
	Body io.Reader
}

// Lines takes a body of lines; see Take.
func (s *Service) Lines(ctx context.Context, source, key string, body io.Reader) (int64, error) {
	return s.Take(ctx, Request{Source: source, Form: Lines, Key: key, Body: body})
}

// Array takes a body that is one JSON array; see Take.
func (s *Service) Array(ctx context.Context, source, key string, body io.Reader) (int64, error) {
	return s.Take(ctx, Request{Source: source, Form: Array, Key: key, Body: body})
}

// Take writes the records of the request and returns how many when Kafka has all of them.
//
// Errors: *problem.Error with source_unknown and the like; what Body's Read returns; record_too_large and malformed_json,
// which name the record; overloaded (429) while the queues are full, broker_unreachable and the like (503) while Kafka
// does not answer, disk_full (507) while it cannot write. After any of them Kafka may have some of the records; the detail says how many it surely has.
func (s *Service) Take(ctx context.Context, r Request) (accepted int64, err error) {
	select {
	case s.requests <- struct{}{}:
		defer func() { <-s.requests }()
	default:
		return 0, busy("%d ingest requests are running", maxRequests)
	}
	src, err := s.sources.Source(ctx, r.Source)
	if err != nil {
		return 0, err
	}
	w, err := s.writer(src)
	if err != nil {
		return 0, err
	}
	n, err := w.partitions(ctx)
	if full := w.failing(); err == nil && kafka.CodeOf(full) == kafka.CodeDiskFull {
		err = full // what waits already finds out when there is room again; more of it would only wait, too
	}
	if err != nil {
		return 0, advised(kafkaProblem(err))
	}
	run := &taking{service: s, writer: w, partitions: n, key: r.Key, finder: newKeyFinder(src.Table), receipt: newReceipt()}
	if err := run.all(ctx, newCutter(r.Form, r.Body)); err != nil {
		return 0, run.explain(err)
	}
	return run.count, nil
}

// writer returns the writer of the source's topic.
func (s *Service) writer(src *spec.Source) (*writer, error) {
	k, err := s.brokers.Kafka(src.Kafka.Connection)
	if err != nil {
		p := problem.Wrap(err, problem.CodeKafkaUnreachable, "the Kafka of source %s cannot be used here: %v", src.Name, err)
		p.RetryAfter = retryAfter
		return nil, p
	}
	at := place{k, src.Kafka.Topic}
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.writers[at]
	if w == nil {
		w = newWriter(k, src.Kafka.Topic)
		s.writers[at] = w
	}
	return w, nil
}

// taking is one request under way.
type taking struct {
	service    *Service
	writer     *writer
	partitions int
	key        string
	finder     keyFinder
	receipt    *receipt
	count      int64  // records handed over
	run        uint32 // partition of the present run of keyless records
	ik         []byte // scratch
}

// all hands every record over, then waits for Kafka.
func (t *taking) all(ctx context.Context, records cutter) error {
	for {
		record, err := records.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if err := t.hand(ctx, record); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, t.service.patience)
	defer cancel()
	return t.receipt.wait(ctx)
}

// hand gives a record to its queue, waiting for room.
func (t *taking) hand(ctx context.Context, record []byte) error {
	// Refused before, by an answer: the rest would only make the repeat longer.
	if _, err := t.receipt.taken(); err != nil {
		return err
	}
	m := kafka.Message{Key: t.finder.find(record), Value: record, Done: t.receipt.answer}
	if m.Value == nil {
		m.Value = []byte{} // an empty record is no tombstone
	}
	if t.key != "" {
		t.ik = strconv.AppendInt(append(append(t.ik[:0], t.key...), '/'), t.count, 10)
		m.Headers = []kafka.Header{{Key: task.HeaderIngestKey, Value: t.ik}}
	}
	q, err := t.writer.queue(ctx, t.partition(m.Key))
	if err != nil {
		return err
	}
	t.receipt.handed()
	if err := t.push(ctx, q, m); err != nil {
		t.receipt.answer(kafka.Result{Err: err})
		return err
	}
	t.count++
	return nil
}

// push appends to the queue. Only a full one costs a timer.
func (t *taking) push(ctx context.Context, q *kafka.Queue, m kafka.Message) error {
	if !q.Full() {
		return q.Push(m)
	}
	ctx, cancel := context.WithTimeout(ctx, t.service.patience)
	defer cancel()
	return q.Send(ctx, m)
}

// partition chooses the partition of the record that comes next.
func (t *taking) partition(key []byte) int {
	switch {
	case key != nil:
		return partitionOf(key, t.partitions)
	case t.key != "":
		return partitionOf(t.ik, t.partitions)
	}
	if t.count%runLength == 0 {
		t.run = t.writer.turn.Add(1)
	}
	return int(t.run % uint32(t.partitions))
}

// explain gives an error its form for the client: which record it concerns, and what Kafka has.
func (t *taking) explain(err error) error {
	accepted, _ := t.receipt.taken()
	if errors.Is(err, context.DeadlineExceeded) {
		if cause := t.writer.failing(); cause != nil {
			err = cause
		} else {
			err = busy("the queue of topic %s is full", t.writer.topic)
		}
	}
	err = kafkaProblem(err)
	var p *problem.Error
	if !errors.As(err, &p) {
		return err
	}
	out := *p
	out.Detail = fmt.Sprintf("at record %d: %s; Kafka has at least %d of the records before it", t.count+1, p.Detail, accepted)
	if out.Hint == "" {
		out.Hint = sendAgain(out.Code, accepted)
	}
	return &out
}

// advised adds what to do to a refusal of the whole request.
func advised(err error) error {
	var p *problem.Error
	if errors.As(err, &p) && p.Hint == "" {
		p.Hint = sendAgain(p.Code, 0)
	}
	return err
}

// sendAgain is what to do about a code, and how to repeat a request of which Kafka has, or may have, a part.
func sendAgain(code problem.Code, accepted int64) string {
	entry, _ := problem.Lookup(code)
	if accepted == 0 && !entry.Retryable {
		return entry.Remedy
	}
	return strings.TrimSpace(entry.Remedy + " Send the whole request again with the same Idempotency-Key: the streams then drop the records that Kafka has already.")
}

// kafkaProblem gives an error of Kafka its form for the client; any other is returned as it is.
func kafkaProblem(err error) error {
	var k *kafka.Error
	if !errors.As(err, &k) {
		return err
	}
	code := problem.Code(k.Code)
	if k.Code == kafka.CodeTopicRecreated || k.Code == kafka.CodeDiscarded {
		code = problem.CodeBrokerNotReady // the next attempt meets the new topic
	}
	detail := string(k.Code)
	if k.Detail != "" {
		detail = k.Detail
	}
	where := "Kafka"
	if k.Topic != "" {
		where = "topic " + k.Topic
	}
	p := problem.Wrap(err, code, "%s: %s", where, detail)
	if entry, ok := problem.Lookup(code); ok && entry.Retryable {
		p.RetryAfter = retryAfter
	}
	return p
}

func busy(format string, args ...any) error {
	p := problem.New(problem.CodeOverloaded, format, args...)
	p.RetryAfter = retryAfter
	return p
}
