package offsets

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/kafka"
	"github.com/pondage/pondage/internal/manifest"
	"github.com/pondage/pondage/internal/pgtable"
)

// brokers note what is published; their next answers are errors.
type brokers struct {
	said   []string
	errs   []error // of the next calls
	opened int
	closed int
	stale  error // of Current
}

func (b *brokers) err() (err error) {
	if len(b.errs) > 0 {
		err, b.errs = b.errs[0], b.errs[1:]
	}
	return err
}

func (b *brokers) Raise(_ context.Context, to kafka.Offsets) error {
	if err := b.err(); err != nil {
		return err
	}
	b.said = append(b.said, fmt.Sprint(to))
	return nil
}

func (b *brokers) Close() { b.closed++ }

func (b *brokers) publisher() *Publisher {
	return New(Config{
		Open: func(_ context.Context, topic string) (Group, error) {
			if topic != "in" {
				return nil, fmt.Errorf("topic %s", topic)
			}
			if err := b.err(); err != nil {
				return nil, err
			}
			b.opened++
			return b, nil
		},
		Current: func(context.Context) error { return b.stale },
		Log:     slog.New(slog.DiscardHandler),
	})
}

func at(next ident.NextOffset) []manifest.Partition {
	return []manifest.Partition{{Topic: "in", Partition: 3, Next: next}}
}

// run runs p in the test's bubble.
func run(t *testing.T, p *Publisher) (over <-chan struct{}) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); p.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return done
}

func TestPositionsArePublishedAndRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &brokers{errs: []error{errors.New("away"), nil, errors.New("away")}} // the first opening, and the first publishing
		p := b.publisher()
		run(t, p)
		p.Publish(nil) // a source task without partitions has nothing to say
		p.Publish(at(10))
		<-time.After(pauseMost)
		p.Publish(at(20))
		synctest.Wait()
		if got := fmt.Sprint(b.said); got != "[map[3:10] map[3:20]]" || b.opened != 2 || b.closed != 1 {
			t.Errorf("said %s, opened %d, closed %d", got, b.opened, b.closed)
		}
	})
}

func TestOnlyTheNewestIsPublishedWhenBrokersAreBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &brokers{errs: []error{errors.New("away")}}
		p := b.publisher()
		run(t, p)
		p.Publish(at(10))
		synctest.Wait()
		p.Publish(at(20))
		p.Publish(at(30))
		<-time.After(pauseMost)
		if got := fmt.Sprint(b.said); got != "[map[3:30]]" {
			t.Errorf("said %s", got)
		}
	})
}

// TestT29_WhoHasBeenReplacedTakesNothingOver: it is fenced, asks, and ends instead of fencing the stage in its place.
func TestT29_WhoHasBeenReplacedTakesNothingOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &brokers{}
		p := b.publisher()
		over := run(t, p)
		p.Publish(at(10))
		synctest.Wait()
		b.errs, b.stale = []error{&kafka.Error{Code: kafka.CodeFenced}}, fmt.Errorf("stage 3 runs: %w", pgtable.ErrFenced)
		p.Publish(at(20))
		<-over
		if got := fmt.Sprint(b.said); got != "[map[3:10]]" || b.opened != 1 || b.closed != 1 {
			t.Errorf("said %s, opened %d, closed %d", got, b.opened, b.closed)
		}
	})
}
