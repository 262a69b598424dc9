package pgstore

import (
	"context"
	"time"
)

// relisten is the wait before LISTEN is tried again; polling carries the watcher meanwhile.
const relisten = time.Second

// Watch wakes its reader after commits, by LISTEN/NOTIFY.
func (s *Store) Watch(ctx context.Context) <-chan struct{} {
	woken := make(chan struct{}, 1)
	go func() {
		defer close(woken)
		for ctx.Err() == nil {
			s.listen(ctx, woken)
			select {
			case <-ctx.Done():
			case <-time.After(relisten):
			}
		}
	}()
	return woken
}

// listen passes notifications on until the session breaks or ctx ends. A wake-up that nobody has taken yet stands for
// all later ones. It wakes once at its start, for what was missed before.
func (s *Store) listen(ctx context.Context, woken chan<- struct{}) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, "LISTEN pondage_change"); err != nil {
		return
	}
	// A released connection must not go on listening for somebody else.
	defer func() { _ = conn.Conn().Close(context.WithoutCancel(ctx)) }()
	for {
		select {
		case woken <- struct{}{}:
		default:
		}
		if _, err := conn.Conn().WaitForNotification(ctx); err != nil {
			return
		}
	}
}
