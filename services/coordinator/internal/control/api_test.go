package control

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/invalid"
	"github.com/pondage/pondage/services/coordinator/internal/control/decide"
	"github.com/pondage/pondage/services/coordinator/internal/store"
	"github.com/pondage/pondage/services/coordinator/internal/store/lease"
)

func TestNothingHalfCreatedRemains(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.source()
		r.stream(doc{Name: "hourly", Target: "results"})
		create := func(d doc) error {
			_, err := r.CreateStream(r.ctx, Request{}, d.bytes())
			return err
		}
		var input *invalid.Error
		if err := create(doc{Name: "x", Source: "flihgts"}); !errors.As(err, &input) || input.Details[0].Hint != `did you mean "flights"?` {
			t.Errorf("unknown source: %v", err)
		}
		if err := create(doc{}); !errors.As(err, &input) {
			t.Errorf("a bad document: %v", err)
		}
		asked := r.world.asked
		wantCode(t, create(doc{Name: "hourly", Source: "flights"}), CodeStreamExists)
		if r.world.asked != asked {
			t.Error("Kafka was asked for a stream whose name is taken")
		}
		wantCode(t, create(doc{Name: "other", Source: "flights", Target: "results"}), CodeTargetInUse)
		r.world.mu.Lock()
		r.world.missing = true
		r.world.mu.Unlock()
		wantCode(t, create(doc{Name: "other", Source: "flights"}), CodeTopicUnknown)

		l, err := r.ListStreams(r.ctx, Page{})
		if err != nil || len(l.Items) != 1 || l.Items[0].Name != "hourly" {
			t.Fatalf("%+v, %v", l, err)
		}
	})
}

func TestASourceThatChangesMeanwhileIsPlannedAnew(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.source()
		changed := doc{Name: "flights", Topic: "other"}.bytes()
		r.world.during = func() {
			if _, err := r.ReplaceSource(r.ctx, Request{}, "flights", changed); err != nil {
				t.Error(err)
			}
		}
		if s := r.stream(doc{Name: "hourly"}); string(s.Source) != string(changed) || s.Partitions[0].Topic != "other" {
			t.Fatalf("reads %s from %s", s.Source, s.Partitions[0].Topic)
		}
	})
}

func TestSources(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.source()
		_, err := r.CreateSource(r.ctx, Request{}, doc{Name: "flights"}.bytes())
		wantCode(t, err, CodeSourceExists)
		r.stream(doc{Name: "hourly"})

		_, err = r.ReplaceSource(r.ctx, Request{IfMatch: 7}, "flights", doc{Name: "flights", Topic: "other"}.bytes())
		wantCode(t, err, CodeVersionMismatch)
		_, err = r.ReplaceSource(r.ctx, Request{}, "flights", doc{Name: "another"}.bytes())
		wantCode(t, err, CodeNameMismatch)
		_, err = r.ReplaceSource(r.ctx, Request{}, "weather", doc{Name: "weather"}.bytes())
		wantCode(t, err, CodeSourceUnknown)
		s, err := r.ReplaceSource(r.ctx, Request{IfMatch: 1}, "flights", doc{Name: "flights", Topic: "other"}.bytes())
		if err != nil || s.Version != 2 {
			t.Fatalf("%+v, %v", s, err)
		}
		// What a stream was made with does not change.
		if got := r.get("hourly"); string(got.Source) != string(doc{Name: "flights", Topic: "flights"}.bytes()) {
			t.Fatalf("the stream reads %s", got.Source)
		}
		s, err = r.GetSource(r.ctx, "flights")
		if err != nil || !cmp.Equal(s.Streams, []string{"hourly"}) {
			t.Fatalf("%+v, %v", s, err)
		}
		wantCode(t, r.DeleteSource(r.ctx, Request{}, "flights"), CodeSourceInUse)
		r.act("hourly", decide.Drop)
		r.until("dropped", func() bool { _, err := r.GetStream(r.ctx, "hourly"); return err != nil })
		if err := r.DeleteSource(r.ctx, Request{IfMatch: 2}, "flights"); err != nil {
			t.Fatal(err)
		}
		wantCode(t, r.DeleteSource(r.ctx, Request{}, "flights"), CodeSourceUnknown)
		_, err = r.GetSource(r.ctx, "flights")
		wantCode(t, err, CodeSourceUnknown)
	})
}

func TestT63_TheSameKeyTwice(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.source()
		keyed := Request{Principal: "me", IdempotencyKey: "k1"}
		d := doc{Name: "hourly", Source: "flights"}

		// A validation that failed has stored nothing: the key is free.
		if _, err := r.CreateStream(r.ctx, keyed, doc{Name: "hourly", Source: "none"}.bytes()); err == nil {
			t.Fatal("accepted")
		}
		// Two clients in the same millisecond.
		answers := make([]Stream, 2)
		var wg sync.WaitGroup
		for i := range answers {
			wg.Go(func() {
				s, err := r.CreateStream(r.ctx, keyed, d.bytes())
				if err != nil {
					t.Error(err)
				}
				answers[i] = s
			})
		}
		wg.Wait()
		same := cmpopts.EquateEmpty()
		if diff := cmp.Diff(answers[0], answers[1], same); diff != "" {
			t.Fatalf("two answers\n%s", diff)
		}
		// The coordinator dies after its commit and before its answer; the retry comes to another replica, when the
		// topic is gone.
		r.crash()
		r.startCoordinator("c2")
		r.world.mu.Lock()
		r.world.missing = true
		r.world.mu.Unlock()
		again, err := r.CreateStream(r.ctx, keyed, d.bytes())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(answers[0], again, same); diff != "" {
			t.Fatalf("the retry was answered otherwise\n%s", diff)
		}
		_, err = r.CreateStream(r.ctx, keyed, doc{Name: "daily", Source: "flights"}.bytes())
		wantCode(t, err, CodeIdempotencyReused)
		_, err = r.ActOnStream(r.ctx, keyed, "hourly", decide.Stop)
		wantCode(t, err, CodeIdempotencyReused)
		// The same key of somebody else is another key.
		_, err = r.CreateStream(r.ctx, Request{Principal: "you", IdempotencyKey: "k1"}, d.bytes())
		wantCode(t, err, CodeStreamExists)

		stop := Request{Principal: "me", IdempotencyKey: "k2"}
		first, err := r.ActOnStream(r.ctx, stop, "hourly", decide.Stop)
		if err != nil {
			t.Fatal(err)
		}
		r.act("hourly", decide.Drop)
		second, err := r.ActOnStream(r.ctx, stop, "hourly", decide.Stop)
		if err != nil || second.State != first.State {
			t.Fatalf("%s, %v", second.State, err)
		}
	})
}

// unclear loses the answer to the next COMMIT.
type unclear struct {
	store.Store
	lose bool
}

func (u *unclear) Update(ctx context.Context, term ident.Term, fn func(store.Tx) error) error {
	err := u.Store.Update(ctx, term, fn)
	if err == nil && u.lose {
		u.lose = false
		return store.ErrUnclear
	}
	return err
}

func TestALostAnswerToCommit(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.source()
		u := &unclear{Store: r.db, lose: true}
		s := New(r.config, Seams{Store: u, Planner: fakePlanner{}, Kafka: r.world, Sinks: r.world, Clock: r.Clock, Log: r.Log})
		made, err := s.CreateStream(r.ctx, Request{IdempotencyKey: "k"}, doc{Name: "hourly", Source: "flights"}.bytes())
		if err != nil || made.Name != "hourly" {
			t.Fatalf("with a key the outcome can be looked up: %v", err)
		}
		u.lose = true
		_, err = s.CreateStream(r.ctx, Request{}, doc{Name: "daily", Source: "flights"}.bytes())
		wantCode(t, err, CodeOutcomeUnknown)
	})
}

func TestT57_ALeaderThatSleptNoticesBeforeItActs(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		a := r.node("a", 1)
		r.source()
		r.stream(doc{Name: "hourly"})
		r.untilState("hourly", StreamRunning)
		old, term := r.Service, r.Leader().Term
		// Somebody else has taken over while it did not look.
		seen, _ := r.db.Lease(r.ctx)
		if _, err := r.db.TakeOver(r.ctx, "other", seen); err != nil {
			t.Fatal(err)
		}
		p := old.picture.Load()
		err := old.writeNode(r.ctx, term, p.nodes["a"], store.Node{ID: "a", Instance: a.instance, State: store.NodeLeft, Address: "x"})
		if !errors.Is(err, store.ErrStaleTerm) {
			t.Fatalf("its write got %v", err)
		}
		r.until("it has noticed", func() bool { return !old.Leader().Self })
		hb, _ := a.heartbeat()
		_, err = old.Heartbeat(r.ctx, hb)
		wantCode(t, err, CodeNotLeader)
		_, err = old.RegisterNode(r.ctx, Registration{Node: "b", Address: "x"})
		wantCode(t, err, CodeNotLeader)
		// Users may ask any replica.
		if _, err := old.ActOnStream(r.ctx, Request{}, "hourly", decide.Stop); err != nil {
			t.Fatal(err)
		}
	})
}

func TestTheLeaseIsGivenUpOnShutdown(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		ctx, cancel := context.WithCancel(r.ctx)
		seams := r.Seams
		seams.Leases = r.db
		s := New(r.config, seams)
		s.config.Holder = "second"
		done := make(chan error)
		r.crash()
		go func() { done <- s.Run(ctx) }()
		r.until("the second leads", func() bool { return s.Leader().Self })
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if seen, _ := r.db.Lease(r.ctx); seen.Beat != lease.Released {
			t.Fatalf("lease %+v", seen)
		}
	})
}

func TestPages(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.source()
		for i := range 5 {
			r.stream(doc{Name: fmt.Sprint("s", i)})
		}
		var names []string
		for p := (Page{Limit: 2}); ; {
			l, err := r.ListStreams(r.ctx, p)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range l.Items {
				names = append(names, s.Name)
			}
			if p.Cursor = l.Next; l.Next == "" {
				break
			}
		}
		if !cmp.Equal(names, []string{"s0", "s1", "s2", "s3", "s4"}) {
			t.Fatalf("%v", names)
		}
		l, err := r.ListEvents(r.ctx, "s3", Page{Limit: 1})
		if err != nil || len(l.Items) != 1 || l.Items[0].Stream != "s3" {
			t.Fatalf("%+v, %v", l, err)
		}
		_, err = r.ListStreams(r.ctx, Page{Cursor: "%%"})
		wantCode(t, err, CodeBadCursor)
		_, err = r.ListSources(r.ctx, Page{Cursor: cursor(eventCursor, "1")})
		wantCode(t, err, CodeBadCursor)
		_, err = r.ListEvents(r.ctx, "", Page{Limit: MaxPage + 1})
		wantCode(t, err, CodeBadLimit)
	})
}

func TestTokens(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		text, err := r.CreateToken(r.ctx, Request{}, "ci", RoleEditor)
		if err != nil {
			t.Fatal(err)
		}
		who, err := r.Authenticate(r.ctx, text)
		if err != nil || who != (Principal{Name: "ci", Role: RoleEditor}) {
			t.Fatalf("%+v, %v", who, err)
		}
		_, err = r.Authenticate(r.ctx, text+"x")
		wantCode(t, err, CodeUnauthenticated)
		_, err = r.CreateToken(r.ctx, Request{}, "ci", RoleAdmin)
		wantCode(t, err, CodeTokenExists)
		_, err = r.CreateToken(r.ctx, Request{}, "x", "root")
		wantCode(t, err, CodeBadRole)
		if err := r.DeleteToken(r.ctx, "ci"); err != nil {
			t.Fatal(err)
		}
		_, err = r.Authenticate(r.ctx, text)
		wantCode(t, err, CodeUnauthenticated)
		wantCode(t, r.DeleteToken(r.ctx, "ci"), CodeTokenUnknown)
	})
}

func TestOutputsAreLookedAtAsFarAsTheyCanBe(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		look := func() error { return r.CheckOutputs(r.ctx, []byte("{}"), []byte("{}")) }
		for _, unknown := range []error{nil, &Error{Code: CodeSinkUnreachable}} {
			r.world.targets = unknown
			if err := look(); err != nil {
				t.Errorf("%v: %v", unknown, err)
			}
		}
		r.world.targets = &Error{Code: CodeTargetMismatch}
		wantCode(t, look(), CodeTargetMismatch)
	})
}

// TestT63_ATokenIsMadeOnce: the repetition shows the same token, though only its hash is kept.
func TestT63_ATokenIsMadeOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		keyed := Request{Principal: "me", IdempotencyKey: "k"}
		text, err := r.CreateToken(r.ctx, keyed, "ci", RoleEditor)
		if err != nil {
			t.Fatal(err)
		}
		again, err := r.CreateToken(r.ctx, keyed, "ci", RoleEditor)
		if err != nil || again != text {
			t.Errorf("a repetition answers %q, %v; the first answer was %q", again, err, text)
		}
		if who, err := r.Authenticate(r.ctx, again); err != nil || who.Name != "ci" {
			t.Errorf("%+v, %v", who, err)
		}
		_, err = r.CreateToken(r.ctx, keyed, "ci", RoleAdmin)
		wantCode(t, err, CodeIdempotencyReused)
		_, err = r.CreateToken(r.ctx, Request{Principal: "me", IdempotencyKey: "other"}, "ci", RoleEditor)
		wantCode(t, err, CodeTokenExists)
		theirs, err := r.CreateToken(r.ctx, Request{Principal: "you", IdempotencyKey: "k"}, "yours", RoleEditor)
		if err != nil || theirs == text {
			t.Errorf("somebody else's request with the key: %v, the same text: %t", err, theirs == text)
		}
		r.config.Secret = []byte("changed since")
		_, err = r.CreateToken(r.ctx, keyed, "ci", RoleEditor)
		wantCode(t, err, CodeTokenExists)
		if tokens, err := r.ListTokens(r.ctx); err != nil || len(tokens) != 2 {
			t.Errorf("%+v, %v", tokens, err)
		}
	})
}

func TestChecks(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		failed := func() (names []string) {
			for _, c := range r.Checks(r.ctx) {
				if c.Err != nil {
					names = append(names, c.Name)
				}
			}
			return names
		}
		if got := failed(); !cmp.Equal(got, []string{"nodes"}) {
			t.Fatalf("%v", got)
		}
		// Between the lease and the first look at the metastore there is no picture to count nodes in.
		looked := r.picture.Swap(nil)
		if got := failed(); !cmp.Equal(got, []string{"nodes"}) {
			t.Fatalf("before the first look: %v", got)
		}
		r.picture.Store(looked)
		r.node("a", 1)
		r.until("ready", func() bool { return len(failed()) == 0 })
	})
}

// I8: what tasks of an older stage report says nothing about the present one.
func TestReportsOfAnotherStageOrInstanceDoNotCount(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		a := r.node("a", 1)
		r.source()
		made := r.stream(doc{Name: "hourly", Bounded: true})
		r.untilState("hourly", StreamRunning)
		a.with(func() { a.frozen = true }) // the test beats in its place
		tasks, err := r.StreamTasks(r.ctx, "hourly")
		if err != nil {
			t.Fatal(err)
		}
		var committed ident.CheckpointID // that the tasks have done what follows from
		beat := func(message uint64, stage ident.Stage, state string) {
			hb := Heartbeat{Node: "a", Instance: a.instance, Address: a.address(), Message: message,
				Streams: []StreamReport{{Stream: made.ID, Generation: 1, Stage: stage}}}
			for _, k := range tasks {
				hb.Tasks = append(hb.Tasks, TaskReport{Stream: made.ID, Stage: stage, Task: k.Task, State: state, Committed: committed})
			}
			if _, err := r.Heartbeat(r.ctx, hb); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		// "paused" without the order's generation was said before the order.
		r.act("hourly", decide.Pause)
		beat(999, 1, "paused")
		if s := r.get("hourly"); s.State != StreamPausing {
			t.Fatalf("%s by reports from before the order", s.State)
		}
		r.act("hourly", decide.Resume)
		beat(1000, 0, "finished")
		if s := r.get("hourly"); s.State != StreamRunning || s.Progress.Ended {
			t.Fatalf("%s by the reports of an older stage", s.State)
		}
		beat(1001, 2, "finished")
		if s := r.get("hourly"); s.State != StreamRunning {
			t.Fatalf("%s by the reports of a stage that is not", s.State)
		}
		committed = 1
		beat(1002, 1, "finished")
		r.untilState("hourly", StreamFinished)
	})
}
