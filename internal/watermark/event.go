package watermark

import "github.com/pondage/pondage/internal/ident"

// Event is what Step takes. Which of Source and Merge take it is said at each; the other returns an error.
type Event interface{ event() }

// Added (Source) brings a partition: at the start, or found while running. Its timer starts now.
type Added struct {
	Partition ident.Partition
	Next      ident.NextOffset
	Until     Bound
	Now       ident.MonoMs
}

// Fetched (Source) says that the broker has answered for a partition, before any row of the answer is observed. Now is
// when the answer came: an empty one proves silence up to then, and no longer.
type Fetched struct {
	Partition ident.Partition
	Records   int // 0: the answer was empty
	Lag       Lag
	Now       ident.MonoMs
}

// Processed (Source) says that all rows before Next have been observed, and that offsets without rows are passed.
type Processed struct {
	Partition ident.Partition
	Next      ident.NextOffset
}

// Flush (Source, Merge) says that everything observed so far is on its way: nothing is held back. Data lists the
// destinations that get rows with this flush.
type Flush struct {
	Data []ident.Task
	Now  ident.MonoMs
}

// Tick (Source, Merge) passes time; every TickEvery or more often.
type Tick struct{ Now ident.MonoMs }

// Answered (Source, Merge) is a destination's answer to a question. Repeated, old and foreign ones are ignored.
type Answered struct {
	From      ident.Task
	Question  Question
	Watermark ident.EventMs
	Now       ident.MonoMs
}

// Heard (Merge) is what the header of a block says, after the rows of the block have been merged.
type Heard struct {
	From      ident.Task
	Watermark ident.EventMs // WatermarkNone: nothing said, WatermarkEnd: finished
	Idle      bool
	Question  Question // 0: none
	Rows      int      // of the block; 0 for a watermark block
	Now       ident.MonoMs
}

func (Added) event()     {}
func (Fetched) event()   {}
func (Processed) event() {}
func (Flush) event()     {}
func (Tick) event()      {}
func (Answered) event()  {}
func (Heard) event()     {}

// Question numbers a task's questions for floors within a stage, from 1. It travels as header rt of a watermark block
// (or of the rows that it rides on) and comes back with the credits. 0 is no question.
type Question int64

// Bound is where a bounded run ends in a partition. The zero value is no bound.
type Bound struct {
	next ident.NextOffset
	set  bool
}

// Until returns the bound: the partition is done when its next offset reaches it.
func Until(next ident.NextOffset) Bound { return Bound{next: next, set: true} }

// Reached tells whether the position is at the bound; never without one.
func (b Bound) Reached(next ident.NextOffset) bool { return b.set && next >= b.next }

// Set tells whether there is a bound, and Next where it is.
func (b Bound) Set() bool { return b.set }

// Next returns the bound's offset; 0 without one.
func (b Bound) Next() ident.NextOffset { return b.next }

// Lag says why a partition without records is not idle: idle is the absence of records, not of reading.
type Lag string

// What is known of a partition's lag.
const (
	LagNone            Lag = ""                 // read to its end
	LagBehind          Lag = "behind"           // its end offset is ahead
	LagOpenTransaction Lag = "open transaction" // only an open transaction is ahead
	LagPaused          Lag = "paused"           // the reader stands still
	LagHistory         Lag = "history"          // history is being read first
)

// Effect is what Step returns; to be obeyed in the order returned (doc.go).
type Effect interface{ effect() }

// Wait (Source): rows of the partition must not be observed before Go names it. The shell keeps them and takes no more.
type Wait struct{ Partition ident.Partition }

// Go (Source): the partition has its floor; its rows may be observed.
type Go struct {
	Partition ident.Partition
	Floor     ident.EventMs
}

// PartitionDone (Source): the partition has reached its bound and need not be read any further.
type PartitionDone struct{ Partition ident.Partition }

// Stamp (Source, Merge), only and always the first effect of a Flush: the watermark of all its data blocks.
type Stamp struct{ Watermark ident.EventMs }

// Say (Source, Merge): a watermark block for one destination. Idle and Question go into its header.
type Say struct {
	To        ident.Task
	Watermark ident.EventMs
	Idle      bool
	Question  Question
}

// Advance (Merge): the task's watermark has risen; close windows up to it. WatermarkEnd closes all.
type Advance struct{ Watermark ident.EventMs }

// Answer (Merge): what the credits carry back to an upstream that asked.
type Answer struct {
	To        ident.Task
	Question  Question
	Watermark ident.EventMs
}

// Finished (Source, Merge), once: all partitions or upstreams are finished, and every destination has been told.
type Finished struct{}

func (Wait) effect()          {}
func (Go) effect()            {}
func (PartitionDone) effect() {}
func (Stamp) effect()         {}
func (Say) effect()           {}
func (Advance) effect()       {}
func (Answer) effect()        {}
func (Finished) effect()      {}
