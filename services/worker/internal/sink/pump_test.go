package sink

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/metric/noop"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/pondage/pondage/internal/block"
)

func batch(n int64) *block.Batch {
	b := block.NewBatch(block.Schema{{Name: "n", Type: block.Int64}}, 1)
	b.Cols[0].AppendInt(n)
	return b
}

var errStop = errors.New("stop")

// unlimited is memory without end.
type unlimited struct{}

func (unlimited) TryTake(int64) bool       { return true }
func (unlimited) Changed() <-chan struct{} { return nil }
func (unlimited) Give(int64)               {}

func env(m Memory) Env {
	metrics, err := NewMetrics(noop.NewMeterProvider())
	if err != nil {
		panic(err)
	}
	return Env{Stream: "s", Memory: m, Metrics: metrics, Tracer: tracenoop.NewTracerProvider().Tracer("test")}
}

// recorder is an output of a test: it fails while fails > 0, then records what it is given.
type recorder struct {
	fails int
	err   error
	got   []int64
}

func (r *recorder) write(_ context.Context, batches []*block.Batch) error {
	if r.fails > 0 {
		r.fails--
		return r.err
	}
	for _, b := range batches {
		r.got = append(r.got, b.Cols[0].Int...)
	}
	return nil
}

func isStop(err error) bool { return errors.Is(err, errStop) }

func TestResultsAreWrittenInOrderAndFlushWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		p := startPump("test", env(unlimited{}), nil, r.write, isStop)
		defer p.Close()
		var want []int64
		for n := range int64(50) {
			want = append(want, n)
			if err := p.Write(t.Context(), batch(n)); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(r.got) != fmt.Sprint(want) {
			t.Fatalf("got %v", r.got)
		}
	})
}

func TestAnOutputThatIsDownIsRetriedAndShown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{fails: 3, err: errors.New("connection refused")}
		p := startPump("test", env(unlimited{}), nil, r.write, isStop)
		defer p.Close()
		if err := p.Write(t.Context(), batch(1)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if s := p.Status(); s.Problem != "connection refused" || s.Kind != "test" {
			t.Fatalf("status while down: %+v", s)
		}
		if err := p.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if s := p.Status(); s.Problem != "" || len(r.got) != 1 {
			t.Fatalf("status %+v, wrote %v", s, r.got)
		}
	})
}

func TestT32_AFullQueueHoldsTheTaskAndIsNoError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const slow = time.Second
		r := &recorder{}
		p := startPump("test", env(unlimited{}), nil, func(ctx context.Context, b []*block.Batch) error {
			time.Sleep(slow)
			return r.write(ctx, b)
		}, isStop)
		defer p.Close()
		for n := range int64(200) {
			if err := p.Write(t.Context(), batch(n)); err != nil {
				t.Fatal(err)
			}
			if s := p.Status(); s.Pending > queueBatches {
				t.Fatalf("%d batches queued", s.Pending)
			}
		}
		if err := p.Flush(t.Context()); err != nil || len(r.got) != 200 {
			t.Fatalf("flush: %v, wrote %d", err, len(r.got))
		}
	})
}

func TestAStopEndsTheOutputWithItsError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{fails: 1, err: errStop}
		p := startPump("test", env(unlimited{}), nil, r.write, isStop)
		defer p.Close()
		if err := p.Write(t.Context(), batch(1)); err != nil {
			t.Fatal(err)
		}
		if err := p.Flush(t.Context()); !errors.Is(err, errStop) {
			t.Fatalf("flush: %v", err)
		}
		if err := p.Write(t.Context(), batch(2)); !errors.Is(err, errStop) {
			t.Fatalf("write: %v", err)
		}
	})
}

func TestT33_AHangingOutputEndsWhenItIsClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := startPump("test", env(unlimited{}), nil, func(ctx context.Context, _ []*block.Batch) error { <-ctx.Done(); return ctx.Err() }, isStop)
		if err := p.Write(t.Context(), batch(1)); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := p.Flush(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("flush: %v", err)
		}
		p.Close()
		if err := p.Write(t.Context(), batch(2)); !errors.Is(err, ErrClosed) {
			t.Fatalf("write after close: %v", err)
		}
	})
}

// startPump returns a running pump of no output.
func startPump(kind string, env Env, open func(context.Context) error, write func(context.Context, []*block.Batch) error, stops func(error) bool) *pump {
	p := newPump(kind, env, open, write, stops)
	p.start()
	return p
}
