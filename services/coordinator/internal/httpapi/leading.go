package httpapi

import (
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/pondage/pondage/services/coordinator/internal/control"
)

// What nodes report lives with the leader: positions, counters and states of tasks come with their heartbeats, which no
// other replica hears. So a replica that stands by asks the leader for what has it in (DESIGN §2: any replica serves).
var ofTheLeader = map[string]bool{
	"/v1/streams":              true,
	"/v1/streams/{name}":       true,
	"/v1/streams/{name}/tasks": true,
	"/v1/streams/{name}/graph": true,
	"/v1/nodes":                true,
}

const (
	// headerAsked keeps two replicas that each take the other for the leader from asking each other for ever.
	headerAsked = "Pondage-Asked-By"
	// askWithin bounds the answer of the leader.
	askWithin = 10 * time.Second
)

// leading passes what only the leader knows on to it. While nobody else is known to lead, the replica answers with what it has.
func leading(app control.API) func(http.Handler) http.Handler {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = askWithin
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			l := app.Leader()
			pattern := chi.RouteContext(r.Context()).RoutePattern()
			if r.Method != http.MethodGet || !ofTheLeader[pattern] || l.Self || l.Holder == "" || r.Header.Get(headerAsked) != "" {
				next.ServeHTTP(w, r)
				return
			}
			target, err := url.Parse(baseURL(l.Holder))
			if err != nil {
				next.ServeHTTP(w, r)
				return
			}
			proxy := httputil.ReverseProxy{
				Transport: transport,
				Rewrite: func(p *httputil.ProxyRequest) {
					p.SetURL(target)
					p.Out.Header.Set(headerAsked, "replica")
				},
				// A leader that does not answer is about to be none: what this replica has is better than nothing.
				ErrorHandler: func(w http.ResponseWriter, r *http.Request, _ error) { next.ServeHTTP(w, r) },
			}
			proxy.ServeHTTP(w, r)
		})
	}
}

// baseURL is where a holder of the lease is reached: it is named by its address, or by its URL where that is not http.
func baseURL(holder string) string {
	if strings.Contains(holder, "://") {
		return holder
	}
	return "http://" + holder
}
