package pipeline

import (
	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/plan"
	"github.com/pondage/pondage/internal/rowjson"
	"github.com/pondage/pondage/internal/spec"
	"github.com/pondage/pondage/internal/window"
)

// EventTaker is what Results are of a stream with a webhook.
type EventTaker interface {
	// Events takes what has happened to windows, before or beside their results; columns as EventSchema. The batch is the
	// taker's.
	Events(b *block.Batch) error
}

// The columns of EventSchema behind the natural key.
const (
	eventEnd  = iota // of the window
	eventKind        // spec.WindowOpen or spec.WindowClose
	eventRow         // the result row as JSON; null: it has none
	eventColumns
)

// EventSchema is the columns of window events: the natural key under the names of the result, then the window's end, the
// event, and the result row.
func EventSchema(p *plan.Plan) block.Schema {
	var s block.Schema
	for _, c := range p.Result.Key {
		s = append(s, p.Result.Fields()[c])
	}
	return append(s, block.Field{Name: window.ColumnEnd, Type: block.Timestamp}, block.Field{Name: "_event", Type: block.String}, block.Field{Name: "_row", Type: block.String})
}

// EventKey is the columns of the natural key within EventSchema.
func EventKey(s block.Schema) int { return len(s) - eventColumns }

// events makes the batches of window events.
type events struct {
	schema block.Schema
	rows   *rowjson.Encoder
	row    []byte
}

func newEvents(p *plan.Plan) *events {
	return &events{schema: EventSchema(p), rows: rowjson.NewEncoder(p.Result.Fields())}
}

// batch is the events of an emission. of is the projection of its windows; nil: their results are not known yet.
func (v *events) batch(e *window.Emission, of *plan.Projection) *block.Batch {
	n := e.Batch.Rows()
	b := block.NewBatch(v.schema, n)
	key := EventKey(v.schema)
	kinds, rows := b.Cols[key+eventKind], b.Cols[key+eventRow]
	kind := spec.WindowClose
	if e.Event == window.EventOpened {
		kind = spec.WindowOpen
	}
	next := 0 // row of the projection
	for i := range n {
		for c := range key + eventKind { // an emission begins with the same columns
			b.Cols[c].AppendFrom(e.Batch.Cols[c], i)
		}
		kinds.AppendString(kind)
		if of == nil || !of.Has(next, i) {
			rows.AppendNull()
			continue
		}
		v.row = v.rows.AppendRow(v.row[:0], of.Batch.Cols, next)
		rows.AppendBytes(v.row)
		next++
	}
	return b
}
