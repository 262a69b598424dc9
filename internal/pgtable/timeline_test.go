package pgtable

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/ident"
)

// counts is what a table holds: n by (k, _wstart) as text.
type counts map[string]int64

func held(t *testing.T, pool *pgxpool.Pool, table *Table) counts {
	t.Helper()
	out := counts{}
	err := table.Read(t.Context(), pool, Query{}, func(b *block.Batch) error {
		for i := range b.Rows() {
			k := "null"
			if !b.Cols[0].IsNull(i) {
				k = string(b.Cols[0].Bytes(i))
			}
			out[fmt.Sprintf("%s@%d", k, b.Cols[1].Int[i])] = b.Cols[2].Int[i]
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// timeline writes random results as a sink does, trigger after trigger, and remembers what the table held at each.
type timeline struct {
	rand   *rand.Rand
	stream ident.StreamID
	stage  ident.Stage
	cp     ident.CheckpointID // last trigger passed
	given  ident.CheckpointID // the highest id: ids only rise, also across failures
	now    counts
	at     map[ident.CheckpointID]counts
}

func newTimeline(seed uint64) *timeline {
	return &timeline{rand: rand.New(rand.NewPCG(seed, 1)), stream: 1000 + ident.StreamID(seed), stage: 1, now: counts{}, at: map[ident.CheckpointID]counts{0: {}}}
}

func (l *timeline) fence() Fence {
	return Fence{Cluster: "test", Stream: l.stream, VGroup: 3, Stage: l.stage}
}

// table makes the table of the stream, and raises its first fence.
func (l *timeline) table(t *testing.T, pool *pgxpool.Pool, d Delivery) *Table {
	t.Helper()
	table := newTable(fmt.Sprintf("timeline_%d", l.stream))
	table.Delivery = d
	if _, err := table.Create(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	if err := l.fence().Raise(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	return table
}

// results makes a few rows, some of them for keys that are there.
func (l *timeline) results() []*block.Batch {
	var out []*block.Batch
	for range 1 + l.rand.IntN(2) {
		var rows []row
		for range 1 + l.rand.IntN(6) {
			var k any
			name := "null"
			if n := l.rand.IntN(4); n > 0 {
				name = fmt.Sprint("k", n)
				k = name
			}
			start, n := int64(l.rand.IntN(3)*1000), l.rand.Int64N(1000)
			rows = append(rows, row{k: k, start: start, n: n})
			l.now[fmt.Sprintf("%s@%d", name, start)] = n
		}
		out = append(out, batch(rows...))
	}
	return out
}

func (l *timeline) trigger() {
	l.given++
	l.cp = l.given
	l.at[l.cp] = maps.Clone(l.now)
}

// back is a reset to checkpoint c: a stage later, what came after is forgotten.
func (l *timeline) back(c ident.CheckpointID) {
	l.stage++
	l.cp, l.now = c, maps.Clone(l.at[c])
	maps.DeleteFunc(l.at, func(id ident.CheckpointID, _ counts) bool { return id > c })
}

// TestADeadTimelineLeavesNothingBehind: whatever was written and replaced, after a reset the table holds what it held at the
// checkpoint, and it goes on from there.
func TestADeadTimelineLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	for seed := range uint64(12) {
		l := newTimeline(seed)
		table := l.table(t, pool, Upsert)
		w := NewWriter(table)
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		for range 40 {
			switch l.rand.IntN(5) {
			case 0:
				l.trigger()
			case 1:
				kept := slices.Sorted(maps.Keys(l.at))
				c := kept[len(kept)-1-l.rand.IntN(min(3, len(kept)))]
				l.back(c)
				must(l.fence().Raise(t.Context(), pool))
				for range 1 + l.rand.IntN(2) { // a task that dies within it does it again
					must(table.Restore(t.Context(), pool, l.fence(), c))
				}
				if diff := cmp.Diff(l.now, held(t, pool, table)); diff != "" {
					t.Fatalf("seed %d, restored to %d (-want +got):\n%s", seed, c, diff)
				}
			default:
				must(w.Upsert(t.Context(), pool, l.fence(), l.cp, l.results()))
			}
			if diff := cmp.Diff(l.now, held(t, pool, table)); diff != "" {
				t.Fatalf("seed %d (-want +got):\n%s", seed, diff)
			}
		}
	}
}

func TestImagesThatAreForgottenCannotBeAskedFor(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	l := newTimeline(50)
	table := l.table(t, pool, Upsert)
	w := NewWriter(table)
	for cp := range ident.CheckpointID(4) {
		if err := w.Upsert(t.Context(), pool, l.fence(), cp, []*block.Batch{batch(row{k: "a", n: int64(cp)})}); err != nil {
			t.Fatal(err)
		}
	}
	if err := table.ForgetBefore(t.Context(), pool, l.fence(), 3); err != nil {
		t.Fatal(err)
	}
	l.back(0)
	if err := l.fence().Raise(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	var gone *ErrImagesGone
	if err := table.Restore(t.Context(), pool, l.fence(), 2); !errors.As(err, &gone) || gone.Oldest != 3 {
		t.Errorf("restore below what is kept: %v", err)
	}
	if err := table.Restore(t.Context(), pool, l.fence(), 3); err != nil {
		t.Fatal(err)
	}
	if got := held(t, pool, table); got["a@0"] != 2 {
		t.Errorf("at checkpoint 3: %v", got)
	}
}

// TestReadersSeeWholeCuts: of a transactional table, what lies before the newest complete checkpoint is seen, and nothing
// of a timeline that died; publishing again, or an older one, changes nothing.
func TestReadersSeeWholeCuts(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	for seed := range uint64(8) {
		l := newTimeline(100 + seed)
		table := l.table(t, pool, Transactional)
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		w, next, shown := NewWriter(table), int64(0), ident.CheckpointID(0)
		for range 40 {
			var err error
			switch l.rand.IntN(5) {
			case 0:
				l.trigger()
			case 1: // some checkpoint not shown yet is complete
				kept := slices.Sorted(maps.Keys(l.at))
				for _, id := range kept {
					if id > shown {
						shown = id
						break
					}
				}
				must(l.fence().MarkStaged(t.Context(), pool, shown))
				for range 2 {
					_, err = w.Publish(t.Context(), pool, l.fence(), shown, []ident.VGroup{l.fence().VGroup})
					must(err)
				}
			case 2:
				l.back(shown)
				must(l.fence().Raise(t.Context(), pool))
				must(table.Unstage(t.Context(), pool, l.fence(), shown))
				next = 0
			default:
				next, err = w.Stage(t.Context(), pool, l.fence(), l.cp, next, l.results())
				must(err)
			}
			if diff := cmp.Diff(l.at[shown], held(t, pool, table)); diff != "" {
				t.Fatalf("seed %d, checkpoint %d shown (-want +got):\n%s", seed, shown, diff)
			}
		}
		if got, err := l.fence().Marks(t.Context(), pool); err != nil || got != (Marks{shown, shown}) {
			t.Errorf("seed %d: %+v, %v; want %d", seed, got, err, shown)
		}
	}
}

// TestAFrozenWriterDoesNotDelayAReset: a session that holds the fence within a transaction and does not move is ended.
func TestAFrozenWriterDoesNotDelayAReset(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	l := newTimeline(51)
	table := l.table(t, pool, Upsert)
	old := l.fence()
	l.back(0)
	zombie, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := old.hold(t.Context(), zombie); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := l.fence().Raise(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 4*time.Second { // idle_in_transaction_session_timeout would end it after 5 s
		t.Errorf("raised after %s", took)
	}
	if _, err := zombie.Exec(t.Context(), "SELECT 1"); err == nil {
		t.Error("the frozen session lives")
	}
	var pg *pgconn.PgError
	_ = errors.As(zombie.Rollback(t.Context()), &pg)
	if err := NewWriter(table).Upsert(t.Context(), pool, old, 1, []*block.Batch{batch(row{k: "a"})}); !errors.Is(err, ErrFenced) {
		t.Errorf("a write of the old stage: %v", err)
	}
	if got := slices.Collect(maps.Keys(held(t, pool, table))); len(got) > 0 {
		t.Errorf("the old stage wrote %v", got)
	}
}

// TestT31_AnAttemptThatWasGivenUpDoesNotComeToLightLater: its COMMIT is under way when the rows are staged again. The second attempt
// waits for it, so that nothing of the first is left behind the publication.
func TestT31_AnAttemptThatWasGivenUpDoesNotComeToLightLater(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	l := newTimeline(150)
	table := l.table(t, pool, Transactional)
	w, f := NewWriter(table), l.fence()
	first := []*block.Batch{batch(row{k: "a", n: int64(1)})}
	held := &holding{Beginner: pool, reached: make(chan struct{}), commit: make(chan struct{})}
	release := sync.OnceFunc(func() { close(held.commit) })
	defer release()
	given := make(chan error, 1)
	go func() {
		_, err := w.Stage(t.Context(), held, f, 0, 0, first)
		given <- err
	}()
	<-held.reached
	again := make(chan error, 1)
	go func() {
		next, err := w.Stage(t.Context(), pool, f, 0, 0, first)
		if err == nil {
			_, err = w.Stage(t.Context(), pool, f, 0, next, []*block.Batch{batch(row{k: "a", n: int64(2)})})
		}
		again <- err
	}()
	waiting := "SELECT EXISTS (SELECT FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE NOT l.granted AND a.datname = current_database())"
	for waits := false; !waits; {
		if len(again) > 0 {
			t.Fatalf("the second attempt has not waited: %v", <-again)
		}
		if err := pool.QueryRow(t.Context(), waiting).Scan(&waits); err != nil {
			t.Fatal(err)
		}
	}
	release()
	for _, done := range []chan error{given, again} {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	if err := f.MarkStaged(t.Context(), pool, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Publish(t.Context(), pool, f, 1, []ident.VGroup{f.VGroup}); err != nil {
		t.Fatal(err)
	}
	var left int
	if err := pool.QueryRow(t.Context(), "SELECT count(*) FROM "+table.stageIdent()).Scan(&left); err != nil || left > 0 {
		t.Errorf("%d rows are staged after the publication, %v", left, err)
	}
}

// holding keeps a transaction before its COMMIT.
type holding struct {
	Beginner
	reached, commit chan struct{}
}

func (h *holding) Begin(ctx context.Context) (pgx.Tx, error) {
	tx, err := h.Beginner.Begin(ctx)
	return &heldTx{tx, h}, err
}

type heldTx struct {
	pgx.Tx
	h *holding
}

func (x *heldTx) Commit(ctx context.Context) error {
	close(x.h.reached)
	<-x.h.commit
	return x.Tx.Commit(ctx)
}

// TestOnlyWhatAllHaveStagedIsPublished: a vgroup whose rows are not there holds the others.
func TestOnlyWhatAllHaveStagedIsPublished(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	l := newTimeline(151)
	table := l.table(t, pool, Transactional)
	w, f := NewWriter(table), l.fence()
	if _, err := w.Stage(t.Context(), pool, f, 0, 0, []*block.Batch{batch(row{k: "a"})}); err != nil {
		t.Fatal(err)
	}
	if err := f.MarkStaged(t.Context(), pool, 7); err != nil {
		t.Fatal(err)
	}
	var missing *ErrNotStaged
	if _, err := w.Publish(t.Context(), pool, f, 7, []ident.VGroup{f.VGroup, 9, 8}); !errors.As(err, &missing) || fmt.Sprint(missing.Missing) != "[8 9]" {
		t.Errorf("two have staged nothing: %v", err)
	}
	if got := held(t, pool, table); len(got) > 0 {
		t.Errorf("published %v", got)
	}
	if _, err := w.Publish(t.Context(), pool, f, 7, []ident.VGroup{f.VGroup}); err != nil {
		t.Error(err)
	}
}
