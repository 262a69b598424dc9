package httpserver

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/pondage/pondage/internal/problem"
)

// refuse answers with an error.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	state := requestOf(r.Context())
	state.cause = err
	var stale *staleSignature
	if errors.As(err, &stale) {
		w.Header().Set(headerTime, strconv.FormatInt(stale.now.UnixMilli(), 10))
	}
	state.refused = problem.Write(w, r, err)
}

// An answer that is given while the client still sends must reach it (T54): an error, and the redirect of an ingest
// request too. A server that closes the connection with unread bytes in it makes the kernel send a reset, which can
// overtake the answer: the client sees a broken pipe and never the code. So the answer is flushed first, then what the
// client still sends is read and thrown away, up to these limits.
const (
	drainBytes = 256 << 20        // more than any honest request; a client that sends on loses the connection
	drainTime  = 10 * time.Second // from the answer on
)

// openBoth lets the answer go out while the body still comes in. Without it the server itself would read up to 256 KiB
// before the first byte of the answer, and then close. HTTP/2 does not need it and says so.
func openBoth(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		_ = http.NewResponseController(w).EnableFullDuplex()
	}
}

// whole gives a redirect, which has no body, its length. Without one its end is only there when the handler has
// returned, which is after draining: a client that stops sending at the redirect would wait for that.
type whole struct{ http.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (w whole) WriteHeader(status int) {
	if status >= http.StatusMultipleChoices && status < http.StatusBadRequest {
		w.Header().Set("Content-Length", "0")
	}
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController through.
func (w whole) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// drain reads what the handler left of the body.
func drain(w http.ResponseWriter, r *http.Request, state *request) {
	if r.ContentLength == 0 || state.wire == nil {
		return
	}
	// A client that waits for permission sends nothing: reading would wait for it.
	if strings.EqualFold(r.Header.Get("Expect"), "100-continue") {
		return
	}
	rc := http.NewResponseController(w)
	_ = rc.Flush()
	_ = rc.SetReadDeadline(time.Now().Add(drainTime))
	_, _ = io.CopyN(io.Discard, state.wire, drainBytes) // if this was not all, the server closes the connection
}
