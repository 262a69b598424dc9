package sim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/dispatch"
	"github.com/pondage/pondage/internal/failpoint"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/plan"
	"github.com/pondage/pondage/internal/spec"
)

const streamID ident.StreamID = 1

const (
	partitions = 2
	vgroups    = 2
	tickMs     = 100 // how often a core hears of the time
)

// message is one message of a log, as a broker keeps it.
type message struct {
	header block.Header
	value  []byte
}

// word is something on its way: a request, an answer, a step of a transaction.
type word struct {
	what string
	to   *stage // void when this is over; nil: never
	say  func() error
	late func() // what may still happen of it when its stage is over; nil: nothing
	slow bool   // others overtake it mostly: the end of a transaction
}

// world is everything.
type world struct {
	rand   *rand.Rand
	faults *failpoint.Plan
	shape  shape
	plan   *plan.Plan
	now    ident.MonoMs
	input
	logs  map[ident.Task][]message
	words []word
	meta  *metastore
	store *store
	// coordinators that run, the one that leads last: the others have not heard yet that they do not.
	coordinators []*coordinator
	told         ident.Term // the highest that workers were told
	stage        *stage
	sleepers     []*stage // of dead timelines, still running somewhere
	table        *table
	output       *output
	published    published
	crashes      int // that may still come
	stages       int
	batches      int // of results, so far
	broken       []string
	reached      map[Reach]int
}

// shape is what a seed decides about the stream.
type shape struct {
	bounded bool // it ends with its records; else every window is closed by silence
	atOnce  bool // results are revised
}

func newWorld(r *rand.Rand, faults *failpoint.Plan) (*world, error) {
	const mostCrashes = 4
	w := &world{
		rand: r, faults: faults, shape: shape{bounded: r.IntN(3) > 0, atOnce: r.IntN(2) > 0}, logs: map[ident.Task][]message{},
		crashes: r.IntN(mostCrashes + 1), reached: map[Reach]int{},
	}
	var err error
	if w.plan, err = w.shape.plan(); err != nil {
		return nil, err
	}
	w.input = makeInput(r)
	w.meta, w.store = newMetastore(w), &store{w: w, parts: map[ident.CheckpointID]map[ident.Task]*snapshot{}}
	w.table, w.output, w.published = newTable(w), newOutput(w), published{w: w}
	w.takeOver()
	if err := w.meta.raise(1); err != nil {
		return nil, err
	}
	return w, w.deploy(w.meta.generation, w.meta.stage, w.meta.start)
}

// plan compiles the stream. What it counts does not matter, but that every result depends on every row of its window.
func (s shape) plan() (*plan.Plan, error) {
	const source = `{"name":"readings","format":"json","kafka":{"topic":"readings"},"table":"k","event_time":"ts","max_future":null,
		"columns":[{"name":"v","type":"float64"}]}`
	const stream = `{"name":"sums","source":"readings","start":"earliest",%s%s"partition_by":["tbname"],"watermark":"1s","where":"v >= 0",
		"idle_timeout":"6s","close_idle_after":"8s",
		"select":[{"expr":"tbname","as":"k"},{"expr":"_wstart","as":"at"},{"expr":"count(*)","as":"n"},{"expr":"sum(v)","as":"s"}],
		"window":{"kind":"interval","size":"10s","sliding":"5s"}}`
	src, err := spec.ParseSource([]byte(source))
	if err != nil {
		return nil, err
	}
	var until, trigger string
	if s.bounded {
		until = `"until":"latest",`
	}
	if s.atOnce {
		trigger = `"trigger":"at_once",`
	}
	st, err := spec.ParseStream(fmt.Appendf(nil, stream, until, trigger))
	if err != nil {
		return nil, err
	}
	return plan.Build(src, st, plan.Env{Cluster: "sim", VGroups: vgroups, Zone: time.LoadLocation})
}

// on tells whether a misbehaviour is to be done now.
func (w *world) on(p failpoint.Point) bool { return w.faults.On(p) }

// chance is true once in so many times.
func (w *world) chance(in int) bool { return w.rand.IntN(in) == 0 }

// reach notes that a run has come to a place that seeds are for.
func (w *world) reach(r Reach) { w.reached[r]++ }

// violated notes that something does not hold that always must (DESIGN §16).
func (w *world) violated(invariant, format string, args ...any) {
	const most = 5 // the first ones say it
	if len(w.broken) < most {
		w.broken = append(w.broken, invariant+": "+fmt.Sprintf(format, args...))
	}
}

// tell puts a word on its way between two processes: it may be lost, doubled, and overtaken by others.
func (w *world) tell(what string, to *stage, say func() error) {
	if w.chance(20) {
		return
	}
	w.later(word{what: what, to: to, say: say})
	if w.chance(10) {
		w.later(word{what: what, to: to, say: say})
	}
}

// later puts something on its way that is neither lost nor doubled.
func (w *world) later(x word) { w.words = append(w.words, x) }

// turn lets one thing happen.
func (w *world) turn() error {
	switch n := w.rand.IntN(1000); {
	case n < 50:
		s := w.someStage()
		return w.ends(s, s.read())
	case n < 150:
		s := w.someStage()
		return w.ends(s, s.poll())
	case n < 890:
		return w.deliver()
	case n < 960:
		return w.tick()
	case n < 962 && len(w.sleepers) > 0:
		w.sleepers[0].over = true
		w.sleepers = w.sleepers[1:]
	case n < 967:
		w.meta.ask()
	case n < 968 && w.chance(8):
		w.takeOver()
	case n < 969 && w.chance(8):
		w.someStage().cutOff()
	case n >= 990 && w.crashes > 0 && w.chance(4):
		w.crashes--
		return w.crash()
	}
	return nil
}

// someStage is the stage, or now and then one of a dead timeline.
func (w *world) someStage() *stage {
	if len(w.sleepers) > 0 && w.chance(4) {
		return w.sleepers[w.rand.IntN(len(w.sleepers))]
	}
	return w.stage
}

// ends takes the error of a task: the task has failed, and its stage needs a reset.
func (w *world) ends(s *stage, err error) error {
	if err != nil {
		w.violated("a task of stage "+fmt.Sprint(s.number), "%v", err)
		s.lost = true
	}
	return nil
}

// deliver brings one word of those on their way, any.
func (w *world) deliver() error {
	if len(w.words) == 0 {
		return nil
	}
	i, last := w.rand.IntN(len(w.words)), len(w.words)-1
	x := w.words[i]
	if x.slow && !w.chance(4) {
		return nil
	}
	w.words[i], w.words = w.words[last], w.words[:last]
	if x.to == nil {
		return x.say()
	}
	if x.to.over {
		if x.late != nil && w.chance(2) {
			x.late()
		}
		return nil
	}
	if err := x.say(); err != nil {
		return w.ends(x.to, fmt.Errorf("%s: %w", x.what, err))
	}
	return nil
}

// tick passes time to everybody.
func (w *world) tick() error {
	w.now += tickMs
	for _, s := range append([]*stage{w.stage}, w.sleepers...) {
		if !s.over {
			if err := w.ends(s, s.tick()); err != nil {
				return err
			}
		}
	}
	for _, c := range w.coordinators {
		c.step()
	}
	return nil
}

// takeOver makes another coordinator lead. The one before goes on until it hears of it.
func (w *world) takeOver() {
	w.meta.term++
	w.coordinators = append(w.coordinators, &coordinator{w: w, term: w.meta.term})
}

// leader is the coordinator that workers report to.
func (w *world) leader() *coordinator { return w.coordinators[len(w.coordinators)-1] }

// crash is the end of a process: its tasks are gone, or go on somewhere for a while without hearing of it.
func (w *world) crash() error {
	if w.stage.over || w.stage.lost {
		return nil
	}
	if w.on(failpoint.RestartSameStage) {
		return w.stage.restartOne()
	}
	w.stage.lost = true
	w.stage.over = w.chance(3)
	return nil
}

// deploy starts the tasks of a stage from a checkpoint; 0: from the start. An order that was carried out, or that a newer
// one has overtaken, does nothing.
func (w *world) deploy(generation int, number ident.Stage, from ident.CheckpointID) error {
	if w.stage != nil {
		if generation <= w.stage.generation {
			return nil
		}
		w.stage.over = w.stage.over || w.chance(3)
		if !w.stage.over {
			w.sleepers = append(w.sleepers, w.stage)
		}
	}
	s, err := newStage(w, generation, number, from)
	if err != nil {
		return err
	}
	w.stage = s
	w.stages++
	return w.ends(s, s.start())
}

// finished tells whether every window is closed, and every result shown.
func (w *world) finished() bool {
	if w.stage.over || w.stage.lost {
		return false
	}
	for _, src := range w.stage.sources {
		if len(src.rest()) > 0 {
			return false
		}
	}
	for _, r := range w.stage.receivers {
		if !r.closed() || !r.session.idle() || !r.producer.idle() {
			return false
		}
	}
	return true
}

// place is where every task runs: the fence must hold also where a node goes on in place.
var place = ident.Place{Node: "sim", Instance: ident.Instance{Counter: 1}}

// self names a task in the stage.
func self(t ident.Task, stage ident.Stage) dispatch.Self {
	return dispatch.Self{Stream: streamID, Stage: stage, Task: t, Place: place}
}
