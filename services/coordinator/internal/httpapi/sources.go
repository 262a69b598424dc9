package httpapi

import (
	"context"

	api "github.com/pondage/pondage/internal/api/coordinator"
	"github.com/pondage/pondage/services/coordinator/internal/control"
)

func sourceDoc(s control.Source) api.Source {
	return api.Source{Name: s.Name, Spec: s.Spec, Streams: s.Streams, CreatedAt: s.Created, UpdatedAt: s.Updated}
}

// ListSources lists sources by name.
func (h *handler) ListSources(ctx context.Context, r api.ListSourcesRequestObject) (api.ListSourcesResponseObject, error) {
	list, err := h.App.ListSources(ctx, page(r.Params.Limit, r.Params.Cursor))
	if err != nil {
		return nil, err
	}
	return api.ListSources200JSONResponse{Items: convert(list.Items, sourceDoc), NextCursor: orNull(list.Next)}, nil
}

// CreateSource makes a source.
func (h *handler) CreateSource(ctx context.Context, r api.CreateSourceRequestObject) (api.CreateSourceResponseObject, error) {
	req, err := request(ctx, r.Params.IdempotencyKey, nil)
	if err != nil {
		return nil, err
	}
	s, err := h.App.CreateSource(ctx, req, *r.Body)
	if err != nil {
		return nil, err
	}
	return api.CreateSource201JSONResponse{Body: sourceDoc(s), Headers: api.CreateSource201ResponseHeaders{ETag: etag(s.Version), Location: "/v1/sources/" + s.Name}}, nil
}

// GetSource reads a source.
func (h *handler) GetSource(ctx context.Context, r api.GetSourceRequestObject) (api.GetSourceResponseObject, error) {
	s, err := h.App.GetSource(ctx, r.Name)
	if err != nil {
		return nil, err
	}
	return api.GetSource200JSONResponse{Body: sourceDoc(s), Headers: api.GetSource200ResponseHeaders{ETag: etag(s.Version)}}, nil
}

// PutSource replaces a source.
func (h *handler) PutSource(ctx context.Context, r api.PutSourceRequestObject) (api.PutSourceResponseObject, error) {
	req, err := request(ctx, nil, r.Params.IfMatch)
	if err != nil {
		return nil, err
	}
	s, err := h.App.ReplaceSource(ctx, req, r.Name, *r.Body)
	if err != nil {
		return nil, err
	}
	return api.PutSource200JSONResponse{Body: sourceDoc(s), Headers: api.PutSource200ResponseHeaders{ETag: etag(s.Version)}}, nil
}

// DeleteSource removes a source.
func (h *handler) DeleteSource(ctx context.Context, r api.DeleteSourceRequestObject) (api.DeleteSourceResponseObject, error) {
	req, err := request(ctx, nil, r.Params.IfMatch)
	if err != nil {
		return nil, err
	}
	if err := h.App.DeleteSource(ctx, req, r.Name); err != nil {
		return nil, err
	}
	return api.DeleteSource204Response{}, nil
}
