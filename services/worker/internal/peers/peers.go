package peers

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	api "github.com/pondage/pondage/internal/api/worker"
	"github.com/pondage/pondage/internal/dispatch"
)

// Peers calls other workers. It implements exchange.Peers.
type Peers struct {
	client *http.Client
}

// New returns peers that are called through the transport, which signs the calls.
func New(transport http.RoundTripper) *Peers {
	return &Peers{client: &http.Client{Transport: transport}}
}

func (p *Peers) at(address string) (*api.ClientWithResponses, error) {
	return api.NewClientWithResponses(address, api.WithHTTPClient(p.client))
}

// Credits tells the node at the address what its tasks' messages have come to.
func (p *Peers) Credits(ctx context.Context, address string, m dispatch.CreditMessage) error {
	c, err := p.at(address)
	if err != nil {
		return fmt.Errorf("credits for %s: %w", m.To, err)
	}
	answer, err := c.PostCreditsWithResponse(ctx, CreditsDoc(m))
	if err != nil {
		return fmt.Errorf("credits for %s: %w", m.To, err)
	}
	if answer.StatusCode() != http.StatusNoContent {
		return fmt.Errorf("credits for %s: %w", m.To, refused(answer.StatusCode(), answer.Body))
	}
	return nil
}

// Check asks the node at the address whether the receivers of the pairs are ready. It waits for as long as the node does.
func (p *Peers) Check(ctx context.Context, address string, check dispatch.Check) (dispatch.CheckAnswer, error) {
	c, err := p.at(address)
	if err != nil {
		return dispatch.CheckAnswer{}, fmt.Errorf("handshake with %s: %w", check.To, err)
	}
	answer, err := c.PostHandshakeWithResponse(ctx, CheckDoc(check))
	if err != nil {
		return dispatch.CheckAnswer{}, fmt.Errorf("handshake with %s: %w", check.To, err)
	}
	if answer.JSON200 == nil {
		return dispatch.CheckAnswer{}, fmt.Errorf("handshake with %s: %w", check.To, refused(answer.StatusCode(), answer.Body))
	}
	out, err := ReadCheckAnswer(*answer.JSON200)
	if err != nil {
		return out, fmt.Errorf("handshake with %s: %w", check.To, err)
	}
	return out, nil
}

// scopeNode keeps the peer from asking others in turn.
var scopeNode api.Scope = "node"

// Explain asks the node at the address what it knows of a stream's windows.
func (p *Peers) Explain(ctx context.Context, address, stream string, at *time.Time, table *string) (api.WindowExplanation, error) {
	c, err := p.at(address)
	if err != nil {
		return api.WindowExplanation{}, fmt.Errorf("explain-window at %s: %w", address, err)
	}
	answer, err := c.ExplainWindowWithResponse(ctx, stream, &api.ExplainWindowParams{Time: at, Table: table, PondageScope: &scopeNode})
	if err != nil {
		return api.WindowExplanation{}, fmt.Errorf("explain-window at %s: %w", address, err)
	}
	if answer.JSON200 == nil {
		return api.WindowExplanation{}, fmt.Errorf("explain-window at %s: %w", address, refused(answer.StatusCode(), answer.Body))
	}
	return *answer.JSON200, nil
}

// Live follows the results of a stream that the node at the address has, as server-sent events. The caller closes the
// body.
func (p *Peers) Live(ctx context.Context, address, stream, filter, after string) (io.ReadCloser, error) {
	c, err := p.at(address)
	if err != nil {
		return nil, fmt.Errorf("live results at %s: %w", address, err)
	}
	params := &api.GetLiveResultsParams{PondageScope: &scopeNode}
	if filter != "" {
		params.Filter = &filter
	}
	if after != "" {
		params.LastEventID = &after
	}
	answer, err := c.GetLiveResults(ctx, stream, params)
	if err != nil {
		return nil, fmt.Errorf("live results at %s: %w", address, err)
	}
	if answer.StatusCode != http.StatusOK {
		defer answer.Body.Close()
		body, _ := io.ReadAll(io.LimitReader(answer.Body, maxProblem))
		return nil, fmt.Errorf("live results at %s: %w", address, refused(answer.StatusCode, body))
	}
	return answer.Body, nil
}

// maxProblem bounds what is read of an error answer, in bytes.
const maxProblem = 1 << 16

// refused is an answer that is none.
func refused(status int, body []byte) error {
	const shown = 256 // bytes: enough for the code and the detail of a problem document
	return fmt.Errorf("answered %d: %.*s", status, shown, body)
}
