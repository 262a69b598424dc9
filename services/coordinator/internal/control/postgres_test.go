package control

import (
	"testing"

	"github.com/pondage/pondage/internal/devstack/testpg"
	"github.com/pondage/pondage/services/coordinator/internal/control/decide"
	"github.com/pondage/pondage/services/coordinator/internal/store/pgstore"
	"github.com/pondage/pondage/services/coordinator/internal/store/schema"
)

// TestOnPostgres runs a stream's life in real time on the real metastore: the rest of the tests trust that the fake
// behaves like it.
func TestOnPostgres(t *testing.T) {
	t.Parallel()
	dsn := testpg.DSN(t)
	if err := schema.Up(t.Context(), dsn); err != nil {
		t.Fatal(err)
	}
	db, err := pgstore.Open(pgstore.Config{DSN: dsn, Cluster: "test", Holder: "c1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	r := newRig(t, db)
	t.Cleanup(r.close)
	r.startCoordinator("c1")

	n := r.node("a", 1)
	r.source()
	made := r.stream(doc{Name: "hourly", Target: "results", Bounded: true})
	r.untilState("hourly", StreamRunning)
	r.act("hourly", decide.Pause)
	r.untilState("hourly", StreamPaused)
	r.act("hourly", decide.Resume)
	n.kill()
	n = r.node("a", 2)
	r.until("stage 2 runs", func() bool { s := r.get("hourly"); return s.Stage == 2 && s.State == StreamRunning })
	n.with(func() { n.finished[made.ID] = true })
	if s := r.untilState("hourly", StreamFinished); s.Progress.Counters.Accepted() != 80 {
		t.Fatalf("progress %+v", s.Progress)
	}
	r.act("hourly", decide.Drop)
	r.until("dropped", func() bool { _, err := r.GetStream(r.ctx, "hourly"); return err != nil })
	n.startedOnce()
}
