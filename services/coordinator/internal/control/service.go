package control

import (
	"crypto/rand"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pondage/pondage/internal/checkpoint"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/services/coordinator/internal/control/decide"
	"github.com/pondage/pondage/services/coordinator/internal/store"
	"github.com/pondage/pondage/services/coordinator/internal/store/lease"
)

// Config is what the configuration says.
type Config struct {
	// Cluster is the cluster's name, VGroups its V; both must equal what the metastore has, once it has them.
	Cluster ident.Cluster
	VGroups int
	// Holder names this process among the replicas.
	Holder string
	// MinNodes is how many nodes must have registered before vgroups get their first owners (placement.min_nodes).
	MinNodes int
	// Limits bound starts and restarts.
	Limits decide.Limits
	// Checkpoints bound how many run at a time.
	Checkpoints checkpoint.Limits
	// Secret is the cluster's, from which repeated answers with a token are made anew. Empty: one of the process.
	Secret []byte
}

// Default returns the configuration of a cluster of one node.
func Default() Config {
	return Config{VGroups: 8, MinNodes: 1, Limits: decide.DefaultLimits, Checkpoints: checkpoint.DefaultLimits}
}

// The bounds of what control calls. Nothing waits without one.
const (
	// lookupTimeout bounds resolving offsets and checking targets while a stream is created.
	lookupTimeout = 10 * time.Second
	// glanceTimeout bounds checking targets while a stream is only looked at: somebody waits for it at a keyboard.
	glanceTimeout = 3 * time.Second
	// topicsTimeout bounds one attempt to make or delete a stream's topics.
	topicsTimeout = 30 * time.Second
	// pushTimeout bounds one push of orders; the next beat brings them anyway.
	pushTimeout = 2 * time.Second
	// stepTimeout bounds one guarded step of the loop in the metastore.
	stepTimeout = 5 * time.Second
)

// Seams are what control works through.
type Seams struct {
	Store   store.Store
	Leases  store.Leases
	Planner Planner
	Kafka   Kafka
	Sinks   Sinks
	Edges   Edges
	Nodes   Nodes
	Clock   Clock
	Metrics *Metrics // nil: none
	Log     *slog.Logger
}

// Service is the coordinator's application layer; see API and Run.
type Service struct {
	config Config
	Seams

	board   *board
	parts   *parts
	courses *courses
	jobs    *jobs
	push    *pushes
	layouts *layouts
	growth  *growth

	// woken wakes the loop: something changed in the metastore (after a request of this process), or a report came.
	woken chan struct{}
	// stale: the loop's picture of the metastore is to be read again.
	stale atomic.Bool

	reading sync.Mutex // makes picture changes go forward only
	picture atomic.Pointer[picture]

	leading sync.Mutex // guards machine and seen
	machine lease.Machine
	seen    lease.Seen // the newest that a standby read

	mute complaint // the metastore does not answer about the lease
}

var _ API = (*Service)(nil)

// New returns a service that does nothing until Run.
func New(c Config, s Seams) *Service {
	if len(c.Secret) == 0 {
		c.Secret = []byte(rand.Text())
	}
	out := &Service{
		config: c, Seams: s, board: newBoard(), parts: newParts(), courses: newCourses(), jobs: newJobs(), push: newPushes(), layouts: newLayouts(), growth: newGrowth(),
		woken: make(chan struct{}, 1),
	}
	s.Metrics.observe(out.checkpointAges)
	return out
}

// wake makes the loop look again.
func (s *Service) wake() {
	select {
	case s.woken <- struct{}{}:
	default:
	}
}

// changed makes the loop read the metastore again.
func (s *Service) changed() {
	s.stale.Store(true)
	s.wake()
}
