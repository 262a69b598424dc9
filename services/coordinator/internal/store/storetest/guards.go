package storetest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/pondage/pondage/services/coordinator/internal/store"
	"github.com/pondage/pondage/services/coordinator/internal/store/lease"
)

var errMine = errors.New("mine")

func atomic(t *testing.T, m Metastore) {
	made := insert(t, m, "hourly")
	err := try(t, m, func(ctx context.Context, tx store.Tx) error {
		s, err := tx.LockStream(ctx, made.ID)
		if err != nil {
			return err
		}
		s.Generation = 9
		if s, err = tx.UpdateStream(ctx, s); err != nil {
			return err
		}
		seen, err := tx.Stream(ctx, "hourly") // a transaction sees its own writes
		equal(t, seen.Generation, s.Generation)
		return errors.Join(err, errMine)
	})
	wantErr(t, err, errMine)
	view(t, m, func(ctx context.Context, r store.Reader) error {
		s, err := r.Stream(ctx, "hourly")
		equal(t, s, made)
		return err
	})
}

func stale(t *testing.T, m Metastore) {
	ctx := background(t)
	seen, err := m.Lease(ctx)
	if err != nil {
		t.Fatal(err)
	}
	term, err := m.TakeOver(ctx, "a", seen)
	if err != nil {
		t.Fatal(err)
	}
	token := func(name string) func(store.Tx) error {
		return func(tx store.Tx) error {
			equal(t, tx.Term(), term)
			return tx.InsertToken(ctx, store.Token{Name: name, Hash: sha256.Sum256([]byte(name)), Role: "admin"})
		}
	}
	if err := m.Update(ctx, term, token("one")); err != nil {
		t.Fatal(err)
	}
	wantErr(t, m.Update(ctx, term-1, token("two")), store.ErrStaleTerm)
	wantErr(t, m.Update(ctx, term+1, token("three")), store.ErrStaleTerm)
	if err := m.Update(ctx, store.AnyTerm, token("four")); err != nil {
		t.Fatal(err)
	}
	view(t, m, func(ctx context.Context, r store.Reader) error {
		all, err := r.Tokens(ctx)
		equal(t, []string{all[0].Name, all[1].Name}, []string{"four", "one"})
		return err
	})
}

// serial: 8 writers, each reads and raises the generation 20 times; none is lost.
func serial(t *testing.T, m Metastore) {
	made := insert(t, m, "hourly")
	const writers, times = 8, 20
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for done := 0; done < times; {
				err := try(t, m, func(ctx context.Context, tx store.Tx) error {
					s, err := tx.LockStreamNamed(ctx, "hourly")
					if err != nil {
						return err
					}
					s.Generation++
					_, err = tx.UpdateStream(ctx, s)
					return err
				})
				switch {
				case err == nil:
					done++
				case !errors.Is(err, store.ErrBusy):
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	view(t, m, func(ctx context.Context, r store.Reader) error {
		s, err := r.Stream(ctx, "hourly")
		equal(t, s.Generation, made.Generation+writers*times)
		return err
	})
}

func watch(t *testing.T, m Metastore) {
	ctx, cancel := context.WithCancel(background(t))
	woken := m.Watch(ctx)
	// The first wake-up may be that of the beginning: writes are repeated until two were seen.
	for seen := 0; seen < 2; {
		update(t, m, func(ctx context.Context, tx store.Tx) error {
			return tx.PutNode(ctx, store.Node{ID: "a", Address: "x", State: store.NodeAlive})
		})
		select {
		case <-woken:
			seen++
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			t.Fatal("nobody was woken")
		}
	}
	cancel()
	for range woken { //nolint:revive // drained until closed
	}
}

func leaseNamesItsTerm(t *testing.T, m Metastore) {
	ctx := background(t)
	first, err := m.TakeOver(ctx, "a", lease.Seen{Beat: lease.Released})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.RenewLease(ctx, first); err != nil {
		t.Fatal(err)
	}
	seen, _ := m.Lease(ctx)
	equal(t, seen, lease.Seen{Term: first, Holder: "a", Beat: 1})
	second, err := m.TakeOver(ctx, "b", seen)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, second, first+1)
	// The first holder wakes up: nothing that it does has an effect.
	wantErr(t, m.RenewLease(ctx, first), store.ErrStaleTerm)
	wantErr(t, m.ReleaseLease(ctx, first), store.ErrStaleTerm)
	wantErr(t, m.Update(ctx, first, func(store.Tx) error { return nil }), store.ErrStaleTerm)
	seen, _ = m.Lease(ctx)
	equal(t, seen, lease.Seen{Term: second, Holder: "b"})

	if err := m.ReleaseLease(ctx, second); err != nil {
		t.Fatal(err)
	}
	seen, _ = m.Lease(ctx)
	equal(t, seen.Beat, int64(lease.Released))
	wantErr(t, m.RenewLease(ctx, second), store.ErrStaleTerm) // given up is given up
}

func takeOver(t *testing.T, m Metastore) {
	ctx := background(t)
	term, err := m.TakeOver(ctx, "a", lease.Seen{Beat: lease.Released})
	if err != nil {
		t.Fatal(err)
	}
	seen, _ := m.Lease(ctx)
	if err := m.RenewLease(ctx, term); err != nil { // alive after all
		t.Fatal(err)
	}
	_, err = m.TakeOver(ctx, "b", seen)
	wantErr(t, err, store.ErrStaleTerm)
	if err := m.RenewLease(ctx, term); err != nil {
		t.Fatalf("the holder lost its lease to a take-over that failed: %v", err)
	}
	// Many at once: one wins.
	seen, _ = m.Lease(ctx)
	var wg sync.WaitGroup
	var mu sync.Mutex
	won := 0
	for i := range 5 {
		wg.Go(func() {
			if _, err := m.TakeOver(ctx, fmt.Sprint("s", i), seen); err == nil {
				mu.Lock()
				won++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	equal(t, won, 1)
}
