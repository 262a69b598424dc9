package httpserver

import (
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/pondage/pondage/internal/telemetry"
)

// TestAConnectionThatAsksNothingDoesNotHoldUpTheClosing: a client's pool opens connections that it then does not need.
func TestAConnectionThatAsksNothingDoesNotHoldUpTheClosing(t *testing.T) {
	t.Parallel()
	l, err := Listen("127.0.0.1:0", http.NotFoundHandler(), telemetry.Nop().Logger)
	if err != nil {
		t.Fatal(err)
	}
	service := l.Service("api")
	if err := service.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	// A whole request on another connection comes after the first was accepted.
	answer, err := http.Get("http://" + l.Addr().String() + "/")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	begun := time.Now()
	if err := service.Stop(t.Context()); err != nil || time.Since(begun) > time.Second {
		t.Errorf("closing took %s: %v", time.Since(begun), err)
	}
}
