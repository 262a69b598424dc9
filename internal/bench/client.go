package bench

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/pondage/pondage/internal/api/coordinator"
)

// client drives a coordinator through its API.
type client struct {
	url   string
	api   *coordinator.ClientWithResponses
	query Query
}

func newClient(url string, q Query, o ...coordinator.ClientOption) (*client, error) {
	api, err := coordinator.NewClientWithResponses(url, o...)
	if err != nil {
		return nil, fmt.Errorf("client of %s: %w", url, err)
	}
	return &client{url: url, api: api, query: q}, nil
}

// States of a stream, as the API spells them.
const (
	stateRunning  = "running"
	stateFinished = "finished"
	stateFailed   = "failed"
)

const (
	readyWithin = 60 * time.Second
	readyPoll   = 10 * time.Millisecond
)

// finishedPoll is how often the state is asked for when all records are read: the error of the total.
const finishedPoll = 10 * time.Millisecond

// awaitReady waits until the coordinator can do what it is asked for.
func (c *client) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	for {
		err := c.ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not ready within %s: %w", readyWithin, err)
		case <-time.After(readyPoll):
		}
	}
}

// ready asks once; the generated client leaves /readyz out.
func (c *client) ready(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+"/readyz", http.NoBody)
	if err != nil {
		return err
	}
	r, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	return answered("look at the coordinator", r, body)
}

func (c *client) createSource(ctx context.Context, topic string) error {
	spec, err := sourceSpec(topic)
	if err != nil {
		return err
	}
	r, err := c.api.CreateSourceWithResponse(ctx, nil, spec)
	if err != nil {
		return fmt.Errorf("create the source: %w", err)
	}
	return answered("create the source", r.HTTPResponse, r.Body)
}

func (c *client) createStream(ctx context.Context, name, out string, over reach, to Sink) error {
	spec, err := c.query.streamSpec(name, out, over, to)
	if err != nil {
		return err
	}
	r, err := c.api.CreateStreamWithResponse(ctx, nil, spec)
	if err != nil {
		return fmt.Errorf("create stream %s: %w", name, err)
	}
	return answered("create stream "+name, r.HTTPResponse, r.Body)
}

// check returns an error when the stream has failed.
func (c *client) check(ctx context.Context, name string) error {
	_, err := c.state(ctx, name)
	return err
}

func (c *client) state(ctx context.Context, name string) (string, error) {
	r, err := c.api.GetStreamWithResponse(ctx, name)
	if err != nil {
		return "", fmt.Errorf("look at stream %s: %w", name, err)
	}
	if err := answered("look at stream "+name, r.HTTPResponse, r.Body); err != nil {
		return "", err
	}
	if s := r.JSON200; s.State == stateFailed {
		return "", fmt.Errorf("stream %s has failed: %s", name, r.Body)
	}
	return r.JSON200.State, nil
}

func (c *client) awaitState(ctx context.Context, name, wanted string) error {
	tick := time.NewTicker(finishedPoll)
	defer tick.Stop()
	for {
		s, err := c.state(ctx, name)
		if err != nil || s == wanted {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

func (c *client) drop(ctx context.Context, name string) error {
	r, err := c.api.DeleteStreamWithResponse(ctx, name, nil)
	if err != nil {
		return fmt.Errorf("drop stream %s: %w", name, err)
	}
	return answered("drop stream "+name, r.HTTPResponse, r.Body)
}

// answered makes an error of an answer that is none of success.
func answered(what string, r *http.Response, body []byte) error {
	if r.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("%s: %s: %s", what, r.Status, body)
	}
	return nil
}
