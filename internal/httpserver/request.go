package httpserver

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/pondage/pondage/internal/httpserver/contract"
	"github.com/pondage/pondage/internal/problem"
)

// request is what the middleware knows of the request it is in.
type request struct {
	op        *contract.Operation // nil outside the API
	principal Principal
	// answerType is what negotiate settled.
	answerType string
	wire       io.ReadCloser     // the body as it came, before any wrapping
	refused    *problem.Document // the error that was answered; nil if none was
	cause      error             // that error, for the log
}

type requestKey struct{}

// requestOf returns the state that observe put into the context.
func requestOf(ctx context.Context) *request {
	r, _ := ctx.Value(requestKey{}).(*request)
	if r == nil {
		return &request{}
	}
	return r
}

// PrincipalOf returns who a request comes from.
func PrincipalOf(ctx context.Context) Principal { return requestOf(ctx).principal }

// operation finds what the document says about the route.
func (s *Server) operation(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		pattern := chi.RouteContext(r.Context()).RoutePattern()
		op, ok := s.contract.Operation(r.Method, pattern)
		if !ok {
			// A handler is mounted that the document does not have: a mistake in the wiring, found by every test.
			panic("httpserver: no operation " + r.Method + " " + pattern + " in the document")
		}
		requestOf(r.Context()).op = op
		next.ServeHTTP(w, r)
	})
}

// deadline bounds the operation, and the reading of its body.
func (s *Server) deadline(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		limit := requestOf(r.Context()).op.MaxTime
		if limit <= 0 {
			ctx, cancel := untilClosing(r.Context())
			defer cancel()
			next.ServeHTTP(w, r.WithContext(ctx))
			return
		}
		// Not every connection has deadlines (tests, HTTP/2 streams): then the context's alone holds.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(limit))
		ctx, cancel := context.WithTimeout(r.Context(), limit)
		defer cancel()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// untilClosing ends with the request, or when the listener begins to close.
func untilClosing(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	if closing, ok := ctx.Value(closingKey{}).(context.Context); ok {
		stop := context.AfterFunc(closing, cancel)
		return ctx, func() { stop(); cancel() }
	}
	return ctx, cancel
}
