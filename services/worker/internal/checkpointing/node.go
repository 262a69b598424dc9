package checkpointing

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/pondage/pondage/internal/align"
	"github.com/pondage/pondage/internal/failpoint"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/telemetry"
	"github.com/pondage/pondage/services/worker/internal/task"
)

const (
	// Places is how many asynchronous parts a node runs at a time (DESIGN §7): more would only share one disk.
	Places = 4
	// BatchWithin is how long a report waits for others that go with it. What a transactional output shows waits for it too,
	// so it is short; at most one request is under way, so that a coordinator that is slow to answer gets larger ones.
	BatchWithin = 10 * time.Millisecond
	// callDeadline bounds a request with reports, and a question: both are repeated by the tasks.
	callDeadline = 5 * time.Second
)

// Coordinator takes reports: one request for all of them.
type Coordinator interface {
	CheckpointReports(ctx context.Context, reports []task.PartReport) error
}

// Asker brings a question to the node of the upstream, and its answer back.
type Asker interface {
	AskTrigger(ctx context.Context, q task.TriggerQuestion) (align.Answer, error)
}

// Node is a node's side of checkpoints.
type Node struct {
	coordinator Coordinator
	asker       Asker
	log         *slog.Logger
	places      chan struct{}
	wake        chan struct{}

	lifetime context.Context
	end      context.CancelFunc
	asking   sync.WaitGroup

	mu      sync.Mutex
	waiting map[key]task.PartReport
	closed  bool
}

// key is whose report it is: of one task the newest counts.
type key struct {
	stream ident.StreamID
	task   ident.Task
}

var _ task.Node = (*Node)(nil)

// New returns the node's side; Run reports.
func New(c Coordinator, a Asker, log *slog.Logger) *Node {
	n := &Node{
		coordinator: c, asker: a, log: log, places: make(chan struct{}, Places), wake: make(chan struct{}, 1), waiting: map[key]task.PartReport{},
	}
	n.lifetime, n.end = context.WithCancel(context.Background())
	return n
}

// Place implements task.Node.
func (n *Node) Place(ctx context.Context) (release func(), err error) {
	select {
	case n.places <- struct{}{}:
		return sync.OnceFunc(func() { <-n.places }), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Report implements task.Node. A report of a higher stage replaces one of a lower, never the other way round: a task of
// the old stage may still be ending.
func (n *Node) Report(r task.PartReport) {
	k := key{r.Self.Stream, r.Self.Task}
	n.mu.Lock()
	old, ok := n.waiting[k]
	if !ok || newer(r, old) {
		n.waiting[k] = r
	}
	n.mu.Unlock()
	select {
	case n.wake <- struct{}{}:
	default: // it is awake already
	}
}

func newer(r, than task.PartReport) bool {
	if r.Self.Stage != than.Self.Stage {
		return r.Self.Stage > than.Self.Stage
	}
	return r.Checkpoint >= than.Checkpoint
}

// Ask implements task.Node.
func (n *Node) Ask(q task.TriggerQuestion, answered func(align.Answer)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return
	}
	n.asking.Go(func() {
		ctx, cancel := context.WithTimeout(n.lifetime, callDeadline)
		defer cancel()
		a, err := n.asker.AskTrigger(ctx, q)
		if err != nil {
			n.log.Debug("a question for a trigger has no answer; asked again later", "upstream", q.Upstream, "checkpoint", q.Checkpoint, telemetry.KeyError, err)
			return
		}
		answered(a)
	})
}

// Run reports until the context ends.
func (n *Node) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.wake:
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(BatchWithin):
		}
		n.send(ctx)
	}
}

func (n *Node) send(ctx context.Context) {
	n.mu.Lock()
	batch := make([]task.PartReport, 0, len(n.waiting))
	for _, r := range n.waiting {
		batch = append(batch, r)
	}
	clear(n.waiting)
	n.mu.Unlock()
	if len(batch) == 0 {
		return // the wake-up of what went with the batch before
	}
	ctx, cancel := context.WithTimeout(ctx, callDeadline)
	defer cancel()
	err := failpoint.Hit(failpoint.ReportBeforeSend)
	if err == nil {
		err = n.coordinator.CheckpointReports(ctx, batch)
	}
	if err != nil {
		n.log.Debug("checkpoint reports were not taken; the tasks repeat them", "reports", len(batch), telemetry.KeyError, err)
	}
}

// Close ends the questions under way and returns when none is left. Later ones are not asked.
func (n *Node) Close() {
	n.mu.Lock()
	n.closed = true
	n.mu.Unlock()
	n.end()
	n.asking.Wait()
}
