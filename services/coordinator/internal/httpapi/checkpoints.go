package httpapi

import (
	"context"
	"strconv"

	"github.com/pondage/pondage/internal/api/common"
	api "github.com/pondage/pondage/internal/api/coordinator"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/services/coordinator/internal/control"
)

// ListCheckpoints lists the checkpoints of all streams, or of one.
func (h *handler) ListCheckpoints(ctx context.Context, r api.ListCheckpointsRequestObject) (api.ListCheckpointsResponseObject, error) {
	out, err := h.checkpointPage(ctx, value(r.Params.Stream), page(r.Params.Limit, r.Params.Cursor))
	return api.ListCheckpoints200JSONResponse(out), err
}

// ListStreamCheckpoints lists the checkpoints of a stream.
func (h *handler) ListStreamCheckpoints(ctx context.Context, r api.ListStreamCheckpointsRequestObject) (api.ListStreamCheckpointsResponseObject, error) {
	out, err := h.checkpointPage(ctx, r.Name, page(r.Params.Limit, r.Params.Cursor))
	return api.ListStreamCheckpoints200JSONResponse(out), err
}

func (h *handler) checkpointPage(ctx context.Context, stream string, p control.Page) (api.CheckpointPage, error) {
	list, err := h.App.ListCheckpoints(ctx, stream, p)
	return api.CheckpointPage{Items: convert(list.Items, checkpointDoc), NextCursor: orNull(list.Next)}, err
}

// GetCheckpoint reads a checkpoint.
func (h *handler) GetCheckpoint(ctx context.Context, r api.GetCheckpointRequestObject) (api.GetCheckpointResponseObject, error) {
	c, err := h.App.GetCheckpoint(ctx, r.Name, ident.CheckpointID(r.Checkpoint))
	if err != nil {
		return nil, err
	}
	out := checkpointDoc(c.Checkpoint)
	out.Tasks = convert(c.Tasks, checkpointTaskDoc)
	return api.GetCheckpoint200JSONResponse(out), nil
}

// TakeCheckpoint asks for a checkpoint.
func (h *handler) TakeCheckpoint(ctx context.Context, r api.TakeCheckpointRequestObject) (api.TakeCheckpointResponseObject, error) {
	req, err := request(ctx, r.Params.IdempotencyKey, nil)
	if err != nil {
		return nil, err
	}
	c, err := h.App.TakeCheckpoint(ctx, req, r.Name)
	if err != nil {
		return nil, err
	}
	at := "/v1/streams/" + c.Name + "/checkpoints/" + strconv.FormatInt(int64(c.ID), 10)
	return api.TakeCheckpoint202JSONResponse{Body: checkpointDoc(c), Headers: api.TakeCheckpoint202ResponseHeaders{Location: at}}, nil
}

func checkpointDoc(c control.Checkpoint) api.Checkpoint {
	return api.Checkpoint{
		Stream: c.Name, Checkpoint: common.Int64(c.ID), Kind: string(c.Kind), State: string(c.State), Stage: common.Int64(c.Stage), Abandoned: c.Abandoned,
		AskedAt: c.Asked, BegunAt: c.Begun, EndedAt: c.Ended, DeadlineMs: common.Int64(c.Deadline.Milliseconds()), Error: causeDoc(c.Cause),
		BytesFull: common.Int64(c.Cost.BytesFull), BytesIncremental: common.Int64(c.Cost.BytesIncremental),
		AlignMs: common.Int64(c.Cost.Align.Milliseconds()), SyncMs: common.Int64(c.Cost.Sync.Milliseconds()), AsyncMs: common.Int64(c.Cost.Async.Milliseconds()),
	}
}

func checkpointTaskDoc(t control.CheckpointTask) api.CheckpointTask {
	return api.CheckpointTask{
		Task: t.Task.String(), Node: string(t.Node), Manifest: t.Manifest.String(),
		BytesFull: common.Int64(t.Cost.BytesFull), BytesIncremental: common.Int64(t.Cost.BytesIncremental),
		AlignMs: common.Int64(t.Cost.Align.Milliseconds()), SyncMs: common.Int64(t.Cost.Sync.Milliseconds()), AsyncMs: common.Int64(t.Cost.Async.Milliseconds()),
		Sinks: convert(t.Sinks, func(s control.SinkMarker) common.SinkMarker {
			return common.SinkMarker{Kind: s.Kind, Marker: common.Int64(s.Marker)}
		}),
	}
}

// acceptance reads what a user puts up with.
func acceptance(duplicates *bool) control.Acceptance {
	if value(duplicates) {
		return control.AcceptDuplicates
	}
	return control.AcceptNothing
}

// RecoverStream begins a stream anew from an older checkpoint.
func (h *handler) RecoverStream(ctx context.Context, r api.RecoverStreamRequestObject) (api.RecoverStreamResponseObject, error) {
	req, err := request(ctx, r.Params.IdempotencyKey, r.Params.IfMatch)
	if err != nil {
		return nil, err
	}
	s, err := h.App.Recover(ctx, req, r.Name, control.GoBack{Checkpoint: ident.CheckpointID(r.Body.Checkpoint), Accept: acceptance(r.Body.AcceptDuplicates)})
	if err != nil {
		return nil, err
	}
	return api.RecoverStream202JSONResponse{Body: h.streamDoc(s), Headers: api.RecoverStream202ResponseHeaders{ETag: etag(s.Version), Location: location(s)}}, nil
}
