package outside

import (
	"context"
	"fmt"
	"net/http"

	"github.com/pondage/pondage/internal/api/common"
	"github.com/pondage/pondage/internal/api/worker"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/services/coordinator/internal/control"
)

// Workers calls workers. It implements control.Nodes.
type Workers struct {
	// HTTP makes the calls, signed for the cluster.
	HTTP *http.Client
	// Doc turns a push into its wire form.
	Doc func(control.Push) common.Orders
}

var _ control.Nodes = Workers{}

// Push implements control.Nodes.
func (w Workers) Push(ctx context.Context, address string, p control.Push) error {
	client, err := worker.NewClientWithResponses(address, worker.WithHTTPClient(w.HTTP))
	if err != nil {
		return fmt.Errorf("push orders to %s: %w", address, err)
	}
	answer, err := client.PostOrdersWithResponse(ctx, w.Doc(p))
	if err != nil {
		return fmt.Errorf("push orders to %s: %w", address, err)
	}
	if answer.StatusCode() != http.StatusOK {
		return fmt.Errorf("push orders to %s: status %d", address, answer.StatusCode())
	}
	return nil
}

// Request implements control.Nodes.
func (w Workers) Request(ctx context.Context, address string, r control.CheckpointRequest) ([]control.CheckpointAnswer, error) {
	client, err := worker.NewClientWithResponses(address, worker.WithHTTPClient(w.HTTP))
	if err != nil {
		return nil, fmt.Errorf("ask %s for a checkpoint: %w", address, err)
	}
	answer, err := client.PostCheckpointWithResponse(ctx, requestDoc(r))
	if err != nil {
		return nil, fmt.Errorf("ask %s for a checkpoint: %w", address, err)
	}
	if answer.JSON200 == nil {
		return nil, fmt.Errorf("ask %s for a checkpoint: status %d", address, answer.StatusCode())
	}
	var out []control.CheckpointAnswer
	for _, name := range answer.JSON200.Taken {
		if t, err := ident.ParseTask(name); err == nil { // what is no task was not asked
			out = append(out, control.CheckpointAnswer{Task: t})
		}
	}
	for _, x := range answer.JSON200.Refused {
		if t, err := ident.ParseTask(x.Task); err == nil {
			out = append(out, control.CheckpointAnswer{Task: t, Refused: &control.Cause{Code: x.Cause.Code, Message: x.Cause.Message}})
		}
	}
	return out, nil
}

func requestDoc(r control.CheckpointRequest) common.CheckpointRequest {
	out := common.CheckpointRequest{
		Term: common.Int64(r.Term), Node: string(r.Place.Node), Instance: r.Place.Instance.String(), StreamID: common.Int64(r.Attempt.Stream),
		Stage: common.Int64(r.Attempt.Stage), Checkpoint: common.Int64(r.Attempt.Checkpoint), Tx: common.Int64(r.Attempt.Tx), LeftMs: common.Int64(r.Left),
	}
	for _, t := range r.Tasks {
		out.Tasks = append(out.Tasks, t.String())
	}
	return out
}
