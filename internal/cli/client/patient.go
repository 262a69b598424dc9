package client

import (
	"io"
	"net/http"
	"strconv"
	"time"
)

const (
	// patience bounds how long a request is repeated that a moment may cure: a coordinator that is taking the lead needs
	// a few seconds (DESIGN §11).
	patience = 10 * time.Second
	// longestPause bounds one pause, whatever the other side proposes.
	longestPause = 2 * time.Second
)

// patient repeats a request that is answered with 429 or 503 and a Retry-After. Requests that change something carry an
// idempotency key or a condition, so that repeating them is harmless.
type patient struct{ base http.RoundTripper }

func (p *patient) RoundTrip(r *http.Request) (*http.Response, error) {
	deadline := time.Now().Add(patience)
	for {
		answer, err := p.base.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		pause, again := RetryAfter(answer)
		pause = min(pause, longestPause)
		if !again || time.Now().Add(pause).After(deadline) || r.Body != nil && r.GetBody == nil {
			return answer, nil
		}
		_, _ = io.Copy(io.Discard, answer.Body) // so that the connection is used again
		_ = answer.Body.Close()
		select {
		case <-r.Context().Done():
			return nil, r.Context().Err()
		case <-time.After(pause):
		}
		if r.GetBody != nil {
			r = r.Clone(r.Context())
			if r.Body, err = r.GetBody(); err != nil {
				return nil, err
			}
		}
	}
}

// RetryAfter tells whether an answer asks for a repetition, and after which pause.
func RetryAfter(answer *http.Response) (time.Duration, bool) {
	if answer.StatusCode != http.StatusTooManyRequests && answer.StatusCode != http.StatusServiceUnavailable {
		return 0, false
	}
	seconds, err := strconv.Atoi(answer.Header.Get("Retry-After"))
	return time.Duration(max(seconds, 0)) * time.Second, err == nil
}
