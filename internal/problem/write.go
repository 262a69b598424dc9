package problem

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"

	"go.opentelemetry.io/otel/trace"
)

// Write answers the request with the error and returns the document that was sent, for the log. It must be called before
// anything of the answer was written.
func Write(w http.ResponseWriter, r *http.Request, err error) *Document {
	d := From(err)
	d.Instance = r.URL.Path
	if span := trace.SpanContextFromContext(r.Context()); span.HasTraceID() {
		d.TraceID = span.TraceID().String()
	}
	h := w.Header()
	// What the handler had set belongs to the answer that it did not give.
	for _, name := range []string{"Content-Length", "Content-Encoding", "ETag", "Location"} {
		h.Del(name)
	}
	h.Set("Content-Type", MediaType)
	h.Set("Cache-Control", "no-store")
	if d.retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(d.retryAfter.Seconds()))))
	}
	if d.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	text, err := json.Marshal(d)
	if err != nil {
		panic("problem: a document of plain members cannot be encoded: " + err.Error())
	}
	text = append(text, '\n')
	// The length lets a client that still sends see the end of the answer before the server has read what it sends.
	h.Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(d.Status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(text) // an error means that the client is gone; there is nobody to tell
	}
	return d
}
