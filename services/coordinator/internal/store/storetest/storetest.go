package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/task"
	"github.com/pondage/pondage/services/coordinator/internal/store"
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
		"a checkpoint's life":           checkpointLife,
		"T39 verdicts are given once":   verdicts,
		"a checkpoint asked for":        asked,
		"T42 a reset and a verdict":     reset,
		"a reset and a verdict at once": raced,
		"lists of checkpoints":          checkpointLists,
		"retention":                     retention,
		"going back":                    goingBack,
		"savepoints":                    savepoints,
		"constraints of checkpoints":    checkpointConstraints,
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
	want.ID, want.Version, want.Created, want.Updated, want.Cuts = made.ID, 1, label, label, store.Cuts{Next: 1}
	equal(t, made, want)
	insert(t, m, "daily")

	begun := label
	want.State, want.Wanted, want.Generation, want.Stage, want.StageDue = task.StreamRecovering, task.WantPaused, 5, 3, true
	want.StageBegun, want.Restarts, want.Cause = &begun, 2, &store.Cause{Code: "start_timeout", Message: "too late"}
	want.Progress = json.RawMessage(`{"lag":3}`)
	want.Partitions = append(want.Partitions, store.SourcePartition{Topic: "flights", Partition: 3})
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
