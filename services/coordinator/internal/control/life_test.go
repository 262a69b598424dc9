package control

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/services/coordinator/internal/control/decide"
	"github.com/pondage/pondage/services/coordinator/internal/store"
)

func TestABoundedStreamRunsUntilItIsFinished(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		n := r.node("a", 1)
		r.source()
		made := r.stream(doc{Name: "hourly", Bounded: true})
		if made.State != StreamCreating || made.Stage != 0 {
			t.Fatalf("made as %s at stage %d", made.State, made.Stage)
		}
		s := r.untilState("hourly", StreamRunning)
		if s.Stage != 1 || !s.Start.Complete || len(s.Start.Missing) > 0 {
			t.Fatalf("stage %d, start record %+v", s.Stage, s.Start)
		}
		r.until("counters", func() bool { return r.get("hourly").Progress.Counters.Accepted() == 80 })
		s = r.get("hourly")
		if s.Progress.Lag != 2*(100-40) || s.Progress.Watermark == nil || *s.Progress.Watermark != 1000 {
			t.Fatalf("progress %+v", s.Progress)
		}

		n.with(func() { n.finished[s.ID] = true })
		s = r.untilState("hourly", StreamFinished)
		want := Counters{Counted: 60, Filtered: 10, NoWindow: 2, Late: 6, DeadLettered: 2}
		if s.Progress.Counters != want || !s.Progress.Ended || s.Progress.Watermark != nil {
			t.Fatalf("progress %+v", s.Progress)
		}
		// The counters are the metastore's now: they survive the coordinator and the node.
		n.kill()
		r.crash()
		r.startCoordinator("c2")
		if got := r.get("hourly"); got.Progress.Counters != want || got.State != StreamFinished || got.Stage != 1 {
			t.Fatalf("after a restart: %s at stage %d, %+v", got.State, got.Stage, got.Progress.Counters)
		}
		n.startedOnce()
	})
}

func TestARestartedCoordinatorResetsNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		n := r.node("a", 1)
		r.source()
		r.stream(doc{Name: "hourly"})
		r.untilState("hourly", StreamRunning)
		r.crash()
		before := time.Now()
		r.startCoordinator("c2")
		if took := time.Since(before); took > 5*time.Second {
			t.Errorf("a leader after %s", took)
		}
		r.until("counters", func() bool { return r.get("hourly").Progress.Counters.Accepted() == 80 })
		time.Sleep(10 * time.Second)
		if s := r.get("hourly"); s.State != StreamRunning || s.Stage != 1 {
			t.Fatalf("%s at stage %d", s.State, s.Stage)
		}
		if slices.Contains(r.codes(), "node_suspect") {
			t.Error("a node was suspected for the coordinator's silence")
		}
		n.startedOnce()
	})
}

func TestANewInstanceResetsAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		a := r.node("a", 1)
		b := r.node("b", 1)
		r.source()
		r.stream(doc{Name: "hourly"})
		r.untilState("hourly", StreamRunning)
		a.kill()
		again := r.node("a", 2)
		time.Sleep(200 * time.Millisecond) // no beat is waited for
		s := r.get("hourly")
		if s.Stage != 2 || s.Cause.Code != CodeNodeRestarted || s.Restarts != 0 {
			t.Fatalf("stage %d, cause %+v, %d restarts", s.Stage, s.Cause, s.Restarts)
		}
		r.untilState("hourly", StreamRunning)
		tasks, err := r.StreamTasks(r.ctx, "hourly")
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range tasks {
			if k.Node == "a" && k.Instance != again.instance {
				t.Errorf("%s is placed on a dead instance", k.Task)
			}
		}
		b.startedOnce()
		again.startedOnce()
	})
}

func TestASilentNodeIsSuspectedAndWaitedFor(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		a := r.node("a", 1)
		r.source()
		r.stream(doc{Name: "hourly"})
		r.untilState("hourly", StreamRunning)
		a.with(func() { a.frozen = true })
		r.until("suspect", func() bool { return slices.Contains(r.codes(), "node_suspect") })
		if s := r.get("hourly"); s.State != StreamRunning || !strings.Contains(s.Waiting, "nothing heard from a") {
			t.Fatalf("%s, waiting %q", s.State, s.Waiting)
		}
		// Frozen, not dead: it comes back in the same instance and nothing was taken from it.
		a.with(func() { a.frozen = false })
		r.until("back", func() bool { return slices.Contains(r.codes(), "node_back") })
		if s := r.get("hourly"); s.Stage != 1 || s.Waiting != "" {
			t.Fatalf("stage %d, waiting %q", s.Stage, s.Waiting)
		}
		// Dead: a reset waits for it, and happens when it is back.
		a.kill()
		r.until("suspect again", func() bool { n, _ := r.ListNodes(r.ctx); return n[0].State == "suspect" })
		r.act("hourly", decide.Reset)
		time.Sleep(time.Minute)
		if s := r.get("hourly"); s.Stage != 1 || !strings.Contains(s.Waiting, "waiting for a") {
			t.Fatalf("stage %d, waiting %q", s.Stage, s.Waiting)
		}
		r.node("a", 2)
		if s := r.untilState("hourly", StreamRunning); s.Stage != 2 {
			t.Fatalf("stage %d", s.Stage)
		}
	})
}

func TestPauseStopStartAndDrop(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		n := r.node("a", 1)
		r.source()
		r.stream(doc{Name: "hourly"})
		r.untilState("hourly", StreamRunning)
		if s := r.act("hourly", decide.Pause); s.State != StreamPausing || s.Generation != 2 {
			t.Fatalf("%s at generation %d", s.State, s.Generation)
		}
		r.untilState("hourly", StreamPaused)
		// A reset ends in what is wanted.
		r.act("hourly", decide.Reset)
		r.until("paused in stage 2", func() bool { s := r.get("hourly"); return s.State == StreamPaused && s.Stage == 2 })
		r.act("hourly", decide.Resume)
		r.untilState("hourly", StreamRunning)
		r.act("hourly", decide.Stop)
		s := r.untilState("hourly", StreamStopped)
		if s.Progress.Counters.Accepted() != 80 {
			t.Errorf("the counters went with the tasks: %+v", s.Progress)
		}
		again := r.act("hourly", decide.Stop)
		if again.Generation != s.Generation {
			t.Error("a stop of what is stopped was a change")
		}
		_, err := r.ActOnStream(r.ctx, Request{}, "hourly", decide.Pause)
		wantCode(t, err, CodeNotAllowedInState)
		r.act("hourly", decide.Start)
		if s := r.untilState("hourly", StreamRunning); s.Stage != 3 {
			t.Fatalf("stage %d", s.Stage)
		}
		if r.world.count() != 2 {
			t.Fatalf("topics %v", r.world.topics)
		}
		r.act("hourly", decide.Drop)
		r.until("dropped", func() bool { _, err := r.GetStream(r.ctx, "hourly"); return err != nil })
		if r.world.count() != 0 {
			t.Errorf("topics stay: %v", r.world.topics)
		}
		n.with(func() {
			if len(n.tasks) > 0 {
				t.Errorf("tasks stay: %v", n.tasks)
			}
		})
		n.startedOnce()
		r.stream(doc{Name: "hourly"}) // the name is free
	})
}

func TestADropDoesNotWaitForADeadNode(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		a := r.node("a", 1)
		r.source()
		made := r.stream(doc{Name: "hourly"})
		r.untilState("hourly", StreamRunning)
		a.with(func() { a.frozen = true })
		r.act("hourly", decide.Drop)
		r.until("dropped", func() bool { _, err := r.GetStream(r.ctx, "hourly"); return err != nil })
		// It wakes up with tasks that nobody knows: they are orphans, and end.
		a.with(func() { a.frozen = false })
		r.until("the orphans have ended", func() bool {
			a.mu.Lock()
			defer a.mu.Unlock()
			return slices.Contains(a.last.Orphans, made.ID)
		})
	})
}

// TestADropCleansUpWhereTheResultsAre: once, and a database that is away keeps no stream.
func TestADropCleansUpWhereTheResultsAre(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.node("a", 1)
		r.source()
		for _, away := range []error{nil, errors.New("connection refused")} {
			r.world.leaves, r.world.left = away, nil
			made := r.stream(doc{Name: "hourly", Target: "t"})
			r.untilState("hourly", StreamRunning)
			r.act("hourly", decide.Drop)
			r.until("dropped", func() bool { _, err := r.GetStream(r.ctx, "hourly"); return err != nil })
			if !slices.Equal(r.world.left, []ident.StreamID{made.ID}) {
				t.Errorf("cleaned up behind %v, want once behind %d", r.world.left, made.ID)
			}
			said := slices.Contains(r.codes(), "output_not_cleaned")
			if said != (away != nil) {
				t.Errorf("with the database saying %v, an event says that something is left: %v", away, said)
			}
		}
	})
}

func TestAResetIsForOneStageOnly(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		n := r.node("a", 1)
		r.source()
		made := r.stream(doc{Name: "hourly"})
		r.untilState("hourly", StreamRunning)
		n.with(func() {
			n.updates = []NodeUpdate{{Stream: made.ID, Stage: 1, Cause: Cause{Code: "edge_lost", Message: "gone"}}}
		})
		r.until("stage 2", func() bool { s := r.get("hourly"); return s.Stage == 2 && s.State == StreamRunning })
		time.Sleep(5 * time.Second) // the same request goes on coming
		if s := r.get("hourly"); s.Stage != 2 || s.Restarts != 1 {
			t.Fatalf("stage %d, %d restarts", s.Stage, s.Restarts)
		}
		r.until("a complete checkpoint forgives", func() bool { return r.get("hourly").Restarts == 0 })
		if c := r.newest("hourly"); c.State != store.CheckpointComplete || c.Stage != 2 {
			t.Fatalf("forgiven with %+v", c)
		}
	})
}

func TestNamedStopsAndTooManyRestarts(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		n := r.node("a", 1)
		r.source()
		lost := r.stream(doc{Name: "lost"})
		loops := r.stream(doc{Name: "loops", Restarts: 2})
		r.untilState("lost", StreamRunning)
		r.untilState("loops", StreamRunning)
		n.fail(lost.ID, Cause{Code: "source_offsets_lost", Message: "500 records"})
		s := r.untilState("lost", StreamFailed)
		if s.Stage != 1 || s.Cause.Code != "source_offsets_lost" {
			t.Fatalf("stage %d, cause %+v", s.Stage, s.Cause)
		}
		r.until("loops fails", func() bool {
			n.fail(loops.ID, Cause{Code: "sink_error", Message: "no"})
			return r.get("loops").State == StreamFailed
		})
		if s := r.get("loops"); s.Stage != 3 || s.Cause.Code != CodeTooManyRestarts || !strings.Contains(s.Cause.Message, "sink_error") {
			t.Fatalf("stage %d, cause %+v", s.Stage, s.Cause)
		}
		// A user's start is a new beginning.
		if s := r.act("loops", decide.Start); s.Restarts != 0 || s.Cause != nil {
			t.Fatalf("%d restarts, cause %+v", s.Restarts, s.Cause)
		}
		r.untilState("loops", StreamRunning)
		n.startedOnce()
	})
}

// TestI12_AFullDiskIsNoReasonToFail: neither tasks that end because of it, nor stages that wait for room, are ever too many.
func TestI12_AFullDiskIsNoReasonToFail(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		n := r.node("a", 1)
		r.source()
		s := r.stream(doc{Name: "full", Restarts: 2})
		r.untilState("full", StreamRunning)
		r.until("some stages have failed", func() bool {
			n.fail(s.ID, Cause{Code: "disk_full", Message: "window state beyond 1 bytes: /data/overflow: no space left on device"})
			return r.get("full").Stage >= 6
		})
		n.with(func() { n.slow, n.note = true, "disk_full: checkpoint store: no space left on device" })
		r.until("some stages have waited", func() bool { return r.get("full").Stage >= 9 })
		if s := r.get("full"); s.State != StreamRecovering {
			t.Fatalf("%s: %+v", s.State, s.Cause)
		}
		n.with(func() { n.slow, n.note = false, "" })
		r.untilState("full", StreamRunning)
	})
}

func TestAStartThatTakesTooLongNamesTheMissing(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		n := r.node("a", 1)
		n.with(func() { n.slow = true })
		r.source()
		r.stream(doc{Name: "hourly"})
		r.until("placed", func() bool { return r.get("hourly").Stage == 1 })
		time.Sleep(50 * time.Second)
		if s := r.get("hourly"); s.Stage != 1 || len(s.Start.Missing) != 6 || !strings.HasPrefix(s.Waiting, "starting: ") {
			t.Fatalf("stage %d, missing %v, waiting %q", s.Stage, s.Start.Missing, s.Waiting)
		}
		r.until("a second stage", func() bool { return r.get("hourly").Stage == 2 })
		s := r.get("hourly")
		if s.Cause.Code != CodeStartTimeout || !strings.Contains(s.Cause.Message, "source-0, source-1") {
			t.Fatalf("cause %+v", s.Cause)
		}
	})
}

func TestAStreamWaitsForANodeAndItsTopics(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.source()
		r.world.mu.Lock()
		r.world.hang = "test.hangs.late"
		r.world.mu.Unlock()
		r.stream(doc{Name: "hangs"})
		r.stream(doc{Name: "hourly"})
		time.Sleep(2 * time.Second)
		if s := r.get("hourly"); s.State != StreamCreating || !strings.Contains(s.Waiting, "no node") {
			t.Fatalf("%s, waiting %q", s.State, s.Waiting)
		}
		r.node("a", 1)
		before := time.Now()
		r.untilState("hourly", StreamRunning) // T33: its neighbour's broker call hangs
		if took := time.Since(before); took > 3*time.Second {
			t.Errorf("held up for %s", took)
		}
		r.world.mu.Lock()
		r.world.hang = ""
		r.world.mu.Unlock()
		r.untilState("hangs", StreamRunning)
	})
}

func TestTopicsWithOtherSettingsFailTheStream(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.node("a", 1)
		r.source()
		r.world.mu.Lock()
		r.world.refuse = errorf(CodeTopicMismatch, "retention.ms is 1, want 2")
		r.world.mu.Unlock()
		r.stream(doc{Name: "hourly"})
		s := r.untilState("hourly", StreamFailed)
		if s.Cause.Code != CodeTopicMismatch || s.Stage != 0 {
			t.Fatalf("stage %d, cause %+v", s.Stage, s.Cause)
		}
		r.act("hourly", decide.Drop)
		r.until("dropped", func() bool { _, err := r.GetStream(r.ctx, "hourly"); return err != nil })
	})
}

// TestNodesThatJoinBeforeTheFirstStreamShareTheVGroups: whoever comes first does not keep all of them.
func TestNodesThatJoinBeforeTheFirstStreamShareTheVGroups(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.node("a", 1)
		r.until("a owns something", func() bool { v, err := r.ListVGroups(r.ctx); return err == nil && v[0].Owner == "a" })
		r.node("b", 1)
		want := []VGroup{{0, "a"}, {1, "b"}, {2, "a"}, {3, "b"}}
		r.until("both own vgroups", func() bool { v, err := r.ListVGroups(r.ctx); return err == nil && cmp.Equal(want, v) })
		r.source()
		r.stream(doc{Name: "hourly"})
		r.untilState("hourly", StreamRunning)
	})
}

func TestPlacementIsEven(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.node("a", 1)
		r.source()
		r.stream(doc{Name: "hourly"})
		r.untilState("hourly", StreamRunning)
		r.node("b", 1) // later: vgroups do not move in this version
		time.Sleep(5 * time.Second)
		v, err := r.ListVGroups(r.ctx)
		if err != nil {
			t.Fatal(err)
		}
		want := []VGroup{{0, "a"}, {1, "a"}, {2, "a"}, {3, "a"}}
		if diff := cmp.Diff(want, v); diff != "" {
			t.Fatal(diff)
		}
		nodes, err := r.ListNodes(r.ctx)
		if err != nil || len(nodes) != 2 || len(nodes[0].VGroups) != 4 || nodes[0].Tasks != 6 || nodes[1].State != "alive" {
			t.Fatalf("%+v, %v", nodes, err)
		}
	})
}

func TestBeats(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		a := r.node("a", 1)
		r.source()
		made := r.stream(doc{Name: "hourly"})
		r.untilState("hourly", StreamRunning)
		beat := func(change func(*Heartbeat)) (HeartbeatAnswer, error) {
			hb := Heartbeat{Node: "a", Instance: a.instance, Address: a.address()}
			change(&hb)
			return r.Heartbeat(r.ctx, hb)
		}
		// A repeated message is answered, and not applied: it says that there are no tasks.
		answer, err := beat(func(hb *Heartbeat) { hb.Message = 1 })
		if err != nil || answer.Message != 1 || len(answer.Orders) != 1 || answer.Orders[0].Stream != made.ID {
			t.Fatalf("%+v, %v", answer, err)
		}
		if s := r.get("hourly"); s.Progress.Counters.Accepted() != 80 {
			t.Fatal("a repeated message was applied")
		}
		if answer, err = beat(func(hb *Heartbeat) { hb.Node = "z" }); err != nil || !answer.Unregistered {
			t.Fatalf("%+v, %v", answer, err)
		}
		_, err = beat(func(hb *Heartbeat) { hb.Cluster = "another" })
		wantCode(t, err, CodeOtherCluster)
		_, err = beat(func(hb *Heartbeat) { hb.HighestTerm = 99 })
		wantCode(t, err, CodeMetastoreWentBack)

		a.kill()
		r.node("a", 2)
		if answer, err = beat(func(hb *Heartbeat) { hb.Message = 1000 }); err != nil || !answer.Superseded || answer.Orders != nil {
			t.Fatalf("%+v, %v", answer, err)
		}
		_, err = r.RegisterNode(r.ctx, Registration{Node: "a", Instance: ident.Instance{Counter: 2, Random: 77}, Address: "x"})
		wantCode(t, err, CodeSuperseded) // a copy of the data directory
	})
}

func TestANodeThatLeavesLetsItsStreamsWait(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		a := r.node("a", 1)
		r.source()
		r.stream(doc{Name: "hourly"})
		r.untilState("hourly", StreamRunning)
		a.kill()
		hb, _ := a.heartbeat()
		hb.Leaving, hb.Tasks = true, nil
		if _, err := r.Heartbeat(r.ctx, hb); err != nil {
			t.Fatal(err)
		}
		r.until("recovering", func() bool { return r.get("hourly").State == StreamRecovering })
		r.node("a", 2)
		if s := r.untilState("hourly", StreamRunning); s.Stage != 2 {
			t.Fatalf("stage %d", s.Stage)
		}
	})
}

func TestT26_MorePartitionsOvernight(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		n := r.node("a", 1)
		r.source()
		r.stream(doc{Name: "hourly"})
		bounded := r.stream(doc{Name: "bounded", Bounded: true})
		r.untilState("hourly", StreamRunning)
		r.untilState("bounded", StreamRunning)
		r.world.mu.Lock()
		r.world.more = 2
		r.world.mu.Unlock()
		time.Sleep(15 * time.Second)
		s := r.untilState("hourly", StreamRunning)
		if s.Stage != 2 || len(s.Partitions) != 4 || s.Partitions[0].Start != 7 || s.Partitions[3].Start != 0 || s.Restarts != 0 {
			t.Fatalf("stage %d, %d restarts, %+v", s.Stage, s.Restarts, s.Partitions)
		}
		if tasks, _ := r.StreamTasks(r.ctx, "hourly"); len(tasks) != 4+vgroups {
			t.Fatalf("%d tasks", len(tasks))
		}
		if b := r.get("bounded"); b.Stage != bounded.Stage+1 || len(b.Partitions) != 2 {
			t.Fatalf("a bounded stream has grown: %+v", b.Partitions)
		}
		time.Sleep(time.Minute)
		if s := r.get("hourly"); s.Stage != 2 {
			t.Fatalf("stage %d", s.Stage)
		}
		n.startedOnce()
	})
}

// TestT26_PartitionsWithoutNewTasksResetNothing: every vgroup has a source task already, so the stage goes on and the
// tasks hear of their partitions.
func TestT26_PartitionsWithoutNewTasksResetNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		n := r.node("a", 1)
		r.source()
		r.world.more = vgroups - 2
		r.stream(doc{Name: "hourly"})
		r.untilState("hourly", StreamRunning)
		r.world.mu.Lock()
		r.world.more = vgroups
		r.world.mu.Unlock()
		r.until("more partitions", func() bool { return len(r.get("hourly").Partitions) == vgroups+2 })
		time.Sleep(2 * time.Second) // a beat
		s := r.get("hourly")
		if s.State != StreamRunning || s.Stage != 1 || s.Partitions[vgroups+1].Start != 0 {
			t.Fatalf("%s in stage %d, %+v", s.State, s.Stage, s.Partitions)
		}
		var last Order
		n.with(func() { last = n.last.Orders[0] })
		if len(last.Partitions) != vgroups+2 || last.Stage != 1 {
			t.Fatalf("the order has %d partitions in stage %d", len(last.Partitions), last.Stage)
		}
		n.startedOnce()
	})
}
