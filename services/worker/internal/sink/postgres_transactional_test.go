package sink

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/manifest"
	"github.com/pondage/pondage/internal/pgtable"
)

// team is the sink tasks of a transactional stream, one a vgroup, against a model of what readers must see.
type team struct {
	t      *testing.T
	pool   *pgxpool.Pool
	db     pgtable.Beginner
	group  []ident.VGroup
	rand   *rand.Rand
	aside  rejects
	memory memory

	stage    ident.Stage
	restored ident.CheckpointID
	said     map[ident.CheckpointID][]manifest.Sink // by member
	members  []participant

	given ident.CheckpointID
	now   map[string]int64
	at    map[ident.CheckpointID]map[string]int64
}

func newTeam(t *testing.T, seed uint64, members int) *team {
	pool := newPool(t)
	l := &team{
		t: t, pool: pool, db: pool, rand: rand.New(rand.NewPCG(seed, 8)), said: map[ident.CheckpointID][]manifest.Sink{},
		now: map[string]int64{}, at: map[ident.CheckpointID]map[string]int64{0: {}},
	}
	for i := range members {
		l.group = append(l.group, ident.VGroup(2+i))
	}
	return l
}

func staging() *pgtable.Table {
	t := target()
	t.Delivery = pgtable.Transactional
	return t
}

func (l *team) fence(member int) pgtable.Fence {
	return pgtable.Fence{Cluster: "test", Stream: 7, VGroup: l.group[member], Stage: l.stage}
}

// begin starts a stage from checkpoint c. The outputs of the stage before live on as zombies, and are returned.
func (l *team) begin(c ident.CheckpointID) (zombies []participant) {
	l.t.Helper()
	zombies, l.members = l.members, nil
	l.stage, l.restored, l.now = l.stage+1, c, maps.Clone(l.at[c])
	maps.DeleteFunc(l.at, func(id ident.CheckpointID, _ map[string]int64) bool { return id > c })
	for i := range l.group {
		start := Start{Stage: l.stage, Restored: c}
		if said := l.said[c]; i < len(said) { // else the member is new
			start.Sink = &said[i]
		}
		o := NewPostgresTransactional(l.db, staging(), l.fence(i), l.group, start, envOf(&l.memory, &l.aside)).(participant)
		l.t.Cleanup(o.Close)
		l.members = append(l.members, o)
	}
	return zombies
}

// write hands over rows, n for each key, which belong to the members in turns.
func (l *team) write(n int64, keys ...string) {
	l.t.Helper()
	for i, k := range keys {
		member := l.members[int(k[0])%len(l.members)]
		if err := member.Write(l.t.Context(), rowsOf(int(n)+i, k)); err != nil {
			l.t.Fatalf("stage %d: %v", l.stage, err)
		}
		l.now[k] = n + int64(i)
	}
}

func (l *team) some() {
	l.t.Helper()
	keys := make([]string, 1+l.rand.IntN(4))
	for i := range keys {
		keys[i] = string(rune('a' + l.rand.IntN(6)))
	}
	l.write(l.rand.Int64N(1000), keys...)
}

func (l *team) trigger() ident.CheckpointID {
	l.t.Helper()
	l.given++
	for _, m := range l.members {
		if err := m.Trigger(l.t.Context(), l.given); err != nil {
			l.t.Fatalf("stage %d, trigger %d: %v", l.stage, l.given, err)
		}
	}
	l.at[l.given] = maps.Clone(l.now)
	return l.given
}

// cut is a trigger, and the parts of all members.
func (l *team) cut() ident.CheckpointID {
	l.t.Helper()
	c := l.trigger()
	for _, m := range l.members {
		said, _, err := m.Prepare(l.t.Context(), c)
		if err != nil {
			l.t.Fatalf("stage %d, prepare %d: %v", l.stage, c, err)
		}
		l.said[c] = append(l.said[c], said)
	}
	return c
}

// tryComplete tells all members at once, and returns the first error.
func (l *team) tryComplete(ctx context.Context, c ident.CheckpointID) error {
	var g errgroup.Group
	for _, m := range l.members {
		g.Go(func() error { return m.Complete(ctx, c) })
	}
	return g.Wait()
}

func (l *team) complete(c ident.CheckpointID) {
	l.t.Helper()
	if err := l.tryComplete(l.t.Context(), c); err != nil {
		l.t.Fatalf("stage %d, complete %d: %v", l.stage, c, err)
	}
	l.shows(c)
}

// shows fails the test unless readers see the results from before c, and nothing else.
func (l *team) shows(c ident.CheckpointID) {
	l.t.Helper()
	if diff := cmp.Diff(text(l.at[c]), table(l.t, l.pool)); diff != "" {
		l.t.Fatalf("stage %d from %d, checkpoint %d is shown (-want +got):\n%s", l.stage, l.restored, c, diff)
	}
}

func (l *team) count(what string) (n int) {
	l.t.Helper()
	if err := l.pool.QueryRow(l.t.Context(), "SELECT count(*) FROM "+what).Scan(&n); err != nil {
		l.t.Fatal(err)
	}
	return n
}

func TestReadersOfATransactionalOutputSeeWholeCuts(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			l := newTeam(t, seed, 3)
			l.begin(0)
			l.complete(0)
			shown := ident.CheckpointID(0)
			for range 30 {
				switch l.rand.IntN(8) {
				case 0:
					l.trigger() // of a checkpoint that fails
				case 1, 2:
					shown = l.cut()
					l.complete(shown)
				case 3, 4: // the stage ends when the checkpoint is complete, before or after somebody is told
					c := shown
					if l.rand.IntN(2) == 0 {
						c = l.cut()
						if l.rand.IntN(2) == 0 {
							l.complete(c)
						}
					}
					zombies := l.begin(c)
					l.complete(c)
					shown = c
					for _, z := range zombies {
						if err := errors.Join(z.Write(t.Context(), rowsOf(5000, "zombie")), z.Flush(t.Context())); !errors.Is(err, pgtable.ErrFenced) {
							t.Fatalf("the zombie wrote: %v", err)
						}
						z.Close()
					}
				default:
					l.some()
				}
				l.shows(shown)
			}
			l.complete(l.cut())
			if n := l.count("target__stage"); n > 0 {
				t.Errorf("%d rows are staged for ever", n)
			}
		})
	}
}

// TestT28_APublicationThatDiesAtAnyStep: at each statement, at the commit, when it is committed and nobody knows, and then again
// in the stage that follows.
func TestT28_APublicationThatDiesAtAnyStep(t *testing.T) {
	t.Parallel()
	const committed = -1
	for _, first := range []int{0, 1, 2, 3, committed} {
		for _, second := range []int{1, committed} {
			t.Run(fmt.Sprint(first, second), func(t *testing.T) {
				t.Parallel()
				l := newTeam(t, 1, 2)
				db := &broken{Beginner: l.pool}
				l.db = db
				l.begin(0)
				l.complete(0)
				var keys []string
				for i := range 40 {
					keys = append(keys, fmt.Sprint(string(rune('a'+i%2)), i))
				}
				l.write(0, keys...)
				c := l.cut()
				l.write(1000, keys[:10]...) // not of the checkpoint
				for _, dies := range []int{first, second} {
					for _, m := range l.members {
						if err := m.Flush(t.Context()); err != nil { // of a new stage: it is open
							t.Fatal(err)
						}
					}
					ctx, die := context.WithCancel(t.Context())
					db.dieAt(dies, die)
					err := l.tryComplete(ctx, c)
					db.set(func(b *broken) { b.exec, b.commit = nil, nil })
					if err == nil && l.count("target__stage") > 10 {
						t.Fatalf("nothing died at step %d", dies)
					}
					for _, m := range l.members {
						m.Close()
					}
					die()
					l.begin(c)
				}
				l.complete(c)
				if got := l.count("target"); got != 40 {
					t.Errorf("%d results, want 40", got)
				}
				l.write(2000, keys[:1]...)
				l.complete(l.cut())
			})
		}
	}
}

// dieAt breaks the connection at a statement of a publication, or after its commit, and calls die.
func (b *broken) dieAt(step int, die func()) {
	b.set(func(b *broken) {
		if step < 0 {
			b.commit = func(x *brokenTx) error {
				if !x.publishes {
					return nil
				}
				die()
				return errBroken
			}
			return
		}
		b.exec = func(x *brokenTx, _ string) error {
			if !x.publishes {
				return nil
			}
			if step--; step >= 0 {
				return nil
			}
			die()
			return errBroken
		}
	})
}

func TestT30_TransactionalCheckpointsWithoutResults(t *testing.T) {
	t.Parallel()
	l := newTeam(t, 1, 8)
	l.begin(0)
	l.complete(0)
	l.complete(l.cut())
	l.complete(l.cut())
	l.write(1, "a")
	l.complete(l.cut())
	l.begin(l.given)
	l.complete(l.given)
}

func TestT31_StagingAndPublishingWhoseCommitIsUnclear(t *testing.T) {
	t.Parallel()
	l := newTeam(t, 1, 2)
	db := &broken{Beginner: l.pool}
	l.db = db
	l.begin(0)
	l.complete(0)
	lost := 0
	db.set(func(b *broken) {
		b.commit = func(*brokenTx) error {
			if lost++; lost < 8 && lost%2 == 1 {
				return errBroken
			}
			return nil
		}
	})
	l.write(1, "a", "b", "c", "a", "b")
	c := l.cut()
	if n := l.count("target__stage"); n != 5 {
		t.Errorf("%d rows are staged, want 5", n)
	}
	for l.tryComplete(t.Context(), c) != nil { // as a task does
	}
	l.shows(c)
	if n := l.count("target__stage"); n != 0 {
		t.Errorf("%d rows are staged after the publication", n)
	}
}

func TestT33_TheOthersAcknowledgeOnlyWhatIsPublished(t *testing.T) {
	t.Parallel()
	l := newTeam(t, 1, 2)
	l.begin(0)
	l.complete(0)
	l.write(1, "a", "b")
	c := l.cut()
	ctx, cancel := context.WithTimeout(t.Context(), 2*awaitEvery)
	defer cancel()
	if err := l.members[1].Complete(ctx, c); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("before the lowest vgroup has published: %v", err)
	}
	l.shows(0)
	l.complete(c)
}

func TestT34_ARowThatPostgresRefusesIsFoundWhenItIsStaged(t *testing.T) {
	t.Parallel()
	l := newTeam(t, 1, 1)
	l.begin(0)
	l.complete(0)
	l.aside.err = errors.New("the dead-letter topic is away") // then all of it is tried again
	if err := l.members[0].Write(t.Context(), rowsOf(1, "a", "b\x00", "a", "c\x00", "d")); err != nil {
		t.Fatal(err)
	}
	l.now = map[string]int64{"a": 3, "d": 5}
	c := l.cut()
	if r := l.aside.rows; len(r) != 2 || !strings.HasPrefix(r[0], "2 ") || !strings.HasPrefix(r[1], "4 ") {
		t.Errorf("aside: %q", r)
	}
	l.complete(c)
	if left := l.memory.left(); left != 0 {
		t.Errorf("%d bytes held", left)
	}
}

func TestADatabaseThatWentBackStopsTheOutput(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		loses string // what a restored backup does not have
		in    string // where it is noticed
	}{
		"published":              {"UPDATE pondage.published SET cp = 0", "the next stage"},
		"staged":                 {"UPDATE pondage.staged SET cp = 1 WHERE vgroup = 3", "the next stage"},
		"staged, while it runs":  {"UPDATE pondage.staged SET cp = 1 WHERE vgroup = 3", "the publication"},
		"an open commit is none": {"SELECT 1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newTeam(t, 1, 2)
			l.begin(0)
			l.complete(0)
			l.write(1, "a", "b")
			l.complete(l.cut())
			l.write(2, "a", "b")
			cp := l.cut() // its marker is the first one
			if _, err := l.pool.Exec(t.Context(), c.loses); err != nil {
				t.Fatal(err)
			}
			var err error
			switch c.in {
			case "the publication":
				err = l.members[0].Complete(t.Context(), cp)
				if stopped := l.members[0].Stopped(); !errors.Is(stopped, err) {
					t.Errorf("the output goes on: %v", stopped)
				}
			case "the next stage":
				l.begin(cp)
				err = errors.Join(l.members[0].Flush(t.Context()), l.members[1].Flush(t.Context()))
			default:
				l.begin(cp)
				l.complete(cp)
				return
			}
			var stop *Stop
			if !errors.As(err, &stop) || stop.Code != CodeWentBack {
				t.Errorf("got %v", err)
			}
		})
	}
}

// What the user puts on the table is met when results are published: it is shown, and when it is mended nothing is missing.
func TestAConstraintOfTheUserHoldsThePublication(t *testing.T) {
	t.Parallel()
	l := newTeam(t, 1, 2)
	l.begin(0)
	l.complete(0)
	exec := func(sql string) {
		t.Helper()
		if _, err := l.pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	exec("CREATE UNIQUE INDEX mine ON target (n); INSERT INTO target (k, n, _cp, _vgroup) VALUES ('mine', 2, 0, 0)")
	l.write(1, "a", "b")
	c := l.cut()
	if err := l.members[0].Complete(t.Context(), c); err == nil {
		t.Fatal("published against a unique index")
	}
	if s := l.members[0].Status(); !strings.Contains(s.Problem, `"mine"`) || s.Since.IsZero() {
		t.Errorf("status: %+v", s)
	}
	l.write(5, "a")
	later := l.cut()
	exec("DELETE FROM target WHERE k = 'mine'")
	l.complete(c)
	if s := l.members[0].Status(); s.Problem != "" {
		t.Errorf("status when it is mended: %+v", s)
	}
	l.complete(later)
}

// A table of another delivery goes on: what was published belongs to the interval that it was made in.
func TestATableChangesItsDelivery(t *testing.T) {
	t.Parallel()
	l := newTeam(t, 1, 1)
	l.begin(0)
	l.complete(0)
	l.write(1, "a", "b")
	c := l.cut()
	l.complete(c)
	l.members[0].Close()
	up := NewPostgres(l.pool, target(), pgtable.Fence{Cluster: "test", Stream: 7, VGroup: l.group[0], Stage: 2}, &Start{Stage: 2, Restored: c}, envOf(&memory{}, &rejects{})).(participant)
	defer up.Close()
	if err := up.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.shows(c)
}

// A stage may have tasks that its checkpoint does not know: of partitions that have come since. One of them may be the one that
// publishes.
func TestATaskThatIsNewPublishesWhatOthersHaveStaged(t *testing.T) {
	t.Parallel()
	for name, vg := range map[string]ident.VGroup{"lowest": 0, "highest": 9} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newTeam(t, 1, 2)
			l.begin(0)
			l.complete(0)
			l.write(1, "a", "b")
			c := l.cut()
			l.group = append(l.group, vg)
			l.begin(c)
			var tasks sync.WaitGroup
			for _, m := range l.members { // each until it has done it
				tasks.Go(func() {
					for m.Complete(t.Context(), c) != nil && m.Stopped() == nil {
					}
				})
			}
			tasks.Wait()
			l.shows(c)
			l.write(5, "a", "b", "c")
			l.complete(l.cut())
		})
	}
}

func TestTwoStagesPublishAtOnce(t *testing.T) {
	t.Parallel()
	l := newTeam(t, 1, 2)
	l.begin(0)
	l.complete(0)
	l.write(1, "a", "b")
	c := l.cut()
	zombies := l.begin(c)
	var g sync.WaitGroup
	for _, z := range zombies {
		g.Go(func() { _ = z.Complete(t.Context(), c) }) // it is fenced, or first
	}
	l.complete(c)
	for _, z := range zombies {
		z.Close()
	}
	g.Wait()
	l.shows(c)
}
