package sim

import (
	"slices"

	"github.com/pondage/pondage/internal/ident"
)

// output is the log of a transactional sink: producers that fence each other, a marker for each vgroup written in the same
// transaction as the results (DESIGN §9).
type output struct {
	w       *world
	stage   map[ident.VGroup]ident.Stage
	epoch   map[ident.VGroup]int
	marker  map[ident.VGroup]ident.CheckpointID
	last    map[string]string // the newest record of each key
	records int
	doubled int // records of a final result that was there
}

func newOutput(w *world) *output {
	return &output{
		w: w, stage: map[ident.VGroup]ident.Stage{}, epoch: map[ident.VGroup]int{}, marker: map[ident.VGroup]ident.CheckpointID{}, last: map[string]string{},
	}
}

// initialise fences every producer before, whose transaction is aborted, unless the stage is old itself.
func (o *output) initialise(v ident.VGroup, stage ident.Stage) (epoch int, ok bool) {
	if stage < o.stage[v] {
		return 0, false
	}
	o.stage[v] = stage
	o.epoch[v]++
	return o.epoch[v], true
}

// end commits a transaction with all results up to checkpoint c; a fenced producer's is aborted.
func (o *output) end(v ident.VGroup, epoch int, c ident.CheckpointID, results []result) bool {
	if epoch != o.epoch[v] {
		o.w.reach(ProducerFenced)
		return false
	}
	o.records += len(results)
	for _, r := range results {
		if _, there := o.last[r.key]; there && !o.w.shape.atOnce {
			o.doubled++
		}
		o.last[r.key] = r.value
	}
	o.marker[v] = c
	return true
}

// interval is the results between two triggers.
type interval struct {
	end     ident.CheckpointID
	results []result
}

// producer is a task's end of the output.
type producer struct {
	s         *stage
	vgroup    ident.VGroup
	epoch     int        // 0: it has to be initialised, and the marker read
	intervals []interval // ended by a trigger and not known to be committed
	open      []result
}

func (p *producer) write(results []result) { p.open = append(p.open, results...) }

func (p *producer) trigger(c ident.CheckpointID) {
	p.intervals = append(p.intervals, interval{c, p.open})
	p.open = nil
}

// listed are the intervals that the manifest of c names.
func (p *producer) listed(c ident.CheckpointID) []interval {
	return slices.DeleteFunc(slices.Clone(p.intervals), func(i interval) bool { return i.end > c })
}

func (p *producer) idle() bool {
	return len(p.open) == 0 && !slices.ContainsFunc(p.intervals, func(i interval) bool { return len(i.results) > 0 })
}

// complete shows everything up to checkpoint c, unless the marker says that it is shown; done hears whether it is.
func (p *producer) complete(c ident.CheckpointID, done func(bool) error) {
	o := p.s.w.output
	p.s.w.later(word{what: "begin a transaction", to: p.s, say: func() error {
		if p.epoch == 0 {
			epoch, ok := o.initialise(p.vgroup, p.s.number)
			if !ok {
				return done(false)
			}
			p.epoch = epoch
		}
		marker := o.marker[p.vgroup]
		if marker >= c {
			if c > p.s.from {
				o.w.reach(MarkerDecides)
			}
			p.drop(marker)
			return done(true)
		}
		var results []result
		for _, i := range p.intervals {
			if i.end > marker && i.end <= c {
				results = append(results, i.results...)
			}
		}
		if c == p.s.from && len(results) > 0 {
			o.w.reach(CommittedByNext)
		}
		p.commit(c, results, done)
		return nil
	}})
}

// commit ends the transaction. An unclear answer is a third one beside yes and no: the marker decides.
func (p *producer) commit(c ident.CheckpointID, results []result, done func(bool) error) {
	w, epoch := p.s.w, p.epoch
	end := func() bool { return w.output.end(p.vgroup, epoch, c, results) }
	p.s.w.later(word{what: "end a transaction", to: p.s, late: func() { end() }, slow: true, say: func() error {
		const unclear = 8
		if w.chance(unclear) {
			if w.chance(2) {
				end()
			} else {
				w.later(word{what: "late end of a transaction", say: func() error { end(); return nil }})
			}
			p.epoch = 0
			return done(false)
		}
		if !end() {
			p.epoch = 0
			return done(false)
		}
		p.drop(c)
		return done(true)
	}})
}

func (p *producer) drop(c ident.CheckpointID) {
	p.intervals = slices.DeleteFunc(p.intervals, func(i interval) bool { return i.end <= c })
}
