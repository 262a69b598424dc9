package httpserver

import (
	"context"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/pondage/pondage/internal/problem"
)

// negotiate settles in which of its forms an operation answers. Where there is one form, Accept changes nothing: an
// answer that the client did not ask for helps it more than none.
func (s *Server) negotiate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		state := requestOf(r.Context())
		types := answerTypes(state.op.Responses["200"].Types)
		if len(types) > 1 {
			state.answerType = choose(r.Header.Values("Accept"), types)
			if state.answerType == "" {
				s.refuse(w, r, problem.New(problem.CodeNotAcceptable, "Accept %q: this operation answers %s", strings.Join(r.Header.Values("Accept"), ", "), strings.Join(types, ", ")))
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// AnswerType is the media type that the client wants of an operation with several; "" where there is one.
func AnswerType(ctx context.Context) string { return requestOf(ctx).answerType }

// answerTypes lists the forms, the one for clients without a wish (JSON) first.
func answerTypes[V any](types map[string]V) []string {
	var out []string
	for t := range types {
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b string) int {
		if (a == "application/json") != (b == "application/json") {
			return map[bool]int{true: -1, false: 1}[a == "application/json"]
		}
		return strings.Compare(a, b)
	})
	return out
}

// choose returns the type with the highest weight of the Accept headers (RFC 9110 §12.5.1), the first one on a tie;
// "" when none is accepted.
func choose(accept, types []string) string {
	if len(accept) == 0 {
		return types[0]
	}
	best, bestWeight := "", 0.0
	for _, t := range types {
		if w := weight(accept, t); w > bestWeight {
			best, bestWeight = t, w
		}
	}
	return best
}

// weight is what the most specific range that holds the type gives it.
func weight(accept []string, mediaType string) float64 {
	group, _, _ := strings.Cut(mediaType, "/")
	specific, result := -1, 0.0
	for _, item := range strings.Split(strings.Join(accept, ","), ",") {
		given, params, err := mime.ParseMediaType(item)
		if err != nil {
			continue
		}
		level := slices.Index([]string{"*/*", group + "/*", mediaType}, given)
		if level <= specific {
			continue
		}
		specific, result = level, 1
		if q, ok := params["q"]; ok {
			result, _ = strconv.ParseFloat(q, 64) // malformed: 0, not wanted
		}
	}
	return result
}
