package httpapi

import (
	"context"
	"hash/fnv"
	"net/url"
	"strconv"
	"time"

	api "github.com/pondage/pondage/internal/api/coordinator"
	"github.com/pondage/pondage/internal/problem"
	"github.com/pondage/pondage/services/coordinator/internal/control"
)

// nodeAlive is control's word for a node that beats.
const nodeAlive = "alive"

// worker picks the worker that answers for a name: the same one as long as the nodes are the same, so that pages of one
// result come from one place.
func (h *handler) worker(ctx context.Context, name string) (string, error) {
	nodes, err := h.App.ListNodes(ctx)
	if err != nil {
		return "", err
	}
	var alive []control.Node
	for _, n := range nodes {
		if n.State == nodeAlive {
			alive = append(alive, n)
		}
	}
	if len(alive) == 0 {
		e := problem.New(problem.CodeNoWorker, "none of %d nodes is alive", len(nodes))
		e.RetryAfter = retrySoon
		return "", e
	}
	sum := fnv.New32a()
	sum.Write([]byte(name)) // never fails
	return alive[int(sum.Sum32()%uint32(len(alive)))].Address, nil
}

// streamData is the address of a stream's data at a worker; a stream that does not exist is an error here.
func (h *handler) streamData(ctx context.Context, name, what string, query url.Values) (string, error) {
	if _, err := h.App.GetStream(ctx, name); err != nil {
		return "", err
	}
	base, err := h.worker(ctx, name)
	return base + "/v1/streams/" + name + "/" + what + encode(query), err
}

func (h *handler) sourceData(ctx context.Context, name, path string, query url.Values) (string, error) {
	if _, err := h.App.GetSource(ctx, name); err != nil {
		return "", err
	}
	base, err := h.worker(ctx, name)
	return base + path + encode(query), err
}

func encode(query url.Values) string {
	for name, values := range query {
		if values[0] == "" {
			query.Del(name)
		}
	}
	if len(query) == 0 {
		return ""
	}
	return "?" + query.Encode()
}

func paging(limit *int32, cursor *string) url.Values {
	q := url.Values{"cursor": {value(cursor)}}
	if limit != nil {
		q.Set("limit", strconv.Itoa(int(*limit)))
	}
	return q
}

// Ingest sends the client to a worker.
func (h *handler) Ingest(ctx context.Context, r api.IngestRequestObject) (api.IngestResponseObject, error) {
	at, err := h.sourceData(ctx, r.Source, "/v1/ingest/"+r.Source, nil)
	if err != nil {
		return nil, err
	}
	return api.Ingest307Response{Headers: api.RedirectResponseHeaders{Location: at}}, nil
}

// ListDeadLetters sends the client to a worker.
func (h *handler) ListDeadLetters(ctx context.Context, r api.ListDeadLettersRequestObject) (api.ListDeadLettersResponseObject, error) {
	at, err := h.sourceData(ctx, r.Name, "/v1/sources/"+r.Name+"/dead-letters", paging(r.Params.Limit, r.Params.Cursor))
	if err != nil {
		return nil, err
	}
	return api.ListDeadLetters307Response{Headers: api.RedirectResponseHeaders{Location: at}}, nil
}

// ReplayDeadLetters sends the client to a worker.
func (h *handler) ReplayDeadLetters(ctx context.Context, r api.ReplayDeadLettersRequestObject) (api.ReplayDeadLettersResponseObject, error) {
	at, err := h.sourceData(ctx, r.Name, "/v1/sources/"+r.Name+"/dead-letters/replay", nil)
	if err != nil {
		return nil, err
	}
	return api.ReplayDeadLetters307Response{Headers: api.RedirectResponseHeaders{Location: at}}, nil
}

// ListLateRecords sends the client to a worker.
func (h *handler) ListLateRecords(ctx context.Context, r api.ListLateRecordsRequestObject) (api.ListLateRecordsResponseObject, error) {
	at, err := h.streamData(ctx, r.Name, "late-records", paging(r.Params.Limit, r.Params.Cursor))
	if err != nil {
		return nil, err
	}
	return api.ListLateRecords307Response{Headers: api.RedirectResponseHeaders{Location: at}}, nil
}

// GetResults sends the client to a worker.
func (h *handler) GetResults(ctx context.Context, r api.GetResultsRequestObject) (api.GetResultsResponseObject, error) {
	q := paging(r.Params.Limit, r.Params.Cursor)
	q.Set("filter", value(r.Params.Filter))
	q.Set("order", value(r.Params.Order))
	at, err := h.streamData(ctx, r.Name, "results", q)
	if err != nil {
		return nil, err
	}
	return api.GetResults307Response{Headers: api.RedirectResponseHeaders{Location: at}}, nil
}

// GetLiveResults sends the client to a worker.
func (h *handler) GetLiveResults(ctx context.Context, r api.GetLiveResultsRequestObject) (api.GetLiveResultsResponseObject, error) {
	at, err := h.streamData(ctx, r.Name, "results/live", url.Values{"filter": {value(r.Params.Filter)}})
	if err != nil {
		return nil, err
	}
	return api.GetLiveResults307Response{Headers: api.RedirectResponseHeaders{Location: at}}, nil
}

// ExplainWindow sends the client to a worker.
func (h *handler) ExplainWindow(ctx context.Context, r api.ExplainWindowRequestObject) (api.ExplainWindowResponseObject, error) {
	q := url.Values{"table": {value(r.Params.Table)}}
	if r.Params.Time != nil {
		q.Set("time", r.Params.Time.Format(time.RFC3339Nano))
	}
	at, err := h.streamData(ctx, r.Name, "explain-window", q)
	if err != nil {
		return nil, err
	}
	return api.ExplainWindow307Response{Headers: api.RedirectResponseHeaders{Location: at}}, nil
}
