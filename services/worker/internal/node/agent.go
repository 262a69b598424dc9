package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/pondage/pondage/internal/api/common"
	"github.com/pondage/pondage/internal/ident"
)

// Beats of DESIGN §11.
const (
	// BeatEvery is how often a node tells that it lives, and what its tasks do.
	BeatEvery = time.Second
	// beatCheck is how often the loop looks whether a beat is due.
	beatCheck = 200 * time.Millisecond
	// callTimeout bounds one registration or beat; an unanswered beat is repeated unchanged.
	callTimeout = 2 * time.Second
)

// ErrSuperseded says that a newer instance of this node is registered: this process must exit.
var ErrSuperseded = errors.New("a newer instance of this node is registered")

// Coordinator is what a node asks of the coordinator.
type Coordinator interface {
	Register(ctx context.Context, r common.Registration) (common.RegistrationAnswer, error)
	Heartbeat(ctx context.Context, b common.Heartbeat) (common.HeartbeatAnswer, error)
}

// Cluster is what a node learns about its cluster when it registers.
type Cluster struct {
	ID      string
	Name    ident.Cluster
	VGroups int
}

// Agent keeps a node in its cluster. It is one goroutine (Run) beside the orders loop; Push and Nudge are called from
// any.
type Agent struct {
	identity    *Identity
	address     string
	version     string
	coordinator Coordinator
	runs        *Runs
	log         *slog.Logger

	nudge chan struct{}

	mu      sync.Mutex
	cluster Cluster
	ready   bool // registered, and the last beat was answered
	lastErr error
	failing time.Time // since when calls fail; zero: they do not
	warned  bool      // of it
}

// NewAgent returns the agent of a node that is reached at the address (the base URL of its API).
func NewAgent(id *Identity, address, version string, c Coordinator, runs *Runs, log *slog.Logger) *Agent {
	a := &Agent{identity: id, address: address, version: version, coordinator: c, runs: runs, log: log, nudge: make(chan struct{}, 1)}
	runs.changed = a.Nudge
	return a
}

// Nudge asks for a beat now: something that the coordinator waits for has happened.
func (a *Agent) Nudge() {
	select {
	case a.nudge <- struct{}{}:
	default: // one is already asked for
	}
}

// Cluster returns what the node learned at its registration; the zero value before.
func (a *Agent) Cluster() Cluster {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.cluster
}

// Check is the readiness check "coordinator".
func (a *Agent) Check(context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ready {
		return nil
	}
	if a.lastErr != nil {
		return fmt.Errorf("no coordinator has answered: %w", a.lastErr)
	}
	return errors.New("not registered with a coordinator yet")
}

// Register announces the instance until it is answered. start is called with the cluster before the first orders are
// obeyed.
func (a *Agent) Register(ctx context.Context, start func(Cluster) error) error {
	for {
		answer, err := a.register(ctx)
		if err == nil {
			if err := start(a.Cluster()); err != nil {
				return err
			}
			a.obey(ident.Term(answer.Term), answer.Orders, a.runs.ObeyAll)
			return nil
		}
		a.note(err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(beatCheck):
		}
	}
}

func (a *Agent) register(ctx context.Context) (common.RegistrationAnswer, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	answer, err := a.coordinator.Register(ctx, common.Registration{
		ClusterID: a.identity.Cluster(), Node: string(a.identity.Node), Instance: a.identity.Instance.String(),
		Address: a.address, Version: a.version, HighestTerm: common.Int64(a.identity.Term()),
	})
	if err != nil {
		return answer, fmt.Errorf("register node %s: %w", a.identity.Node, err)
	}
	if err := a.identity.Learn(answer.ClusterID, ident.Term(answer.Term)); err != nil {
		return answer, err
	}
	a.mu.Lock()
	a.cluster = Cluster{ID: answer.ClusterID, Name: ident.Cluster(answer.Cluster), VGroups: int(answer.Vgroups)}
	a.ready = true
	a.mu.Unlock()
	return answer, nil
}

// Run beats until the context ends, or ErrSuperseded. When the context ends it tells the coordinator that the node
// leaves.
func (a *Agent) Run(ctx context.Context) error {
	ticker := time.NewTicker(beatCheck)
	defer ticker.Stop()
	var message ident.MsgID
	var last time.Time
	var open *common.Heartbeat // sent and not answered
	for {
		var due bool
		select {
		case <-ctx.Done():
			a.leave(message + 1)
			return nil
		case <-a.nudge:
			due = open == nil
		case <-ticker.C:
			due = time.Since(last) >= BeatEvery
		}
		if !due {
			continue
		}
		last = time.Now()
		if open == nil {
			message++
			beat := a.beat(message)
			open = &beat
		}
		if err := a.send(ctx, *open); err != nil {
			if errors.Is(err, ErrSuperseded) {
				return err
			}
			a.note(err)
			continue
		}
		open = nil
	}
}

func (a *Agent) beat(message ident.MsgID) common.Heartbeat {
	b := common.Heartbeat{
		ClusterID: a.identity.Cluster(), Node: string(a.identity.Node), Instance: a.identity.Instance.String(), Address: a.address,
		Message: common.Int64(message), HighestTerm: common.Int64(a.identity.Term()),
	}
	b.Streams, b.Tasks, b.Updates = a.runs.Reports()
	return b
}

func (a *Agent) send(ctx context.Context, b common.Heartbeat) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	answer, err := a.coordinator.Heartbeat(ctx, b)
	if err != nil {
		return fmt.Errorf("heartbeat: %w", err)
	}
	if answer.Superseded {
		return ErrSuperseded
	}
	a.note(nil)
	if answer.Unregistered {
		again, err := a.register(ctx)
		if err != nil {
			return err
		}
		a.obey(ident.Term(again.Term), again.Orders, a.runs.ObeyAll)
		return nil
	}
	a.obey(ident.Term(answer.Term), answer.Orders, a.runs.ObeyAll)
	orphans := make([]ident.StreamID, len(answer.Orphans))
	for i, o := range answer.Orphans {
		orphans[i] = ident.StreamID(o)
	}
	a.runs.StopOrphans(orphans)
	return nil
}

// leave tells the coordinator that the node closes; its tasks move at once. It is a courtesy: without it, missed beats
// say the same later.
func (a *Agent) leave(message ident.MsgID) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	b := a.beat(message)
	b.Leaving = true
	if _, err := a.coordinator.Heartbeat(ctx, b); err != nil {
		a.log.Debug("the coordinator did not hear that this node leaves", "error", err)
	}
}

// Push obeys orders that were brought, not fetched. A term below the highest one told is refused.
func (a *Agent) Push(o common.Orders) error {
	if o.ClusterID != a.identity.Cluster() || o.Node != string(a.identity.Node) || o.Instance != a.identity.Instance.String() {
		return fmt.Errorf("orders for %s/%s, this is %s/%s", o.Node, o.Instance, a.identity.Node, a.identity.Instance)
	}
	if ident.Term(o.Term) < a.identity.Term() {
		return fmt.Errorf("orders of term %d, this node has heard of term %d", o.Term, a.identity.Term())
	}
	a.obey(ident.Term(o.Term), o.Orders, func(_ ident.Term, orders []common.Order) { a.runs.Obey(orders) })
	return nil
}

// obey keeps the term on disk before anything is done under it, then hands the orders on. What is pushed may arrive late,
// so only an answer's list counts as the full one.
func (a *Agent) obey(term ident.Term, orders []common.Order, hand func(ident.Term, []common.Order)) {
	if term < a.identity.Term() {
		return
	}
	if err := a.identity.Learn(a.identity.Cluster(), term); err != nil {
		a.log.Error("cannot keep the term on disk; the orders wait", "term", term, "error", err)
		return
	}
	hand(term, orders)
}

// note remembers how the last call went, and logs a change once. A coordinator that starts beside the node, or hands its
// lease over, does not answer for a moment: that is not worth a word.
func (a *Agent) note(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch now := time.Now(); {
	case err == nil:
		if a.warned {
			a.log.Info("the coordinator answers again")
		}
		a.failing, a.warned = time.Time{}, false
	case a.failing.IsZero():
		a.failing = now
	case !a.warned && now.Sub(a.failing) >= silenceWorthAWord:
		a.warned = true
		a.log.Warn("the coordinator does not answer; tasks go on", "error", err, "for", now.Sub(a.failing).Round(time.Second))
	}
	a.lastErr, a.ready = err, err == nil
}

// silenceWorthAWord is longer than a start or a take-over of the lease takes.
const silenceWorthAWord = 5 * time.Second
