package plan

import (
	"fmt"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/decode"
	"github.com/pondage/pondage/internal/expr"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/spec"
)

// NewDecoder returns a decoder of the source's records. It belongs to one task: it fills the columns of Schema but the
// last two, _partition and _offset, which are the caller's.
func (in *Input) NewDecoder(src *spec.Source) (*decode.Decoder, error) {
	unit, err := decode.ParseUnit(string(src.EventTime.Unit))
	if err != nil {
		return nil, fmt.Errorf("source %s: event time: %w", src.Name, err)
	}
	s := decode.Schema{Unit: unit}
	if s.EventTime, err = decode.ParsePath(string(src.EventTime.Path)); err != nil {
		return nil, fmt.Errorf("source %s: event time: %w", src.Name, err)
	}
	for _, c := range src.Columns {
		s.Columns = append(s.Columns, decode.Column{Name: c.Name, Type: c.Type, Path: c.At()})
	}
	if in.Table != nil {
		s.TableOf = tableOf(in.Table)
	} else if s.Table, err = decode.ParsePath(string(src.Table)); err != nil {
		return nil, fmt.Errorf("source %s: table: %w", src.Name, err)
	}
	return decode.New(s)
}

// tableOf evaluates the expression of a table name for one row.
func tableOf(e *expr.Typed) decode.TableFunc {
	program := expr.Compile(e)
	var out expr.Result
	var sel [1]int32
	return func(b *block.Batch, row int) ([]byte, error) {
		sel[0] = int32(row)
		program.EvalRows(b.Cols, row+1, sel[:], &out)
		if len(out.Errors) > 0 {
			return nil, fmt.Errorf("%s: %s", out.Errors[0].Code, out.Errors[0].Reason)
		}
		if out.Col.IsNull(row) {
			return nil, nil
		}
		return out.Col.Bytes(row), nil
	}
}

// Limits are the event times that are taken when the processing clock shows now, in ms since the epoch (DESIGN §6).
func (in *Input) Limits(nowMs int64) decode.Limits {
	l := decode.AnyTime()
	if in.MinTime != nil {
		l.Earliest = max(l.Earliest, *in.MinTime)
	}
	if in.MaxFuture != nil {
		l.Latest = min(l.Latest, ident.EventMs(nowMs+in.MaxFuture.Milliseconds()))
	}
	return l
}
