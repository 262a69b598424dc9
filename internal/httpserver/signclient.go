package httpserver

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"go.opentelemetry.io/otel/propagation"
)

// Signer is the transport of calls between services: it signs them and passes the trace on. It may be used by many
// goroutines.
type Signer struct {
	// Secret is the cluster's; empty: calls go out unsigned (loopback only).
	Secret []byte
	// Base makes the calls; nil: http.DefaultTransport.
	Base http.RoundTripper
	// Now is the wall clock; nil: time.Now.
	Now func() time.Time

	mu     sync.Mutex
	offset map[string]time.Duration // by host: its clock minus ours
}

// RoundTrip signs a copy of the request. When the other side says that its clock is another one, the call is signed
// again with its time, once: so that a wrong clock anywhere costs one round trip and no heartbeat (T58).
func (s *Signer) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := bodyOf(r)
	if err != nil {
		return nil, fmt.Errorf("sign %s %s: %w", r.Method, r.URL.Path, err)
	}
	answer, err := s.send(r, body)
	if err != nil || answer.StatusCode != http.StatusUnauthorized || len(s.Secret) == 0 {
		return answer, err
	}
	if !s.adopt(r.URL.Host, answer.Header.Get(headerTime)) {
		return answer, nil
	}
	const small = 1 << 16 // an error document; the connection is used again
	_, _ = io.CopyN(io.Discard, answer.Body, small)
	_ = answer.Body.Close()
	return s.send(r, body)
}

func bodyOf(r *http.Request) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	defer r.Body.Close()
	return io.ReadAll(r.Body)
}

func (s *Signer) send(r *http.Request, body []byte) (*http.Response, error) {
	out := r.Clone(r.Context())
	if body != nil {
		out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}
	propagation.TraceContext{}.Inject(r.Context(), propagation.HeaderCarrier(out.Header))
	if len(s.Secret) > 0 {
		ms, nonce := strconv.FormatInt(s.now(r.URL.Host).UnixMilli(), 10), rand.Text()
		out.Header.Set(headerTime, ms)
		out.Header.Set(headerNonce, nonce)
		out.Header.Set(headerSignature, signature(s.Secret, out.Method, out.URL.RequestURI(), body, ms, nonce))
	}
	base := s.Base
	if base == nil {
		base = http.DefaultTransport
	}
	return base.RoundTrip(out)
}

// now is the time as the host has it, as far as it is known.
func (s *Signer) now(host string) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clock().Add(s.offset[host])
}

func (s *Signer) clock() time.Time {
	if s.Now != nil {
		return s.Now()
	}
	return time.Now()
}

// adopt takes over the host's time and tells whether there was one.
func (s *Signer) adopt(host, ms string) bool {
	n, err := strconv.ParseInt(ms, 10, 64)
	if err != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.offset == nil {
		s.offset = map[string]time.Duration{}
	}
	s.offset[host] = time.UnixMilli(n).Sub(s.clock())
	return true
}
