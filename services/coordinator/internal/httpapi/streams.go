package httpapi

import (
	"context"

	api "github.com/pondage/pondage/internal/api/coordinator"
	"github.com/pondage/pondage/services/coordinator/internal/control"
	"github.com/pondage/pondage/services/coordinator/internal/control/decide"
)

// ListStreams lists streams by name.
func (h *handler) ListStreams(ctx context.Context, r api.ListStreamsRequestObject) (api.ListStreamsResponseObject, error) {
	list, err := h.App.ListStreams(ctx, page(r.Params.Limit, r.Params.Cursor))
	if err != nil {
		return nil, err
	}
	return api.ListStreams200JSONResponse{Items: convert(list.Items, h.streamDoc), NextCursor: orNull(list.Next)}, nil
}

// CreateStream makes a stream.
func (h *handler) CreateStream(ctx context.Context, r api.CreateStreamRequestObject) (api.CreateStreamResponseObject, error) {
	req, err := request(ctx, r.Params.IdempotencyKey, nil)
	if err != nil {
		return nil, err
	}
	s, err := h.App.CreateStream(ctx, req, *r.Body)
	if err != nil {
		return nil, err
	}
	return api.CreateStream201JSONResponse{Body: h.streamDoc(s), Headers: api.CreateStream201ResponseHeaders{ETag: etag(s.Version), Location: location(s)}}, nil
}

// GetStream reads a stream.
func (h *handler) GetStream(ctx context.Context, r api.GetStreamRequestObject) (api.GetStreamResponseObject, error) {
	s, err := h.App.GetStream(ctx, r.Name)
	if err != nil {
		return nil, err
	}
	return api.GetStream200JSONResponse{Body: h.streamDoc(s), Headers: api.GetStream200ResponseHeaders{ETag: etag(s.Version)}}, nil
}

func location(s control.Stream) string { return "/v1/streams/" + s.Name }

// act asks for a change of what is wanted.
func (h *handler) act(ctx context.Context, name string, key, ifMatch *string, a control.Action) (control.Stream, error) {
	req, err := request(ctx, key, ifMatch)
	if err != nil {
		return control.Stream{}, err
	}
	return h.App.ActOnStream(ctx, req, name, a)
}

// DeleteStream drops a stream.
func (h *handler) DeleteStream(ctx context.Context, r api.DeleteStreamRequestObject) (api.DeleteStreamResponseObject, error) {
	s, err := h.act(ctx, r.Name, nil, r.Params.IfMatch, decide.Drop)
	if err != nil {
		return nil, err
	}
	return api.DeleteStream202JSONResponse{Body: h.streamDoc(s), Headers: api.DeleteStream202ResponseHeaders{ETag: etag(s.Version), Location: location(s)}}, nil
}

// PauseStream stops the reading of sources.
func (h *handler) PauseStream(ctx context.Context, r api.PauseStreamRequestObject) (api.PauseStreamResponseObject, error) {
	s, err := h.act(ctx, r.Name, r.Params.IdempotencyKey, r.Params.IfMatch, decide.Pause)
	if err != nil {
		return nil, err
	}
	return api.PauseStream202JSONResponse{Body: h.streamDoc(s), Headers: api.PauseStream202ResponseHeaders{ETag: etag(s.Version), Location: location(s)}}, nil
}

// ResumeStream reads sources again.
func (h *handler) ResumeStream(ctx context.Context, r api.ResumeStreamRequestObject) (api.ResumeStreamResponseObject, error) {
	s, err := h.act(ctx, r.Name, r.Params.IdempotencyKey, r.Params.IfMatch, decide.Resume)
	if err != nil {
		return nil, err
	}
	return api.ResumeStream202JSONResponse{Body: h.streamDoc(s), Headers: api.ResumeStream202ResponseHeaders{ETag: etag(s.Version), Location: location(s)}}, nil
}

// StopStream ends all tasks.
func (h *handler) StopStream(ctx context.Context, r api.StopStreamRequestObject) (api.StopStreamResponseObject, error) {
	s, err := h.act(ctx, r.Name, r.Params.IdempotencyKey, r.Params.IfMatch, decide.Stop)
	if err != nil {
		return nil, err
	}
	return api.StopStream202JSONResponse{Body: h.streamDoc(s), Headers: api.StopStream202ResponseHeaders{ETag: etag(s.Version), Location: location(s)}}, nil
}

// StartStream starts a stopped stream, from a savepoint where one is named.
func (h *handler) StartStream(ctx context.Context, r api.StartStreamRequestObject) (api.StartStreamResponseObject, error) {
	req, err := request(ctx, r.Params.IdempotencyKey, r.Params.IfMatch)
	if err != nil {
		return nil, err
	}
	var s control.Stream
	if r.Body != nil && r.Body.FromSavepoint != nil {
		s, err = h.App.StartFrom(ctx, req, r.Name, *r.Body.FromSavepoint, acceptance(r.Body.AcceptDuplicates))
	} else {
		s, err = h.App.ActOnStream(ctx, req, r.Name, decide.Start)
	}
	if err != nil {
		return nil, err
	}
	return api.StartStream202JSONResponse{Body: h.streamDoc(s), Headers: api.StartStream202ResponseHeaders{ETag: etag(s.Version), Location: location(s)}}, nil
}

// ResetStream starts a new stage.
func (h *handler) ResetStream(ctx context.Context, r api.ResetStreamRequestObject) (api.ResetStreamResponseObject, error) {
	s, err := h.act(ctx, r.Name, r.Params.IdempotencyKey, r.Params.IfMatch, decide.Reset)
	if err != nil {
		return nil, err
	}
	return api.ResetStream202JSONResponse{Body: h.streamDoc(s), Headers: api.ResetStream202ResponseHeaders{ETag: etag(s.Version), Location: location(s)}}, nil
}
