package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/pondage/pondage/internal/cli/client"
)

// Config says how records are sent.
type Config struct {
	// HTTP makes the requests.
	HTTP *http.Client
	// Worker returns the address of the source's ingest operation at a worker. It is asked at the beginning and after
	// every failure: the worker may be another one.
	Worker func(context.Context) (string, error)
	// Key begins the idempotency keys of the batches; nobody else uses it.
	Key string
	// Rate bounds the records a second; 0 is no bound.
	Rate float64
	// Patience is how long a batch is repeated without success.
	Patience time.Duration
	// Progress is told after each batch and each failure; it may be nil.
	Progress func(Progress)
}

// Progress is what was done so far.
type Progress struct {
	Records int64 // that Kafka has
	Bytes   int64 // of these, unpacked
	Batches int64
	Retries int64
	Elapsed time.Duration
	Waiting error // why the last attempt failed; nil after a success
}

// The pause before a batch is repeated where the worker proposes none: it doubles, between these bounds.
const (
	firstPause   = 100 * time.Millisecond
	longestPause = 5 * time.Second
)

// Send sends all batches and returns what was done, also with an error: then Progress.Records says how far it came.
func Send(ctx context.Context, batches *Batches, c Config) (Progress, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := sender{Config: c, began: time.Now()}
	for prepared := range prepare(ctx, batches) {
		if prepared.err != nil {
			return s.done, unreadable(s.done.Records+1, prepared.err)
		}
		if err := s.pace(ctx); err != nil {
			return s.done, err
		}
		if err := s.deliver(ctx, prepared.batch); err != nil {
			return s.done, err
		}
	}
	return s.done, ctx.Err()
}

// unreadable tells where an input cannot be read on, and of one that was cut what is wrong with it.
func unreadable(record int64, err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("record %d: the input ends too early, it is not whole: %w", record, err)
	}
	return fmt.Errorf("record %d: %w", record, err)
}

type prepared struct {
	batch Batch
	err   error
}

// prepare cuts batches in a goroutine of its own until the end, an error or the end of the context.
func prepare(ctx context.Context, batches *Batches) <-chan prepared {
	out := make(chan prepared)
	go func() {
		defer close(out)
		for {
			batch, err := batches.Next()
			if errors.Is(err, io.EOF) {
				return
			}
			select {
			case out <- prepared{batch, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return out
}

type sender struct {
	Config
	began time.Time
	done  Progress
	at    string // the worker; "" before it is known
}

// pace waits until the records sent so far are no more than the rate allows.
func (s *sender) pace(ctx context.Context) error {
	if s.Rate <= 0 {
		return ctx.Err()
	}
	due := s.began.Add(time.Duration(float64(s.done.Records) / s.Rate * float64(time.Second)))
	return sleep(ctx, time.Until(due))
}

// deliver sends a batch until a worker has it, its patience ends, or the answer is one that repeating cannot cure.
func (s *sender) deliver(ctx context.Context, b Batch) error {
	key := s.Key + "-" + strconv.FormatInt(s.done.Batches+1, 10)
	deadline := time.Now().Add(s.Patience)
	pause := firstPause
	for {
		proposed, err := s.attempt(ctx, b, key)
		if err == nil {
			s.done.Records += int64(b.Records)
			s.done.Bytes += int64(len(b.Body))
			s.done.Batches++
			s.tell(nil)
			return nil
		}
		var answered *client.Error
		if ctx.Err() != nil || !errors.As(err, &answered) || !answered.Doc.Retryable {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("given up after %s, with %d records sent: %w", s.Patience, s.done.Records, err)
		}
		s.done.Retries++
		s.tell(err)
		if err := sleep(ctx, max(proposed, pause)); err != nil {
			return err
		}
		pause = min(pause*2, longestPause)
	}
}

func (s *sender) tell(waiting error) {
	s.done.Elapsed, s.done.Waiting = time.Since(s.began), waiting
	if s.Progress != nil {
		s.Progress(s.done)
	}
}

// attempt sends a batch once. After a failure it returns the pause that the worker proposes, and forgets the worker.
func (s *sender) attempt(ctx context.Context, b Batch, key string) (pause time.Duration, err error) {
	if s.at == "" {
		if s.at, err = s.Worker(ctx); err != nil {
			return 0, err
		}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.at, bytes.NewReader(b.Body))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", "application/x-ndjson")
	request.Header.Set("Idempotency-Key", key)
	answer, err := s.HTTP.Do(request)
	if err == nil {
		pause, _ = client.RetryAfter(answer)
	}
	if _, _, err = client.Read(answer, err); err != nil {
		s.at = ""
		return pause, err
	}
	return 0, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
