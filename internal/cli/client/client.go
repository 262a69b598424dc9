package client

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"

	api "github.com/pondage/pondage/internal/api/coordinator"
	"github.com/pondage/pondage/internal/config"
)

// Client is a coordinator as the command line sees it. The embedded client has the operations; its answers are read by
// Read.
type Client struct {
	*api.Client
	// HTTP shows the token and does not repeat anything.
	HTTP *http.Client
	// URL is the coordinator's base URL, without a slash at the end.
	URL string
}

// New returns a client. The token is read here, so that a missing one is told before anything is asked.
func New(cfg config.Client) (*Client, error) {
	token, err := cfg.Token.Resolve()
	if err != nil {
		return nil, fmt.Errorf("token: %w", err)
	}
	base := strings.TrimRight(cfg.API, "/")
	shown := &bearer{token: token, base: http.DefaultTransport}
	generated, err := api.NewClient(base,
		api.WithHTTPClient(&http.Client{Transport: &patient{base: shown}}),
		api.WithRequestEditorFn(idempotent))
	if err != nil {
		return nil, fmt.Errorf("coordinator %s: %w", base, err)
	}
	return &Client{Client: generated, HTTP: &http.Client{Transport: shown}, URL: base}, nil
}

// bearer shows the token to whoever is asked: the coordinator, and the workers that it redirects to.
type bearer struct {
	token string
	base  http.RoundTripper
}

func (b *bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.token != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+b.token)
	}
	return b.base.RoundTrip(r)
}

// headerKey makes the repetition of a request harmless (DESIGN §12).
const headerKey = "Idempotency-Key"

// idempotent gives a POST a key of its own.
func idempotent(_ context.Context, r *http.Request) error {
	if r.Method == http.MethodPost && r.Header.Get(headerKey) == "" {
		r.Header.Set(headerKey, NewKey())
	}
	return nil
}

// NewKey returns an idempotency key that nobody else has.
func NewKey() string { return rand.Text() }
