package httpapi

import (
	"io"
	"net/http"
	"time"
)

const mediaEvents = "text/event-stream"

// writeTime is how long one write of a streamed answer may take: a client that takes nothing for so long is gone.
const writeTime = 30 * time.Second

// stream is an answer that is written as it comes.
type stream struct {
	mediaType string
	write     func(to *answer) error
}

// VisitGetResultsResponse implements the generated response.
func (s stream) VisitGetResultsResponse(w http.ResponseWriter) error { return s.visit(w) }

// VisitGetLiveResultsResponse implements the generated response.
func (s stream) VisitGetLiveResultsResponse(w http.ResponseWriter) error { return s.visit(w) }

func (s stream) visit(w http.ResponseWriter) error {
	to := &answer{w: w, rc: http.NewResponseController(w), mediaType: s.mediaType}
	err := s.write(to)
	_ = to.rc.SetWriteDeadline(time.Time{}) // the connection may serve other requests
	switch {
	case err != nil && to.begun:
		panic(http.ErrAbortHandler) // the status was sent: only a broken connection can say that this is not all
	case err == nil && !to.begun:
		to.begin()
	}
	return err
}

// answer is the writer of a streamed answer: it begins with the first write.
type answer struct {
	w         http.ResponseWriter
	rc        *http.ResponseController
	mediaType string
	begun     bool
}

func (a *answer) begin() {
	a.begun = true
	h := a.w.Header()
	h.Set("Content-Type", a.mediaType)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // proxies that gather would hold events back
	a.w.WriteHeader(http.StatusOK)
}

// Write implements io.Writer.
func (a *answer) Write(p []byte) (int, error) {
	if !a.begun {
		a.begin()
	}
	_ = a.rc.SetWriteDeadline(time.Now().Add(writeTime)) // not every connection has deadlines (tests)
	return a.w.Write(p)
}

// live begins the answer at once and returns a writer that holds nothing back.
func (a *answer) live() io.Writer {
	a.begin()
	_ = a.rc.Flush() // an error shows at the next write
	return flushed{a}
}

// flushed sends each write on its way.
type flushed struct{ *answer }

// Write implements io.Writer.
func (f flushed) Write(p []byte) (int, error) {
	n, err := f.answer.Write(p)
	if err == nil {
		err = f.rc.Flush()
	}
	return n, err
}
