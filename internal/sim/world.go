package sim

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"time"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/dispatch"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/plan"
	"github.com/pondage/pondage/internal/spec"
)

// The stream: what it counts does not matter, but that every result depends on every row of its window.
const sourceSpec = `{"name":"readings","format":"json","kafka":{"topic":"readings"},"table":"k","event_time":"ts","max_future":null,
	"columns":[{"name":"v","type":"float64"}]}`

const streamSpec = `{"name":"sums","source":"readings","start":"earliest","until":"latest","partition_by":["tbname"],"watermark":"1s",
	"select":[{"expr":"tbname","as":"k"},{"expr":"_wstart","as":"at"},{"expr":"count(*)","as":"n"},{"expr":"sum(v)","as":"s"}],
	"window":{"kind":"interval","size":"10s","sliding":"5s"}}`

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

// word is something on its way between the coordinator and the tasks, or from the outside to a task. It is void when
// its stage is over, unless it says otherwise.
type word struct {
	what  string // for errors
	stage *stage
	say   func() error
}

// world is everything.
type world struct {
	rand     *rand.Rand
	sabotage Sabotage
	plan     *plan.Plan
	now      ident.MonoMs
	records  [partitions][][]byte
	logs     map[ident.Task][]message
	words    []word
	zombies  []func() // appends that a dead stage had under way
	control  *coordinator
	stage    *stage
	sinks    map[ident.VGroup]*sink
	crashes  int // that may still come
	place    ident.Place
}

func newWorld(r *rand.Rand, s Sabotage) (*world, error) {
	src, err := spec.ParseSource([]byte(sourceSpec))
	if err != nil {
		return nil, err
	}
	st, err := spec.ParseStream([]byte(streamSpec))
	if err != nil {
		return nil, err
	}
	p, err := plan.Build(src, st, plan.Env{Cluster: "sim", VGroups: vgroups, Zone: time.LoadLocation})
	if err != nil {
		return nil, err
	}
	const mostCrashes = 4
	w := &world{
		rand: r, sabotage: s, plan: p, logs: map[ident.Task][]message{}, sinks: map[ident.VGroup]*sink{}, crashes: r.IntN(mostCrashes + 1),
		place: ident.Place{Node: "sim", Instance: ident.Instance{Counter: 1}},
	}
	for v := range vgroups {
		w.sinks[ident.VGroup(v)] = &sink{now: map[string]string{}, at: map[ident.CheckpointID]map[string]string{0: {}}}
	}
	w.makeRecords()
	w.control = &coordinator{w: w, next: 1, store: map[ident.CheckpointID]map[ident.Task]*snapshot{}}
	return w, w.begin(1, 0)
}

// makeRecords writes some hundred readings of a few tables, up to a second out of order, to each partition.
func (w *world) makeRecords() {
	const most, tables, stepMs, disorderMs = 300, 5, 400, 900
	for p := range w.records {
		for i := range 1 + w.rand.IntN(most) {
			ts := 1_000_000 + i*stepMs - w.rand.IntN(disorderMs)
			// Sums of such values depend on every bit.
			v := float64(w.rand.IntN(1<<20)) * []float64{1, 1e12, 1e-9}[w.rand.IntN(3)]
			w.records[p] = append(w.records[p], fmt.Appendf(nil, `{"k":"t%d","ts":%d,"v":%g}`, w.rand.IntN(tables), ts, v))
		}
	}
}

// chance is true once in so many times.
func (w *world) chance(in int) bool { return w.rand.IntN(in) == 0 }

// tell puts a word on its way: it may be lost, doubled, and overtaken by others.
func (w *world) tell(what string, s *stage, say func() error) {
	if w.chance(20) {
		return
	}
	w.words = append(w.words, word{what, s, say})
	if w.chance(10) {
		w.words = append(w.words, word{what, s, say})
	}
}

// later puts something on its way that is neither lost nor doubled: within a process.
func (w *world) later(what string, s *stage, say func() error) {
	w.words = append(w.words, word{what, s, say})
}

// turn lets one thing happen.
func (w *world) turn() error {
	switch n := w.rand.IntN(100); {
	case n < 5:
		return w.stage.sources[w.rand.IntN(len(w.stage.sources))].read()
	case n < 15:
		return w.stage.receivers[w.rand.IntN(len(w.stage.receivers))].poll()
	case n < 90:
		return w.deliver()
	case n < 97:
		w.now += tickMs
		if err := w.stage.tick(); err != nil {
			return err
		}
		return w.control.step()
	case n < 99 && len(w.zombies) > 0:
		late := w.zombies[0]
		w.zombies = w.zombies[1:]
		late()
		return nil
	case n == 99 && w.crashes > 0 && w.chance(4):
		w.crashes--
		return w.reset("crash")
	}
	return nil
}

// deliver brings one word of those on their way, any.
func (w *world) deliver() error {
	if len(w.words) == 0 {
		return nil
	}
	i := w.rand.IntN(len(w.words))
	x := w.words[i]
	w.words = append(w.words[:i], w.words[i+1:]...)
	if x.stage != nil && x.stage != w.stage {
		return nil // a dead process hears nothing
	}
	if err := x.say(); err != nil {
		return fmt.Errorf("%s: %w", x.what, err)
	}
	return nil
}

// reset is the end of the stage and the beginning of the next one, from the newest complete checkpoint.
func (w *world) reset(string) error {
	w.control.reset()
	number := w.stage.number + 1
	if w.sabotage == RestartSameStage {
		number = w.stage.number
	}
	from := w.control.complete
	if w.sabotage == ReuseCheckpoint {
		from = w.control.begun
	}
	return w.begin(number, from)
}

// begin starts the tasks of a stage from a checkpoint; 0: from the start.
func (w *world) begin(number ident.Stage, from ident.CheckpointID) error {
	if w.stage != nil {
		w.zombies = append(w.zombies, w.stage.underway...)
	}
	if w.sabotage != SkipFence {
		for _, s := range w.sinks {
			s.restore(from)
		}
	}
	s, err := newStage(w, number, from)
	if err != nil {
		return err
	}
	w.stage = s
	w.control.stages++
	return s.start()
}

// finished tells whether every receiving task has closed every window, and nothing can undo it.
func (w *world) finished() bool {
	for _, r := range w.stage.receivers {
		if !r.finished {
			return false
		}
	}
	return true
}

// sink is a table of one vgroup that is upserted: what it holds now, and held at each trigger that its task has passed
// (package pgtable keeps before-images for that).
type sink struct {
	now     map[string]string
	at      map[ident.CheckpointID]map[string]string
	doubled int // writes of a key that was there
}

func (s *sink) trigger(c ident.CheckpointID) { s.at[c] = maps.Clone(s.now) }

func (s *sink) restore(c ident.CheckpointID) {
	if s.at[c] != nil {
		s.now = maps.Clone(s.at[c])
	}
}

// self names a task in the stage.
func (w *world) self(t ident.Task, stage ident.Stage) dispatch.Self {
	return dispatch.Self{Stream: streamID, Stage: stage, Task: t, Place: w.place}
}
