package sink

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/manifest"
	"github.com/pondage/pondage/internal/pgtable"
)

// participant is what a task sees of its output.
type participant interface {
	Output
	Checkpointed
}

// life is a sink task through its stages, against a model of what its table must hold.
type life struct {
	t      *testing.T
	pool   *pgxpool.Pool
	db     pgtable.Beginner // what the outputs use
	table  *pgtable.Table
	retain int
	rand   *rand.Rand
	aside  rejects

	stage    ident.Stage
	restored ident.CheckpointID
	said     map[ident.CheckpointID]manifest.Sink // by the newest output that has prepared it
	out      participant

	given ident.CheckpointID // the highest id: ids only rise
	now   map[string]int64
	at    map[ident.CheckpointID]map[string]int64
}

func newLife(t *testing.T, seed uint64) *life {
	pool := newPool(t)
	return &life{
		t: t, pool: pool, db: pool, table: target(), retain: 3, rand: rand.New(rand.NewPCG(seed, 7)),
		said: map[ident.CheckpointID]manifest.Sink{}, now: map[string]int64{}, at: map[ident.CheckpointID]map[string]int64{0: {}},
	}
}

// start is what the next output goes on from.
func (l *life) start() *Start {
	s := &Start{Stage: l.stage, Restored: l.restored, Retain: l.retain}
	if said, ok := l.said[l.restored]; ok {
		s.Sink = &said
	}
	return s
}

// begin starts a stage from checkpoint c. The output of the stage before lives on as a zombie, and is returned.
func (l *life) begin(c ident.CheckpointID) (zombie participant) {
	l.t.Helper()
	zombie = l.out
	l.stage, l.restored = l.stage+1, c
	l.now = maps.Clone(l.at[c])
	maps.DeleteFunc(l.at, func(id ident.CheckpointID, _ map[string]int64) bool { return id > c })
	l.out = l.open(l.db)
	l.t.Cleanup(l.out.Close)
	return zombie
}

// open returns an output of the present stage.
func (l *life) open(db pgtable.Beginner) participant {
	return NewPostgres(db, l.table, fenceOf(l.stage), l.start(), envOf(&memory{}, &l.aside)).(participant)
}

// write hands over rows, n for each key.
func (l *life) write(n int64, keys ...string) {
	l.t.Helper()
	if err := l.out.Write(l.t.Context(), rowsOf(int(n), keys...)); err != nil {
		l.t.Fatalf("stage %d: %v", l.stage, err)
	}
	for i, k := range keys {
		l.now[k] = n + int64(i)
	}
}

// some writes a few random rows.
func (l *life) some() {
	l.t.Helper()
	keys := make([]string, 1+l.rand.IntN(4))
	for i := range keys {
		keys[i] = string(rune('a' + l.rand.IntN(6)))
	}
	l.write(l.rand.Int64N(1000), keys...)
}

// trigger passes the output.
func (l *life) trigger() ident.CheckpointID {
	l.t.Helper()
	l.given++
	if err := l.out.Trigger(l.t.Context(), l.given); err != nil {
		l.t.Fatalf("stage %d, trigger %d: %v", l.stage, l.given, err)
	}
	l.at[l.given] = maps.Clone(l.now)
	return l.given
}

// cut is a trigger, and the output's part of it.
func (l *life) cut() ident.CheckpointID {
	l.t.Helper()
	c := l.trigger()
	l.prepare(c)
	return c
}

func (l *life) prepare(c ident.CheckpointID) {
	l.t.Helper()
	said, files, err := l.out.Prepare(l.t.Context(), c)
	if err != nil || len(files) > 0 {
		l.t.Fatalf("stage %d, prepare %d: %v, %d files", l.stage, c, err, len(files))
	}
	l.said[c] = said
}

func (l *life) complete(c ident.CheckpointID) {
	l.t.Helper()
	if err := l.out.Complete(l.t.Context(), c); err != nil {
		l.t.Fatalf("stage %d, complete %d: %v", l.stage, c, err)
	}
}

func (l *life) flush() {
	l.t.Helper()
	if err := l.out.Flush(l.t.Context()); err != nil {
		l.t.Fatalf("stage %d: %v", l.stage, err)
	}
}

// text is what a table holds, as table reads it.
func text(rows map[string]int64) string {
	var all []string
	for _, k := range slices.Sorted(maps.Keys(rows)) {
		all = append(all, fmt.Sprintf("%s=%d", k, rows[k]))
	}
	return strings.Join(all, " ")
}

func (l *life) wants(rows map[string]int64, when string) {
	l.t.Helper()
	if diff := cmp.Diff(text(rows), table(l.t, l.pool)); diff != "" {
		l.t.Fatalf("stage %d from %d, %s (-want +got):\n%s", l.stage, l.restored, when, diff)
	}
}

// broken is a database whose statements and commits fail as a test says.
type broken struct {
	pgtable.Beginner
	mu     sync.Mutex
	exec   func(x *brokenTx, sql string) error // before a statement
	commit func(x *brokenTx) error             // after the commit: its answer is lost
}

func (b *broken) set(change func(*broken)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change(b)
}

func (b *broken) Begin(ctx context.Context) (pgx.Tx, error) {
	tx, err := b.Beginner.Begin(ctx)
	return &brokenTx{Tx: tx, b: b}, err
}

type brokenTx struct {
	pgx.Tx
	b         *broken
	publishes bool // it has come to the statements that move rows
}

func (x *brokenTx) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	x.b.mu.Lock()
	exec := x.b.exec
	x.b.mu.Unlock()
	x.publishes = x.publishes || strings.Contains(sql, "10min")
	if exec != nil {
		if err := exec(x, sql); err != nil {
			return pgconn.CommandTag{}, err
		}
	}
	return x.Tx.Exec(ctx, sql, args...)
}

func (x *brokenTx) Commit(ctx context.Context) error {
	if err := x.Tx.Commit(ctx); err != nil {
		return err
	}
	x.b.mu.Lock()
	defer x.b.mu.Unlock()
	if x.b.commit != nil {
		return x.b.commit(x)
	}
	return nil
}

var errBroken = errors.New("connection reset by peer")

// Whatever dead stages have written and replaced, the next one begins with what was at its checkpoint: also when a stage dies
// while it takes that back, and when a stage that is dead writes on.
func TestAnUpsertingOutputGoesBackToItsCheckpoint(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			l := newLife(t, seed)
			l.begin(0)
			complete := []ident.CheckpointID{0}
			for range 40 {
				switch l.rand.IntN(8) {
				case 0:
					l.trigger() // of a checkpoint that fails
				case 1, 2:
					c := l.cut()
					l.complete(c)
					complete = append(complete, c)
					complete = complete[max(0, len(complete)-l.retain):] // the others are dropped
				case 3:
					l.flush()
					l.wants(l.now, "running")
				case 4:
					// Back to one of those that are retained.
					c := complete[l.rand.IntN(len(complete))]
					complete = complete[:slices.Index(complete, c)+1]
					l.diesRestoring(c)
					zombie := l.begin(c)
					l.flush()
					l.wants(l.now, "restored")
					if err := errors.Join(zombie.Write(t.Context(), rowsOf(5000, "a", "zombie")), zombie.Flush(t.Context())); !errors.Is(err, pgtable.ErrFenced) {
						t.Fatalf("the zombie wrote: %v", err)
					}
					zombie.Close()
					l.wants(l.now, "with a zombie")
				default:
					l.some()
				}
			}
			l.flush()
			l.wants(l.now, "at the end")
		})
	}
}

// diesRestoring is a stage that ends in the middle of taking back what was after c.
func (l *life) diesRestoring(c ident.CheckpointID) {
	l.stage, l.restored = l.stage+1, c
	var once sync.Once
	dead := make(chan struct{})
	db := &broken{Beginner: l.pool}
	left := l.rand.IntN(4)
	db.exec = func(_ *brokenTx, sql string) error {
		if strings.HasPrefix(sql, "DELETE") || strings.HasPrefix(sql, "INSERT INTO \"target\"") {
			if left--; left < 0 {
				once.Do(func() { close(dead) })
				return errBroken
			}
		}
		return nil
	}
	o := l.open(db)
	flushed := make(chan error, 1)
	go func() { flushed <- o.Flush(l.t.Context()) }()
	select {
	case <-dead:
	case <-flushed: // it got through
	}
	o.Close()
}

// The images of checkpoints that are not retained any more are gone; where the user goes back behind them all the same, the
// output goes as far as they do, and on.
func TestAnUpsertingOutputKeepsWhatRetentionKeeps(t *testing.T) {
	t.Parallel()
	l := newLife(t, 1)
	l.begin(0)
	var cps []ident.CheckpointID
	for n := range int64(6) {
		l.write(n, "a")
		c := l.cut()
		l.complete(c)
		cps = append(cps, c)
	}
	l.write(99, "a")
	l.flush()
	images := func() (n int) {
		if err := l.pool.QueryRow(t.Context(), "SELECT count(*) FROM target__before").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := images(); n != 3 { // a as it was at each of the newest three
		t.Errorf("%d images are kept", n)
	}
	l.begin(cps[3])
	l.flush()
	l.wants(map[string]int64{"a": 3}, "back to the oldest that is kept")
	// A user who accepts duplicates goes behind it.
	l.at[cps[1]] = map[string]int64{"a": 1}
	l.begin(cps[1])
	l.flush()
	l.wants(map[string]int64{"a": 3}, "behind what is kept")
	l.write(4, "a")
	l.flush()
	l.wants(map[string]int64{"a": 4}, "going on")
}

func TestWhatIsInATableBeforeTheStreamStays(t *testing.T) {
	t.Parallel()
	l := newLife(t, 1)
	// Another stream has had the table, with higher checkpoints, and left its images.
	old := pgtable.Fence{Cluster: "test", Stream: 6, VGroup: 1, Stage: 9}
	before := NewPostgres(l.pool, target(), old, &Start{Stage: 9, Restored: 500}, envOf(&memory{}, &rejects{})).(participant)
	err := errors.Join(before.Write(t.Context(), rowsOf(1, "a", "b")), before.Trigger(t.Context(), 501),
		before.Write(t.Context(), rowsOf(2, "a")), before.Flush(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	before.Close()
	l.begin(0)
	l.write(7, "b")
	c := l.cut()
	l.write(8, "b", "c")
	l.flush()
	l.wants(map[string]int64{"a": 2, "b": 8, "c": 9}, "running")
	l.at[c] = map[string]int64{"a": 2, "b": 7}
	l.begin(c)
	l.flush()
	l.wants(map[string]int64{"a": 2, "b": 7}, "restored")
	l.at[0] = map[string]int64{"a": 2, "b": 2}
	l.begin(0)
	l.flush()
	l.wants(map[string]int64{"a": 2, "b": 2}, "from the start")
}

func TestT30_ACheckpointWithoutResults(t *testing.T) {
	t.Parallel()
	l := newLife(t, 1)
	l.begin(0)
	l.complete(l.cut())
	l.complete(l.cut())
	l.write(1, "a")
	l.complete(l.cut())
	l.wants(l.now, "after the third")
	l.begin(l.given)
	l.flush()
	l.wants(l.now, "after a reset")
}

func TestT31_AnUpsertWhoseCommitIsUnclear(t *testing.T) {
	t.Parallel()
	l := newLife(t, 1)
	db := &broken{Beginner: l.pool}
	l.db = db
	l.begin(0)
	l.write(1, "a", "b")
	c := l.cut()
	lost := 3
	db.set(func(b *broken) {
		b.commit = func(*brokenTx) error {
			if lost--; lost >= 0 {
				return errBroken
			}
			return nil
		}
	})
	l.write(5, "a", "c")
	l.flush()
	l.wants(l.now, "after three lost answers")
	l.begin(c)
	l.flush()
	l.wants(map[string]int64{"a": 1, "b": 2}, "restored")
}

func TestT33_APartOfACheckpointWaitsForADatabaseThatIsAway(t *testing.T) {
	t.Parallel()
	l := newLife(t, 1)
	db := &away{Pool: l.pool, fails: 1 << 30, asked: make(chan struct{}, 1)}
	l.db = db
	l.begin(0) // it is there all the same
	l.write(1, "a")
	c := l.trigger()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, _, err := l.out.Prepare(ctx, c); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("prepare: %v", err)
	}
	if err := l.out.Complete(ctx, c); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("complete: %v", err)
	}
	// Another stream's output of the same database, in the meantime.
	other := NewPostgres(l.pool, &pgtable.Table{Name: "other", Columns: columns, Key: []string{"k"}},
		pgtable.Fence{Cluster: "test", Stream: 8, Stage: 1}, &Start{Stage: 1}, envOf(&memory{}, &rejects{})).(participant)
	defer other.Close()
	if err := other.Trigger(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if _, _, err := other.Prepare(t.Context(), 1); err != nil {
		t.Errorf("the other one: %v", err)
	}
	db.mu.Lock()
	db.fails = 0
	db.mu.Unlock()
	l.prepare(c)
	l.wants(l.now, "when it is back")
}

func TestT33_TriggersPassATaskWhoseOutputIsStuck(t *testing.T) {
	t.Parallel()
	l := newLife(t, 1)
	l.db = &away{Pool: l.pool, fails: 1 << 30, asked: make(chan struct{}, 1)}
	l.begin(0)
	for n := range int64(queueBatches) {
		l.write(n, "a")
	}
	for range 100 { // the queue is full
		l.trigger()
	}
	if p := l.out.Status().Pending; p != queueBatches {
		t.Errorf("%d batches wait", p)
	}
}

func TestT34_ARowThatIsRefusedIsSetAsideOnceACheckpoint(t *testing.T) {
	t.Parallel()
	l := newLife(t, 1)
	l.begin(0)
	l.write(1, "a", "b", "c")
	if err := l.out.Write(t.Context(), rowsOf(7, "d\x00", "e")); err != nil {
		t.Fatal(err)
	}
	l.now["e"] = 8
	c := l.cut()
	l.wants(l.now, "at the checkpoint")
	if len(l.aside.rows) != 1 || !strings.HasPrefix(l.aside.rows[0], "7 ") {
		t.Errorf("aside: %q", l.aside.rows)
	}
	l.begin(c)
	l.flush()
	l.wants(l.now, "after a reset")
}

func TestT35_NullInTheKeyOfAnUpsert(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	rows := func(n int64) *block.Batch {
		b := block.NewBatch(columns, 2)
		b.Cols[0].AppendNull()
		b.Cols[1].AppendInt(n)
		b.Cols[0].AppendString("")
		b.Cols[1].AppendInt(n + 1)
		return b
	}
	read := func() (out string) {
		err := pool.QueryRow(t.Context(), "SELECT string_agg(coalesce(k, 'null') || '=' || n, ' ' ORDER BY n) FROM target").Scan(&out)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	first := NewPostgres(pool, target(), fenceOf(1), &Start{Stage: 1}, envOf(&memory{}, &rejects{})).(participant)
	defer first.Close()
	for c := range ident.CheckpointID(5) {
		if err := errors.Join(first.Write(t.Context(), rows(int64(c)*10)), first.Trigger(t.Context(), c+1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := first.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := read(); got != "null=40 =41" {
		t.Errorf("five revisions: %s", got)
	}
	next := NewPostgres(pool, target(), fenceOf(2), &Start{Stage: 2, Restored: 3}, envOf(&memory{}, &rejects{})).(participant)
	defer next.Close()
	if err := next.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := read(); got != "null=20 =21" {
		t.Errorf("restored: %s", got)
	}
	if err := errors.Join(next.Write(t.Context(), rows(30)), next.Flush(t.Context())); err != nil {
		t.Fatal(err)
	}
	if got := read(); got != "null=30 =31" {
		t.Errorf("replayed: %s", got)
	}
}
