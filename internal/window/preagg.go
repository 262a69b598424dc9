package window

import (
	"github.com/pondage/pondage/internal/agg"
	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/ident"
)

// PreAggConfig configures the source side.
type PreAggConfig struct {
	Windows *Windows
	Keys    block.Schema // group key columns, in order; empty: one group
	Aggs    []agg.Spec
	Args    []block.Type // argument types, by agg.Spec.Arg
	// Route returns the destination of a new group, given the key columns and the row that brought it. It is asked once
	// per group for as long as the group is remembered.
	Route func(keys []*block.Column, row int) ident.VGroup
	// TargetBytes is the size in memory that a batch of partials aims at; 0 is DefaultTargetBytes.
	TargetBytes int
	// MaxGroups is how many groups are remembered across flushes; 0 is DefaultMaxGroups.
	MaxGroups int
	// Seed seeds the hash of the group table. Results do not depend on it; a random one keeps whoever chooses the keys
	// from choosing collisions.
	Seed uint64
}

// Rows are the rows for PreAgg.Add, as columns. All columns are indexed by row number.
type Rows struct {
	Keys []*block.Column // evaluated group keys
	Args []*block.Column // evaluated aggregate arguments
	Ts   []int64         // event times, ms
	// Partition and Offset order rows of equal time for first and last; nil when the stream has neither.
	Partition, Offset []int64
	// OpenFrom is, per row, the lowest window end that is still open for the row: the row counts only in windows that
	// end at or after it. nil: every window of every row is open.
	OpenFrom []ident.EventMs
	// Sel lists the rows to add, rising. They lie in a window (Windows.Holds) and are not late.
	Sel []int32
}
