package httpserver

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pondage/pondage/internal/lifecycle"
	"github.com/pondage/pondage/internal/problem"
	"github.com/pondage/pondage/internal/telemetry"
)

func noToken(context.Context, string) (Principal, error) {
	return Principal{}, problem.New(problem.CodeUnauthenticated, "the token is not known")
}

func TestTokensDecideWhatMayBeDone(t *testing.T) {
	t.Parallel()
	auth := StaticToken("root", Principal{"root", RoleAdmin}, StaticToken("look", Principal{"guest", RoleViewer}, noToken))
	s := newServer(t, func(c *Config) { c.Authenticate = auth })
	for _, c := range []struct {
		method, authorization string
		status                int
	}{
		{"GET", "", 401}, {"GET", "Bearer", 401}, {"GET", "Bearer nobody", 401}, {"GET", "Basic look", 401}, {"GET", "Bearer look", 200}, {"GET", "bearer look", 200},
		{"PUT", "Bearer look", 403}, {"PUT", "Bearer root", 200},
	} {
		w := do(s, c.method, "/v1/things/a", strings.NewReader(`{"n":1}`), "Authorization", c.authorization)
		if w.Code != c.status {
			t.Errorf("%s with %q: status %d: %s", c.method, c.authorization, w.Code, w.Body)
		}
		if w.Code == 401 && w.Header().Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("%s with %q: no challenge", c.method, c.authorization)
		}
	}
	if w := do(s, "GET", "/v1/things/a", nil, "Authorization", "Bearer look"); w.Header().Get("X-Principal") != "guest" {
		t.Errorf("principal %q", w.Header().Get("X-Principal"))
	}
	if w := do(s, "GET", "/metrics", nil); w.Code == 401 {
		t.Error("metrics ask for a token")
	}
}

func TestAWorkerAsksForATokenOnce(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	auth := Remember(func(ctx context.Context, token string) (Principal, error) {
		asked.Add(1)
		if token != "good" {
			return noToken(ctx, token)
		}
		return Principal{"u", RoleEditor}, nil
	})
	for range 3 {
		if p, err := auth(t.Context(), "good"); err != nil || p.Name != "u" {
			t.Errorf("%v, %v", p, err)
		}
	}
	if asked.Load() != 1 {
		t.Errorf("asked %d times", asked.Load())
	}
	for range 2 {
		if _, err := auth(t.Context(), "bad"); err == nil {
			t.Error("a bad token is taken")
		}
	}
	if asked.Load() != 3 {
		t.Errorf("refusals are kept: asked %d times", asked.Load())
	}
}

// post sends a call between services to the server.
func post(t *testing.T, url string, transport http.RoundTripper) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/orders?x=1", strings.NewReader(`{"a":1}`))
	if err != nil {
		t.Fatal(err)
	}
	r.URL.RawQuery = ""
	answer, err := (&http.Client{Transport: transport}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

func TestCallsBetweenServicesAreSigned(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(c *Config) { c.ClusterSecret = []byte("secret") })
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	if status, text := post(t, server.URL, &Signer{Secret: []byte("secret")}); status != 200 || text != `{"a":1}` {
		t.Errorf("signed: %d %s", status, text)
	}
	for name, signer := range map[string]*Signer{"unsigned": {}, "by another secret": {Secret: []byte("other")}} {
		if status, text := post(t, server.URL, signer); status != 401 || !strings.Contains(text, "bad_signature") {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
}

func TestT58_AWrongClockCostsOneRoundTrip(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(c *Config) { c.ClusterSecret = []byte("secret") })
	calls := atomic.Int32{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		s.Handler().ServeHTTP(w, r)
	}))
	defer server.Close()
	for _, off := range []time.Duration{time.Hour, -time.Hour} {
		signer := &Signer{Secret: []byte("secret"), Now: func() time.Time { return time.Now().Add(off) }}
		calls.Store(0)
		for range 3 {
			if status, text := post(t, server.URL, signer); status != 200 {
				t.Errorf("%s off: %d %s", off, status, text)
			}
		}
		if calls.Load() != 4 {
			t.Errorf("%s off: %d calls for 3 requests, want 4", off, calls.Load())
		}
	}
}

// capture keeps the signed request and does not send it.
type capture struct{ request *http.Request }

func (c *capture) RoundTrip(r *http.Request) (*http.Response, error) {
	c.request = r
	return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
}

func TestASignedCallCannotBeRepeatedOrChanged(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(c *Config) { c.ClusterSecret = []byte("secret") })
	var seen capture
	r := httptest.NewRequest(http.MethodPost, "/v1/orders", strings.NewReader(`{"a":1}`))
	if _, err := (&Signer{Secret: []byte("secret"), Base: &seen}).RoundTrip(r); err != nil {
		t.Fatal(err)
	}
	send := func(path, body string) int {
		again := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
		again.Header = seen.request.Header.Clone()
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, again)
		return w.Code
	}
	if got := send("/v1/orders", `{"a":2}`); got != 401 {
		t.Errorf("another body: %d", got)
	}
	if got := send("/v1/orders?x=1", `{"a":1}`); got != 401 {
		t.Errorf("another query: %d", got)
	}
	if got := send("/v1/orders", `{"a":1}`); got != 200 {
		t.Errorf("as signed: %d", got)
	}
	if got := send("/v1/orders", `{"a":1}`); got != 401 {
		t.Errorf("a second time: %d", got)
	}
}

func TestTheListenerServesAndEnds(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	l, err := Listen("127.0.0.1:0", s.Handler(), telemetry.Nop().Logger)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(l.Addr().String(), s.Handler(), telemetry.Nop().Logger); err == nil || !strings.Contains(err.Error(), l.Addr().String()) {
		t.Errorf("a port in use: %v", err)
	}
	service := l.Service("api")
	if err := service.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	answer, err := http.Get("http://" + l.Addr().String() + "/healthz")
	if err != nil || answer.StatusCode != 200 {
		t.Fatalf("%v, %v", answer, err)
	}
	_ = answer.Body.Close()
	if err := service.Stop(t.Context()); err != nil || service.State() != lifecycle.Terminated {
		t.Errorf("%s, %v", service.State(), err)
	}
}

func TestAServiceOfTheClusterReadsWhatAViewerMay(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(c *Config) { c.Authenticate, c.ClusterSecret = noToken, []byte("secret") })
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	for _, c := range []struct {
		method, secret string
		status         int
	}{{"GET", "secret", 200}, {"GET", "other", 401}, {"GET", "", 401}, {"PUT", "secret", 403}} {
		client := &http.Client{Transport: &Signer{Secret: []byte(c.secret)}}
		r, err := http.NewRequestWithContext(t.Context(), c.method, server.URL+"/v1/things/a", strings.NewReader(`{"n":1}`))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != c.status {
			t.Errorf("%s signed by %q: status %d, want %d", c.method, c.secret, answer.StatusCode, c.status)
		}
	}
}
