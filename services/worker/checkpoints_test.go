package worker

import (
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pondage/pondage/internal/align"
	"github.com/pondage/pondage/internal/api/common"
	"github.com/pondage/pondage/internal/connect"
	"github.com/pondage/pondage/internal/dispatch"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/manifest"
	"github.com/pondage/pondage/internal/storage"
	"github.com/pondage/pondage/internal/storage/dirstore"
	"github.com/pondage/pondage/services/worker/internal/results"
	"github.com/pondage/pondage/services/worker/internal/task"
)

var self = dispatch.Self{Stream: 7, Stage: 3, Task: ident.Task{Level: ident.LevelAgg, VGroup: 2}}

func TestAReportSaysWhatThePartHasComeTo(t *testing.T) {
	t.Parallel()
	hash := manifest.Hash{1, 2, 3}
	done := task.PartReport{
		Self: self, Checkpoint: 11, Tx: 1 << 60, Manifest: hash, BytesFull: 900, BytesIncremental: 30,
		Align: 4 * time.Millisecond, Sync: 5 * time.Millisecond, Async: 6 * time.Millisecond, Sinks: []manifest.Sink{{Kind: "postgres", Marker: 10}},
	}
	failed := task.PartReport{Self: self, Checkpoint: 12, Tx: 5, Failure: &align.Failure{Code: align.CodeTimeout, Detail: "agg-1 is missing"}}
	text := hash.String()
	for name, x := range map[string]struct {
		report task.PartReport
		want   common.CheckpointReport
	}{
		"done": {done, common.CheckpointReport{
			StreamID: 7, Stage: 3, Checkpoint: 11, Tx: 1 << 60, Task: "agg-2", Outcome: "done", Manifest: &text, BytesFull: 900, BytesIncremental: 30,
			AlignMs: 4, SyncMs: 5, AsyncMs: 6, Sinks: []common.SinkMarker{{Kind: "postgres", Marker: 10}},
		}},
		"failed": {failed, common.CheckpointReport{
			StreamID: 7, Stage: 3, Checkpoint: 12, Tx: 5, Task: "agg-2", Outcome: "failed", Sinks: []common.SinkMarker{},
			Cause: &common.NullableCause{Code: "timeout", Message: "agg-1 is missing"},
		}},
	} {
		text, err := json.Marshal(reportDoc(x.report))
		if err != nil {
			t.Fatal(err)
		}
		var got common.CheckpointReport
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(x.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestTheCheckpointsOfADroppedStreamGo: those of the others stay.
func TestTheCheckpointsOfADroppedStreamGo(t *testing.T) {
	t.Parallel()
	store, err := dirstore.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	const dropped, other = 7, 8
	for _, id := range []ident.StreamID{dropped, other} {
		m := manifest.Manifest{Cluster: "c", Stream: id, Name: "s", Stage: 1, Checkpoint: 1, Tx: 1, Task: self.Task.String(), Plan: "p"}
		if _, err := store.Commit(t.Context(), &m); err != nil {
			t.Fatal(err)
		}
	}
	hub := connect.New(connect.Config{})
	t.Cleanup(hub.Close)
	log := slog.New(slog.DiscardHandler)
	e := &lateEngine{store: store, log: log, janitor: results.NewJanitor(hub, log)}
	e.Drop(dropped)
	e.deletes.Wait()
	if _, _, err := store.Load(t.Context(), dropped, self.Task, 1); !errors.Is(err, storage.ErrMissing) {
		t.Errorf("of the dropped stream: %v", err)
	}
	if _, _, err := store.Load(t.Context(), other, self.Task, 1); err != nil {
		t.Errorf("of the other one: %v", err)
	}
}
