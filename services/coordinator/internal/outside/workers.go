package outside

import (
	"context"
	"fmt"
	"net/http"

	"github.com/pondage/pondage/internal/api/common"
	"github.com/pondage/pondage/internal/api/worker"
	"github.com/pondage/pondage/services/coordinator/internal/control"
)

// Workers brings orders to workers. It implements control.Pusher.
type Workers struct {
	// HTTP makes the calls, signed for the cluster.
	HTTP *http.Client
	// Doc turns a push into its wire form.
	Doc func(control.Push) common.Orders
}

var _ control.Pusher = Workers{}

// Push implements control.Pusher.
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
