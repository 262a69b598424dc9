package stage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pondage/pondage/internal/align"
	"github.com/pondage/pondage/internal/api/common"
	"github.com/pondage/pondage/internal/dispatch"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/manifest"
	"github.com/pondage/pondage/internal/problem"
	"github.com/pondage/pondage/internal/storage"
	"github.com/pondage/pondage/internal/storage/dirstore"
	"github.com/pondage/pondage/internal/task"
	shells "github.com/pondage/pondage/services/worker/internal/task"
)

// ledger is the coordinator's side of checkpoints: what tasks report. It implements task.Node.
type ledger struct {
	mu      sync.Mutex
	reports []shells.PartReport
}

func (l *ledger) Place(context.Context) (func(), error)          { return func() {}, nil }
func (l *ledger) Ask(shells.TriggerQuestion, func(align.Answer)) {}
func (l *ledger) Report(r shells.PartReport) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reports = append(l.reports, r)
}

// parts returns the last report of each task of a checkpoint, and how many reports there were.
func (l *ledger) parts(c ident.CheckpointID) (last map[string]shells.PartReport, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	last = map[string]shells.PartReport{}
	for _, r := range l.reports {
		if r.Checkpoint == c {
			last[r.Self.Task.String()] = r
			n++
		}
	}
	return last, n
}

// store is a store in a directory that notes what it is told, and reads only when it may. Its nodes report to one ledger.
type store struct {
	storage.Store
	ledger ledger
	dir    string

	mu       sync.Mutex
	retained []string
	reading  int           // how many wait
	mayRead  chan struct{} // nil: at once
}

func newStore(t *testing.T) *store {
	t.Helper()
	dir := t.TempDir()
	s, err := dirstore.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return &store{Store: s, dir: dir}
}

func (s *store) Retain(ctx context.Context, id ident.StreamID, keep []ident.CheckpointID) error {
	s.mu.Lock()
	s.retained = append(s.retained, fmt.Sprint(keep))
	s.mu.Unlock()
	return s.Store.Retain(ctx, id, keep)
}

func (s *store) readers() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reading
}

func (s *store) told() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.retained)
}

func (s *store) Open(ctx context.Context, id ident.StreamID, f manifest.File) (io.ReadCloser, error) {
	if s.mayRead != nil {
		s.mu.Lock()
		s.reading++
		s.mu.Unlock()
		select {
		case <-s.mayRead:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return s.Store.Open(ctx, id, f)
}

// spoil changes the files that have a suffix: the first one found, or all.
func (s *store) spoil(t *testing.T, suffix string, change func(name string) error) {
	t.Helper()
	n := 0
	err := filepath.WalkDir(s.dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, suffix) {
			return err
		}
		n++
		return change(name)
	})
	if err != nil || n == 0 {
		t.Fatalf("%d files *%s were spoiled: %v", n, suffix, err)
	}
}

// flip changes the last byte of a file.
func flip(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	text[len(text)-1] ^= 1
	if err := os.Chmod(name, 0o600); err != nil {
		return err
	}
	return os.WriteFile(name, text, 0o600)
}

// checkpointed is a node whose streams take checkpoints.
type checkpointed struct {
	*member
	ledger *ledger
}

func (c *cluster) joinCheckpointed(name string, s *store) checkpointed {
	c.t.Helper()
	m := c.joinWith(name, c.hub, func(e *Config) {
		e.Store, e.Checkpoints = s, &s.ledger
		e.Current = func(context.Context, string, ident.StreamID, ident.Stage) error { return nil }
	})
	return checkpointed{m, &s.ledger}
}

const patient = 60_000 // ms that a checkpoint may take

// ask asks tasks of an order for a checkpoint.
func (m checkpointed) ask(o common.Order, c, tx int, tasks ...string) common.CheckpointTaken {
	m.t.Helper()
	q := common.CheckpointRequest{
		Node: string(m.Place.Node), Instance: m.Place.Instance.String(), StreamID: o.StreamID, Stage: o.Stage, Checkpoint: common.Int64(c), Tx: common.Int64(tx), LeftMs: patient, Tasks: tasks,
	}
	taken, err := m.Request(m.t.Context(), q)
	if err != nil {
		m.t.Fatal(err)
	}
	return taken
}

func sourcesOf(o common.Order) []string {
	var out []string
	for _, t := range o.Tasks {
		if strings.HasPrefix(t.Task, "source") {
			out = append(out, t.Task)
		}
	}
	return out
}

// take takes a checkpoint of an order whose sources run on this node, and returns its parts.
func (m checkpointed) take(o common.Order, c int) common.Restore {
	m.t.Helper()
	if got := m.ask(o, c, c, sourcesOf(o)...); len(got.Taken) != len(sourcesOf(o)) {
		m.t.Fatalf("checkpoint %d: %+v", c, got)
	}
	out := common.Restore{Checkpoint: common.Int64(c)}
	m.await("all parts are reported", func() bool {
		last, _ := m.ledger.parts(ident.CheckpointID(c))
		return len(last) == len(o.Tasks)
	})
	last, _ := m.ledger.parts(ident.CheckpointID(c))
	for name, r := range last {
		if r.Failure != nil {
			m.t.Fatalf("checkpoint %d of %s: %s", c, name, r.Failure)
		}
		out.Tasks = append(out.Tasks, common.RestoredTask{Task: name, Node: string(m.Place.Node), Manifest: r.Manifest.String()})
	}
	return out
}

// verdict is the order's next one, by which a checkpoint is complete.
func verdict(o common.Order, complete, settled int, retained ...common.Int64) common.Order {
	o.Generation++
	o.Complete, o.Settled, o.Retained = common.Int64(complete), common.Int64(settled), retained
	return o
}

// next is the order of the next stage, which begins from a checkpoint.
func next(o common.Order, from common.Restore) common.Order {
	o.Generation, o.Stage = o.Generation+1, o.Stage+1
	o.Complete, o.Settled, o.Restore = from.Checkpoint, from.Checkpoint, &from
	return o
}

func TestRequestsOfCheckpoints(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	o := c.order(counts, 2, together)
	a := c.joinCheckpointed("a", newStore(t))
	sources := sourcesOf(o)

	before := a.ask(o, 1, 1, sources...)
	if len(before.Taken)+len(before.Refused) != 0 {
		t.Errorf("before the order is obeyed: %+v, want no answer", before)
	}
	r := a.begin(o)
	a.await("all are ready", func() bool { return all(r, task.Ready) })
	later := o
	later.Stage = 2
	if got := a.ask(later, 1, 1, sources...); len(got.Taken)+len(got.Refused) != 0 {
		t.Errorf("of a stage that has not begun here: %+v, want no answer", got)
	}
	earlier := o
	earlier.Stage = 0
	if got := a.ask(earlier, 1, 1, sources...); !allRefused(got, len(sources), align.CodeOtherStage) {
		t.Errorf("of a stage that is over: %+v", got)
	}
	if got := a.ask(o, 1, 1, "source-9", "nonsense"); len(got.Taken)+len(got.Refused) != 0 {
		t.Errorf("of tasks that are not here: %+v, want no answer", got)
	}
	if got := a.ask(o, 1, 1, "agg-0"); !allRefused(got, 1, align.CodeNoSource) {
		t.Errorf("of a receiver: %+v", got)
	}
	for range 2 {
		if got := a.ask(o, 1, 1, sources...); len(got.Taken) != len(sources) {
			t.Errorf("the request: %+v, want all taken", got)
		}
	}
	if got := a.ask(o, 1, 2, sources...); !allRefused(got, len(sources), align.CodeVoid) {
		t.Errorf("another transaction: %+v", got)
	}
	_, err := a.Request(t.Context(), common.CheckpointRequest{Node: "a", Instance: ident.Instance{Counter: 2}.String(), StreamID: o.StreamID, Stage: 1, Checkpoint: 2, Tx: 2, LeftMs: patient, Tasks: sources})
	var told *problem.Error
	if !errors.As(err, &told) || told.Code != problem.CodeOrdersRefused {
		t.Errorf("for another instance: %v", err)
	}
}

func allRefused(got common.CheckpointTaken, n int, code align.Code) bool {
	return len(got.Taken) == 0 && len(got.Refused) == n &&
		!slices.ContainsFunc(got.Refused, func(r common.CheckpointRefusal) bool { return r.Cause.Code != string(code) })
}

func TestATaskThatHasEndedRefuses(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	o := c.order(counts, 1, together)
	s := newStore(t)
	a := c.joinCheckpointed("a", s)
	r := a.begin(o)
	a.await("all are ready", func() bool { return all(r, task.Ready) })
	r.cancel()
	r.goroutines.Wait()
	if got := a.ask(o, 1, 1, sourcesOf(o)...); !allRefused(got, 1, align.CodeNotReady) {
		t.Errorf("got %+v", got)
	}
}

func TestQuestionsForTriggers(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	o := c.order(counts, 1, together)
	a := c.joinCheckpointed("a", newStore(t))
	r := a.begin(o)
	a.await("all are ready", func() bool { return all(r, task.Ready) })
	source := sourcesOf(o)[0]
	a.take(o, 1)
	question := common.TriggerQuestion{StreamID: o.StreamID, Stage: o.Stage, Checkpoint: 1, Tx: 1, Upstream: source, Asker: "agg-0"}
	later, nobody, other, word := question, question, question, question
	later.Stage, nobody.Upstream, other.Checkpoint, word.Asker = 2, "source-9", 7, "?"
	got, err := a.Triggers(t.Context(), common.TriggerQuestions{Questions: []common.TriggerQuestion{question, later, nobody, other, word}})
	if err != nil {
		t.Fatal(err)
	}
	want := []align.Status{align.StatusSent, align.StatusNotRunning, align.StatusNotRunning, align.StatusNotRunning, align.StatusNotRunning}
	for i, x := range got.Answers {
		if x.Status != string(want[i]) {
			t.Errorf("question %d: %+v, want %s", i, x, want[i])
		}
	}
	if got.Answers[0].Message == 0 {
		t.Errorf("the trigger was sent: %+v", got.Answers[0])
	}
	place, address, ok := a.Upstream(ident.StreamID(o.StreamID), 1, ident.Task{Level: ident.LevelAgg})
	if !ok || place != a.Place || address != "http://a" {
		t.Errorf("the place of a task: %v %q %v", place, address, ok)
	}
	if _, _, ok := a.Upstream(ident.StreamID(o.StreamID), 2, ident.Task{Level: ident.LevelAgg}); ok {
		t.Error("a task of a stage that has not begun has a place")
	}
}

func TestAStageGoesOnFromACheckpoint(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	o := c.order(counts, 2, together)
	s := newStore(t)
	a := c.joinCheckpointed("a", s)
	r := a.begin(o)
	a.await("all are ready", func() bool { return all(r, task.Ready) })
	c.record(o, 0, 1, 2)
	c.record(o, 1, 3)
	a.await("the records are read", func() bool { return a.metrics()["pondage.source.records"] == 3 })
	from := a.take(o, 1)
	if slices.ContainsFunc(r.Reports(), func(t common.TaskReport) bool { return t.Committed != 0 }) {
		t.Error("a task says that it has committed what nobody has called complete")
	}
	r.Update(verdict(o, 1, 1, 1))
	a.await("all have committed", func() bool {
		return !slices.ContainsFunc(r.Reports(), func(t common.TaskReport) bool { return t.Committed != 1 })
	})
	r.End()

	// The records of before are in the state: only their counts come back.
	second := next(verdict(o, 1, 1, 1), from)
	r = a.begin(second)
	a.await("all are ready again", func() bool { return all(r, task.Ready) })
	c.record(o, 0, 11)
	c.record(o, 1, 11)
	a.results(c.plan(o), o.StreamID).await(row("00:00", 3))
}

func TestACheckpointThatCannotBeRestored(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		spoil func(*testing.T, *store, *common.Restore)
		code  string
	}{
		"manifests that are gone": {func(t *testing.T, s *store, _ *common.Restore) { s.spoil(t, ".manifest", os.Remove) }, "checkpoint_missing"},
		"manifests that are bad":  {func(t *testing.T, s *store, _ *common.Restore) { s.spoil(t, ".manifest", flip) }, "checkpoint_damaged"},
		"files that are gone":     {func(t *testing.T, s *store, _ *common.Restore) { s.spoil(t, ".file", os.Remove) }, "checkpoint_missing"},
		"files that are bad":      {func(t *testing.T, s *store, _ *common.Restore) { s.spoil(t, ".file", flip) }, "checkpoint_damaged"},
		"others than were reported": {func(_ *testing.T, _ *store, r *common.Restore) {
			for i := range r.Tasks {
				r.Tasks[i].Manifest = strings.Repeat("0", len(r.Tasks[i].Manifest))
			}
		}, "checkpoint_damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			o := c.order(counts, 1, together)
			s := newStore(t)
			a := c.joinCheckpointed("a", s)
			r := a.begin(o)
			a.await("all are ready", func() bool { return all(r, task.Ready) })
			c.record(o, 0, 1)
			a.await("the record is read", func() bool { return a.metrics()["pondage.source.records"] == 1 })
			from := a.take(o, 1)
			r.End()
			x.spoil(t, s, &from)
			// Another process has nothing of it in memory.
			again, err := dirstore.Open(s.dir)
			if err != nil {
				t.Fatal(err)
			}
			b := c.joinCheckpointed("a", &store{Store: again, dir: s.dir})
			r = b.begin(next(o, from))
			b.await("the tasks say why", func() bool {
				return slices.ContainsFunc(r.Reports(), func(rep common.TaskReport) bool {
					return rep.State == string(task.Failed) && rep.Cause != nil && rep.Cause.Code == x.code
				})
			})
			if slices.ContainsFunc(r.Reports(), func(rep common.TaskReport) bool { return rep.Cause != nil && rep.Cause.Code != x.code }) {
				t.Errorf("reports %+v", r.Reports())
			}
		})
	}
}

func TestAReceiverIsReadyOnceItHasRestored(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	o := c.order(counts, 1, apart)
	s := newStore(t)
	a, b := c.joinCheckpointed("a", s), c.joinCheckpointed("b", s)
	ra, rb := a.begin(o), b.begin(o)
	a.await("all are ready", func() bool { return all(ra, task.Ready) && all(rb, task.Ready) })
	c.record(o, 0, 1)
	b.await("the record has arrived", func() bool { return b.metrics()["pondage.edge.received.blocks"] > 0 })
	from := a.take(o, 1)
	ra.End()
	rb.End()

	s.mayRead = make(chan struct{})
	o = next(o, from)
	ra, rb = a.begin(o), b.begin(o)
	b.await("the receivers restore", func() bool { return s.readers() == vgroups })
	const unanswered = 200 * time.Millisecond
	ctx, cancel := context.WithTimeout(t.Context(), unanswered)
	defer cancel()
	source := ra.mine[0]
	if answer, err := b.Exchange.Check(ctx, dispatch.Check{Stream: ra.id, Stage: ra.stage, From: a.Place, To: b.Place, Pairs: []dispatch.Pair{
		{Upstream: source, Downstream: rb.mine[0]},
	}}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a receiver that restores answers %+v, %v", answer, err)
	}
	if !all(rb, task.Uninit) || !all(ra, task.Uninit) {
		t.Errorf("while receivers restore: %v, %v", states(ra), states(rb))
	}
	// A beat does not wait for it, nor does a request for a checkpoint longer than the coordinator.
	if got := a.ask(o, 2, 2, sourcesOf(o)...); len(got.Taken)+len(got.Refused) != 0 {
		t.Errorf("a checkpoint meanwhile: %+v, want no answer", got)
	}
	close(s.mayRead)
	a.await("all are ready", func() bool { return all(ra, task.Ready) && all(rb, task.Ready) })
}

// TestARestoreEndsWithItsRun: a store that does not answer holds up no end.
func TestARestoreEndsWithItsRun(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	o := c.order(counts, 1, together)
	s := newStore(t)
	a := c.joinCheckpointed("a", s)
	r := a.begin(o)
	a.await("all are ready", func() bool { return all(r, task.Ready) })
	c.record(o, 0, 1)
	a.await("the record is read", func() bool { return a.metrics()["pondage.source.records"] == 1 })
	from := a.take(o, 1)
	r.End()
	s.mayRead = make(chan struct{})
	r = a.begin(next(o, from))
	a.await("the receivers restore", func() bool { return s.readers() == vgroups })
	r.End()
	if got := states(r); slices.Contains(slices.Collect(maps.Values(got)), string(task.Failed)) {
		t.Errorf("states %v: what is ended from outside has not failed", states(r))
	}
}

// TestVerdictsReachTasksThatStartLater: an order says that a checkpoint has failed while the sources still wait.
func TestVerdictsReachTasksThatStartLater(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	o := c.order(counts, 1, apart)
	s := newStore(t)
	a := c.joinCheckpointed("a", s)
	ra := a.begin(o)
	a.await("the sources wait", func() bool { return strings.HasPrefix(ra.Reports()[0].Note, "starting: handshake") })
	told := verdict(o, 0, 5)
	ra.Update(told)
	b := c.joinCheckpointed("b", s)
	rb := b.begin(told)
	a.await("all are ready", func() bool { return all(ra, task.Ready) && all(rb, task.Ready) })
	if got := a.ask(o, 5, 5, sourcesOf(o)...); !allRefused(got, 1, align.CodeVoid) {
		t.Errorf("a checkpoint that has failed: %+v", got)
	}
	if got := a.ask(o, 6, 6, sourcesOf(o)...); len(got.Taken) != 1 {
		t.Errorf("the next one: %+v", got)
	}
	b.await("the receivers report", func() bool { last, _ := b.ledger.parts(6); return len(last) == vgroups })
}

func TestTasksReportAgainToANewCoordinator(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	o := c.order(counts, 1, together)
	a := c.joinCheckpointed("a", newStore(t))
	r := a.begin(o)
	a.await("all are ready", func() bool { return all(r, task.Ready) })
	a.take(o, 1)
	_, n := a.ledger.parts(1)
	same := o
	same.Generation = 2
	r.Update(same)
	later := same
	later.Term = 2
	r.Update(later)
	a.await("every task reports once more", func() bool {
		_, again := a.ledger.parts(1)
		return again == n+len(o.Tasks)
	})
}

func TestWhatIsNotRetainedGoes(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	o := c.order(counts, 1, together)
	s := newStore(t)
	a := c.joinCheckpointed("a", s)
	r := a.begin(o)
	a.await("all are ready", func() bool { return all(r, task.Ready) })
	from := a.take(o, 1)
	o = verdict(o, 1, 1, 1)
	r.Update(o)
	a.await("it is told", func() bool { return slices.Equal(s.told(), []string{"[1]"}) })
	r.Update(verdict(o, 1, 1, 1)) // the same list says nothing new
	r.End()

	o = next(o, from)
	r = a.begin(o)
	a.await("all are ready again", func() bool { return all(r, task.Ready) })
	a.take(o, 2)
	a.take(verdict(o, 1, 2, 1), 2)
	o = verdict(o, 2, 2, 2)
	r.Update(o)
	const own = "[2 1]" // what the stage has begun from stays
	a.await("the next list, with the stage's own", func() bool { return slices.Contains(s.told(), own) })
	if got := s.told(); !slices.Equal(got, []string{"[1]", "[1 1]", own}) {
		t.Errorf("told %v", got)
	}
}

func TestANodeThatClosesWaitsForItsCheckpoints(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	o := c.order(counts, 1, together)
	a := c.joinCheckpointed("a", newStore(t))
	r := a.begin(o)
	a.await("all are ready", func() bool { return all(r, task.Ready) })
	a.Settle(t.Context()) // there is none
	a.take(o, 1)
	const short = 200 * time.Millisecond
	ctx, cancel := context.WithTimeout(t.Context(), short)
	defer cancel()
	if a.Settle(ctx); ctx.Err() == nil {
		t.Error("a checkpoint without a verdict is not waited for")
	}
	r.Update(verdict(o, 1, 1, 1))
	ctx, cancel = context.WithTimeout(t.Context(), patience)
	defer cancel()
	if a.Settle(ctx); ctx.Err() != nil {
		t.Error("a checkpoint that is complete is still waited for")
	}
	a.take(o, 2)
	r.Update(verdict(verdict(o, 1, 1, 1), 1, 2, 1))
	if a.Settle(ctx); ctx.Err() != nil {
		t.Error("a checkpoint that has failed is still waited for")
	}
}
