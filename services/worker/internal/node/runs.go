package node

import (
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/pondage/pondage/internal/api/common"
	"github.com/pondage/pondage/internal/ident"
)

// Run is one stage of one stream on this node.
type Run interface {
	// Update brings a later order of the same stage: addresses may have changed, or pause and resume.
	Update(o common.Order)
	// Reports returns the state of each task.
	Reports() []common.TaskReport
	// Updates returns what keeps the stage from going on, until it ends (need_reset).
	Updates() []common.NodeUpdate
	// End ends all tasks and returns when nothing of the run lives any more.
	End()
}

// Starter starts runs. changed is to be called, from any goroutine, when a report says something new.
type Starter interface {
	Start(o common.Order, changed func()) Run
}

// Runs holds the order in force and the run of each stream. Orders are obeyed by one goroutine (Loop), so that ending a
// run never delays a beat.
type Runs struct {
	place   ident.Place
	starter Starter
	log     *slog.Logger
	changed func()

	wake chan struct{}

	mu    sync.Mutex
	held  map[ident.StreamID]*held
	asked map[ident.StreamID]common.Order // orders not obeyed yet
}

// held is what this node has of a stream.
type held struct {
	order common.Order
	run   Run         // nil: none
	stage ident.Stage // the highest one that a run was started in
}

// NewRuns returns the runs of the node in its present instance; none yet.
func NewRuns(place ident.Place, s Starter, log *slog.Logger) *Runs {
	return &Runs{place: place, starter: s, log: log, changed: func() {}, wake: make(chan struct{}, 1),
		held: map[ident.StreamID]*held{}, asked: map[ident.StreamID]common.Order{}}
}

// Obey takes orders; Loop carries them out. An order that is not newer than the one asked for or in force changes
// nothing.
func (r *Runs) Obey(orders []common.Order) {
	r.mu.Lock()
	for _, o := range orders {
		id := ident.StreamID(o.StreamID)
		if before, ok := r.asked[id]; ok && !newer(o, before) {
			continue
		}
		if h := r.held[id]; h != nil && !newer(o, h.order) {
			continue
		}
		r.asked[id] = o
	}
	n := len(r.asked)
	r.mu.Unlock()
	if n > 0 {
		r.wakeUp()
	}
}

// StopOrphans ends the runs of streams that the metastore does not know.
func (r *Runs) StopOrphans(ids []ident.StreamID) {
	r.mu.Lock()
	for _, id := range ids {
		if h := r.held[id]; h != nil && h.run != nil {
			r.log.Warn("a stream that the metastore does not know is stopped", "stream", h.order.Name, "stream_id", id)
			o := h.order
			o.Wanted = wantedStopped
			r.asked[id] = o
		}
	}
	r.mu.Unlock()
	r.wakeUp()
}

func (r *Runs) wakeUp() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// newer compares (term, generation, stage). An equal one says nothing new but where tasks live, and whether all are ready.
func newer(o, than common.Order) bool {
	a := [...]int64{int64(o.Term), int64(o.Generation), int64(o.Stage)}
	b := [...]int64{int64(than.Term), int64(than.Generation), int64(than.Stage)}
	return slices.Compare(a[:], b[:]) >= 0
}

// The wanted states of an order.
const (
	wantedRunning = "running"
	wantedPaused  = "paused"
	wantedStopped = "stopped"
	wantedDropped = "dropped"
)

// Loop obeys orders until done is closed, then ends all runs.
func (r *Runs) Loop(done <-chan struct{}) {
	for {
		select {
		case <-done:
			r.endAll()
			return
		case <-r.wake:
			for r.obeyNext() {
			}
		}
	}
}

func (r *Runs) obeyNext() bool {
	r.mu.Lock()
	ids := slices.Sorted(maps.Keys(r.asked))
	if len(ids) == 0 {
		r.mu.Unlock()
		return false
	}
	id := ids[0]
	o := r.asked[id]
	delete(r.asked, id)
	h := r.held[id]
	if h == nil {
		h = &held{}
		r.held[id] = h
	}
	run := h.run
	r.mu.Unlock()

	run = r.carryOut(o, h, run)

	r.mu.Lock()
	changed := h.order.Generation != o.Generation || h.order.Stage != o.Stage || h.order.Wanted != o.Wanted
	h.order, h.run = o, run
	r.mu.Unlock()
	if changed {
		r.changed()
	}
	return true
}

// carryOut brings the run of a stream to what the order says and returns it. Only Loop's goroutine gets here.
func (r *Runs) carryOut(o common.Order, h *held, run Run) Run {
	stage := ident.Stage(o.Stage)
	wanted := o.Wanted == wantedRunning || o.Wanted == wantedPaused
	if run != nil && (!wanted || stage > h.stage) {
		r.log.Info("stream ends here", "stream", o.Name, "stage", h.stage, "wanted", o.Wanted)
		run.End()
		run = nil
	}
	switch {
	case run != nil:
		run.Update(o)
	case wanted && stage > h.stage && r.mine(o):
		// A (stage, task) is started once, ever: a run of this stage that has ended does not come back in it.
		r.log.Info("stream starts here", "stream", o.Name, "stage", stage)
		h.stage = stage
		run = r.starter.Start(o, func() { r.changed() })
	}
	return run
}

// mine tells whether the placement has a task for this instance of this node.
func (r *Runs) mine(o common.Order) bool {
	return slices.ContainsFunc(o.Tasks, func(t common.PlacedTask) bool {
		return t.Node == string(r.place.Node) && t.Instance == r.place.Instance.String()
	})
}

func (r *Runs) endAll() {
	r.mu.Lock()
	all := slices.Collect(maps.Values(r.held))
	r.mu.Unlock()
	for _, h := range all {
		r.mu.Lock()
		run := h.run
		h.run = nil
		r.mu.Unlock()
		if run != nil {
			run.End()
		}
	}
}

// Reports returns what a beat says about all streams. A dropped stream without a run is forgotten once it was told.
func (r *Runs) Reports() (streams []common.StreamReport, tasks []common.TaskReport, updates []common.NodeUpdate) {
	r.mu.Lock()
	defer r.mu.Unlock()
	streams, tasks, updates = []common.StreamReport{}, []common.TaskReport{}, []common.NodeUpdate{}
	for _, id := range slices.Sorted(maps.Keys(r.held)) {
		h := r.held[id]
		if h.order.StreamID == 0 {
			continue // its first order is being obeyed
		}
		streams = append(streams, common.StreamReport{StreamID: h.order.StreamID, Term: h.order.Term, Generation: h.order.Generation, Stage: h.order.Stage})
		if h.run != nil {
			tasks = append(tasks, h.run.Reports()...)
			updates = append(updates, h.run.Updates()...)
		}
	}
	return streams, tasks, updates
}

// Order returns the order in force of the stream with the name, and its run (nil when there is none).
func (r *Runs) Order(name string) (common.Order, Run, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range r.held {
		if h.order.Name == name && h.order.Wanted != wantedDropped {
			return h.order, h.run, true
		}
	}
	return common.Order{}, nil, false
}
