package node

import (
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/pondage/pondage/internal/api/common"
	"github.com/pondage/pondage/internal/failpoint"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/telemetry"
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

// Starter starts runs; its methods are called from several goroutines. changed is to be called, from any goroutine, when a report says something new.
type Starter interface {
	Start(o common.Order, changed func()) Run
	// Drop says that a stream is dropped and nothing of it runs here any more: what this node keeps of it may go. It does
	// not block.
	Drop(id ident.StreamID)
}

// Runs holds the order in force and the run of each stream. Orders of a stream are obeyed one after the other, those of
// different streams beside each other, and no beat waits for any: a run that takes its time to end holds up its own stream.
type Runs struct {
	place   ident.Place
	starter Starter
	log     *slog.Logger
	changed func()

	wake chan struct{}

	obeying sync.WaitGroup // a goroutine for each stream with orders to obey

	mu   sync.Mutex
	held map[ident.StreamID]*held
	// begun is the highest stage of each stream that a run was started in. It outlives what is held: a stage that was
	// started does not start again because its order comes late, behind lists without it (traps T21, T41).
	begun map[ident.StreamID]ident.Stage
}

// held is what this node has of a stream.
type held struct {
	latest common.Order // the newest one told; zero before the first
	obeyed common.Order // what the run was last brought to; zero before the first
	asked  bool         // latest is to be obeyed
	busy   bool         // a goroutine obeys orders of the stream
	run    Run          // nil: none
	// absent counts the full lists in a row, of the term, that leave the stream out.
	absent int
	term   ident.Term
}

// NewRuns returns the runs of the node in its present instance; none yet.
func NewRuns(place ident.Place, s Starter, log *slog.Logger) *Runs {
	return &Runs{place: place, starter: s, log: log, changed: func() {}, wake: make(chan struct{}, 1), held: map[ident.StreamID]*held{}, begun: map[ident.StreamID]ident.Stage{}}
}

// Obey takes orders; Loop carries them out. An order that is not newer than the newest one told changes nothing.
func (r *Runs) Obey(orders []common.Order) {
	r.mu.Lock()
	for _, o := range orders {
		id := ident.StreamID(o.StreamID)
		h := r.held[id]
		if h == nil {
			h = &held{}
			r.held[id] = h
		}
		if h.latest.StreamID == 0 || newer(o, h.latest) {
			h.latest, h.asked = o, true
		}
	}
	r.mu.Unlock()
	r.wakeUp()
}

// absentLists is how many full lists in a row must leave a stream out before it counts as gone: one may have been made
// before the order that brought the stream, and arrive behind it (DESIGN §11, orphans).
const absentLists = 2

// ObeyAll takes the full list of the node's orders. A stream that it leaves out, twice in a row under one term, is not
// this node's any more: its run ends, then it is forgotten.
func (r *Runs) ObeyAll(term ident.Term, orders []common.Order) {
	r.Obey(orders)
	listed := map[ident.StreamID]bool{}
	for _, o := range orders {
		listed[ident.StreamID(o.StreamID)] = true
	}
	r.mu.Lock()
	for id, h := range r.held {
		if listed[id] || h.term != term {
			h.absent, h.term = 0, term
		}
		if listed[id] {
			continue
		}
		h.absent++
		if h.absent < absentLists || h.busy || h.asked {
			continue
		}
		if h.run == nil {
			delete(r.held, id)
			continue
		}
		r.stop(id, h, "a stream that has no order for this node any more is stopped")
	}
	r.mu.Unlock()
	r.wakeUp()
}

// StopOrphans ends the runs of streams that the metastore does not know.
func (r *Runs) StopOrphans(ids []ident.StreamID) {
	r.mu.Lock()
	for _, id := range ids {
		if h := r.held[id]; h != nil && h.run != nil {
			r.stop(id, h, "a stream that the metastore does not know is stopped")
		}
	}
	r.mu.Unlock()
	r.wakeUp()
}

// stop asks for the end of a run, under r.mu. The order keeps its place among the others: a later one may want it again,
// in a higher stage.
func (r *Runs) stop(id ident.StreamID, h *held, why string) {
	r.log.Warn(why, telemetry.KeyStream, h.latest.Name, "stream_id", id)
	h.latest.Wanted, h.asked = wantedStopped, true
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

// Loop has orders obeyed until done is closed, then ends all runs.
func (r *Runs) Loop(done <-chan struct{}) {
	for {
		select {
		case <-done:
			r.obeying.Wait() // what is asked from now on nobody obeys
			r.endAll()
			return
		case <-r.wake:
			r.obeyAsked()
		}
	}
}

// obeyAsked gives each stream with orders to obey a goroutine, where it has none.
//
// An order that comes while its stream's goroutine is about to end is not lost: the goroutine looks for one and gives up
// busy under one lock, so that either it sees the order, or the wake-up behind the order finds the stream idle.
func (r *Runs) obeyAsked() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(r.held)) {
		if h := r.held[id]; h.asked && !h.busy {
			h.busy = true
			r.obeying.Go(func() {
				for r.obeyNext(h) {
				}
			})
		}
	}
}

// obeyNext obeys the newest order of a busy stream; false: there is none to obey, and the stream is busy no longer.
func (r *Runs) obeyNext(h *held) bool {
	r.mu.Lock()
	if !h.asked {
		h.busy = false
		r.mu.Unlock()
		return false
	}
	h.asked = false
	o, run := h.latest, h.run
	begun := r.begun[ident.StreamID(o.StreamID)]
	r.mu.Unlock()

	run = r.carryOut(o, h, run, begun)

	r.mu.Lock()
	changed := h.obeyed.Generation != o.Generation || h.obeyed.Stage != o.Stage || h.obeyed.Wanted != o.Wanted
	h.obeyed, h.run = o, run
	r.mu.Unlock()
	if changed {
		r.changed()
	}
	return true
}

// carryOut brings the run of a stream to what the order says and returns it; begun is the highest stage that one was started
// in. Only the stream's goroutine gets here.
func (r *Runs) carryOut(o common.Order, h *held, run Run, begun ident.Stage) Run {
	stage := ident.Stage(o.Stage)
	wanted := o.Wanted == wantedRunning || o.Wanted == wantedPaused
	if run != nil && (!wanted || stage > begun) {
		r.log.Info("stream ends here", telemetry.KeyStream, o.Name, telemetry.KeyStage, begun, "wanted", o.Wanted)
		run.End()
		run = nil
	}
	switch {
	case o.Wanted == wantedDropped && h.obeyed.Wanted != wantedDropped:
		r.starter.Drop(ident.StreamID(o.StreamID))
	case run != nil && stage == begun && failpoint.On(failpoint.RestartSameStage):
		run.End()
		run = r.starter.Start(o, func() { r.changed() })
	case run != nil && stage == begun:
		run.Update(o)
	case wanted && stage > begun && r.mine(o):
		// A (stage, task) is started once, ever: a run of this stage that has ended does not come back in it.
		r.log.Info("stream starts here", telemetry.KeyStream, o.Name, telemetry.KeyStage, stage)
		r.mu.Lock()
		r.begun[ident.StreamID(o.StreamID)] = stage
		r.mu.Unlock()
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

// endAll ends every run, all at once: one that takes its time holds up nobody's.
func (r *Runs) endAll() {
	r.mu.Lock()
	var runs []Run
	for _, h := range r.held {
		if h.run != nil {
			runs = append(runs, h.run)
			h.run = nil
		}
	}
	r.mu.Unlock()
	var ending sync.WaitGroup
	for _, run := range runs {
		ending.Go(run.End)
	}
	ending.Wait()
}

// Reports returns what a beat says about all streams.
func (r *Runs) Reports() (streams []common.StreamReport, tasks []common.TaskReport, updates []common.NodeUpdate) {
	r.mu.Lock()
	defer r.mu.Unlock()
	streams, tasks, updates = []common.StreamReport{}, []common.TaskReport{}, []common.NodeUpdate{}
	for _, id := range slices.Sorted(maps.Keys(r.held)) {
		h := r.held[id]
		if h.obeyed.StreamID == 0 {
			continue // its first order is being obeyed
		}
		streams = append(streams, common.StreamReport{StreamID: h.obeyed.StreamID, Term: h.obeyed.Term, Generation: h.obeyed.Generation, Stage: h.obeyed.Stage})
		if h.run != nil {
			tasks = append(tasks, h.run.Reports()...)
			updates = append(updates, h.run.Updates()...)
		}
	}
	return streams, tasks, updates
}

// Order returns the order in force of the stream with the name, and its run (nil when there is none). Of two streams
// with the name, one of which is an orphan, it is the younger.
func (r *Runs) Order(name string) (common.Order, Run, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found *held
	for _, h := range r.held {
		if h.obeyed.Name == name && h.obeyed.Wanted != wantedDropped && (found == nil || h.obeyed.StreamID > found.obeyed.StreamID) {
			found = h
		}
	}
	if found == nil {
		return common.Order{}, nil, false
	}
	return found.obeyed, found.run, true
}
