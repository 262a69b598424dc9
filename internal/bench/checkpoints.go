package bench

import (
	"context"
	"fmt"
	"sync"

	"github.com/pondage/pondage/internal/api/coordinator"
)

// checkpoints remembers which checkpoints of a stream were seen complete: the list itself forgets old ones.
type checkpoints struct {
	mu       sync.Mutex
	complete map[coordinator.CheckpointNumber]struct{}
}

func newCheckpoints() *checkpoints {
	return &checkpoints{complete: map[coordinator.CheckpointNumber]struct{}{}}
}

// What a checkpoint is like that counts.
const (
	kindInterval  = "interval"
	stateComplete = "complete"
)

// look asks for the newest checkpoints. It finds each as long as fewer complete between two looks than a stream retains.
func (s *checkpoints) look(ctx context.Context, c *client, stream string) error {
	r, err := c.api.ListStreamCheckpointsWithResponse(ctx, stream, nil)
	if err != nil {
		return fmt.Errorf("list checkpoints of %s: %w", stream, err)
	}
	if err := answered("list checkpoints of "+stream, r.HTTPResponse, r.Body); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range r.JSON200.Items {
		if x.Kind == kindInterval && x.State == stateComplete {
			s.complete[x.Checkpoint] = struct{}{}
		}
	}
	return nil
}

func (s *checkpoints) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.complete)
}
