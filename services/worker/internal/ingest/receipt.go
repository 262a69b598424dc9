package ingest

import (
	"context"
	"sync"

	"github.com/pondage/pondage/internal/kafka"
)

// receipt counts what became of the records of one request. The zero value is not ready: use newReceipt.
type receipt struct {
	mu       sync.Mutex
	open     int64 // handed over, not answered
	accepted int64
	err      error // the first that was not taken
	idle     chan struct{}
}

func newReceipt() *receipt { return &receipt{idle: make(chan struct{}, 1)} }

// handed notes a record before it is handed over.
func (r *receipt) handed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open++
}

// answer takes Kafka's answer to one record. It is called by the producer and does not block.
func (r *receipt) answer(a kafka.Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open--
	switch {
	case a.Err == nil:
		r.accepted++
	case r.err == nil:
		r.err = a.Err
	}
	if r.open == 0 {
		select {
		case r.idle <- struct{}{}:
		default:
		}
	}
}

// taken returns how many records Kafka has, and the first refusal.
func (r *receipt) taken() (int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.accepted, r.err
}

// wait returns when every record that was handed over is answered. Nothing may be handed over meanwhile.
func (r *receipt) wait(ctx context.Context) error {
	for {
		r.mu.Lock()
		open, err := r.open, r.err
		r.mu.Unlock()
		if open == 0 || err != nil {
			return err
		}
		select {
		case <-r.idle:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
