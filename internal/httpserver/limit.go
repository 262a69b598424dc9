package httpserver

import (
	"net/http"
	"time"

	"github.com/pondage/pondage/internal/problem"
)

// maxInFlight is how many requests of users are in work at once. With the largest ordinary body it bounds what they hold
// in memory; beyond it a client is better told than queued. Calls between services and live results are not counted:
// the former must come through when users are many, the latter are bounded by their own operation.
const maxInFlight = 512

// limit refuses users' requests that are too many.
func (s *Server) limit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		op := requestOf(r.Context()).op
		if op.Role == roleCluster || op.MaxTime <= 0 {
			next.ServeHTTP(w, r)
			return
		}
		select {
		case s.inFlight <- struct{}{}:
			defer func() { <-s.inFlight }()
			next.ServeHTTP(w, r)
		default:
			e := problem.New(problem.CodeOverloaded, "%d requests are in work", maxInFlight)
			e.RetryAfter = time.Second
			s.refuse(w, r, e)
		}
	})
}
