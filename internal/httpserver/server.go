package httpserver

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"
	"go.opentelemetry.io/otel/trace"

	"github.com/pondage/pondage/internal/httpserver/contract"
	"github.com/pondage/pondage/internal/problem"
	"github.com/pondage/pondage/internal/telemetry"
)

// Config is what a service gives.
type Config struct {
	// Document is the service's self-contained OpenAPI document (openapi.Document).
	Document []byte
	// Telemetry is what requests are logged, traced and measured with.
	Telemetry *telemetry.Telemetry
	// Checks returns the named conditions of being ready; nil: always ready. It is called on each /readyz.
	Checks func(context.Context) []Check
	// Authenticate knows tokens; nil: everyone is an administrator.
	Authenticate Authenticator
	// ClusterSecret signs calls between services; empty: such calls are taken unsigned (loopback only, see config).
	ClusterSecret []byte
	// Now is the wall clock, for signatures; nil: time.Now.
	Now func() time.Time
}

// Check is a named condition of being ready; Err nil means that it holds. The error says what is wrong and what to do.
type Check struct {
	Name string
	Err  error
}

// Server is a router with everything but the operations.
type Server struct {
	config   Config
	contract *contract.Contract
	mux      *chi.Mux
	api      chi.Router
	tracer   trace.Tracer
	metrics  *metrics
	verifier *verifier
	page     []byte        // /docs
	inFlight chan struct{} // one token for each request in work, see limit
}

// New returns a server on which the operations are then mounted: see API and Options.
func New(c Config) (*Server, error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	parsed, err := contract.Parse(c.Document)
	if err != nil {
		return nil, err
	}
	page, err := renderDocs(c.Document)
	if err != nil {
		return nil, fmt.Errorf("render the documents page: %w", err)
	}
	m, err := newMetrics(c.Telemetry.Meter)
	if err != nil {
		return nil, err
	}
	s := &Server{
		config: c, contract: parsed, mux: chi.NewRouter(), page: page, metrics: m,
		tracer: c.Telemetry.Tracer.Tracer("github.com/pondage/pondage/internal/httpserver"), verifier: newVerifier(c.ClusterSecret, c.Now),
		inFlight: make(chan struct{}, maxInFlight),
	}
	s.mux.Use(s.observe)
	s.mux.NotFound(s.notFound)
	s.mux.MethodNotAllowed(s.methodNotAllowed)
	s.serviceRoutes()
	s.api = s.mux.With(s.operation, s.limit, s.authorize, s.deadline, s.checkParams, s.negotiate, s.checkBody)
	return s, nil
}

// API is the router to mount generated handlers on: BaseRouter of their options.
func (s *Server) API() chi.Router { return s.api }

// Handler serves everything.
func (s *Server) Handler() http.Handler { return s.mux }

// Contract is the compiled document, for tests that check answers.
func (s *Server) Contract() *contract.Contract { return s.contract }

// Fail answers with an error; for the error functions of generated handlers.
func (s *Server) Fail(w http.ResponseWriter, r *http.Request, err error) { s.refuse(w, r, err) }

// FailRequest answers with an error of reading the request. What it does not know is the request's fault.
func (s *Server) FailRequest(w http.ResponseWriter, r *http.Request, err error) {
	if problem.From(err).Code == problem.CodeInternal {
		err = problem.Wrap(err, problem.CodeInvalidBody, "the request does not have the form that the operation takes: %v", err)
	}
	s.refuse(w, r, err)
}

func (s *Server) notFound(w http.ResponseWriter, r *http.Request) {
	s.refuse(w, r, problem.New(problem.CodeNotFound, "there is nothing at %s", r.URL.Path))
}

// methodNotAllowed names the methods that the path has.
func (s *Server) methodNotAllowed(w http.ResponseWriter, r *http.Request) {
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
		if s.mux.Match(chi.NewRouteContext(), method, r.URL.Path) {
			w.Header().Add("Allow", method)
		}
	}
	s.refuse(w, r, problem.New(problem.CodeMethodNotAllowed, "%s does not take %s", r.URL.Path, r.Method))
}
