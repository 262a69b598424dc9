package task

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pondage/pondage/internal/align"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/manifest"
	"github.com/pondage/pondage/internal/storage"
	"github.com/pondage/pondage/internal/storage/dirstore"
	"github.com/pondage/pondage/internal/task"
)

// rows is a stream without windows that is partitioned differently from its source: an edge, no keyed state.
const rowsByDevice = `"select":[{"expr":"tbname","as":"device"},{"expr":"v","as":"v"}],"partition_by":["tbname"]`

// headquarters is the node's side and the coordinator of a test: it hears all reports and brings questions.
type headquarters struct {
	t     *testing.T
	store storage.Store
	stage *stage
	deaf  bool // questions get no answer

	places atomic.Int32 // held

	mu      sync.Mutex
	reports []PartReport
	asked   []TriggerQuestion
}

func (h *headquarters) Place(context.Context) (func(), error) {
	h.places.Add(1)
	return func() { h.places.Add(-1) }, nil
}

func (h *headquarters) Report(r PartReport) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reports = append(h.reports, r)
}

func (h *headquarters) Ask(q TriggerQuestion, answered func(align.Answer)) {
	h.mu.Lock()
	h.asked = append(h.asked, q)
	h.mu.Unlock()
	if h.deaf {
		return
	}
	go func() {
		a, err := h.stage.sources[q.Upstream].Participant().Trigger(h.stage.ctx, q.Self.Task, q.Checkpoint, q.Tx)
		if err == nil {
			answered(a)
		}
	}()
}

// taken returns what was reported of a checkpoint since the last call: each task once.
func (h *headquarters) taken() map[ident.Task]PartReport {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := map[ident.Task]PartReport{}
	for _, r := range h.reports {
		out[r.Self.Task] = r
	}
	h.reports = nil
	return out
}

// newHeadquarters returns the rig of a stage with checkpoints; restored is the manifest of each task, none at first.
func newHeadquarters(t *testing.T, sc scene, restored map[ident.Task]*manifest.Manifest) (*headquarters, *stage) {
	store, err := dirstore.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := &headquarters{t: t, store: store}
	sc.checkpoints = func(id ident.Task) *Checkpoints {
		c := &Checkpoints{Cluster: "c", Store: h.store, Node: h, Restored: restored[id]}
		if c.Restored != nil {
			c.From, c.Complete, c.Settled = c.Restored.Checkpoint, c.Restored.Checkpoint, c.Restored.Checkpoint
		}
		return c
	}
	h.stage = newStage(t, sc)
	return h, h.stage
}

// Trigger implements Checkpointed.
func (o *outlet) Trigger(_ context.Context, c ident.CheckpointID) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.cuts == nil {
		o.cuts = map[ident.CheckpointID]int{}
	}
	o.cuts[c] = o.handed
	return nil
}

// Prepare implements Checkpointed.
func (o *outlet) Prepare(ctx context.Context, _ ident.CheckpointID) (manifest.Sink, []manifest.File, error) {
	return manifest.Sink{Kind: "test"}, nil, o.Flush(ctx)
}

// Complete implements Checkpointed.
func (o *outlet) Complete(_ context.Context, c ident.CheckpointID) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.shown = c
	return nil
}

// request asks all sources, or those of some, for their part, and lets a moment pass.
func (h *headquarters) request(c ident.CheckpointID, of ...*Source) {
	h.t.Helper()
	if of == nil {
		for _, s := range h.stage.sources {
			of = append(of, s)
		}
	}
	for _, s := range of {
		a, err := s.Participant().Request(h.t.Context(), 1, c, ident.TxID(10*c), 60_000)
		if err != nil || a.Refused != nil {
			h.t.Fatalf("%s: %v %v", s.cfg.Self.Task, a.Refused, err)
		}
	}
	time.Sleep(time.Second)
	synctest.Wait()
}

func (h *headquarters) settle(complete, settled ident.CheckpointID) {
	for _, p := range h.participants() {
		p.Settled(1, complete, settled)
	}
	time.Sleep(time.Second)
	synctest.Wait()
}

func (h *headquarters) participants() (all []*Participant) {
	for _, s := range h.stage.sources {
		all = append(all, s.Participant())
	}
	for _, r := range h.stage.receivers {
		all = append(all, r.Participant())
	}
	return all
}

// wantDone checks that every task has reported the checkpoint done, and returns the manifests.
func (h *headquarters) wantDone(c ident.CheckpointID) map[ident.Task]*manifest.Manifest {
	h.t.Helper()
	out := map[ident.Task]*manifest.Manifest{}
	for id, r := range h.taken() {
		if r.Failure != nil || r.Checkpoint != c || r.Tx != ident.TxID(10*c) {
			h.t.Errorf("%s reports %d/%d: %v, want %d done", id, r.Checkpoint, r.Tx, r.Failure, c)
			continue
		}
		m, hash, err := h.store.Load(h.t.Context(), h.stage.id, id, c)
		if err != nil || hash != r.Manifest {
			h.t.Errorf("%s: manifest %s, reported %s: %v", id, hash, r.Manifest, err)
			continue
		}
		out[id] = m
	}
	if want := len(h.participants()); len(out) != want {
		h.t.Errorf("%d tasks are done, want %d", len(out), want)
	}
	return out
}

// TestT22_T23: a checkpoint holds what is processed, the next stage goes on behind it, once.
func TestT22_T23_AStageGoesOnBehindItsCheckpoint(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, s := newHeadquarters(t, scene{stream: rowsByDevice, vgroups: 2, partitions: 2}, nil)
		s.start()
		for i := range 20 {
			s.record(ident.Partition(i%2), fmt.Sprint("d", i%5), float64(i), i)
		}
		time.Sleep(time.Second)
		h.request(1)
		manifests := h.wantDone(1)
		next := int64(0)
		for _, m := range manifests {
			if m.Source == nil {
				continue
			}
			for _, p := range m.Source.Partitions {
				next += int64(p.Next)
				if p.Counters.Counted != int64(p.Next) {
					t.Errorf("partition %d: %d records counted, position %d", p.Partition, p.Counters.Counted, p.Next)
				}
			}
		}
		if next != 20 || len(s.results()) != 20 {
			t.Errorf("positions add up to %d, %d results, want 20", next, len(s.results()))
		}
		h.settle(1, 1)
		for name, r := range s.reports() {
			if r.Committed != 1 || r.State != task.Ready {
				t.Errorf("%s is %s and has committed %d", name, r.State, r.Committed)
			}
		}
		s.end()

		h, s = newHeadquarters(t, scene{stream: rowsByDevice, vgroups: 2, partitions: 2, id: s.id}, manifests)
		for i := range 24 {
			s.record(ident.Partition(i%2), fmt.Sprint("d", i%5), float64(i), i)
		}
		s.start()
		time.Sleep(time.Second)
		synctest.Wait()
		if got := s.results(); len(got) != 4 {
			t.Errorf("%d results behind the checkpoint, want 4: %v", len(got), got)
		}
		if c := s.counters(); c.Counted != 24 {
			t.Errorf("%d counted over both stages, want 24", c.Counted)
		}
		h.request(2)
		h.wantDone(2)
		s.wantWell()
	})
}

// TestTheBarrierPassesTheSinksBehindEveryResult: also when rows and triggers come in one fetch, to a receiver that was held
// up by its output, and the sinks are told when the checkpoint is complete.
func TestTheBarrierPassesTheSinksBehindEveryResult(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, s := newHeadquarters(t, scene{stream: rowsByDevice, vgroups: 2, partitions: 2}, nil)
		for _, o := range s.outlets {
			o.close()
		}
		s.start()
		feed := func() {
			for i := range 10 {
				s.record(ident.Partition(i%2), fmt.Sprint("d", i%5), 0, i)
			}
			time.Sleep(300 * time.Millisecond)
		}
		for range 12 {
			feed()
		}
		h.request(1)
		feed()
		for _, o := range s.outlets {
			o.open()
		}
		time.Sleep(time.Second)
		synctest.Wait()
		rows, positions := 0, 0
		for id, m := range h.wantDone(1) {
			if m.Source != nil {
				for _, p := range m.Source.Partitions {
					positions += int(p.Next)
				}
			} else {
				rows += s.outlets[id].cuts[1]
			}
		}
		if rows != 120 || positions != 120 {
			t.Errorf("%d results before the barrier of %d records, want 120 of both", rows, positions)
		}
		h.settle(1, 1)
		for id, o := range s.outlets {
			if o.shown != 1 {
				t.Errorf("the sink of %s has shown %d", id, o.shown)
			}
		}
		s.wantWell()
	})
}

// TestAFullDiskFailsTheCheckpointNotTheStream: and the next one is taken when there is room.
func TestAFullDiskFailsTheCheckpointNotTheStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, s := newHeadquarters(t, scene{stream: rowsByDevice, vgroups: 1, partitions: 1}, nil)
		room := h.store
		h.store = fullStore{room}
		s.start()
		s.record(0, "a", 1, 1)
		time.Sleep(time.Second)
		h.request(1)
		for id, r := range h.taken() {
			if r.Failure == nil || r.Failure.Code != codeDiskFull {
				t.Errorf("%s reports %v, want disk_full", id, r.Failure)
			}
		}
		h.settle(0, 1)
		h.fill(room)
		s.record(0, "a", 2, 2)
		h.request(2)
		h.wantDone(2)
		if len(s.results()) != 2 {
			t.Errorf("results %v, want 2", s.results())
		}
		s.wantWell()
	})
}

type fullStore struct{ storage.Store }

func (fullStore) Commit(context.Context, *manifest.Manifest) (manifest.Hash, error) {
	return manifest.Hash{}, fmt.Errorf("commit: %w", storage.ErrFull)
}

// TestAMissingTriggerIsAskedFor: of a source that does not take the checkpoint it will never come. Nothing is lost of what
// was held meanwhile.
func TestAMissingTriggerIsAskedFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		deaf  bool
		after time.Duration
		code  align.Code
	}{
		"answered":   {false, align.AskAfter, align.CodeNotRunning},
		"unanswered": {true, time.Minute, align.CodeTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h, s := newHeadquarters(t, scene{stream: rowsByDevice, vgroups: 2, partitions: 2}, nil)
				h.deaf = c.deaf
				s.start()
				time.Sleep(time.Second)
				first := s.sources[s.graph.Tasks[0].Task]
				h.request(1, first)
				h.taken()
				held := first.cfg.Partitions[0].Partition
				s.record(held, "a", 1, 1)
				s.record(1-held, "a", 1, 2)
				time.Sleep(c.after - 2*time.Second)
				synctest.Wait()
				if n := len(s.results()); n != 1 || len(h.taken()) > 1 {
					t.Errorf("%d results while the triggers are missing, want 1", n)
				}
				time.Sleep(2 * time.Second)
				synctest.Wait()
				if n := len(s.results()); n != 2 {
					t.Errorf("%d results after the alignment, want 2", n)
				}
				for id, r := range h.taken() {
					if id.Level != ident.LevelSource && (r.Failure == nil || r.Failure.Code != c.code) {
						t.Errorf("%s reports %v, want %s", id, r.Failure, c.code)
					}
				}
				if len(h.asked) == 0 {
					t.Error("nobody was asked")
				}
				h.settle(0, 1)
				h.request(2)
				h.wantDone(2)
				s.wantWell()
			})
		})
	}
}

// TestABoundedStreamTakesItsLastCheckpoint: finished tasks take part until the stage ends.
func TestABoundedStreamTakesItsLastCheckpoint(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, s := newHeadquarters(t, scene{stream: rowsByDevice, vgroups: 1, partitions: 1, bounded: true}, nil)
		s.record(0, "a", 1, 1)
		s.start()
		s.wantFinished()
		h.request(1)
		h.wantDone(1)
		h.settle(1, 1)
		for name, r := range s.reports() {
			if r.State != task.Finished || r.Committed != 1 {
				t.Errorf("%s is %s and has committed %d", name, r.State, r.Committed)
			}
		}
	})
}

// TestAFinishedTaskHasToldEverything: whoever hears that a task is finished ends the stage, and looks at no later report.
func TestAFinishedTaskHasToldEverything(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, s := newHeadquarters(t, scene{stream: rowsByDevice, vgroups: 1, partitions: 1, bounded: true}, nil)
		const records = 3
		for i := range records {
			s.record(0, "a", 1, i)
		}
		told := 0
		s.changed = func(id ident.Task) {
			x, ok := s.sources[id]
			if !ok {
				return
			}
			if r := x.Report(); r.State == task.Finished {
				told++
				if n := r.Progress.Partitions[0].Counters.Accepted(); n != records {
					t.Errorf("a finished task has counted %d of %d records", n, records)
				}
			}
		}
		s.start()
		s.wantFinished()
		if told == 0 {
			t.Error("nobody was told")
		}
	})
}

// TestWindowsGoOnFromTheirFiles: base and deltas, also those of a checkpoint that failed; what was not written is written
// by the next one. Results are those of a run without a stop, each once.
func TestWindowsGoOnFromTheirFiles(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, s := newHeadquarters(t, scene{stream: count10s, vgroups: 2, partitions: 2}, nil)
		room := h.store
		s.start()
		feed := func(s *stage, from, to int) {
			for i := from; i < to; i++ {
				s.record(ident.Partition(i%2), fmt.Sprint("d", i%5), float64(i), i)
			}
			time.Sleep(time.Second)
		}
		feed(s, 0, 15)
		h.request(1)
		h.wantDone(1)
		h.settle(1, 1)
		feed(s, 15, 18)
		h.request(2) // fails at another task, when all here is written
		h.wantDone(2)
		h.settle(1, 2)
		feed(s, 18, 20)
		h.fill(fullStore{room})
		h.request(3) // nothing of it becomes durable
		h.settle(1, 3)
		h.fill(room)
		feed(s, 20, 21) // the windows of what 3 would have had are open still
		h.taken()
		h.request(4)
		manifests := h.wantDone(4)
		for id, m := range manifests {
			if len(m.Files) > 0 && (m.Files[0].Role != manifest.RoleBase || len(m.Files) == 1 && m.Files[0].Checkpoint == 4) {
				t.Errorf("%s stands on %+v, want a base of 1 and what changed", id, m.Files)
			}
		}
		before := s.results()
		s.end()

		store := h.store
		h, s = newHeadquarters(t, scene{stream: count10s, vgroups: 2, partitions: 2, id: s.id}, manifests)
		h.fill(store)
		feed(s, 0, 40) // the log as it was, and more
		s.start()
		time.Sleep(time.Second)
		feed(s, 40, 60)
		time.Sleep(time.Minute)
		synctest.Wait()
		s.wantWell()
		var want []string
		for start := 0; start < 60; start += 10 {
			for d := range 5 {
				want = append(want, row(fmt.Sprint("d", d), start, 2))
			}
		}
		slices.Sort(want)
		got := slices.Concat(before, s.results())
		slices.Sort(got)
		wantLines(t, "results of both stages", got, want)
	})
}

// fill gives all tasks another store.
func (h *headquarters) fill(s storage.Store) {
	h.store = s
	for _, p := range h.participants() {
		p.cfg.Store = s
	}
}

// TestAPausedSourceTakesACheckpointAndNoInput: a resume while the checkpoint is written counts behind it.
func TestAPausedSourceTakesACheckpointAndNoInput(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, s := newHeadquarters(t, scene{stream: rowsByDevice, vgroups: 1, partitions: 1}, nil)
		slow := slowStore{h.store, make(chan struct{})}
		s.start()
		src := s.sources[s.graph.Tasks[0].Task]
		src.Pause()
		time.Sleep(time.Second)
		h.fill(slow)
		s.record(0, "a", 1, 1)
		h.request(1)
		if r := src.Report(); r.State != task.Checkpointing || len(s.results()) != 0 {
			t.Errorf("%s, results %v while it is paused", r.State, s.results())
		}
		src.Resume()
		time.Sleep(time.Second)
		close(slow.open)
		time.Sleep(time.Second)
		synctest.Wait()
		h.wantDone(1)
		if r := src.Report(); r.State != task.Ready || len(s.results()) != 1 {
			t.Errorf("%s, results %v behind the checkpoint", r.State, s.results())
		}
		s.wantWell()
	})
}

// slowStore commits when it is opened.
type slowStore struct {
	storage.Store
	open chan struct{}
}

func (s slowStore) Commit(ctx context.Context, m *manifest.Manifest) (manifest.Hash, error) {
	select {
	case <-s.open:
		return s.Store.Commit(ctx, m)
	case <-ctx.Done():
		return manifest.Hash{}, ctx.Err()
	}
}

func TestRequestsSeenAreRestored(t *testing.T) {
	t.Parallel()
	const window = time.Minute
	r := newRepeats(window)
	for _, rec := range []struct {
		ms  int64
		key string
	}{{1_000, "k/0"}, {1_000, "k/1"}, {61_500, "m/3"}, {62_000, "plain"}} {
		if r.known([]byte(rec.key), rec.ms) {
			t.Fatalf("%s was seen before", rec.key)
		}
	}
	again := newRepeats(window)
	again.load(r.state())
	for key, want := range map[string]bool{"k/0": true, "k/1": true, "k/2": false, "m/3": true, "m/4": false, "n/0": false, "plain": true} {
		if got := again.known([]byte(key), 63_000); got != want {
			t.Errorf("%s: seen is %t, want %t", key, got, want)
		}
	}
	if got := again.state(); slices.ContainsFunc(got, func(s manifest.Seen) bool { return s.Ms > 63_000 }) {
		t.Errorf("%v", got)
	}
}

// TestASinkThatIsDownHoldsNoPlace: of those that the streams of a node share.
func TestASinkThatIsDownHoldsNoPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, s := newHeadquarters(t, scene{stream: rowsByDevice, vgroups: 2, partitions: 1}, nil)
		for _, o := range s.outlets {
			o.close()
		}
		s.start()
		s.record(0, "a", 1, 1)
		s.record(0, "b", 2, 1)
		s.record(0, "c", 3, 1)
		time.Sleep(time.Second)
		h.request(1)
		if n, done := h.places.Load(), len(h.taken()); n != 0 || done == len(h.participants()) {
			t.Errorf("%d places are held, %d tasks are done", n, done)
		}
		for _, o := range s.outlets {
			o.open()
		}
		time.Sleep(time.Second)
	})
}
