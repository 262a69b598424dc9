// Package storetest is the suite that every implementation of the store seam passes: what package control relies on.
package storetest

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/task"
	"github.com/pondage/pondage/services/coordinator/internal/store"
	"github.com/pondage/pondage/services/coordinator/internal/store/lease"
)

// Metastore is both seams over one database.
type Metastore interface {
	store.Store
	store.Leases
}

// Exercise runs the suite. open returns an empty metastore for each test.
func Exercise(t *testing.T, open func(t *testing.T) Metastore) {
	for name, test := range map[string]func(*testing.T, Metastore){
		"sources":                       sources,
		"streams":                       streams,
		"unique names and targets":      conflicts,
		"a source in use stays":         sourceInUse,
		"check constraints":             constraints,
		"placement":                     placed,
		"nodes and vgroups":             nodes,
		"the cluster is written once":   cluster,
		"events":                        events,
		"answers":                       answers,
		"tokens":                        tokens,
		"a failed update changes none":  atomic,
		"a stale term changes nothing":  stale,
		"updates of a row are serial":   serial,
		"watchers are woken":            watch,
		"T57 renew and release named":   leaseNamesItsTerm,
		"take-over only of what it saw": takeOver,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

// patience bounds what a test waits for.
const patience = 20 * time.Second

func background(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// update runs fn and fails the test on an error.
func update(t *testing.T, m Metastore, fn func(context.Context, store.Tx) error) {
	t.Helper()
	if err := try(t, m, fn); err != nil {
		t.Fatal(err)
	}
}

func try(t *testing.T, m Metastore, fn func(context.Context, store.Tx) error) error {
	ctx := background(t)
	return m.Update(ctx, store.AnyTerm, func(tx store.Tx) error { return fn(ctx, tx) })
}

func view(t *testing.T, m Metastore, fn func(context.Context, store.Reader) error) {
	t.Helper()
	ctx := background(t)
	if err := m.View(ctx, func(r store.Reader) error { return fn(ctx, r) }); err != nil {
		t.Fatal(err)
	}
}

func wantErr(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got %v, want %v", err, want)
	}
}

// equal compares records; labels of time only for being set.
func equal(t *testing.T, got, want any) {
	t.Helper()
	opts := []cmp.Option{cmpopts.EquateEmpty(), cmp.Comparer(func(a, b time.Time) bool { return a.IsZero() == b.IsZero() })}
	if diff := cmp.Diff(want, got, opts...); diff != "" {
		t.Fatalf("(-want +got)\n%s", diff)
	}
}

var label = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func sources(t *testing.T, m Metastore) {
	spec := json.RawMessage(`{"name":"flights", "b": 1, "a": 9007199254740993}`) // kept byte for byte
	update(t, m, func(ctx context.Context, tx store.Tx) error {
		for _, name := range []string{"flights", "weather", "quakes"} {
			s, err := tx.InsertSource(ctx, store.Source{Name: name, Spec: spec})
			if err != nil {
				return err
			}
			equal(t, s, store.Source{ID: s.ID, Name: name, Version: 1, Spec: spec, Created: label, Updated: label})
		}
		return nil
	})
	changed := json.RawMessage(`{}`)
	update(t, m, func(ctx context.Context, tx store.Tx) error {
		s, err := tx.LockSource(ctx, "quakes")
		if err != nil {
			return err
		}
		s.Spec = changed
		if s, err = tx.UpdateSource(ctx, s); err != nil {
			return err
		}
		equal(t, s.Version, int64(2))
		w, err := tx.LockSource(ctx, "weather")
		if err != nil {
			return err
		}
		return tx.DeleteSource(ctx, w.ID)
	})
	view(t, m, func(ctx context.Context, r store.Reader) error {
		all, err := r.Sources(ctx, "", 10)
		if err != nil {
			return err
		}
		equal(t, []string{all[0].Name, all[1].Name}, []string{"flights", "quakes"})
		equal(t, string(all[1].Spec), string(changed))
		page, err := r.Sources(ctx, "flights", 1)
		equal(t, page[0].Name, "quakes")
		_, missing := r.Source(ctx, "weather")
		wantErr(t, missing, store.ErrNotFound)
		return err
	})
	wantErr(t, try(t, m, func(ctx context.Context, tx store.Tx) error { return tx.DeleteSource(ctx, 999_999) }), store.ErrNotFound)
}

// sample is a stream that was just created.
func sample(name string, source ident.SourceID) store.Stream {
	until := ident.NextOffset(1 << 53)
	return store.Stream{
		Name: name, Source: source, SourceSpec: json.RawMessage(`{"s":1}`), Spec: json.RawMessage(`{"n":9007199254740993}`),
		Partitions: []store.SourcePartition{{Topic: "flights", TopicID: "abc", Partition: 1, Start: 7, Until: &until}, {Topic: "flights", Partition: 2}},
		Targets:    []store.Target{{Kind: store.TargetKafka, Name: name + "_out"}, {Kind: store.TargetPostgres, Name: name}},
		State:      task.StreamCreating, Wanted: task.WantRunning, Generation: 1, StageDue: true,
	}
}

// insert makes a source (once) and a stream.
func insert(t *testing.T, m Metastore, name string) store.Stream {
	t.Helper()
	var out store.Stream
	update(t, m, func(ctx context.Context, tx store.Tx) error {
		src, err := tx.Source(ctx, "flights")
		if errors.Is(err, store.ErrNotFound) {
			src, err = tx.InsertSource(ctx, store.Source{Name: "flights", Spec: json.RawMessage(`{}`)})
		}
		if err != nil {
			return err
		}
		out, err = tx.InsertStream(ctx, sample(name, src.ID))
		return err
	})
	return out
}

func streams(t *testing.T, m Metastore) {
	made := insert(t, m, "hourly")
	want := sample("hourly", made.Source)
	want.ID, want.Version, want.Created, want.Updated = made.ID, 1, label, label
	equal(t, made, want)
	insert(t, m, "daily")

	begun := label
	want.State, want.Wanted, want.Generation, want.Stage, want.StageDue = task.StreamRecovering, task.WantPaused, 5, 3, true
	want.StageBegun, want.Restarts, want.Cause = &begun, 2, &store.Cause{Code: "start_timeout", Message: "too late"}
	want.Progress = json.RawMessage(`{"lag":3}`)
	update(t, m, func(ctx context.Context, tx store.Tx) error {
		s, err := tx.LockStream(ctx, made.ID)
		if err != nil {
			return err
		}
		equal(t, s.Version, int64(1))
		s, err = tx.UpdateStream(ctx, want)
		want.Version = 2
		equal(t, s, want)
		return err
	})
	view(t, m, func(ctx context.Context, r store.Reader) error {
		s, err := r.Stream(ctx, "hourly")
		if err != nil {
			return err
		}
		equal(t, s, want)
		all, err := r.Streams(ctx, "", 10)
		equal(t, []string{all[0].Name, all[1].Name}, []string{"daily", "hourly"})
		equal(t, all[1], want)
		page, _ := r.Streams(ctx, "daily", 1)
		equal(t, page[0].Name, "hourly")
		return err
	})
	update(t, m, func(ctx context.Context, tx store.Tx) error { return tx.DeleteStream(ctx, made.ID) })
	again := insert(t, m, "hourly")
	if again.ID == made.ID {
		t.Fatal("the id of a dropped stream was used again")
	}
	wantErr(t, try(t, m, func(ctx context.Context, tx store.Tx) error {
		_, err := tx.LockStream(ctx, made.ID)
		return err
	}), store.ErrNotFound)
}

func conflicts(t *testing.T, m Metastore) {
	made := insert(t, m, "hourly")
	for what, change := range map[string]func(*store.Stream){
		"stream hourly":          func(s *store.Stream) { s.Targets = nil },
		"target postgres hourly": func(s *store.Stream) { s.Name = "other"; s.Targets = s.Targets[1:] },
		"target kafka hourly_out": func(s *store.Stream) {
			s.Name = "other"
			s.Targets = s.Targets[:1]
		},
	} {
		err := try(t, m, func(ctx context.Context, tx store.Tx) error {
			s := sample("hourly", made.Source)
			change(&s)
			_, err := tx.InsertStream(ctx, s)
			return err
		})
		var c *store.ConflictError
		if !errors.As(err, &c) || c.Kind+" "+c.Name != what {
			t.Fatalf("got %v, want a conflict of %s", err, what)
		}
		wantErr(t, err, store.ErrExists)
	}
	err := try(t, m, func(ctx context.Context, tx store.Tx) error {
		_, err := tx.InsertSource(ctx, store.Source{Name: "flights", Spec: json.RawMessage(`{}`)})
		return err
	})
	wantErr(t, err, store.ErrExists)
	update(t, m, func(ctx context.Context, tx store.Tx) error { return tx.DeleteStream(ctx, made.ID) })
	insert(t, m, "hourly") // its targets were free again
}

func sourceInUse(t *testing.T, m Metastore) {
	made := insert(t, m, "hourly")
	if err := try(t, m, func(ctx context.Context, tx store.Tx) error { return tx.DeleteSource(ctx, made.Source) }); err == nil {
		t.Fatal("a source in use was deleted")
	}
	view(t, m, func(ctx context.Context, r store.Reader) error {
		names, err := r.StreamsOfSource(ctx, made.Source)
		equal(t, names, []string{"hourly"})
		return err
	})
	wantErr(t, try(t, m, func(ctx context.Context, tx store.Tx) error {
		_, err := tx.InsertStream(ctx, sample("daily", 999_999))
		return err
	}), store.ErrNotFound)
}

func constraints(t *testing.T, m Metastore) {
	made := insert(t, m, "hourly")
	begun := label
	working := func(s *store.Stream) { s.StageDue, s.Stage, s.StageBegun, s.Ready = false, 1, &begun, true }
	for what, change := range map[string]func(*store.Stream){
		"no such state":                  func(s *store.Stream) { s.State = "asleep" },
		"no such wanted":                 func(s *store.Stream) { s.Wanted = "dropped" },
		"running, never placed":          func(s *store.Stream) { s.State, s.StageDue = task.StreamRunning, false },
		"running, not ready":             func(s *store.Stream) { working(s); s.State, s.Ready = task.StreamRunning, false },
		"running, wanted paused":         func(s *store.Stream) { working(s); s.State, s.Wanted = task.StreamRunning, task.WantPaused },
		"paused, wanted running":         func(s *store.Stream) { working(s); s.State = task.StreamPaused },
		"stopped, wanted running":        func(s *store.Stream) { s.State, s.StageDue = task.StreamStopped, false },
		"starting, wanted stopped":       func(s *store.Stream) { s.Wanted = task.WantStopped },
		"failed without a cause":         func(s *store.Stream) { s.State, s.StageDue = task.StreamFailed, false },
		"a stage is due while it runs":   func(s *store.Stream) { working(s); s.State, s.StageDue = task.StreamRunning, true },
		"a stage that began and is none": func(s *store.Stream) { s.StageBegun = &begun },
		"a stage that never began":       func(s *store.Stream) { s.Stage = 1 },
		"generation zero":                func(s *store.Stream) { s.Generation = 0 },
		"a negative count of restarts":   func(s *store.Stream) { s.Restarts = -1 },
	} {
		err := try(t, m, func(ctx context.Context, tx store.Tx) error {
			s, err := tx.LockStream(ctx, made.ID)
			if err != nil {
				return err
			}
			change(&s)
			_, err = tx.UpdateStream(ctx, s)
			return err
		})
		if err == nil {
			t.Errorf("%s was written", what)
		}
	}
}

func placed(t *testing.T, m Metastore) {
	made := insert(t, m, "hourly")
	place := ident.Place{Node: "a", Instance: ident.Instance{Counter: 3, Random: 0xdeadbeef}}
	first := []store.Task{
		{Task: ident.Task{Level: ident.LevelAgg, VGroup: 7}, Place: place},
		{Task: ident.Task{Level: ident.LevelSource, VGroup: 2}, Place: place},
	}
	for _, stage := range []struct {
		stage ident.Stage
		tasks []store.Task
		want  []store.Task
	}{{1, first, []store.Task{first[1], first[0]}}, {2, first[:1], first[:1]}, {3, nil, nil}} {
		update(t, m, func(ctx context.Context, tx store.Tx) error {
			return tx.ReplaceTasks(ctx, made.ID, stage.stage, stage.tasks)
		})
		view(t, m, func(ctx context.Context, r store.Reader) error {
			got, err := r.StreamTasks(ctx, made.ID)
			equal(t, got, stage.want)
			return err
		})
	}
	if err := try(t, m, func(ctx context.Context, tx store.Tx) error { return tx.ReplaceTasks(ctx, 999_999, 1, first) }); err == nil {
		t.Fatal("tasks of no stream were placed")
	}
}

func nodes(t *testing.T, m Metastore) {
	a := store.Node{ID: "a", Instance: ident.Instance{Counter: 1, Random: 2}, Address: "http://h:1", Version: "v", State: store.NodeAlive, Registered: label}
	update(t, m, func(ctx context.Context, tx store.Tx) error {
		_, err := tx.LockNode(ctx, "a")
		wantErr(t, err, store.ErrNotFound)
		if _, err := tx.InitCluster(ctx, store.Cluster{ID: "x", Name: "c", VGroups: 3}); err != nil {
			return err
		}
		return tx.PutNode(ctx, a)
	})
	a.State, a.Address = store.NodeSuspect, "http://h:2"
	update(t, m, func(ctx context.Context, tx store.Tx) error {
		if err := tx.PutNode(ctx, a); err != nil {
			return err
		}
		v, err := tx.LockVGroups(ctx)
		if err != nil {
			return err
		}
		equal(t, v, []store.VGroup{{VGroup: 0}, {VGroup: 1}, {VGroup: 2}})
		v[1].Owner = "a"
		return tx.PutVGroups(ctx, v)
	})
	view(t, m, func(ctx context.Context, r store.Reader) error {
		n, err := r.Nodes(ctx)
		if err != nil {
			return err
		}
		equal(t, n, []store.Node{a})
		v, err := r.VGroups(ctx)
		equal(t, v, []store.VGroup{{VGroup: 0}, {VGroup: 1, Owner: "a"}, {VGroup: 2}})
		return err
	})
	if err := try(t, m, func(ctx context.Context, tx store.Tx) error {
		return tx.PutVGroups(ctx, []store.VGroup{{VGroup: 0, Owner: "nobody"}})
	}); err == nil {
		t.Fatal("a vgroup got an owner that is no node")
	}
}

func cluster(t *testing.T, m Metastore) {
	first := store.Cluster{ID: "first", Name: "c", VGroups: 4}
	update(t, m, func(ctx context.Context, tx store.Tx) error {
		_, err := tx.Cluster(ctx)
		wantErr(t, err, store.ErrNotFound)
		got, err := tx.InitCluster(ctx, first)
		equal(t, got, first)
		return err
	})
	update(t, m, func(ctx context.Context, tx store.Tx) error {
		got, err := tx.InitCluster(ctx, store.Cluster{ID: "second", Name: "d", VGroups: 9})
		equal(t, got, first)
		v, _ := tx.VGroups(ctx)
		equal(t, len(v), 4)
		return err
	})
}

func events(t *testing.T, m Metastore) {
	update(t, m, func(ctx context.Context, tx store.Tx) error {
		for i := range 5 {
			e := store.Event{Severity: store.Info, Code: fmt.Sprint("e", i), Stream: []string{"x", "y"}[i%2], Node: "n", Message: "m"}
			if err := tx.InsertEvent(ctx, e); err != nil {
				return err
			}
		}
		return nil
	})
	codes := func(f store.EventFilter) (out []string, last int64) {
		view(t, m, func(ctx context.Context, r store.Reader) error {
			all, err := r.Events(ctx, f)
			for _, e := range all {
				out, last = append(out, e.Code), e.ID
			}
			return err
		})
		return out, last
	}
	got, last := codes(store.EventFilter{Limit: 2})
	equal(t, got, []string{"e4", "e3"})
	got, _ = codes(store.EventFilter{Limit: 2, Before: last})
	equal(t, got, []string{"e2", "e1"})
	got, _ = codes(store.EventFilter{Limit: 9, Stream: "y"})
	equal(t, got, []string{"e3", "e1"})
	update(t, m, func(ctx context.Context, tx store.Tx) error { return tx.TrimEvents(ctx, 3) })
	got, _ = codes(store.EventFilter{Limit: 9})
	equal(t, got, []string{"e4", "e3", "e2"})
	update(t, m, func(ctx context.Context, tx store.Tx) error { return tx.TrimEvents(ctx, 100) })
	got, _ = codes(store.EventFilter{Limit: 9})
	equal(t, len(got), 3)
}

func answers(t *testing.T, m Metastore) {
	key := store.AnswerKey{Scope: "me", Key: "k"}
	a := store.Answer{Request: sha256.Sum256([]byte("r")), Body: json.RawMessage(`{"x":1}`)}
	update(t, m, func(ctx context.Context, tx store.Tx) error { return tx.InsertAnswer(ctx, key, a) })
	update(t, m, func(ctx context.Context, tx store.Tx) error {
		wantErr(t, tx.InsertAnswer(ctx, key, a), store.ErrExists)
		got, err := tx.Answer(ctx, key) // the refusal has not ended the transaction
		equal(t, got, a)
		_, missing := tx.Answer(ctx, store.AnswerKey{Scope: "you", Key: "k"})
		wantErr(t, missing, store.ErrNotFound)
		return err
	})
	update(t, m, func(ctx context.Context, tx store.Tx) error { return tx.TrimAnswers(ctx, time.Hour) })
	view(t, m, func(ctx context.Context, r store.Reader) error { _, err := r.Answer(ctx, key); return err })
	update(t, m, func(ctx context.Context, tx store.Tx) error { return tx.TrimAnswers(ctx, 0) })
	view(t, m, func(ctx context.Context, r store.Reader) error {
		_, err := r.Answer(ctx, key)
		wantErr(t, err, store.ErrNotFound)
		return nil
	})
}

func tokens(t *testing.T, m Metastore) {
	k := store.Token{Name: "ci", Hash: sha256.Sum256([]byte("secret")), Role: "editor", Created: label}
	update(t, m, func(ctx context.Context, tx store.Tx) error { return tx.InsertToken(ctx, k) })
	wantErr(t, try(t, m, func(ctx context.Context, tx store.Tx) error { return tx.InsertToken(ctx, k) }), store.ErrExists)
	view(t, m, func(ctx context.Context, r store.Reader) error {
		got, err := r.Token(ctx, k.Hash)
		equal(t, got, k)
		_, missing := r.Token(ctx, [32]byte{})
		wantErr(t, missing, store.ErrNotFound)
		all, _ := r.Tokens(ctx)
		equal(t, all, []store.Token{k})
		return err
	})
	update(t, m, func(ctx context.Context, tx store.Tx) error { return tx.DeleteToken(ctx, "ci") })
	wantErr(t, try(t, m, func(ctx context.Context, tx store.Tx) error { return tx.DeleteToken(ctx, "ci") }), store.ErrNotFound)
}

var errMine = errors.New("mine")

func atomic(t *testing.T, m Metastore) {
	made := insert(t, m, "hourly")
	err := try(t, m, func(ctx context.Context, tx store.Tx) error {
		s, err := tx.LockStream(ctx, made.ID)
		if err != nil {
			return err
		}
		s.Generation = 9
		if s, err = tx.UpdateStream(ctx, s); err != nil {
			return err
		}
		seen, err := tx.Stream(ctx, "hourly") // a transaction sees its own writes
		equal(t, seen.Generation, s.Generation)
		return errors.Join(err, errMine)
	})
	wantErr(t, err, errMine)
	view(t, m, func(ctx context.Context, r store.Reader) error {
		s, err := r.Stream(ctx, "hourly")
		equal(t, s, made)
		return err
	})
}

func stale(t *testing.T, m Metastore) {
	ctx := background(t)
	seen, err := m.Lease(ctx)
	if err != nil {
		t.Fatal(err)
	}
	term, err := m.TakeOver(ctx, "a", seen)
	if err != nil {
		t.Fatal(err)
	}
	token := func(name string) func(store.Tx) error {
		return func(tx store.Tx) error {
			equal(t, tx.Term(), term)
			return tx.InsertToken(ctx, store.Token{Name: name, Hash: sha256.Sum256([]byte(name)), Role: "admin"})
		}
	}
	if err := m.Update(ctx, term, token("one")); err != nil {
		t.Fatal(err)
	}
	wantErr(t, m.Update(ctx, term-1, token("two")), store.ErrStaleTerm)
	wantErr(t, m.Update(ctx, term+1, token("three")), store.ErrStaleTerm)
	if err := m.Update(ctx, store.AnyTerm, token("four")); err != nil {
		t.Fatal(err)
	}
	view(t, m, func(ctx context.Context, r store.Reader) error {
		all, err := r.Tokens(ctx)
		equal(t, []string{all[0].Name, all[1].Name}, []string{"four", "one"})
		return err
	})
}

// serial: 8 writers, each reads and raises the generation 20 times; none is lost.
func serial(t *testing.T, m Metastore) {
	made := insert(t, m, "hourly")
	const writers, times = 8, 20
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for done := 0; done < times; {
				err := try(t, m, func(ctx context.Context, tx store.Tx) error {
					s, err := tx.LockStreamNamed(ctx, "hourly")
					if err != nil {
						return err
					}
					s.Generation++
					_, err = tx.UpdateStream(ctx, s)
					return err
				})
				switch {
				case err == nil:
					done++
				case !errors.Is(err, store.ErrBusy):
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	view(t, m, func(ctx context.Context, r store.Reader) error {
		s, err := r.Stream(ctx, "hourly")
		equal(t, s.Generation, made.Generation+writers*times)
		return err
	})
}

func watch(t *testing.T, m Metastore) {
	ctx, cancel := context.WithCancel(background(t))
	woken := m.Watch(ctx)
	// The first wake-up may be that of the beginning: writes are repeated until two were seen.
	for seen := 0; seen < 2; {
		update(t, m, func(ctx context.Context, tx store.Tx) error {
			return tx.PutNode(ctx, store.Node{ID: "a", Address: "x", State: store.NodeAlive})
		})
		select {
		case <-woken:
			seen++
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			t.Fatal("nobody was woken")
		}
	}
	cancel()
	for range woken { //nolint:revive // drained until closed
	}
}

func leaseNamesItsTerm(t *testing.T, m Metastore) {
	ctx := background(t)
	first, err := m.TakeOver(ctx, "a", lease.Seen{Beat: lease.Released})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.RenewLease(ctx, first); err != nil {
		t.Fatal(err)
	}
	seen, _ := m.Lease(ctx)
	equal(t, seen, lease.Seen{Term: first, Holder: "a", Beat: 1})
	second, err := m.TakeOver(ctx, "b", seen)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, second, first+1)
	// The first holder wakes up: nothing that it does has an effect.
	wantErr(t, m.RenewLease(ctx, first), store.ErrStaleTerm)
	wantErr(t, m.ReleaseLease(ctx, first), store.ErrStaleTerm)
	wantErr(t, m.Update(ctx, first, func(store.Tx) error { return nil }), store.ErrStaleTerm)
	seen, _ = m.Lease(ctx)
	equal(t, seen, lease.Seen{Term: second, Holder: "b"})

	if err := m.ReleaseLease(ctx, second); err != nil {
		t.Fatal(err)
	}
	seen, _ = m.Lease(ctx)
	equal(t, seen.Beat, int64(lease.Released))
	wantErr(t, m.RenewLease(ctx, second), store.ErrStaleTerm) // given up is given up
}

func takeOver(t *testing.T, m Metastore) {
	ctx := background(t)
	term, err := m.TakeOver(ctx, "a", lease.Seen{Beat: lease.Released})
	if err != nil {
		t.Fatal(err)
	}
	seen, _ := m.Lease(ctx)
	if err := m.RenewLease(ctx, term); err != nil { // alive after all
		t.Fatal(err)
	}
	_, err = m.TakeOver(ctx, "b", seen)
	wantErr(t, err, store.ErrStaleTerm)
	if err := m.RenewLease(ctx, term); err != nil {
		t.Fatalf("the holder lost its lease to a take-over that failed: %v", err)
	}
	// Many at once: one wins.
	seen, _ = m.Lease(ctx)
	var wg sync.WaitGroup
	var mu sync.Mutex
	won := 0
	for i := range 5 {
		wg.Go(func() {
			if _, err := m.TakeOver(ctx, fmt.Sprint("s", i), seen); err == nil {
				mu.Lock()
				won++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	equal(t, won, 1)
}
