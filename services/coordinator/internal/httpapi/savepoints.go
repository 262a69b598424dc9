package httpapi

import (
	"context"

	api "github.com/pondage/pondage/internal/api/coordinator"
	"github.com/pondage/pondage/services/coordinator/internal/control"
)

// ListSavepoints lists the savepoints of a stream.
func (h *handler) ListSavepoints(ctx context.Context, r api.ListSavepointsRequestObject) (api.ListSavepointsResponseObject, error) {
	list, err := h.App.ListSavepoints(ctx, r.Name, page(r.Params.Limit, r.Params.Cursor))
	if err != nil {
		return nil, err
	}
	items := convert(list.Items, func(p control.Savepoint) api.Savepoint { return savepointDoc(r.Name, p) })
	return api.ListSavepoints200JSONResponse{Items: items, NextCursor: orNull(list.Next)}, nil
}

// GetSavepoint reads a savepoint.
func (h *handler) GetSavepoint(ctx context.Context, r api.GetSavepointRequestObject) (api.GetSavepointResponseObject, error) {
	p, err := h.App.GetSavepoint(ctx, r.Name, r.Savepoint)
	if err != nil {
		return nil, err
	}
	return api.GetSavepoint200JSONResponse(savepointDoc(r.Name, p)), nil
}

// CreateSavepoint keeps a checkpoint under a name.
func (h *handler) CreateSavepoint(ctx context.Context, r api.CreateSavepointRequestObject) (api.CreateSavepointResponseObject, error) {
	req, err := request(ctx, r.Params.IdempotencyKey, nil)
	if err != nil {
		return nil, err
	}
	p, err := h.App.CreateSavepoint(ctx, req, r.Name, r.Body.Name)
	if err != nil {
		return nil, err
	}
	at := "/v1/streams/" + r.Name + "/savepoints/" + p.Name
	return api.CreateSavepoint202JSONResponse{Body: savepointDoc(r.Name, p), Headers: api.CreateSavepoint202ResponseHeaders{Location: at}}, nil
}

// DeleteSavepoint forgets a savepoint.
func (h *handler) DeleteSavepoint(ctx context.Context, r api.DeleteSavepointRequestObject) (api.DeleteSavepointResponseObject, error) {
	req, err := request(ctx, nil, nil)
	if err != nil {
		return nil, err
	}
	if err := h.App.DeleteSavepoint(ctx, req, r.Name, r.Savepoint); err != nil {
		return nil, err
	}
	return api.DeleteSavepoint204Response{}, nil
}

func savepointDoc(stream string, p control.Savepoint) api.Savepoint {
	return api.Savepoint{
		Name: p.Name, Stream: stream, State: string(p.Checkpoint.State), CreatedAt: p.Created,
		Checkpoint: checkpointDoc(control.Checkpoint{Checkpoint: p.Checkpoint, Name: stream}),
	}
}
