package client

import (
	"context"
	"net/http"

	api "github.com/pondage/pondage/internal/api/coordinator"
)

// IngestURL asks the coordinator which worker takes the records of a source. Nothing is sent.
func (c *Client) IngestURL(ctx context.Context, source string) (string, error) {
	request, err := api.NewIngestRequest(c.URL, source, &api.IngestParams{})
	if err != nil {
		return "", err
	}
	ask := &http.Client{Transport: c.HTTP.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := ask.Do(request.WithContext(ctx))
	if err != nil {
		return "", unreachable(err)
	}
	defer answer.Body.Close()
	to, err := answer.Location()
	if err != nil {
		return "", refused(answer)
	}
	return to.String(), nil
}
