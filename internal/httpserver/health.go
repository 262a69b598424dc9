package httpserver

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// readyTime bounds all checks of one /readyz together.
const readyTime = 5 * time.Second

// serviceRoutes mounts what all services have.
func (s *Server) serviceRoutes() {
	s.mux.Get("/healthz", s.health)
	s.mux.Get("/readyz", s.ready)
	s.mux.Method(http.MethodGet, "/metrics", s.config.Telemetry.Metrics)
	s.mux.Get("/openapi.json", s.serve("application/json", s.config.Document))
	s.mux.Get("/docs", s.serve("text/html; charset=utf-8", s.page))
}

func (s *Server) serve(contentType string, content []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write(content)
	}
}

// healthDoc is the schema Health of the documents.
type healthDoc struct {
	Status string     `json:"status"`
	Checks []checkDoc `json:"checks"`
}

type checkDoc struct {
	Name   string `json:"name"`
	Status string `json:"status"`
	Detail string `json:"detail,omitempty"`
}

const (
	statusOK      = "ok"
	statusFailing = "failing"
)

func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, healthDoc{Status: statusOK, Checks: []checkDoc{}})
}

func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	doc := healthDoc{Status: statusOK, Checks: []checkDoc{}}
	status := http.StatusOK
	if s.config.Checks != nil {
		ctx, cancel := context.WithTimeout(r.Context(), readyTime)
		defer cancel()
		for _, c := range s.config.Checks(ctx) {
			one := checkDoc{Name: c.Name, Status: statusOK}
			if c.Err != nil {
				one.Status, one.Detail = statusFailing, c.Err.Error()
				doc.Status, status = statusFailing, http.StatusServiceUnavailable
			}
			doc.Checks = append(doc.Checks, one)
		}
	}
	answer(w, status, doc)
}

func answer(w http.ResponseWriter, status int, doc any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(doc) // an error means that the client is gone
}
