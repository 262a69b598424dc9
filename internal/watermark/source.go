package watermark

import (
	"fmt"
	"slices"

	"github.com/pondage/pondage/internal/ident"
)

// Source is the watermark of one source task: partitions, idleness, floors, bounds, and what destinations were told.
type Source struct {
	delay, allowed, idleAfter int64
	tableAllowed              int64 // of a row ahead of its table; −1 with LateByWindow
	forgetAfter               int64 // how far behind the limit a table's clock is forgotten
	parts                     map[ident.Partition]*partition
	order                     []*partition // by number: effects come in a stable order
	restored                  map[ident.Partition]PartitionState
	told                      speaker
	// loose is true while rows have been observed that no flush has taken: the watermark must not pass them.
	loose bool
	// asleep is true once every partition is idle or done and one is idle; destinations hear of it in the same step.
	asleep bool
	// moved is true while destinations may have gone on without this task: they were told that it is idle, in this stage
	// or in the one of the restored checkpoint, and have not answered a question since.
	moved    bool
	asked    asking
	finished bool
	out      []Effect
}

// partition is what the source knows of one partition beside what its tracker sees.
type partition struct {
	Tracker
	number     ident.Partition
	next       ident.NextOffset
	until      Bound
	phase      phase
	lag        Lag
	lastRecord ident.MonoMs
}

// phase is where a partition stands in the minimum.
type phase uint8

const (
	silent  phase = iota // has not spoken in this stage: holds the minimum
	active               // in the minimum
	idle                 // said to be idle: not in the minimum
	waiting              // comes back, its floor is not known yet: holds the minimum
	done                 // at its bound: not in the minimum
)

var phaseNames = [...]string{silent: "silent", active: "active", idle: "idle", waiting: "waiting for its floor", done: "done"}

func (p phase) String() string { return phaseNames[p] }

// NewSource returns the watermark of a source task without partitions.
func NewSource(c SourceConfig) *Source {
	ttl := c.TableTTL
	if ttl == 0 {
		ttl = DefaultTableTTL
	}
	s := &Source{
		delay: millis(c.Delay), allowed: millis(c.AllowedLateness), tableAllowed: -1,
		idleAfter: max(millis(c.IdleTimeout), plus(millis(c.Delay), millis(IdleMargin))),
		parts:     map[ident.Partition]*partition{},
		restored:  map[ident.Partition]PartitionState{},
		told:      newSpeaker(c.Destinations, c.NextEnd),
	}
	if c.LateBy == LateByTable {
		s.tableAllowed = max(millis(ttl), s.allowed)
		s.forgetAfter = plus(plus(s.tableAllowed, s.tableAllowed), millis(c.WindowSpan))
	}
	if c.Restored != nil {
		s.restore(c.Restored)
	}
	return s
}

// Watermark returns the highest watermark that any destination may have been told. It never falls.
func (s *Source) Watermark() ident.EventMs { return s.told.watermark }

// Track returns the tracker of a partition, for the hot loop; nil when the partition was never Added.
func (s *Source) Track(p ident.Partition) *Tracker {
	if part := s.parts[p]; part != nil {
		return &part.Tracker
	}
	return nil
}

// Step advances the watermark by one event. The effects are to be obeyed in the order returned; the slice is valid until
// the next call. An error is a mistake of the shell (an unknown partition or destination, an event of Merge).
func (s *Source) Step(e Event) ([]Effect, error) {
	s.out = s.out[:0]
	var err error
	switch e := e.(type) {
	case Added:
		err = s.add(e)
	case Fetched:
		err = s.fetched(e)
	case Processed:
		err = s.processed(e)
	case Answered:
		s.answered(e)
	case Flush:
		s.flush(e)
	case Tick:
		s.tick(e.Now)
	default:
		err = fmt.Errorf("source watermark: %T is no event of a source task", e)
	}
	return s.out, err
}

func (s *Source) emit(e Effect) { s.out = append(s.out, e) }

func (s *Source) part(p ident.Partition) (*partition, error) {
	if part := s.parts[p]; part != nil {
		return part, nil
	}
	return nil, fmt.Errorf("source watermark: partition %d was never added", p)
}

// add takes a partition in. It holds the minimum until it speaks or has been silent for the idle timeout, also when it
// was idle in the restored checkpoint; only one that is found while the task sleeps sleeps too.
func (s *Source) add(e Added) error {
	if s.parts[e.Partition] != nil {
		return fmt.Errorf("source watermark: partition %d was added twice", e.Partition)
	}
	p := &partition{number: e.Partition, next: e.Next, until: e.Until, lastRecord: e.Now, Tracker: newTracker(s)}
	if r, ok := s.restored[e.Partition]; ok {
		p.load(r)
	}
	if s.asleep {
		p.phase = idle
	}
	s.parts[e.Partition] = p
	i, _ := slices.BinarySearchFunc(s.order, e.Partition, func(p *partition, n ident.Partition) int { return int(p.number - n) })
	s.order = slices.Insert(s.order, i, p)
	s.reachBound(p)
	return nil
}

// processed moves a partition's position; at its bound it is done.
func (s *Source) processed(e Processed) error {
	p, err := s.part(e.Partition)
	if err != nil {
		return err
	}
	p.next = max(p.next, e.Next)
	s.reachBound(p)
	return nil
}

func (s *Source) reachBound(p *partition) {
	if p.phase == done || !p.until.Reached(p.next) {
		return
	}
	p.phase = done
	s.emit(PartitionDone{Partition: p.number})
}

// minimum is the watermark over the partitions that are in it, and whether there is any. WatermarkEnd when all are done.
func (s *Source) minimum() (w ident.EventMs, held bool) {
	low, allDone := ident.WatermarkEnd, len(s.order) > 0
	for _, p := range s.order {
		switch p.phase {
		case done:
		case idle:
			allDone = false
		case silent, active, waiting:
			allDone, held = false, true
			low = min(low, p.watermark())
		}
	}
	return low, held || allDone
}

// watermark of a partition: its tracker's limit, which the floor is part of; none before it has spoken in this stage.
func (p *partition) watermark() ident.EventMs {
	if p.phase == silent {
		return ident.WatermarkNone
	}
	return ident.EventMs(p.limit)
}

// flush takes the watermark that everything observed so far allows, and gives it to the rows and to whom it concerns.
func (s *Source) flush(e Flush) {
	s.loose = false
	s.refresh()
	s.emit(Stamp{Watermark: s.told.watermark})
	s.out = s.told.flush(s.out, e)
	s.finish()
}

// tick tells destinations what no data has told them. While rows are loose the watermark stays where the last flush
// left it.
func (s *Source) tick(now ident.MonoMs) {
	if !s.loose {
		s.refresh()
	}
	s.out = s.told.tick(s.out, now)
	s.finish()
}

// refresh raises the watermark to the present minimum and finds out whether the task sleeps.
func (s *Source) refresh() {
	if w, ok := s.minimum(); ok {
		s.told.watermark = max(s.told.watermark, w)
	}
	s.asleep = s.sleeps()
	s.moved = s.moved || s.asleep
	s.told.idle = s.asleep
}

// sleeps tells whether no partition is in the minimum and one is idle.
func (s *Source) sleeps() bool {
	oneIdle := false
	for _, p := range s.order {
		switch p.phase {
		case idle:
			oneIdle = true
		case silent, active, waiting:
			return false
		case done:
		}
	}
	return oneIdle
}

func (s *Source) finish() {
	if !s.finished && s.told.watermark == ident.WatermarkEnd && s.told.allTold() {
		s.finished = true
		s.emit(Finished{})
	}
}
