package plan

import (
	"time"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/expr"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/spec"
)

// Names of the columns that every source has beside the declared ones.
const (
	ColumnTable     = "tbname" // string
	ColumnTime      = "ts"     // timestamp
	ColumnTopic     = "_topic" // string, not a column of the batch: a constant
	ColumnPartition = "_partition"
	ColumnOffset    = "_offset"
)

// Input is a source, understood: what its rows look like and which of them are taken.
type Input struct {
	// Schema has the declared columns in order, then tbname, ts, _partition and _offset.
	Schema block.Schema
	// Declared is how many columns of Schema are declared ones.
	Declared int
	// Table computes tbname over the declared columns; nil when the table name is taken from the record by a path
	// (spec.Table.Path).
	Table *expr.Typed
	// MaxFuture is how far ahead of the processing clock a row may be; nil: as far as it likes.
	MaxFuture *time.Duration
	// MinTime is the earliest event time that is taken; nil: any.
	MinTime *ident.EventMs
	// DedupWindow is how long ingest keys are remembered; nil: they are not.
	DedupWindow *time.Duration
}

// BuildInput checks a source. The error is an *invalid.Error with pointers into the source's spec, or spans in the
// statement it was read from.
func BuildInput(src *spec.Source) (*Input, error) {
	f := &faults{places: src.Places()}
	in := &Input{Schema: inputSchema(src), Declared: len(src.Columns)}
	if src.Update == spec.UpdateUpsert {
		f.notSupported("/update", "upsert sources", "use update: append")
	}
	if _, isPath := src.Table.Path(); !isPath {
		declared := newScope(Env{}, time.UTC)
		declared.addAll(in.Schema[:in.Declared])
		in.Table = f.typed("/table", f.parse("/table", src.Table.Expr()), declared, block.String)
	}
	in.MaxFuture = limit(f, "/max_future", src.MaxFuture, DefaultMaxFuture)
	in.DedupWindow = limit(f, "/dedup_window", src.DedupWindow, DefaultDedupWindow)
	if src.MinTime != nil {
		t := ident.EventMs(*src.MinTime)
		in.MinTime = &t
	}
	if err := f.err(); err != nil {
		return nil, err
	}
	return in, nil
}

func inputSchema(src *spec.Source) block.Schema {
	var s block.Schema
	for _, c := range src.Columns {
		s = append(s, block.Field{Name: c.Name, Type: c.Type})
	}
	return append(s,
		block.Field{Name: ColumnTable, Type: block.String},
		block.Field{Name: ColumnTime, Type: block.Timestamp},
		block.Field{Name: ColumnPartition, Type: block.Int64},
		block.Field{Name: ColumnOffset, Type: block.Int64})
}

// limit returns nil when the limit is off.
func limit(f *faults, pointer string, l spec.Limit, byDefault time.Duration) *time.Duration {
	switch {
	case l.Off:
		return nil
	case !l.Set:
		return &byDefault
	}
	d := f.elapsed(pointer, &l.After, byDefault)
	return &d
}
