package sink

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/pondage/pondage/internal/block"
)

// room is memory for so many batches.
type room struct {
	mu      sync.Mutex
	free    int
	changed chan struct{}
}

func newRoom(free int) *room { return &room{free: free, changed: make(chan struct{})} }

func (r *room) TryTake(int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.free == 0 {
		return false
	}
	r.free--
	return true
}

func (r *room) Changed() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}

func (r *room) Give(int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.free++
	close(r.changed)
	r.changed = make(chan struct{})
}

// giving is a write that gives the memory of what it has written back, as outputs do.
func giving(m Memory, write func(context.Context, []*block.Batch) error) func(context.Context, []*block.Batch) error {
	return func(ctx context.Context, batches []*block.Batch) error {
		if err := write(ctx, batches); err != nil {
			return err
		}
		for range batches {
			m.Give(0)
		}
		return nil
	}
}

func TestResultsWaitForTheNodesMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, m := &recorder{}, newRoom(3)
		open := make(chan struct{})
		p := startPump("test", env(m), nil, giving(m, func(ctx context.Context, b []*block.Batch) error {
			<-open
			return r.write(ctx, b)
		}), isStop)
		defer p.Close()
		written := make(chan int)
		go func() {
			for n := range int64(50) {
				if err := p.Write(t.Context(), batch(n)); err != nil {
					t.Error(err)
				}
				written <- int(n)
			}
			close(written)
		}()
		for range 3 {
			<-written
		}
		synctest.Wait()
		select {
		case n := <-written:
			t.Fatalf("batch %d was taken without memory", n)
		default:
		}
		close(open)
		for range written {
		}
		if err := p.Flush(t.Context()); err != nil || len(r.got) != 50 {
			t.Fatalf("flush: %v, wrote %d", err, len(r.got))
		}
		if m.free != 3 {
			t.Errorf("%d places are free at the end", m.free)
		}
	})
}

// TestWaitingForMemoryEnds: with the context of the task, and with the output itself.
func TestWaitingForMemoryEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := startPump("test", env(newRoom(0)), nil, (&recorder{}).write, isStop)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := p.Write(ctx, batch(1)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		p.Close()
		if err := p.Write(t.Context(), batch(1)); !errors.Is(err, ErrClosed) {
			t.Errorf("after the end: %v", err)
		}
	})
}

func TestI17_AWriteBelongsToTheTracesOfItsRows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		spans := tracetest.NewInMemoryExporter()
		tracer := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)).Tracer("test")
		e := env(unlimited{})
		e.Tracer = tracer
		open := make(chan struct{})
		p := startPump("test", e, nil, func(context.Context, []*block.Batch) error { <-open; return nil }, isStop)
		defer p.Close()
		if err := p.Write(t.Context(), batch(0)); err != nil { // its write is under way; the others are gathered
			t.Fatal(err)
		}
		synctest.Wait()
		for n := range int64(3) {
			ctx := t.Context()
			if n > 0 {
				process, span := tracer.Start(ctx, "process")
				ctx = process
				defer span.End()
			}
			if err := p.Write(ctx, batch(n)); err != nil {
				t.Fatal(err)
			}
		}
		close(open)
		if err := p.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := spans.GetSpans()
		if len(got) != 1 || got[0].Name != "write test" || !got[0].Parent.IsValid() || len(got[0].Links) != 1 {
			t.Errorf("spans %+v: want one write, within the first trace and linked to the second", got)
		}
	})
}

func TestT33_AStreamThatHangsLeavesConnectionsToOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(4)
		hang, inside := make(chan struct{}), 0
		var mu sync.Mutex
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				err := g.pass(t.Context(), func() error {
					mu.Lock()
					inside++
					mu.Unlock()
					<-hang
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if inside != 2 {
			t.Errorf("%d hold a connection", inside)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := g.pass(ctx, func() error { return nil }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		close(hang)
		all.Wait()
	})
}
