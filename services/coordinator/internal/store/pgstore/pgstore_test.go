package pgstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pondage/pondage/internal/devstack/testpg"
	"github.com/pondage/pondage/migrations"
	"github.com/pondage/pondage/services/coordinator/internal/store"
	"github.com/pondage/pondage/services/coordinator/internal/store/pgstore"
	"github.com/pondage/pondage/services/coordinator/internal/store/schema"
	"github.com/pondage/pondage/services/coordinator/internal/store/storetest"
)

// open returns a store on the database, as the process named holder.
func open(t *testing.T, dsn, holder string) *pgstore.Store {
	t.Helper()
	s, err := pgstore.Open(pgstore.Config{DSN: dsn, Cluster: "test", Holder: holder})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// migrated returns a database with the newest schema.
func migrated(t *testing.T) string {
	t.Helper()
	dsn := testpg.DSN(t)
	if err := schema.Up(t.Context(), dsn); err != nil {
		t.Fatal(err)
	}
	return dsn
}

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Exercise(t, func(t *testing.T) storetest.Metastore { return open(t, migrated(t), "a") })
}

// T57: the old leader sleeps inside a transaction, with the term row locked. The take-over does not get the lock, ends
// its sessions and wins; the old leader's transaction has no effect.
func TestT57_ASleeperInATransactionIsEnded(t *testing.T) {
	t.Parallel()
	dsn := migrated(t)
	old, next := open(t, dsn, "old"), open(t, dsn, "next")
	ctx := t.Context()
	seen, err := old.Lease(ctx)
	if err != nil {
		t.Fatal(err)
	}
	term, err := old.TakeOver(ctx, "old", seen)
	if err != nil {
		t.Fatal(err)
	}

	asleep, wakeUp, woke := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		woke <- old.Update(context.Background(), term, func(tx store.Tx) error {
			close(asleep)
			<-wakeUp
			return tx.InsertToken(context.Background(), store.Token{Name: "late", Role: "admin"})
		})
	}()
	<-asleep
	seen, _ = next.Lease(ctx)
	if _, err := next.TakeOver(ctx, "next", seen); !errors.Is(err, store.ErrBusy) {
		t.Fatalf("got %v, want ErrBusy while the term row is locked", err)
	}
	if err := next.EndSessions(ctx, "old"); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(10 * time.Second)
	for err = store.ErrBusy; errors.Is(err, store.ErrBusy) && time.Now().Before(deadline); {
		_, err = next.TakeOver(ctx, "next", seen)
	}
	if err != nil {
		t.Fatal(err)
	}
	close(wakeUp)
	if err := <-woke; !errors.Is(err, store.ErrDown) {
		t.Fatalf("the sleeper got %v, want ErrDown", err)
	}
	if err := old.Update(ctx, term, func(store.Tx) error { return nil }); !errors.Is(err, store.ErrStaleTerm) {
		t.Fatalf("the sleeper's next write got %v, want ErrStaleTerm", err)
	}
	err = next.View(ctx, func(r store.Reader) error {
		all, err := r.Tokens(ctx)
		if len(all) != 0 {
			t.Errorf("the sleeper wrote %v", all)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// T56's kind: a coordinator that runs while a newer one migrates the metastore was let in when it started. It must not
// take the lease afterwards, and what it has of one is over.
func TestT56_ABinaryThatIsLeftBehindDoesNotLead(t *testing.T) {
	t.Parallel()
	dsn := migrated(t)
	s := open(t, dsn, "old")
	ctx := t.Context()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.Exec(ctx, "UPDATE pondage.schema_info SET min_binary = $1", migrations.Latest+1); err != nil {
		t.Fatal(err)
	}
	seen, err := s.Lease(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.TakeOver(ctx, "old", seen); !errors.Is(err, store.ErrTooOld) {
		t.Fatalf("got %v, want ErrTooOld", err)
	}
	if after, err := s.Lease(ctx); err != nil || after != seen {
		t.Fatalf("the lease is %+v, it was %+v (%v)", after, seen, err)
	}
}

func TestAnUnreachableMetastoreIsSaidToBeDown(t *testing.T) {
	t.Parallel()
	s := open(t, "postgres://127.0.0.1:1/none?connect_timeout=1", "a")
	err := s.Update(t.Context(), store.AnyTerm, func(store.Tx) error { return nil })
	if !errors.Is(err, store.ErrDown) {
		t.Fatalf("got %v, want ErrDown", err)
	}
	if err := s.Ping(t.Context()); !errors.Is(err, store.ErrDown) {
		t.Fatalf("ping: got %v, want ErrDown", err)
	}
}
