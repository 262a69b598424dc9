package worker

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pondage/pondage/internal/api/common"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/problem"
	"github.com/pondage/pondage/internal/storage"
	"github.com/pondage/pondage/internal/telemetry"
	"github.com/pondage/pondage/services/worker/internal/live"
	"github.com/pondage/pondage/services/worker/internal/node"
	"github.com/pondage/pondage/services/worker/internal/results"
	"github.com/pondage/pondage/services/worker/internal/stage"
)

// lateEngine is the engine once the node knows its cluster: only then there are orders to start anything.
type lateEngine struct {
	engine  atomic.Pointer[stage.Engine]
	janitor *results.Janitor
	store   storage.Store
	log     *slog.Logger
	deletes sync.WaitGroup
}

// errNotRegistered says that the node does not know its cluster yet.
var errNotRegistered = problem.New(problem.CodeNoCoordinator, "this node has not registered with a coordinator yet")

func (e *lateEngine) set(engine *stage.Engine) { e.engine.Store(engine) }

// Start implements node.Starter. Orders come with or after the registration, which sets the engine first.
func (e *lateEngine) Start(o common.Order, changed func()) node.Run {
	return e.engine.Load().Start(o, changed)
}

// deleteWithin bounds deleting the checkpoints of a dropped stream.
const deleteWithin = time.Minute

// Drop implements node.Starter.
func (e *lateEngine) Drop(id ident.StreamID) {
	e.janitor.Dropped(id)
	e.deletes.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), deleteWithin)
		defer cancel()
		if err := e.store.Drop(ctx, id); err != nil {
			e.log.Warn("the checkpoints of a dropped stream were not all deleted", "stream_id", id, telemetry.KeyError, err)
		}
	})
}

// Request implements httpapi.Checkpoints.
func (e *lateEngine) Request(ctx context.Context, r common.CheckpointRequest) (common.CheckpointTaken, error) {
	if engine := e.engine.Load(); engine != nil {
		return engine.Request(ctx, r)
	}
	return common.CheckpointTaken{}, errNotRegistered
}

// Triggers implements httpapi.Checkpoints.
func (e *lateEngine) Triggers(ctx context.Context, q common.TriggerQuestions) (common.TriggerAnswers, error) {
	if engine := e.engine.Load(); engine != nil {
		return engine.Triggers(ctx, q)
	}
	return common.TriggerAnswers{}, errNotRegistered
}

// Feed returns the live results of a stream on this node; nil while it has none here.
func (e *lateEngine) Feed(id ident.StreamID) *live.Feed {
	if engine := e.engine.Load(); engine != nil {
		return engine.Feed(id)
	}
	return nil
}
