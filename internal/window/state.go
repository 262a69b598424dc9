package window

import (
	"errors"
	"math"

	"github.com/pondage/pondage/internal/agg"
	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/ident"
)

// Trigger says when a window is emitted.
type Trigger uint8

const (
	// EmitOnClose emits a window once, when the watermark has passed its end, and again when a late row changes it.
	EmitOnClose Trigger = iota
	// EmitOnChange emits a window whenever it has changed (AT_ONCE).
	EmitOnChange
)

// KeepForever, as StateConfig.Keep, never purges a window.
const KeepForever ident.EventMs = math.MaxInt64

// StateConfig configures the aggregating side.
type StateConfig struct {
	Windows *Windows
	Keys    block.Schema
	Aggs    []agg.Spec
	Args    []block.Type // argument types, by agg.Spec.Arg
	Trigger Trigger
	// Keep is how long a closed window is kept for late rows, in event time: the allowed lateness, with
	// `late_by: table` the larger of it and table_ttl.
	Keep ident.EventMs
	// BatchRows bounds the rows of an emitted batch; 0 is DefaultBatchRows.
	BatchRows int
	// Seed is as in PreAggConfig.
	Seed uint64
}

// Emission is a batch of emitted windows. It and its columns are valid until emit returns.
type Emission struct {
	Batch *block.Batch // columns as Schema
	// Errors are results that have no value (it is null in the batch), by row. Their rows are data errors: for the
	// dead-letter topic, not for the sink.
	Errors []agg.ResultError
}

// The columns that every aggregating operator emits between the group keys and the aggregates.
const (
	ColumnStart = "_wstart"
	ColumnEnd   = "_wend"
	ColumnRows  = "_wrows"
)

// ErrClosedWindow is what Merge returns for a partial of a window that is closed and purged: the sender broke the
// promise that its channel's watermark holds the window open. It is corruption, not lateness.
var ErrClosedWindow = errors.New("partial for a window that is closed")

// ErrPartial is what Merge returns for a batch that is not one of partials of this stream.
var ErrPartial = errors.New("batch of partials does not fit the stream")
