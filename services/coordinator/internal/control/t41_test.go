package control

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/pondage/pondage/services/coordinator/internal/control/decide"
	"github.com/pondage/pondage/services/coordinator/internal/store"
)

// T41: a request arrives between the loop's reading and its acting: the step does nothing.
func TestT41_AStepOnAChangedRowDoesNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		n := r.node("a", 1)
		r.source()
		r.stream(doc{Name: "hourly"})
		r.untilState("hourly", StreamRunning)
		p := r.picture.Load()
		seen := p.rows[0]
		r.act("hourly", decide.Stop)
		before := r.untilState("hourly", StreamStopped)
		err := r.ifUnchanged(r.ctx, p, seen, func(ctx context.Context, tx store.Tx, row store.Stream) error {
			t.Error("acted on a row that is not the one that was decided on")
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		// The same for a row that is gone.
		r.act("hourly", decide.Drop)
		r.until("dropped", func() bool { _, err := r.GetStream(r.ctx, "hourly"); return err != nil })
		if err := r.ifUnchanged(r.ctx, p, seen, r.deleteRow); err != nil {
			t.Fatal(err)
		}
		if before.Stage != 1 {
			t.Fatalf("stage %d", before.Stage)
		}
		n.startedOnce()
	})
}

// T41: eight clients create, start, stop and drop one name at random, while nodes come and go and a coordinator is
// killed. The end state is that of the last accepted request, and nothing is left over.
func TestT41_CreateStartStopDropAtRandom(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { createStartStopDrop(t, seed) })
	}
}

func createStartStopDrop(t *testing.T, seed uint64) {
	inBubble(t, func(t *testing.T, r *rig) {
		n := r.node("a", 1)
		r.source()
		const clients, operations = 8, 1000
		var mu sync.Mutex // orders requests, so that "last accepted" is known
		var last string
		ask := func(rnd *rand.Rand) {
			mu.Lock()
			defer mu.Unlock()
			var err error
			what := []string{"create", "start", "stop", "drop", "pause", "resume", "reset"}[rnd.IntN(7)]
			if what == "create" {
				_, err = r.coordinator().CreateStream(r.ctx, Request{}, doc{Name: "hourly", Source: "flights", Target: "results"}.bytes())
			} else {
				_, err = r.coordinator().ActOnStream(r.ctx, Request{}, "hourly", Action(what))
			}
			var e *Error
			switch {
			case err == nil:
				last = what
			case !errors.As(err, &e):
				t.Errorf("%s: %v", what, err)
			}
		}
		var wg sync.WaitGroup
		for c := range clients {
			wg.Go(func() {
				rnd := rand.New(rand.NewPCG(seed, uint64(c)))
				for range operations / clients {
					ask(rnd)
					time.Sleep(time.Duration(rnd.IntN(800)) * time.Millisecond)
				}
			})
		}
		time.Sleep(20 * time.Second)
		r.crash()
		r.startCoordinator("c2")
		time.Sleep(20 * time.Second)
		n.kill()
		n = r.node("a", 2)
		wg.Wait()

		time.Sleep(30 * time.Second)
		s, err := r.GetStream(r.ctx, "hourly")
		if last == "drop" {
			wantCode(t, err, CodeStreamUnknown)
			if r.world.count() != 0 {
				t.Errorf("topics stay: %v", r.world.topics)
			}
			return
		}
		if err != nil {
			t.Fatalf("after %s: %v", last, err)
		}
		want := map[string][]StreamState{
			"create": {StreamRunning}, "start": {StreamRunning}, "resume": {StreamRunning}, "stop": {StreamStopped},
			"pause": {StreamPaused}, "reset": {StreamRunning, StreamPaused},
		}[last]
		ok := false
		for _, w := range want {
			ok = ok || s.State == w
		}
		if !ok {
			t.Fatalf("after %s: %s (%s), waiting %q", last, s.State, s.Wanted, s.Waiting)
		}
		if r.world.count() != 2 {
			t.Errorf("topics %v", r.world.topics)
		}
		n.startedOnce()
		n.with(func() {
			for _, k := range n.tasks {
				if k.Stream != s.ID {
					t.Errorf("an orphan task of stream %d", k.Stream)
				}
			}
		})
	})
}
