package httpapi

import (
	"context"

	api "github.com/pondage/pondage/internal/api/worker"
	"github.com/pondage/pondage/internal/httpserver"
)

// Ingest writes the records of the body.
func (h *handler) Ingest(ctx context.Context, r api.IngestRequestObject) (api.IngestResponseObject, error) {
	key := ""
	if r.Params.IdempotencyKey != nil {
		key = *r.Params.IdempotencyKey
	}
	take := h.Config.Ingest.Lines
	if ctx.Value(formKey{}) == mediaJSON {
		take = h.Config.Ingest.Array
	}
	n, err := take(ctx, r.Source, key, r.Body)
	if err != nil {
		return nil, err
	}
	return api.Ingest200JSONResponse{Accepted: n}, nil
}

// GetResults answers from what is kept, in the form that the client accepts.
func (h *handler) GetResults(ctx context.Context, r api.GetResultsRequestObject) (api.GetResultsResponseObject, error) {
	switch form := httpserver.AnswerType(ctx); form {
	case mediaNDJSON:
		return stream{mediaType: form, write: func(to *answer) error { return h.Results.NDJSON(ctx, r.Name, r.Params, to) }}, nil
	case mediaCSV:
		return stream{mediaType: form, write: func(to *answer) error { return h.Results.CSV(ctx, r.Name, r.Params, to) }}, nil
	}
	page, err := h.Results.Page(ctx, r.Name, r.Params)
	if err != nil {
		return nil, err
	}
	return api.GetResults200JSONResponse(page), nil
}

// GetLiveResults follows results until the client goes or the service closes.
func (h *handler) GetLiveResults(ctx context.Context, r api.GetLiveResultsRequestObject) (api.GetLiveResultsResponseObject, error) {
	return stream{mediaType: mediaEvents, write: func(to *answer) error { return h.Live.Follow(ctx, r.Name, r.Params, to.live) }}, nil
}

// ExplainWindow says what a window waits for.
func (h *handler) ExplainWindow(ctx context.Context, r api.ExplainWindowRequestObject) (api.ExplainWindowResponseObject, error) {
	e, err := h.Explain.Explain(ctx, r.Name, r.Params)
	if err != nil {
		return nil, err
	}
	return api.ExplainWindow200JSONResponse(e), nil
}

// ListDeadLetters lists what a source's streams could not read.
func (h *handler) ListDeadLetters(ctx context.Context, r api.ListDeadLettersRequestObject) (api.ListDeadLettersResponseObject, error) {
	page, err := h.SetAside.DeadLetters(ctx, r.Name, r.Params.Limit, r.Params.Cursor)
	if err != nil {
		return nil, err
	}
	return api.ListDeadLetters200JSONResponse(page), nil
}

// ReplayDeadLetters appends dead letters to their source once more.
func (h *handler) ReplayDeadLetters(ctx context.Context, r api.ReplayDeadLettersRequestObject) (api.ReplayDeadLettersResponseObject, error) {
	answer, err := h.SetAside.Replay(ctx, r.Name, *r.Body)
	if err != nil {
		return nil, err
	}
	return api.ReplayDeadLetters200JSONResponse(answer), nil
}

// ListLateRecords lists what came too late for a stream.
func (h *handler) ListLateRecords(ctx context.Context, r api.ListLateRecordsRequestObject) (api.ListLateRecordsResponseObject, error) {
	page, err := h.SetAside.LateRecords(ctx, r.Name, r.Params.Limit, r.Params.Cursor)
	if err != nil {
		return nil, err
	}
	return api.ListLateRecords200JSONResponse(page), nil
}
