package httpapi

import (
	"context"
	"io"
	"net/http"

	"github.com/pondage/pondage/internal/api/common"
	api "github.com/pondage/pondage/internal/api/worker"
	"github.com/pondage/pondage/internal/dispatch"
	"github.com/pondage/pondage/internal/httpserver"
)

// Orders takes what the coordinator brings (*node.Agent).
type Orders interface {
	Push(o common.Orders) error
}

// Edges is the node's end of all edges (*exchange.Exchange).
type Edges interface {
	Take(m dispatch.CreditMessage)
	Check(ctx context.Context, c dispatch.Check) (dispatch.CheckAnswer, error)
}

// Checkpoints is the part of this node's tasks in checkpoints (*stage.Engine).
type Checkpoints interface {
	// Request asks source tasks for their parts, and returns what each has answered within the context.
	Request(ctx context.Context, r common.CheckpointRequest) (common.CheckpointTaken, error)
	// Triggers answers the questions of other nodes' tasks, in their order.
	Triggers(ctx context.Context, q common.TriggerQuestions) (common.TriggerAnswers, error)
}

// Ingest writes records (*ingest.Service).
type Ingest interface {
	Lines(ctx context.Context, source, key string, body io.Reader) (int64, error)
	Array(ctx context.Context, source, key string, body io.Reader) (int64, error)
}

// Results answers from what is kept (*results.Service).
type Results interface {
	Page(ctx context.Context, stream string, p api.GetResultsParams) (api.ResultPage, error)
	NDJSON(ctx context.Context, stream string, p api.GetResultsParams, to io.Writer) error
	CSV(ctx context.Context, stream string, p api.GetResultsParams, to io.Writer) error
}

// Live follows results (*watch.Service).
type Live interface {
	Follow(ctx context.Context, stream string, p api.GetLiveResultsParams, begin func() io.Writer) error
}

// Explain says what a window waits for (*explain.Service).
type Explain interface {
	Explain(ctx context.Context, stream string, p api.ExplainWindowParams) (api.WindowExplanation, error)
}

// SetAside lists what was set aside, and appends it once more (*setaside.Service).
type SetAside interface {
	DeadLetters(ctx context.Context, source string, limit *int32, cursor *string) (api.DeadLetterPage, error)
	LateRecords(ctx context.Context, stream string, limit *int32, cursor *string) (api.DeadLetterPage, error)
	Replay(ctx context.Context, source string, r common.ReplayRequest) (common.ReplayAnswer, error)
}

// Config is what the API stands on.
type Config struct {
	Node        common.Place // this node, in answers
	Orders      Orders
	Edges       Edges
	Checkpoints Checkpoints
	Ingest      Ingest
	Results     Results
	Live        Live
	Explain     Explain
	SetAside    SetAside
	Version     common.Version
}

// Mount puts the operations on a server.
func Mount(s *httpserver.Server, c Config) {
	strict := api.NewStrictHandlerWithOptions(&handler{c}, nil, api.StrictHTTPServerOptions{
		RequestErrorHandlerFunc: s.FailRequest, ResponseErrorHandlerFunc: s.Fail,
	})
	api.HandlerWithOptions(unread{strict}, api.ChiServerOptions{BaseRouter: s.API(), ErrorHandlerFunc: s.FailRequest})
}

// handler implements the generated strict interface.
type handler struct{ Config }

var _ api.StrictServerInterface = (*handler)(nil)

// GetVersion answers what is running.
func (h *handler) GetVersion(context.Context, api.GetVersionRequestObject) (api.GetVersionResponseObject, error) {
	return api.GetVersion200JSONResponse(h.Version), nil
}

// unread hands ingest bodies on unread. The generated server would read a JSON body whole; to it, all are lines.
type unread struct{ api.ServerInterface }

type formKey struct{}

const (
	mediaJSON   = "application/json"
	mediaNDJSON = "application/x-ndjson"
	mediaCSV    = "text/csv"
)

// Ingest remembers which form the body has. httpserver has settled the media type.
func (u unread) Ingest(w http.ResponseWriter, r *http.Request, source common.Name, params api.IngestParams) {
	r = r.WithContext(context.WithValue(r.Context(), formKey{}, r.Header.Get("Content-Type")))
	r.Header.Set("Content-Type", mediaNDJSON)
	u.ServerInterface.Ingest(w, r, source, params)
}
