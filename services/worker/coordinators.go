package worker

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	"github.com/pondage/pondage/internal/api/common"
	"github.com/pondage/pondage/internal/api/coordinator"
	"github.com/pondage/pondage/internal/problem"
)

// coordinators calls whichever replica answers. It implements node.Coordinator.
type coordinators struct {
	urls   []string
	client *http.Client
	next   atomic.Uint32 // the replica that answered last
}

func newCoordinators(urls []string, client *http.Client) *coordinators {
	return &coordinators{urls: urls, client: client}
}

// Register implements node.Coordinator.
func (c *coordinators) Register(ctx context.Context, r common.Registration) (common.RegistrationAnswer, error) {
	return call(ctx, c, func(api *coordinator.ClientWithResponses) (*common.RegistrationAnswer, int, error) {
		answer, err := api.RegisterNodeWithResponse(ctx, r)
		if err != nil {
			return nil, 0, err
		}
		return answer.JSON200, answer.StatusCode(), nil
	})
}

// Heartbeat implements node.Coordinator.
func (c *coordinators) Heartbeat(ctx context.Context, b common.Heartbeat) (common.HeartbeatAnswer, error) {
	return call(ctx, c, func(api *coordinator.ClientWithResponses) (*common.HeartbeatAnswer, int, error) {
		answer, err := api.PostHeartbeatWithResponse(ctx, b)
		if err != nil {
			return nil, 0, err
		}
		return answer.JSON200, answer.StatusCode(), nil
	})
}

// CheckToken asks whom a token belongs to. An unknown one is a *problem.Error with code unauthenticated; any other error
// means that nobody could be asked.
func (c *coordinators) CheckToken(ctx context.Context, token string) (coordinator.Principal, error) {
	var refused error
	known, err := call(ctx, c, func(api *coordinator.ClientWithResponses) (*coordinator.Principal, int, error) {
		answer, err := api.CheckTokenWithResponse(ctx, coordinator.TokenCheck{Token: token})
		if err != nil {
			return nil, 0, err
		}
		if answer.StatusCode() == http.StatusUnauthorized {
			refused = problem.New(problem.CodeUnauthenticated, "the token is not known")
			return &coordinator.Principal{}, answer.StatusCode(), nil
		}
		return answer.JSON200, answer.StatusCode(), nil
	})
	if err != nil {
		return known, problem.Wrap(err, problem.CodeNoCoordinator, "the token cannot be checked: no coordinator answers")
	}
	return known, refused
}

// call asks the replicas in turn, beginning with the one that answered last.
func call[T any](ctx context.Context, c *coordinators, ask func(*coordinator.ClientWithResponses) (*T, int, error)) (T, error) {
	var errs []error
	var none T
	first := c.next.Load()
	for i := range uint32(len(c.urls)) {
		n := (first + i) % uint32(len(c.urls))
		api, err := coordinator.NewClientWithResponses(c.urls[n], coordinator.WithHTTPClient(c.client))
		if err != nil {
			return none, err
		}
		answer, status, err := ask(api)
		if err == nil && answer != nil {
			c.next.Store(n)
			return *answer, nil
		}
		if err == nil {
			err = fmt.Errorf("%s answers with status %d", c.urls[n], status)
		}
		errs = append(errs, err)
		if ctx.Err() != nil {
			break
		}
	}
	if len(errs) == 0 {
		return none, errors.New("no coordinator is configured (coordinators)")
	}
	return none, errors.Join(errs...)
}
