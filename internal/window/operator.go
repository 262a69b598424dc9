package window

import (
	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/ident"
)

// Operator is the aggregating side of a windowed stream, whatever the kind of its windows. State is the one for fixed
// and calendar windows; session, state, event and count windows stand beside it.
type Operator interface {
	// Merge takes a batch of partials. An error (ErrClosedWindow, ErrPartial, wrapped) is corruption; the batch may be
	// half merged then.
	Merge(partials *block.Batch) error
	// Advance moves the watermark to w, emits what is due by the trigger, and purges what nothing can change any more.
	// A w that is not higher emits only what changed.
	Advance(w ident.EventMs, emit func(*Emission))
	// Changed emits the windows that changed since they were emitted last: with EmitOnChange all, with EmitOnClose
	// those that are closed. Before them it tells of those that have opened.
	Changed(emit func(*Emission))
	// NextEnd returns the end of the window that closes next; ok is false when none is open.
	NextEnd() (end ident.EventMs, ok bool)
	// OpenWindows describes the open windows that hold rows, earliest end first, at most limit of them.
	OpenWindows(limit int) []Open
	// Stats returns the current sizes.
	Stats() Stats
	// Bound bounds the memory that is used, and Relieve brings it back below that (State.Bound).
	Bound(limit int, open func() (Spill, error))
	Relieve() error
	Checkpointed
}

// Checkpointed is the part of an operator that checkpoints use. Freezing comes after Changed, when nothing waits to be
// emitted.
type Checkpointed interface {
	// Track makes the operator remember what changes, for FreezeTouched. Before the first Merge; what a restore has
	// brought counts as unchanged.
	Track()
	// FreezeAll freezes everything, FreezeTouched what has changed since the last freeze. GiveBack says that what was
	// frozen has not become durable.
	FreezeAll() *Frozen
	FreezeTouched() *Frozen
	GiveBack(f *Frozen)
	// Restore begins to bring a new operator back to a watermark and to what files hold.
	Restore(watermark ident.EventMs) *Restoring
}

// Open describes an open window for explain-window.
type Open struct {
	Start, End ident.EventMs
	Rows       int64
	Groups     int
	// Partial says that an aggregate has no value for this window, which was open when it came into the query, at the
	// watermark PartialSince.
	Partial      bool
	PartialSince ident.EventMs
}

// Stats are the sizes of an operator's state.
type Stats struct {
	Groups   int // groups with rows in a pane that is kept
	Panes    int // panes kept
	Cells    int // (group, pane) pairs kept
	MemBytes int // memory held, used or not
}

// Schema returns the columns of an Emission: the group keys, the window columns, then one column per aggregate, named
// by AggColumn.
func Schema(c StateConfig) block.Schema {
	s := append(block.Schema{}, c.Keys...)
	s = append(s, block.Field{Name: ColumnStart, Type: block.Timestamp}, block.Field{Name: ColumnEnd, Type: block.Timestamp}, block.Field{Name: ColumnRows, Type: block.Int64})
	for i, a := range c.Aggs {
		s = append(s, block.Field{Name: AggColumn(i), Type: a.Out()})
	}
	return s
}
