package httpapi

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/pondage/pondage/internal/api/common"
	api "github.com/pondage/pondage/internal/api/coordinator"
	"github.com/pondage/pondage/internal/httpserver"
	"github.com/pondage/pondage/internal/problem"
	"github.com/pondage/pondage/services/coordinator/internal/control"
	"github.com/pondage/pondage/services/coordinator/internal/language"
)

// Config is what the API stands on.
type Config struct {
	App      control.API
	Language language.Language
	Version  common.Version
	// Brokers are the addresses of the cluster's Kafka.
	Brokers []string
	// Users knows every token that the coordinator takes, also that of its configuration: workers ask it. nil: those of App.
	Users httpserver.Authenticator
}

// Mount puts the operations on a server.
func Mount(s *httpserver.Server, c Config) {
	strict := api.NewStrictHandlerWithOptions(&handler{c}, nil, api.StrictHTTPServerOptions{
		RequestErrorHandlerFunc:  s.FailRequest,
		ResponseErrorHandlerFunc: func(w http.ResponseWriter, r *http.Request, err error) { s.Fail(w, r, convertError(err)) },
	})
	api.HandlerWithOptions(strict, api.ChiServerOptions{
		BaseRouter: s.API(), ErrorHandlerFunc: s.FailRequest, Middlewares: []api.MiddlewareFunc{leading(c.App)},
	})
}

// Authenticator asks control whom a token belongs to.
func Authenticator(app control.API) httpserver.Authenticator {
	return func(ctx context.Context, token string) (httpserver.Principal, error) {
		p, err := app.Authenticate(ctx, token)
		if err != nil {
			return httpserver.Principal{}, convertError(err)
		}
		role, ok := httpserver.ParseRole(string(p.Role))
		if !ok {
			return httpserver.Principal{}, problem.New(problem.CodeForbidden, "token %s has the unknown role %q", p.Name, p.Role)
		}
		return httpserver.Principal{Name: p.Name, Role: role}, nil
	}
}

// handler implements the generated strict interface.
type handler struct{ Config }

var _ api.StrictServerInterface = (*handler)(nil)

// retrySoon is when to repeat what a moment may cure.
const retrySoon = time.Second

// convertError gives errors of control their form in the API.
func convertError(err error) error {
	var e *control.Error
	if !errors.As(err, &e) {
		return err
	}
	out := &problem.Error{Code: problem.Code(e.Code), Detail: e.Message, Hint: e.Hint, Retryable: e.Retryable, Cause: e.Err}
	if e.Retryable {
		out.RetryAfter = retrySoon
	}
	return out
}

// GetVersion answers what is running.
func (h *handler) GetVersion(context.Context, api.GetVersionRequestObject) (api.GetVersionResponseObject, error) {
	return api.GetVersion200JSONResponse(h.Version), nil
}
