package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/pondage/pondage/internal/api/coordinator"
	"github.com/pondage/pondage/internal/batch/landed"
	"github.com/pondage/pondage/internal/cli/client"
	"github.com/pondage/pondage/internal/cli/ingest"
	"github.com/pondage/pondage/internal/config"
	"github.com/pondage/pondage/internal/conformance/vectors"
	"github.com/pondage/pondage/internal/devstack/scratch"
	"github.com/pondage/pondage/internal/kafka"
)

// Stack runs cases through a running Pondage: REST, Kafka, tasks, results.
type Stack struct {
	stack  *scratch.Stack
	api    *client.Client
	kafka  *kafka.Client
	number int // of the case, for names
}

const (
	// settleWithin is how long a case may take from its last record to its answer.
	settleWithin = 20 * time.Second
	// askEvery is how often the stream is asked.
	askEvery = 50 * time.Millisecond
	// ingestPatience is how long the records are offered.
	ingestPatience = 10 * time.Second
)

// NewStack starts a stack.
func NewStack(ctx context.Context) (_ *Stack, err error) {
	s := &Stack{}
	defer func() {
		if err != nil {
			s.Close() //nolint:errcheck // the first error says what is wrong
		}
	}()
	if s.stack, err = scratch.Start(ctx, "conformance", nil); err != nil {
		return nil, err
	}
	if s.api, err = client.New(config.Client{API: s.stack.URL()}); err != nil {
		return nil, err
	}
	s.kafka, err = kafka.Open(kafka.Config{Brokers: s.stack.Brokers()})
	return s, err
}

// Close ends the stack.
func (s *Stack) Close() error {
	if s.kafka != nil {
		s.kafka.Close()
	}
	if s.stack == nil {
		return nil
	}
	return s.stack.Stop()
}

// Run implements vectors.Engine.
func (s *Stack) Run(ctx context.Context, c *vectors.Case) ([]vectors.Attempt, error) {
	s.number++
	name := fmt.Sprintf("case_%d", s.number)
	specs, err := c.Specs(name)
	if err != nil {
		return nil, err
	}
	p, err := specs.Plan(vectors.Env())
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, settleWithin, fmt.Errorf("not settled within %s", settleWithin))
	defer cancel()
	if err := s.declare(ctx, name, specs); err != nil {
		return nil, err
	}
	defer s.drop(context.WithoutCancel(ctx), name)
	if err := s.send(ctx, name, c); err != nil {
		return nil, err
	}
	if err := s.settle(ctx, name, c); err != nil {
		return nil, err
	}
	// What is closed is on its way to the sink. An answer that stays wrong until the time is over is wrong.
	attempt := vectors.Attempt{How: "through the stack", Result: p.Result}
	for {
		attempt.Rows = nil
		err := landed.Results(ctx, s.api.HTTP, s.stack.URL(), name, func(row []byte) error {
			attempt.Rows = append(attempt.Rows, slices.Clone(row))
			return nil
		})
		if err != nil {
			return nil, err
		}
		difference, err := c.Compare(p.Result, attempt.Rows)
		if err != nil || difference == "" || !wait(ctx) {
			return []vectors.Attempt{attempt}, err
		}
	}
}

// wait lets a moment pass; false when there is no more time.
func wait(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(askEvery):
		return true
	}
}

const contentJSON = "application/json"

func (s *Stack) declare(ctx context.Context, name string, specs vectors.Specs) error {
	// One partition: the vectors' order of arrival is that of one.
	if _, err := s.kafka.CreateTopic(ctx, kafka.TopicSpec{Name: name, Partitions: 1}); err != nil {
		return err
	}
	source, err := json.Marshal(specs.Source)
	if err != nil {
		return err
	}
	stream, err := json.Marshal(specs.Stream)
	if err != nil {
		return err
	}
	if _, _, err := client.Read(s.api.CreateSourceWithBody(ctx, &coordinator.CreateSourceParams{}, contentJSON, bytes.NewReader(source))); err != nil {
		return fmt.Errorf("create the source: %w", err)
	}
	if _, _, err := client.Read(s.api.CreateStreamWithBody(ctx, &coordinator.CreateStreamParams{}, contentJSON, bytes.NewReader(stream))); err != nil {
		return fmt.Errorf("create the stream: %w", err)
	}
	return nil
}

func (s *Stack) drop(ctx context.Context, name string) {
	// Best effort: the stack is thrown away, and the next case has names of its own.
	_, _, _ = client.Read(s.api.DeleteStream(ctx, name, &coordinator.DeleteStreamParams{}))
}

func (s *Stack) send(ctx context.Context, name string, c *vectors.Case) error {
	lines, err := c.Lines()
	if err != nil {
		return err
	}
	batches, err := ingest.NewBatches(bytes.NewReader(append(bytes.Join(lines, []byte{'\n'}), '\n')), max(len(lines), 1))
	if err != nil {
		return err
	}
	_, err = ingest.Send(ctx, batches, ingest.Config{
		HTTP: s.api.HTTP, Key: client.NewKey(), Patience: ingestPatience,
		Worker: func(ctx context.Context) (string, error) { return s.api.IngestURL(ctx, name) },
	})
	return err
}

// settle waits until every record is counted and the last level has heard the watermark behind the last of them.
func (s *Stack) settle(ctx context.Context, name string, c *vectors.Case) error {
	if len(c.Input) == 0 {
		return nil
	}
	highest := slices.MaxFunc(c.Input, func(a, b vectors.Record) int { return int(a.TimeMs - b.TimeMs) }).TimeMs
	want := time.UnixMilli(highest - c.Options.WatermarkMs)
	for {
		stream, _, err := client.Decode[coordinator.Stream](s.api.GetStream(ctx, name))
		if err != nil {
			return err
		}
		if int(stream.Counters.Accepted) == len(c.Input) && stream.Watermark != nil && !stream.Watermark.Before(want) {
			return nil
		}
		if stream.State == "failed" {
			return fmt.Errorf("the stream has failed: %+v", stream.Error)
		}
		if !wait(ctx) {
			return fmt.Errorf("%w: stream is %s, accepted %d of %d, watermark %v, want %v", context.Cause(ctx), stream.State, stream.Counters.Accepted, len(c.Input), stream.Watermark, want)
		}
	}
}
