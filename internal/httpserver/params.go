package httpserver

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"

	"github.com/go-chi/chi/v5"

	"github.com/pondage/pondage/internal/httpserver/contract"
	"github.com/pondage/pondage/internal/invalid"
	"github.com/pondage/pondage/internal/problem"
)

// checkParams compares the parameters with the document. A query parameter that the operation does not have is refused:
// a misspelt filter would be no filter.
func (s *Server) checkParams(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		op := requestOf(r.Context()).op
		query, err := url.ParseQuery(r.URL.RawQuery)
		if err != nil {
			s.refuse(w, r, problem.Wrap(err, problem.CodeInvalidParameter, "the query cannot be read: %v", err))
			return
		}
		if err := unknownParam(op, query); err != nil {
			s.refuse(w, r, err)
			return
		}
		for _, p := range op.Params {
			if err := checkParam(p, valuesOf(p, r, query)); err != nil {
				s.refuse(w, r, err)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

func unknownParam(op *contract.Operation, query url.Values) error {
	var names []string
	for _, p := range op.Params {
		if p.In == "query" {
			names = append(names, p.Name)
		}
	}
	for name := range query {
		if slices.Contains(names, name) {
			continue
		}
		e := problem.New(problem.CodeUnknownParameter, "there is no query parameter %q", name)
		if near := invalid.Nearest(name, names); near != "" {
			e.Hint = "did you mean " + near + "?"
		}
		return e
	}
	return nil
}

// valuesOf returns the texts that the request gives the parameter.
func valuesOf(p contract.Param, r *http.Request, query url.Values) []string {
	switch p.In {
	case "query":
		return query[p.Name]
	case "header":
		return r.Header.Values(p.Name)
	}
	text := chi.URLParam(r, p.Name)
	if plain, err := url.PathUnescape(text); err == nil && r.URL.RawPath != "" {
		text = plain
	}
	return []string{text}
}

func checkParam(p contract.Param, values []string) error {
	switch {
	case len(values) == 0 && p.Required:
		return problem.New(problem.CodeInvalidParameter, "parameter %s is missing", p.Name)
	case len(values) == 0:
		return nil
	case len(values) > 1:
		return problem.New(problem.CodeInvalidParameter, "parameter %s is given %d times", p.Name, len(values))
	}
	var v any = values[0]
	if p.Schema.Numeric() {
		v = json.Number(values[0])
	}
	faults := p.Schema.Check("", v)
	if len(faults) == 0 {
		return nil
	}
	e := problem.New(problem.CodeInvalidParameter, "parameter %s: %s", p.Name, faults[0].Detail)
	faults[0].Detail = e.Detail
	e.Faults = faults
	return e
}
