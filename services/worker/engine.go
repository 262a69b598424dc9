package worker

import (
	"sync/atomic"

	"github.com/pondage/pondage/internal/api/common"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/services/worker/internal/live"
	"github.com/pondage/pondage/services/worker/internal/node"
	"github.com/pondage/pondage/services/worker/internal/results"
	"github.com/pondage/pondage/services/worker/internal/stage"
)

// lateEngine is the engine once the node knows its cluster: only then there are orders to start anything.
type lateEngine struct {
	engine  atomic.Pointer[stage.Engine]
	janitor *results.Janitor
}

func (e *lateEngine) set(engine *stage.Engine) { e.engine.Store(engine) }

// Start implements node.Starter. Orders come with or after the registration, which sets the engine first.
func (e *lateEngine) Start(o common.Order, changed func()) node.Run {
	return e.engine.Load().Start(o, changed)
}

// Drop implements node.Starter.
func (e *lateEngine) Drop(id ident.StreamID) { e.janitor.Dropped(id) }

// Feed returns the live results of a stream on this node; nil while it has none here.
func (e *lateEngine) Feed(id ident.StreamID) *live.Feed {
	if engine := e.engine.Load(); engine != nil {
		return engine.Feed(id)
	}
	return nil
}
