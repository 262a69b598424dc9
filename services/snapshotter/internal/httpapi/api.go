package httpapi

import (
	"context"

	"github.com/pondage/pondage/internal/api/common"
	api "github.com/pondage/pondage/internal/api/snapshotter"
	"github.com/pondage/pondage/internal/httpserver"
)

// Mount puts the operations on a server.
func Mount(s *httpserver.Server, version common.Version) {
	strict := api.NewStrictHandlerWithOptions(handler{version}, nil, api.StrictHTTPServerOptions{
		RequestErrorHandlerFunc: s.FailRequest, ResponseErrorHandlerFunc: s.Fail,
	})
	api.HandlerWithOptions(strict, api.ChiServerOptions{BaseRouter: s.API(), ErrorHandlerFunc: s.FailRequest})
}

type handler struct{ version common.Version }

var _ api.StrictServerInterface = handler{}

// GetVersion answers what is running.
func (h handler) GetVersion(context.Context, api.GetVersionRequestObject) (api.GetVersionResponseObject, error) {
	return api.GetVersion200JSONResponse(h.version), nil
}
