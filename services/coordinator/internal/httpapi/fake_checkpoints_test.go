package httpapi

import (
	"context"
	"time"

	"github.com/pondage/pondage/internal/checkpoint"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/manifest"
	"github.com/pondage/pondage/services/coordinator/internal/control"
	"github.com/pondage/pondage/services/coordinator/internal/store"
)

func (f *fake) checkpoint() control.Checkpoint {
	c := store.Checkpoint{Seq: 40, Stream: 7, ID: 12, Tx: 99, Kind: checkpoint.Manual, State: store.CheckpointWaiting, Asked: begun}
	if !f.bare {
		ended := begun.Add(time.Second)
		c.State, c.Stage, c.Deadline, c.Begun, c.Ended, c.Abandoned = store.CheckpointFailed, 2, time.Minute, &begun, &ended, true
		c.Cause = &control.Cause{Code: "disk_full", Message: "agg-3: no space"}
		c.Cost = control.Cost{BytesFull: 9007199254740993, BytesIncremental: 4, Align: 3 * time.Millisecond, Sync: time.Millisecond, Async: time.Second}
	}
	return control.Checkpoint{Checkpoint: c, Name: "flights_1h"}
}

func (f *fake) savepoint() control.Savepoint {
	return control.Savepoint{Stream: 7, Name: "before_upgrade", Created: begun, Checkpoint: f.checkpoint().Checkpoint}
}

func (f *fake) ListCheckpoints(_ context.Context, stream string, p control.Page) (control.List[control.Checkpoint], error) {
	f.page, f.asked = p, stream
	return control.List[control.Checkpoint]{Items: []control.Checkpoint{f.checkpoint()}, Next: f.next()}, f.fail
}

func (f *fake) GetCheckpoint(_ context.Context, stream string, id ident.CheckpointID) (control.CheckpointDetail, error) {
	if id != 12 {
		return control.CheckpointDetail{}, &control.Error{Code: control.CodeCheckpointUnknown, Message: "there is no such checkpoint of " + stream}
	}
	out := control.CheckpointDetail{Checkpoint: f.checkpoint()}
	if !f.bare {
		out.Tasks = []control.CheckpointTask{{
			Task: ident.Task{Level: ident.LevelAgg, VGroup: 3}, Node: "n1", Manifest: manifest.Hash{0xab}, Cost: out.Cost,
			Sinks: []control.SinkMarker{{Kind: "kafka", Marker: 11}},
		}}
	}
	return out, f.fail
}

func (f *fake) TakeCheckpoint(_ context.Context, r control.Request, stream string) (control.Checkpoint, error) {
	f.request, f.asked = r, stream
	return f.checkpoint(), f.fail
}

func (f *fake) ListSavepoints(_ context.Context, _ string, p control.Page) (control.List[control.Savepoint], error) {
	f.page = p
	return control.List[control.Savepoint]{Items: []control.Savepoint{f.savepoint()}, Next: f.next()}, f.fail
}

func (f *fake) GetSavepoint(context.Context, string, string) (control.Savepoint, error) {
	return f.savepoint(), f.fail
}

func (f *fake) CreateSavepoint(_ context.Context, r control.Request, _, name string) (control.Savepoint, error) {
	f.request, f.asked = r, name
	return f.savepoint(), f.fail
}

func (f *fake) DeleteSavepoint(_ context.Context, r control.Request, _, name string) error {
	f.request, f.asked = r, name
	return f.fail
}

func (f *fake) Recover(_ context.Context, r control.Request, _ string, to control.GoBack) (control.Stream, error) {
	f.request, f.back = r, to
	return f.stream(), f.fail
}

func (f *fake) StartFrom(_ context.Context, r control.Request, _, savepoint string, accept control.Acceptance) (control.Stream, error) {
	f.request, f.asked, f.back = r, savepoint, control.GoBack{Accept: accept}
	return f.stream(), f.fail
}

func (f *fake) ReportCheckpoints(_ context.Context, r control.PartReports) (ident.Term, error) {
	f.reports = r
	return 4, f.fail
}
