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

// An answer that is given while the client still sends must reach it (T54). A server that closes the connection with
// unread bytes in it makes the kernel send a reset, which can overtake the answer: the client sees a broken pipe and
// never the code. So the answer is written and flushed first, then what the client still sends is read and thrown away,
// up to these limits.
const (
	drainBytes = 256 << 20        // more than any honest request; a client that sends on loses the connection
	drainTime  = 10 * time.Second // from the answer on
)

// refuse answers with an error.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	state := requestOf(r.Context())
	state.cause = err
	rc := http.NewResponseController(w)
	// Without full duplex the server itself would read before the first byte of the answer goes out, and give up after
	// 256 KiB. HTTP/2 does not need it and says so.
	_ = rc.EnableFullDuplex()
	if r.ContentLength > drainBytes {
		w.Header().Set("Connection", "close")
	}
	var stale *staleSignature
	if errors.As(err, &stale) {
		w.Header().Set(headerTime, strconv.FormatInt(stale.now.UnixMilli(), 10))
	}
	state.refused = problem.Write(w, r, err)
	_ = rc.Flush()
	// A client that waits for permission sends nothing: reading would wait for it.
	if state.wire == nil || state.wire == http.NoBody || strings.EqualFold(r.Header.Get("Expect"), "100-continue") {
		return
	}
	_ = rc.SetReadDeadline(time.Now().Add(drainTime))
	_, _ = io.CopyN(io.Discard, state.wire, drainBytes) // the connection is closed by the server if this was not all
}
