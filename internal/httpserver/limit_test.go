package httpserver

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pondage/pondage/internal/problem"
	"github.com/pondage/pondage/internal/telemetry"
)

func TestTooManyRequestsAreToldSo(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	for range maxInFlight {
		s.inFlight <- struct{}{}
	}
	if w := do(s, "GET", "/v1/things/a", nil); w.Code != 429 || codeOf(t, w) != problem.CodeOverloaded || w.Header().Get("Retry-After") != "1" {
		t.Errorf("a user: status %d, %v", w.Code, w.Header())
	}
	if w := do(s, "POST", "/v1/orders", strings.NewReader("{}")); w.Code != 200 {
		t.Errorf("a call between services: status %d", w.Code)
	}
	<-s.inFlight
	if w := do(s, "GET", "/v1/things/a", nil); w.Code != 200 {
		t.Errorf("one fewer: status %d", w.Code)
	}
	if w := do(s, "GET", "/v1/things/a", nil); w.Code != 200 {
		t.Errorf("a place is given back: status %d", w.Code)
	}
}

// liveDocument has an operation without a deadline.
const liveDocument = `{"paths":{"/v1/live":{"get":{"operationId":"live","x-pondage-role":"viewer","x-pondage-max-seconds":0,"responses":{"200":{}}}}}}`

func TestAnswersWithoutEndEndWhenTheListenerCloses(t *testing.T) {
	t.Parallel()
	s, err := New(Config{Document: []byte(liveDocument), Telemetry: telemetry.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	s.API().Get("/v1/live", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	l, err := Listen("127.0.0.1:0", s.Handler(), telemetry.Nop().Logger)
	if err != nil {
		t.Fatal(err)
	}
	service := l.Service("api")
	if err := service.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	answer, err := http.Get("http://" + l.Addr().String() + "/v1/live")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	begun := time.Now()
	if err := service.Stop(t.Context()); err != nil || time.Since(begun) >= closeTime {
		t.Errorf("closing took %s: %v", time.Since(begun), err)
	}
}
