package window

import (
	"slices"

	"github.com/pondage/pondage/internal/agg"
	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/ident"
)

// emitter gathers the rows of an Emission. A row's cell is one of the state's, or a sum in a cell of the emitter's own.
type emitter struct {
	s          *State
	groups     []uint32
	start, end []ident.EventMs
	cells      []uint32
	own        []uint32 // own cells of the rows gathered
	// Merges to be made before the cells merged change: from[i] into into[i].
	into, from []uint32
	batch      *block.Batch
	errs       []agg.ResultError
	emission   Emission
	// What the rows gathered are emitted as; changed only while there are none.
	event     Event
	eventOnly bool
}

func (e *emitter) init(s *State) {
	e.s = s
	e.batch = block.NewBatch(Schema(s.cfg), 0)
}

// add adds the row of a window of a group, whose sum is in the cell; without rows it is none. The cell must not change
// before the next flush.
func (e *emitter) add(emit func(*Emission), start, end ident.EventMs, group, cell uint32) {
	if e.s.cells.Count(cell) == 0 {
		return
	}
	e.row(start, end, group, cell)
	if len(e.cells) >= e.s.cfg.BatchRows {
		e.flush(emit)
	}
}

func (e *emitter) row(start, end ident.EventMs, group, cell uint32) {
	e.groups, e.cells = append(e.groups, group), append(e.cells, cell)
	e.start, e.end = append(e.start, start), append(e.end, end)
}

// addPair adds a row whose sum is that of two cells, each given as 1 + the cell, or 0 for none. The cells must not change
// before the next settle.
func (e *emitter) addPair(emit func(*Emission), start, end ident.EventMs, group, a, b uint32) {
	sum := e.ownCell()
	for _, cell := range [...]uint32{a, b} {
		if cell != 0 {
			e.into, e.from = append(e.into, sum), append(e.from, cell-1)
		}
	}
	e.row(start, end, group, sum)
	if len(e.cells) >= e.s.cfg.BatchRows {
		e.flush(emit)
	}
}

// settle makes the merges that are due.
func (e *emitter) settle() {
	e.s.cells.Merge(e.into, e.from)
	e.into, e.from = e.into[:0], e.from[:0]
}

// addSum adds a row whose sum is made from the cells of the group in all panes of the window.
func (e *emitter) addSum(emit func(*Emission), start, end ident.EventMs, group uint32) {
	s := e.s
	sum := e.ownCell()
	for _, p := range s.panes.between(start, end) {
		if !s.need(p, group) {
			return
		}
		cell, ok := p.find(s.heads, group)
		for ok {
			if s.heads[cell].from <= end {
				s.cells.Merge([]uint32{sum}, []uint32{cell})
			}
			next := s.heads[cell].next
			cell, ok = next-1, next != 0
		}
	}
	e.add(emit, start, end, group, sum)
}

func (e *emitter) ownCell() uint32 {
	cell := e.s.newCell(cellHead{})
	e.own = append(e.own, cell)
	return cell
}

// flush emits the rows gathered, if any.
func (e *emitter) flush(emit func(*Emission)) {
	s := e.s
	if len(e.cells) > 0 {
		e.settle()
		e.build()
		emit(&e.emission)
	}
	s.cells.Free(e.own)
	e.own = e.own[:0]
	e.groups, e.cells, e.start, e.end = e.groups[:0], e.cells[:0], e.start[:0], e.end[:0]
}

// build makes the emission of the rows gathered.
func (e *emitter) build() {
	s, n := e.s, len(e.s.cfg.Keys)
	e.batch.Reset()
	cols := e.batch.Cols
	starts, ends, rows := cols[n], cols[n+1], cols[n+2]
	for i, cell := range e.cells {
		s.groups.appendKeys(cols[:n], e.groups[i])
		starts.AppendInt(int64(e.start[i]))
		ends.AppendInt(int64(e.end[i]))
		rows.AppendInt(s.cells.Count(cell))
	}
	const windowColumns = 3
	e.errs = s.cells.AppendResults(cols[n+windowColumns:], e.cells, e.errs[:0])
	e.blank(cols[n+windowColumns:])
	e.emission = Emission{Batch: e.batch, Errors: e.errs, Event: e.event, EventOnly: e.eventOnly}
}

// blank takes back the values of aggregates that are not known.
func (e *emitter) blank(aggs []*block.Column) {
	p := &e.s.partial
	for i, start := range e.start {
		if !p.has(start) {
			continue
		}
		for _, a := range p.Aggs {
			if aggs[a].Null == nil {
				aggs[a].Null = make([]bool, len(e.start))
			}
			aggs[a].Null[i] = true
		}
	}
	e.errs = slices.DeleteFunc(e.errs, func(r agg.ResultError) bool { return p.has(e.start[r.Row]) && slices.Contains(p.Aggs, r.Agg) })
}
