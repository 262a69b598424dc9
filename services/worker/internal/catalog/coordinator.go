package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	"github.com/pondage/pondage/internal/api/common"
	api "github.com/pondage/pondage/internal/api/coordinator"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/problem"
)

// Replicas asks whichever coordinator answers. It implements Coordinator.
type Replicas struct {
	clients []api.ClientWithResponsesInterface
	last    atomic.Uint32 // the one that answered last
}

// NewReplicas returns the coordinators at the base URLs, called through the client, which signs.
func NewReplicas(urls []string, client *http.Client) (*Replicas, error) {
	r := &Replicas{}
	for _, u := range urls {
		c, err := api.NewClientWithResponses(u, api.WithHTTPClient(client))
		if err != nil {
			return nil, fmt.Errorf("coordinator %s: %w", u, err)
		}
		r.clients = append(r.clients, c)
	}
	return r, nil
}

// Source implements Coordinator.
func (r *Replicas) Source(ctx context.Context, name string) (json.RawMessage, error) {
	return ask(ctx, r, func(c api.ClientWithResponsesInterface) (json.RawMessage, error) {
		answer, err := c.GetSourceWithResponse(ctx, name)
		if err != nil {
			return nil, err
		}
		if answer.JSON200 == nil {
			return nil, refusal(answer.StatusCode(), answer.ApplicationProblemJSONDefault)
		}
		return answer.JSON200.Spec, nil
	})
}

// Stream implements Coordinator.
func (r *Replicas) Stream(ctx context.Context, name string) (Description, error) {
	return ask(ctx, r, func(c api.ClientWithResponsesInterface) (Description, error) {
		stream, err := c.GetStreamWithResponse(ctx, name)
		if err != nil {
			return Description{}, err
		}
		if stream.JSON200 == nil {
			return Description{}, refusal(stream.StatusCode(), stream.ApplicationProblemJSONDefault)
		}
		tasks, err := c.ListTasksWithResponse(ctx, name)
		if err != nil {
			return Description{}, err
		}
		if tasks.JSON200 == nil {
			return Description{}, refusal(tasks.StatusCode(), tasks.ApplicationProblemJSONDefault)
		}
		return describe(stream.JSON200, tasks.JSON200.Items), nil
	})
}

func describe(s *api.Stream, tasks []api.Task) Description {
	d := Description{ID: ident.StreamID(s.ID), Stage: ident.Stage(s.Stage), Wanted: s.Wanted, Source: s.SourceSpec, Spec: s.Spec}
	for _, t := range tasks {
		if task, err := ident.ParseTask(t.Task); err == nil {
			d.Tasks = append(d.Tasks, Placed{Task: task, Node: ident.NodeID(t.Node), Address: t.Address})
		}
	}
	return d
}

// ask asks the coordinators in turn, the one that answered last first. That a name is unknown is an answer.
func ask[T any](ctx context.Context, r *Replicas, call func(api.ClientWithResponsesInterface) (T, error)) (T, error) {
	var none T
	var errs []error
	first := r.last.Load()
	for i := range uint32(len(r.clients)) {
		n := (first + i) % uint32(len(r.clients))
		answer, err := call(r.clients[n])
		var told *problem.Error
		if err == nil || errors.As(err, &told) {
			r.last.Store(n)
			return answer, err
		}
		errs = append(errs, err)
		if ctx.Err() != nil {
			break
		}
	}
	if len(errs) == 0 {
		return none, errors.New("no coordinator is configured")
	}
	return none, errors.Join(errs...)
}

// refusal is an answer without what was asked for: a *problem.Error when it says that there is no such name, which is for
// the one who asked us; anything else is between this worker and the coordinator.
func refusal(status int, p *common.Problem) error {
	if p == nil {
		return fmt.Errorf("answered %d", status)
	}
	switch code := problem.Code(p.Code); code {
	case problem.CodeSourceUnknown, problem.CodeStreamUnknown:
		e := problem.New(code, "%s", p.Detail)
		e.Hint = p.Hint
		return e
	}
	return fmt.Errorf("answered %d: %s: %s", status, p.Code, p.Detail)
}
