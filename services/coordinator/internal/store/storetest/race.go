package storetest

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/pondage/pondage/services/coordinator/internal/store"
)

// raced: a verdict and a reset at once, many times. Whoever is first, what the stage restores is what is complete.
func raced(t *testing.T, m Metastore) {
	s := working(t, m, "hourly")
	const rounds = 20
	for range rounds {
		c, before := begin(t, m, s), s
		var wg sync.WaitGroup
		var verdict error
		wg.Go(func() {
			for verdict = store.ErrBusy; errors.Is(verdict, store.ErrBusy); {
				_, verdict = completes(m, t, c.Attempt(), parts)
			}
		})
		wg.Go(func() {
			for err := store.ErrBusy; errors.Is(err, store.ErrBusy); {
				err = try(t, m, func(ctx context.Context, tx store.Tx) error {
					now, err := tx.LockStream(ctx, before.ID)
					if err != nil {
						return err
					}
					s, err = store.RaiseStage(ctx, tx, now, label, placement(), why)
					return err
				})
				if err != nil && !errors.Is(err, store.ErrBusy) {
					t.Error(err)
				}
			}
		})
		wg.Wait()
		switch is := stateOf(t, m, s, c.ID).State; {
		case verdict == nil && (is != store.CheckpointComplete || s.Start != c.ID):
			t.Fatalf("checkpoint %d was said to be complete: it is %s, and stage %d restores %d", c.ID, is, s.Stage, s.Start)
		case verdict != nil && (!errors.Is(verdict, store.ErrVoid) || is != store.CheckpointFailed || s.Start == c.ID):
			t.Fatalf("checkpoint %d was refused with %v: it is %s, and stage %d restores %d", c.ID, verdict, is, s.Stage, s.Start)
		}
	}
}
