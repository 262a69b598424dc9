package catalog

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/pondage/pondage/internal/api/common"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/plan"
	"github.com/pondage/pondage/internal/problem"
	"github.com/pondage/pondage/internal/spec"
	"github.com/pondage/pondage/services/worker/internal/node"
)

// Coordinator answers what a name means. Errors: *problem.Error with source_unknown or stream_unknown; any other error
// means that it could not be asked.
type Coordinator interface {
	Source(ctx context.Context, name string) (json.RawMessage, error)
	Stream(ctx context.Context, name string) (Description, error)
}

// Description is a stream as the coordinator or an order tells it.
type Description struct {
	ID           ident.StreamID
	Stage        ident.Stage
	Wanted       string // running, paused, stopped or dropped
	Source, Spec json.RawMessage
	Tasks        []Placed // of the stage, on all nodes
}

// Placed is where a task of the stage runs.
type Placed struct {
	Task    ident.Task
	Node    ident.NodeID
	Address string
}

// Orders are the orders in force on this node (*node.Runs).
type Orders interface {
	Order(name string) (common.Order, node.Run, bool)
}

// Stream is a stream, understood.
type Stream struct {
	Description
	Name string
	Plan *plan.Plan
	// Run is the stream's run on this node; nil when there is none.
	Run node.Run
}

// Catalog finds definitions. Make it with New.
type Catalog struct {
	coordinator Coordinator
	orders      Orders
	cluster     func() node.Cluster
	sources     *cache[*spec.Source]
	streams     *cache[*Stream]
}

// New returns a catalog. cluster returns what the node learned at its registration.
func New(c Coordinator, orders Orders, cluster func() node.Cluster) *Catalog {
	return &Catalog{coordinator: c, orders: orders, cluster: cluster, sources: newCache[*spec.Source](), streams: newCache[*Stream]()}
}

// Source returns the source of the name as it is now. The same definition gives the same pointer.
//
// Errors: *problem.Error with source_unknown, or no_coordinator while it was never found and nobody can be asked.
func (c *Catalog) Source(ctx context.Context, name string) (*spec.Source, error) {
	return c.sources.get(ctx, name, func(ctx context.Context) (*spec.Source, error) {
		doc, err := c.coordinator.Source(ctx, name)
		if err != nil {
			return nil, err
		}
		src, err := spec.ParseSource(doc)
		if err != nil {
			return nil, fmt.Errorf("source %s as the coordinator has it: %w", name, hidden(err))
		}
		if before, ok := c.sources.known(name); ok && bytes.Equal(before.value.Canonical(), src.Canonical()) {
			return before.value, nil
		}
		return src, nil
	})
}

// Stream returns the stream of the name. A stream that runs here is described by its order, which costs no call.
//
// Errors: *problem.Error with stream_unknown, or no_coordinator while it was never found and nobody can be asked.
func (c *Catalog) Stream(ctx context.Context, name string) (*Stream, error) {
	if o, run, ok := c.orders.Order(name); ok && run != nil {
		return c.ordered(o, run)
	}
	return c.streams.get(ctx, name, func(ctx context.Context) (*Stream, error) {
		d, err := c.coordinator.Stream(ctx, name)
		if err != nil {
			return nil, err
		}
		return c.understand(name, d)
	})
}

// planned is a run that has built the plan of its order.
type planned interface{ Plan() *plan.Plan }

// ordered is a stream that runs here.
func (c *Catalog) ordered(o common.Order, run node.Run) (*Stream, error) {
	d := Description{
		ID: ident.StreamID(o.StreamID), Stage: ident.Stage(o.Stage), Wanted: o.Wanted, Source: o.Source, Spec: o.Spec, Tasks: placements(o.Tasks),
	}
	if p, ok := run.(planned); ok && p.Plan() != nil {
		return &Stream{Description: d, Name: o.Name, Plan: p.Plan(), Run: run}, nil
	}
	s, err := c.understand(o.Name, d)
	if err != nil {
		return nil, err
	}
	s.Run = run
	return s, nil
}

// placements reads a placement. What cannot be read is nobody's task.
func placements(tasks []common.PlacedTask) []Placed {
	out := make([]Placed, 0, len(tasks))
	for _, t := range tasks {
		if task, err := ident.ParseTask(t.Task); err == nil {
			out = append(out, Placed{Task: task, Node: ident.NodeID(t.Node), Address: t.Address})
		}
	}
	return out
}

// understand builds the plan of a description.
func (c *Catalog) understand(name string, d Description) (*Stream, error) {
	cluster := c.cluster()
	if cluster.VGroups == 0 {
		return nil, noCoordinator(fmt.Errorf("stream %s: this node has not registered yet", name))
	}
	src, err := spec.ParseSource(d.Source)
	if err != nil {
		return nil, fmt.Errorf("source of stream %s: %w", name, hidden(err))
	}
	st, err := spec.ParseStream(d.Spec)
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", name, hidden(err))
	}
	p, err := plan.Build(src, st, plan.Env{Cluster: cluster.Name, VGroups: cluster.VGroups, Zone: time.LoadLocation})
	if err != nil {
		return nil, fmt.Errorf("plan of stream %s: %w", name, hidden(err))
	}
	return &Stream{Description: d, Name: name, Plan: p}, nil
}

// hidden is a fault of a stored definition: it is not the fault of the one who asks now, so it must not look like one.
func hidden(err error) error {
	return fmt.Errorf("the stored definition is not understood: %s", err.Error())
}

// retrySoon is when a coordinator may be back: a new one leads within the lease's TTL and a second.
const retrySoon = 4 * time.Second

func noCoordinator(cause error) error {
	e := problem.Wrap(cause, problem.CodeNoCoordinator, "no coordinator answers, and this worker does not know the name yet")
	e.RetryAfter = retrySoon
	return e
}
